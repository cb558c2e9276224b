"""Every program in examples/python runs and asserts its own result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "python"

# Needs a trained model and PyTorch; tests/python has the test of its reader.
ELSEWHERE = {"load_model.py"}

PROGRAMS = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in ELSEWHERE)


def test_there_are_examples() -> None:
    assert len(PROGRAMS) >= 7


@pytest.mark.parametrize("name", PROGRAMS)
def test_example(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(FOLDER / name)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() and not done.stderr
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"
