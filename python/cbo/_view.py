"""Runs to look at in a notebook: the pages of ``cbo view``, in a frame, without a server."""

from __future__ import annotations

import base64
import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._lib import __version__, page_of_data, page_of_folder

if TYPE_CHECKING:
    from ._result import OptimizeResult

# Particles and coordinates of a swarm that are shown at most.
_PARTICLES = 2000
_COORDINATES = 64


class View:
    """Pages about a run, or about all runs below a folder. A notebook shows them; nothing is asked of a server.

    Attributes
    ----------
    html : str
        The pages, as an HTML file that needs nothing else.
    height : int
        Pixels of the frame in a notebook.
    """

    def __init__(self, html: str, height: int) -> None:
        if height < 1:
            raise ValueError(f"height = {height}: give pixels above 0")
        self.html = html
        self.height = height

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the pages to an HTML file."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        # The pages can run their own script, and nothing else: they have no part in the notebook.
        return (
            f'<iframe title="cbo" sandbox="allow-scripts" style="width: 100%; height: {int(self.height)}px; '
            f'border: 1px solid #8886; border-radius: 6px" srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<View of {len(self.html)} characters: a notebook shows it, save('run.html') writes it>"


def view(folder: str | os.PathLike[str], height: int = 720) -> View:
    """The runs below a folder, to look at in a notebook: of ``cbo minimize --out`` and the like.

    Parameters
    ----------
    folder : path
        A run folder, or a folder with runs below it, four levels down.
    height : int
        Pixels of the frame in the notebook.

    Returns
    -------
    View
        What a notebook shows. Its ``save`` writes an HTML file that needs nothing else.
    """
    return View(page_of_folder(os.fspath(folder)), height)


def view_result(result: OptimizeResult, height: int) -> View:
    """The pages of a result."""
    steps = {name: _list(column) for name, column in result.history.items() if np.ndim(column) == 1}
    best, evaluations = steps.get("best", []), steps.get("evaluations", [])
    curve = [[n, value] for n, value in zip(evaluations, best) if value is not None]
    swarm = _track(result)
    short = {
        "id": "result", "name": "result", "kind": "run", "objective": "a function in Python", "method": str(result.method),
        "dim": len(result.x), "state": "running" if result.stop == "" else "finished" if result.status < 2 else "interrupted",
        "best": _number(result.fun), "steps": int(result.nit), "evaluations": int(result.nfev),
        "failed": int(result.failed_evaluations), "seconds": _number(result.seconds), "active": 0, "curve": curve,
    }  # fmt: skip
    apart = np.diff(result.history["step"][:2])
    spacing = int(apart[0]) if len(apart) > 0 else 1
    phases = [
        {"name": p["name"], "from": p["start"], "to": p["stop"], "best": _number(p["best"]), "end": p["end"]}
        for p in result.phases
    ]
    settings = [{"key": name, "value": str(result[name]), "changed": False} for name in ("method", "seed")]
    whole = {
        "short": short, "x": _list(result.x[:256]), "violation": _number(result.violation) or None, "stop": result.stop,
        "version": __version__, "message": result.message, "phases": phases, "settings": settings, "knows_changes": False,
        "log": result.explanation, "faults": [], "history": {"columns": steps, "spacing": spacing},
        "swarm": {"frames": 1} if swarm else None,
    }  # fmt: skip
    item = {"whole": whole, "page": None, "swarm": swarm, "pictures": {}}
    return View(page_of_data(json.dumps({"left_out": 0, "runs": [short], "items": {"result": item}})), height)


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _list(values: NDArray[Any]) -> list[float | None]:
    return [_number(value) for value in values]


def _track(result: OptimizeResult) -> str | None:
    """The swarm at the end, in the format of the file ``swarm.track``."""
    points = np.asarray(result.population, dtype="<f4")
    if points.ndim != 2 or points.size == 0:
        return None
    rows, d = min(len(points), _PARTICLES), min(points.shape[1], _COORDINATES)
    energies = np.asarray(result.population_energies, dtype="<f4")[:rows, None]
    narrow = np.concatenate(
        [np.asarray(result.consensus, dtype="<f4")[:d], np.hstack([energies, points[:rows, :d]]).ravel()]
    )
    narrow = np.append(narrow, np.full(narrow.size % 2, np.nan)).astype("<f4")
    about = {"dim": points.shape[1], "coordinates": d, "particles": rows, "landscape": None}
    head = json.dumps({"wide": ["step", "time", "evaluations", "particles"], "narrow": narrow.size, "about": about}).encode()
    head += b" " * (-len(head) % 8)
    wide = np.array([result.nit, result.time, result.nfev, rows], dtype="<f8")
    start = b"CBOTRK\r\n" + np.array([1, len(head)], dtype="<u4").tobytes()
    return base64.b64encode(start + head + wide.tobytes() + narrow.tobytes()).decode()
