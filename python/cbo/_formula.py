"""Formulas from their pickles."""

from __future__ import annotations

from ._lib import Formula


def rebuild(text: str, dim: int | None, constants: dict[str, float]) -> Formula:
    """A formula from its pickle."""
    return Formula(text, dim, **constants)
