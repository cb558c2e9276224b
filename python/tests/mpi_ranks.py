"""Started by test_mpi.py under mpirun: one run on all ranks, each of which says what it has."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import cbo


def sphere(x: NDArray[np.float64]) -> float:
    return float(np.sum(x**2))


found = cbo.minimize(sphere, [(-3.0, 4.0)] * 3, particles=30, steps=5, seed=2, comm=MPI.COMM_WORLD)
alone = cbo.minimize(sphere, [(-3.0, 4.0)] * 3, particles=30, steps=5, seed=2)
same = bool(np.array_equal(found.population, alone.population)) and found.fun == alone.fun
print(f"rank {MPI.COMM_WORLD.Get_rank()}: {same}", flush=True)
