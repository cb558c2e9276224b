#!/usr/bin/env python3
"""A stochastic objective with particle batches and cooling: linear regression on a stream of data batches, the
way the paper trains its networks. The data is chosen from the step alone, so that the run can be repeated exactly.
"""

import numpy as np

import cbo

TRUTH = np.array([1.0, -2.0, 0.5, 3.0, -1.0])


def data(batch):
    """Twenty samples that belong to this data batch."""
    phase = batch * 20.0 + np.arange(20)
    features = np.sin(phase[:, None] * (np.arange(5) + 1.3))
    return features, features @ TRUTH + 0.1 * np.cos(7.7 * phase)


def main():
    particles, batch = 100, 10
    optimizer = cbo.Optimizer(
        x0=np.zeros(5),
        spread=1.0,
        particles=particles,
        batch=batch,
        dt=0.1,
        sigma=f"log:{0.4**0.5},epoch",
        alpha="geometric:50,2,1e9,epoch",
        epoch_steps=500,
        kick=1e-5,
        steps=5000,
        seed=0,
    )
    while not optimizer.done:
        # New data when all particles have had their turn.
        features, labels = data(optimizer.step // (particles // batch))
        x = optimizer.ask()
        optimizer.tell(x, np.mean((x @ features.T - labels) ** 2, axis=1))
    # The best value is that of the easiest data, so the consensus point is the answer.
    found = optimizer.result().consensus
    print(f"found {np.round(found, 2)}, true {TRUTH}")
    assert np.abs(found - TRUTH).max() < 0.3


if __name__ == "__main__":
    main()
