"""The measures of a gap, and the bars of a chart of one of them. No Qt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.numbers.compared import Gap
from viewer.arrays import Floats, Ints
from viewer.gui.session.numbers.logged import Figures, MeasuredNumbers
from viewer.model.times import MINUS

_LEAST_STEP_DB = 10
_MOST_TICKS = 5
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class Measure(Enum):
    """What the chart shows; its value is the title of its button."""

    SNR = "SNR"
    MSE = "MSE"
    L1 = "L1"
    COSINE = "Cosine"
    MAX = "Max error"


TIPS = {
    Measure.SNR: "Signal-to-noise ratio in dB: 20 dB less means 10 times the error",
    Measure.MSE: "Mean squared error",
    Measure.L1: "Sum of the absolute differences",
    Measure.COSINE: "Cosine similarity: the chart shows its distance from 1",
    Measure.MAX: "Largest absolute difference of two values",
}
LARGEST = "Largest absolute value"
DISTANCE = f"1 {MINUS} cosine"


class BarKind(IntEnum):
    """What a bar is."""

    MEASURED = 0
    EQUAL = 1  # no difference
    ODD = 2  # NaN or infinite values, or nothing defined
    PENDING = 3  # not read yet, or it cannot be compared


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """The bars of a chart, in the order in which calls finished.

    title: of the axis. rows: the row of each. top: on the axis, which is logarithmic or not. kind:
    a `BarKind`. low, high: of the axis. ticks: places on it and their texts. most: the bar at which
    the error grows most, -1 for none. rises: whether a higher bar is worse.
    """

    title: str
    rows: Ints
    top: Floats
    kind: NDArray[np.uint8]
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    most: int
    rises: bool

    def __len__(self) -> int:
        return len(self.rows)

    def bar_of(self, row: int) -> int:
        """Return the bar of a row, -1 for none."""
        index = int(np.searchsorted(self.rows, row))
        return index if index < len(self.rows) and self.rows[index] == row else -1

    @property
    def badness(self) -> Floats:
        """Per bar how bad it is: where several share a pixel, the worst is drawn."""
        worst = np.where(self.kind == BarKind.ODD, np.inf, self.top if self.rises else -self.top)
        worst[(self.kind == BarKind.EQUAL) | (self.kind == BarKind.PENDING)] = -np.inf
        return worst


def value_of(measure: Measure, gap: Gap) -> float | None:
    """Return a measure of a gap; None if it is not defined or not finite."""
    return {
        Measure.SNR: gap.snr,
        Measure.MSE: gap.mse,
        Measure.L1: gap.l1,
        Measure.COSINE: gap.cosine,
        Measure.MAX: gap.max_abs,
    }[measure]


def bars_of(measured_numbers: MeasuredNumbers, measure: Measure) -> Bars:
    """Return the bars of a measure; without a reference, of the largest absolute values."""
    numbers, figures = measured_numbers.numbers, measured_numbers.figures
    rows: Sequence[int] = numbers.compared
    if not numbers.reference:
        rows = [i for i, row in enumerate(numbers.rows) if row.is_result and row.value is not None]
        bars = [_largest(figures[i]) if i < len(figures) else None for i in rows]
        return _bars(LARGEST, rows, bars, -1, is_log=True, rises=True)
    bars = [_of_gap(measure, figures[i]) if i < len(figures) else None for i in rows]
    most = list(rows).index(measured_numbers.most) if measured_numbers.most >= 0 else -1
    is_snr = measure is Measure.SNR
    title = {Measure.SNR: "SNR, dB", Measure.COSINE: DISTANCE}.get(measure, measure.value)
    return _bars(title, rows, bars, most, is_log=not is_snr, rises=not is_snr)


_Bar = tuple[BarKind, float]


def _largest(figures: Figures) -> _Bar | None:
    summary = figures.summary
    if summary is None:
        return None
    if summary.nan or summary.inf or summary.min is None or summary.max is None:
        return BarKind.ODD, 0.0
    most = max(abs(summary.min), abs(summary.max))
    return (BarKind.MEASURED, most) if most > 0 else (BarKind.EQUAL, 0.0)


def _of_gap(measure: Measure, figures: Figures) -> _Bar | None:
    gap = figures.gap
    if gap is None:
        return None
    if any(gap.nan) or any(gap.inf):
        return BarKind.ODD, 0.0
    if gap.is_exact:
        return BarKind.EQUAL, 0.0
    value = value_of(measure, gap)
    if value is None:
        return BarKind.ODD, 0.0
    if measure is Measure.COSINE:
        value = 1 - value  # rounding may make it 0
        return (BarKind.MEASURED, value) if value > 0 else (BarKind.EQUAL, 0.0)
    return BarKind.MEASURED, value


def _bars(
    title: str,
    rows: Sequence[int],
    bars: Sequence[_Bar | None],
    most: int,
    *,
    is_log: bool,
    rises: bool,
) -> Bars:
    kind = np.array([BarKind.PENDING if bar is None else bar[0] for bar in bars], np.uint8)
    top = np.array([0.0 if bar is None else bar[1] for bar in bars])
    is_known = kind == BarKind.MEASURED
    if is_log:
        top[is_known] = np.log10(np.maximum(top[is_known], np.finfo(np.float64).tiny))
    low, high, ticks = (_decades if is_log else _decibels)(top[is_known])
    return Bars(title, np.array(rows, np.int64), top, kind, low, high, ticks, most, rises)


def _decades(values: Floats) -> tuple[float, float, tuple[tuple[float, str], ...]]:
    if not len(values):
        return 0.0, 1.0, ()
    low, high = math.floor(values.min()), math.ceil(values.max())
    high = max(high, low + 1)
    step = -(-(high - low) // _MOST_TICKS)
    # The smallest bar is visible, too.
    low_edge = low - 0.08 * (high - low)
    return (
        low_edge,
        high,
        tuple((float(power), power_text(power)) for power in range(low, high + 1, step)),
    )


def _decibels(values: Floats) -> tuple[float, float, tuple[tuple[float, str], ...]]:
    if not len(values):
        return 0.0, 1.0, ()
    low = min(math.floor(values.min() / _LEAST_STEP_DB) * _LEAST_STEP_DB, 0)
    high = max(math.ceil(values.max() / _LEAST_STEP_DB) * _LEAST_STEP_DB, low + _LEAST_STEP_DB)
    step = _LEAST_STEP_DB
    while (high - low) / step > _MOST_TICKS:
        step *= 2
    return (
        float(low),
        float(high),
        tuple((float(decibels), str(decibels)) for decibels in range(low, high + 1, step)),
    )


def power_text(exponent: int) -> str:
    """Return a power of ten: "10⁻⁶", "1"."""
    return "1" if exponent == 0 else f"10{str(exponent).translate(_SUPERSCRIPT)}"
