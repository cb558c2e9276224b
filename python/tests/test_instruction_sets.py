"""CBO_SIMD chooses the instruction set of the whole program, and results do not depend on it."""

import os
import subprocess
import sys

RUN = """
import cbo
r = cbo.minimize(lambda x: float((x**2).sum()), [(-1, 2)] * 5, steps=60, seed=4, diffusion="isotropic")
p = cbo.minimize(cbo.problems.rastrigin(7), steps=60, seed=4)
print(r.x.tobytes().hex(), r.fun, p.x.tobytes().hex(), p.fun)
"""


def run(instruction_set: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "CBO_SIMD": instruction_set}
    return subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True)


def test_results_do_not_depend_on_the_instruction_set() -> None:
    portable = run("portable")
    assert portable.returncode == 0, portable.stderr
    for name in ["avx512", "avx2", ""]:
        other = run(name)
        if "this machine lacks" not in other.stderr:
            assert (other.returncode, other.stdout) == (0, portable.stdout), other.stderr


def test_an_unknown_set_is_an_error_that_lists_what_there_is() -> None:
    refused = run("mmx")
    assert refused.returncode == 1
    assert "ImportError: CBO_SIMD = mmx: no such instruction set; this machine has" in refused.stderr
    assert "portable" in refused.stderr
