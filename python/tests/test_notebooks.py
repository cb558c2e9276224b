"""The notebooks are kept without outputs, and run from top to bottom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NAMES = ("choosing_parameters", "quick_start", "your_own_simulator")


def read(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def test_all_notebooks_are_tested() -> None:
    assert tuple(sorted(path.stem for path in FOLDER.glob("*.ipynb"))) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_notebook_has_no_outputs(name: str) -> None:
    notebook = read(name)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None


@pytest.mark.parametrize("name", NAMES)
def test_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Settings of the user must not matter, nor be changed.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "jupyter"))
    monkeypatch.delenv("MPLBACKEND", raising=False)
    notebook = read(name)
    work = tmp_path / "work"
    work.mkdir()
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(work)}}
    )
    client.execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs), "no picture was drawn"
    assert not [output for output in outputs if output.get("name") == "stderr"]
