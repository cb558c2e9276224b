#!/usr/bin/env python3
"""How often method `adam` finds the minimum of Rastrigin's function in 1000 dimensions, rotated: the number in docs/method.md.

Every run has its own random rotation. A product with it costs a million multiplications for each point, so torch makes it on a GPU (or
NumPy on the processor); everything else is `cbo.minimize`, in single precision. It needs the package (`pip install .`), and torch for a GPU.

    python3 benches/adam_rotated.py --runs 100 --jobs 8
    python3 benches/adam_rotated.py --runs 2 --dim 100 --device cpu

A run succeeds if its best point is within 0.25 of the minimiser in every coordinate, as in `cbo success`. It prints a line for each
run: seed, best value, largest distance of a coordinate, evaluations, seconds.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

TOLERANCE = 0.25


class Outcome(NamedTuple):
    seed: int
    value: float
    distance: float
    evaluations: int
    seconds: float


def rastrigin(rotation: Any, device: str) -> Callable[[Any], Any]:
    """Rastrigin's function of rotated points, where the product with the rotation is made on a device."""
    if device == "cpu":

        def on_processor(points: Any) -> Any:
            y = points @ rotation
            return np.sum(y * y + 2.5 * (1 - np.cos(2 * np.pi * y)), 1)

        return on_processor
    import torch  # type: ignore[import-not-found,import-untyped,unused-ignore]

    there = torch.as_tensor(rotation, device=device)

    def on_device(points: Any) -> Any:
        y = torch.as_tensor(points, device=device) @ there
        return torch.sum(y * y + 2.5 * (1 - torch.cos(2 * torch.pi * y)), 1).cpu().numpy()

    return on_device


def run(case: tuple[int, int, int, int, str]) -> Outcome:
    import cbo

    seed, dim, particles, threads, device = case
    start = time.perf_counter()
    random = np.random.default_rng(seed)
    # Uniform by the signs of R's diagonal.
    q, r = np.linalg.qr(random.standard_normal((dim, dim)))
    rotation = (q * np.sign(np.diag(r))).astype(np.float32)
    result = cbo.minimize(
        rastrigin(rotation, device),
        x0=random.uniform(-5.12, 5.12, (particles, dim)),
        method="adam",
        steps=2000,
        sigma="geometric:1,0.997,0",
        alpha="ess:0.2",
        precision="f32",
        vectorized=True,
        threads=threads,
        seed=seed,
    )
    return Outcome(seed, result.fun, float(np.max(np.abs(result.x))), result.nfev, time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=1000, help="the seed of the first run")
    parser.add_argument("--dim", type=int, default=1000)
    parser.add_argument("--particles", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=8, help="runs at a time")
    parser.add_argument("--threads", type=int, default=1, help="threads of each")
    parser.add_argument("--device", default="cuda", help="of torch, or cpu for NumPy")
    args = parser.parse_args()
    found = []
    with multiprocessing.get_context("spawn").Pool(args.jobs) as pool:
        cases = [(args.first + k, args.dim, args.particles, args.threads, args.device) for k in range(args.runs)]
        for outcome in pool.imap_unordered(run, cases):
            found.append(outcome.distance <= TOLERANCE)
            print(*outcome, flush=True)
    print(f"{sum(found)} of {len(found)}")


if __name__ == "__main__":
    main()
