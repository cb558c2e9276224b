"""The landscape of a function of two coordinates as heights from 0 to 1, on the scale of the command line's pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Powers of a scale: with others, nearly all colours would be spent on nearly nothing.
_LEAST_POWER, _MOST_POWER = 0.05, 3.0

# Heights between numbers of a bar, at least.
_ROOM = 0.05


@dataclass(frozen=True)
class Scale:
    """Values above the minimum as heights, by a power that puts half of the picture below the middle."""

    highest: float
    power: float

    @staticmethod
    def of(above: Array) -> Scale:
        """The scale of these values above the minimum."""
        known = above[np.isfinite(above)]
        highest = max(float(known.max(initial=0.0)), np.finfo(float).tiny)
        median = float(np.median(known)) if known.size else 0.5 * highest
        part = min(max(median / highest, 1e-300), 1 - 1e-12)
        return Scale(highest, float(np.clip(np.log(0.5) / np.log(part), _LEAST_POWER, _MOST_POWER)))

    def height(self, above: Array) -> Array:
        """Heights; what is no number is as high as the highest wall."""
        with np.errstate(invalid="ignore"):
            heights = (np.clip(above, 0.0, self.highest) / self.highest) ** self.power
        return np.where(np.isnan(above), 1.0, heights)

    def ticks(self) -> list[float]:
        """Round values above the minimum, rising: decades where many are seen, otherwise even steps."""
        decades = self._apart([float(f"1e{k}") for k in range(-300, 300)])
        if len(decades) > 4:
            return decades
        rough = self.highest / 5
        decade = 10.0 ** float(np.floor(np.log10(rough)))
        step = next((digit * decade for digit in (1, 2, 5) if digit * decade >= 0.8 * rough), 10 * decade)
        return self._apart([k * step for k in range(1, 11)])

    def _apart(self, values: list[float]) -> list[float]:
        """0, and the highest of rising values, as far down as there is room for each."""
        kept: list[float] = []
        above = 2.0
        for value in reversed([value for value in values if value <= self.highest]):
            height = float(self.height(np.array(value)))
            if height <= _ROOM or above - height <= _ROOM:
                break
            kept.append(value)
            above = height
        return [0.0, *reversed(kept)]


def heights(
    values: Callable[[Array], Array], box: Array, minimum: float | None, cells: int, samples: int
) -> tuple[Array, Scale, float]:
    """Mean heights of cells, their scale, and the minimum.

    Several samples of a cell, one somewhere in each of its parts, let ripples finer than a cell fade instead of making
    patterns that are not there.
    """
    fine = cells * samples
    random = np.random.default_rng(0)
    shift = random.random((2, fine, fine)) if samples > 1 else np.full((2, fine, fine), 0.5)
    up, across = np.mgrid[0:fine, 0:fine]
    (left, right), (low, high) = box
    x = left + (right - left) * (across + shift[0]) / fine
    y = low + (high - low) * (up + shift[1]) / fine
    energies = values(np.column_stack([x.ravel(), y.ravel()])).reshape(fine, fine)
    if minimum is None:
        known = energies[np.isfinite(energies)]
        minimum = float(known.min()) if known.size else 0.0
    above = energies - minimum
    scale = Scale.of(above)
    parts = scale.height(above).reshape(cells, samples, cells, samples)
    return parts.mean(axis=(1, 3)), scale, minimum


def smoothed(rows: Array) -> Array:
    """Heights without ripples that are too fine for lines of equal height."""
    reach = max(len(rows) // 100, 1)
    for _ in range(3):
        for axis in (0, 1):
            # Mirrored about the edge, so that a slope stays as it is there.
            pads = [(reach, reach) if axis == k else (0, 0) for k in (0, 1)]
            padded = np.pad(rows, pads, mode="reflect", reflect_type="odd")
            windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1, axis=axis)
            rows = windows.mean(axis=-1)
    return rows
