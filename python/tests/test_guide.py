"""The page docs/python.md is true: its programs run, in order, and its tables are those of the code."""

from __future__ import annotations

import importlib.util
import inspect
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cbo
from cbo import _lib
from cbo._options import Options

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
TEXT = PAGE.read_text(encoding="utf-8")


class Block(NamedTuple):
    """A block of Python: the words after the language, the line of its first line, its text."""

    words: list[str]
    line: int
    text: str


def blocks(text: str) -> Iterator[Block]:
    words: list[str] | None = None
    first, lines = 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("```"):
            lines.append(line)
        elif words is None:
            words, first, lines = line[3:].split() or [""], number + 1, []
        else:
            if words[0] == "python":
                yield Block(words[1:], first, "\n".join(lines) + "\n")
            words = None
    assert words is None, "a block is not closed"


BLOCKS = list(blocks(TEXT))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """One namespace for all blocks, in a folder of its own."""
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("guide"))
    os.environ.setdefault("MPLBACKEND", "agg")
    yield {"__name__": "guide"}
    os.chdir(before)


def test_the_example_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks((PAGE.parents[1] / "README.md").read_text(encoding="utf-8"))
    exec(example.text, {})
    assert float(capsys.readouterr().out.split()[0]) < 1e-3


def test_the_example_of_the_page_on_constraints() -> None:
    (example,) = blocks((PAGE.parent / "constraints.md").read_text(encoding="utf-8"))
    exec(example.text, {})


@pytest.mark.parametrize("block", BLOCKS, ids=[f"line {block.line}" for block in BLOCKS])
def test_block(block: Block, place: dict[str, Any]) -> None:
    for word in block.words:
        if word == "no-test":
            pytest.skip("needs a launcher")
        package = word.removeprefix("needs=")
        assert package != word, f"{PAGE.name} line {block.line - 1}: {word} is not known"
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    program = re.match(r"# (\w+\.py)\n", block.text)
    if program is None:
        # Empty lines before it give tracebacks the line numbers of the page.
        exec(compile("\n" * (block.line - 1) + block.text, str(PAGE), "exec"), place)
        return
    Path(program[1]).write_text(block.text, encoding="utf-8")
    done = subprocess.run([sys.executable, program[1]], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def documented() -> dict[str, str]:
    """The keywords in the tables of the section, with their defaults."""
    section = TEXT.partition("\n## Keywords\n")[2].partition("\n## ")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in section.splitlines() if line.startswith("| `")]
    return {row[0].strip().strip("`"): row[2].strip() for row in rows}


def test_the_tables_have_every_keyword() -> None:
    signature = inspect.signature(cbo.minimize).parameters
    known = {*signature, *Options.__annotations__} - {"fun", "options"}
    assert set(documented()) == known


def test_the_tables_have_the_defaults_of_the_code() -> None:
    shown = documented()
    for name, parameter in inspect.signature(cbo.minimize).parameters.items():
        if name in shown and parameter.default not in (None, inspect.Parameter.empty):
            assert shown[name] == f"`{parameter.default!r}`", name
    own = _lib.defaults()
    assert shown["steps"].startswith(f"`{own.pop('steps')}`")
    for name, value in own.items():
        assert shown[name] == f"`{value!r}`", name
    # What a run used tells the rest.
    result = cbo.minimize(cbo.problems.sphere(1), particles=2, steps=1)
    assert shown["sigma"] == f"`{result.sigma!r}`"
    assert shown["alpha"] == f"`{result.alpha!r}`" and math.isinf(result.alpha)
    assert shown["precision"] == {"float64": '`"f64"`'}[str(result.population.dtype)]


def test_the_words_of_the_engine_are_its_defaults() -> None:
    """A word that is the default changes nothing, and the other one does."""
    shown = documented()
    for name, other in (
        ("diffusion", "isotropic"),
        ("scheme", "drift-first"),
        ("bound_handling", "clip"),
        ("update", "partial"),
    ):
        word = shown[name].strip('`"')
        runs = [_run(name, chosen) for chosen in (None, word, other)]
        assert (runs[0] == runs[1]).all() and (runs[0] != runs[2]).any(), name


def _run(name: str, value: str | None) -> Any:
    settings: Any = {} if value is None else {name: value}
    box = [(-1, 1)] * 2
    return cbo.minimize(
        cbo.problems.sphere(2), box, particles=8, batch=4, steps=9, seed=1, **settings
    ).population


def test_the_result_has_every_entry_of_the_table() -> None:
    section = TEXT.partition("\n## The result\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = {name for cell in rows for name in re.findall(r"`(\w+)`", cell)}
    assert named == set(cbo.minimize(cbo.problems.sphere(2), particles=4, steps=2))
