#!/usr/bin/env python3
"""Watching a run: a history that never grows, and a callback that stops when it has seen enough."""

import numpy as np

import cbo


class Contracted:
    """Stops when the swarm has contracted to a millionth of its first spread."""

    def __init__(self):
        self.first = None

    def __call__(self, step):
        spread = np.sqrt(np.sum(np.var(step.population, axis=0)))
        if self.first is None:
            self.first = spread
        return bool(spread < 1e-6 * self.first)


def main():
    ackley = cbo.problems.ackley(10)
    result = cbo.minimize(ackley, method="cbo", callback=Contracted(), seed=0)
    history = result.history
    for i in range(0, len(history["step"]), max(1, len(history["step"]) // 20)):
        print(
            f"step {history['step'][i]:4}  best {history['best'][i]:9.3e}  spread {history['spread'][i]:9.3e}"
        )
    assert result.stop == "observer" and result.nit < 1000
    assert ackley.distance(result.x) < 0.01


if __name__ == "__main__":
    main()
