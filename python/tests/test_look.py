"""Runs to look at in a notebook: one HTML text in a frame, with what the run found in it."""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cbo


def data_of(page: str) -> dict[str, Any]:
    """What is in the page."""
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def sphere(x: np.ndarray[Any, Any]) -> float:
    return float((x**2).sum())


def test_a_result_is_shown_with_its_history_and_its_swarm() -> None:
    result = cbo.minimize(sphere, bounds=[(-3, 3)] * 3, method="cbo", particles=50, steps=20, alpha=10, seed=1)
    shown = result.view(height=400)
    item = data_of(shown.html)["items"]["result"]
    history = item["whole"]["history"]["columns"]
    assert history["best"] == result.history["best"].tolist()
    assert item["whole"]["short"]["best"] == result.fun
    track = base64.b64decode(item["swarm"])
    head = int.from_bytes(track[12:16], "little")
    points = np.frombuffer(track[16 + head + 4 * 8 :], dtype="<f4")[3 : 3 + 50 * 4].reshape(50, 4)
    assert np.array_equal(points[:, 1:], result.population.astype("f4"))
    frame = shown._repr_html_()
    assert frame.startswith("<iframe") and 'sandbox="allow-scripts"' in frame and "height: 400px" in frame
    srcdoc = re.search(r'srcdoc="([^"]*)"', frame)
    assert srcdoc is not None and html.unescape(srcdoc[1]) == shown.html
    assert "iframe" not in repr(shown) and "save" in repr(shown)


def test_what_is_not_finite_or_not_there_is_left_out(tmp_path: Path) -> None:
    result = cbo.minimize(sphere, bounds=[(-3, 3)], max_evaluations=30, seed=1)
    result.view().save(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert data_of(page)["items"]["result"]["whole"]["phases"][0]["name"] == result.phases[0].name
    assert "http://" not in re.sub(r"http://www.w3.org/\S+", "", page.split("<script>")[0])


def test_text_of_a_result_cannot_leave_its_place() -> None:
    result = cbo.minimize(sphere, bounds=[(-3, 3)], max_evaluations=30, seed=1)
    result["message"] = "</script><script>alert(1)</script>"
    assert "<script>alert" not in result.view().html


def test_a_folder_without_runs_is_an_error(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(FileNotFoundError, match="folder: "):
            cbo.view(folder)
    with pytest.raises(ValueError, match="height = 0"):
        cbo.minimize(sphere, bounds=[(-3, 3)], max_evaluations=30, seed=1).view(height=0)


def test_runs_in_a_folder_are_shown(tmp_path: Path) -> None:
    run = tmp_path / "one"
    run.mkdir()
    (run / "config.toml").write_text('objective = "sphere"\ndim = 2\n')
    (run / "log.txt").write_text("2026-01-31T12:00:00Z begun by cbo\n")
    (run / "history.csv").write_text("step,evaluations,best\n0,10,1.5\n1,20,0.5\n")
    data = data_of(cbo.view(tmp_path).html)
    assert [short["objective"] for short in data["runs"]] == ["sphere"]
    (item,) = data["items"].values()
    assert item["whole"]["history"]["columns"]["best"] == [1.5, 0.5]
