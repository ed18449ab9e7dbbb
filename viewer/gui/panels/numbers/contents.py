"""The rows and texts of the Numbers panel, its measures, and the detail of one row. No Qt.

The swatch of a row is that of its color: a row has the number of its color in `operators`. For the
detail, the tensor of the selected row only is read, a block at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum, IntEnum

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.numbers.compared import OTHER_SHAPES, Gap
from viewer.analysis.numbers.logged_values import Value
from viewer.analysis.numbers.tensor_summary import (
    Plane,
    PlaneShape,
    Shown,
    Summary,
    histogram_of,
    plane_of,
    summary_of,
)
from viewer.arrays import Floats, Ints
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.tensor_values import StoredTensor, same_shape
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.operator_model import OperatorContents, TableRow, name_parts
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import ColumnKind, Heading
from viewer.gui.session.feeds.logged_numbers import (
    Figures,
    LoggedNumbers,
    MeasuredNumbers,
    NumbersRow,
)
from viewer.model.text import one_line
from viewer.model.times import MINUS, NARROW_SPACE, counted, group_digits
from viewer.render.palette import OPERATORS, PLAIN, RAMP, SLAB, Palette, by_name

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
    ticks = tuple((float(power), power_text(power)) for power in range(low, high + 1, step))
    return low - 0.08 * (high - low), high, ticks  # the smallest bar is visible, too


def _decibels(values: Floats) -> tuple[float, float, tuple[tuple[float, str], ...]]:
    if not len(values):
        return 0.0, 1.0, ()
    low = min(math.floor(values.min() / _LEAST_STEP_DB) * _LEAST_STEP_DB, 0)
    high = max(math.ceil(values.max() / _LEAST_STEP_DB) * _LEAST_STEP_DB, low + _LEAST_STEP_DB)
    step = _LEAST_STEP_DB
    while (high - low) / step > _MOST_TICKS:
        step *= 2
    ticks = tuple((float(decibels), str(decibels)) for decibels in range(low, high + 1, step))
    return float(low), float(high), ticks


def power_text(exponent: int) -> str:
    """Return a power of ten: "10⁻⁶", "1"."""
    return "1" if exponent == 0 else f"10{str(exponent).translate(_SUPERSCRIPT)}"


PENDING = "…"
EQUAL = "equal"
_LEAST_GROWTH = 1.05

_OPERATOR = Heading("Operator", ColumnKind.NAME, 0)
_TENSOR = Heading("Tensor", ColumnKind.CODE, 138, "Type and shape of the logged value.")
# The first columns stay in a narrow panel.
_MIDDLE = (
    Heading("Mean", ColumnKind.NUMBER, 84, "Of the finite values."),
    Heading("Max", ColumnKind.NUMBER, 76, "Of the finite values."),
)
_RANGE = (
    Heading("Min", ColumnKind.NUMBER, 76, "Of the finite values."),
    Heading("NaN", ColumnKind.NUMBER, 52, "How many values are not a number."),
    Heading("Inf", ColumnKind.NUMBER, 52, "How many values are infinite."),
)
_SPREAD = (
    Heading("SD", ColumnKind.NUMBER, 78, "Standard deviation of the finite values."),
    Heading("Zeros", ColumnKind.NUMBER, 62, "How many values are 0."),
)
_MEASURES = {
    Measure.SNR: Heading(
        "SNR, dB", ColumnKind.NUMBER, 70, "Signal-to-noise ratio: 20 dB less means 10 × the error."
    ),
    Measure.MSE: Heading("MSE", ColumnKind.NUMBER, 78, "Mean squared error."),
    Measure.L1: Heading("L1", ColumnKind.NUMBER, 78, "Sum of the absolute differences."),
    Measure.COSINE: Heading("Cosine", ColumnKind.NUMBER, 78, "Cosine similarity."),
    Measure.MAX: Heading(
        "Max error", ColumnKind.NUMBER, 84, "Largest absolute difference of two values."
    ),
}
_AT = Heading("At", ColumnKind.CODE, 84, "Index of the largest difference.")
_GROWS = Heading(
    "Grows", ColumnKind.NUMBER, 64,
    "How many times larger the error, relative to the signal, is here than in the inputs.",
)  # fmt: skip


def contents_of(measured_numbers: MeasuredNumbers, measure: Measure) -> OperatorContents:
    """Return the table. measure: the column that comes first."""
    numbers = measured_numbers.numbers
    order = [measure, *(other for other in _MEASURES if other is not measure)]
    if numbers.reference:
        headings = (
            _OPERATOR, _MEASURES[measure], *_MIDDLE, _GROWS,
            *(_MEASURES[measure] for measure in order[1:]), _AT, *_RANGE, _TENSOR,
        )  # fmt: skip
    else:
        headings = (_OPERATOR, *_MIDDLE, *_RANGE, *_SPREAD, _TENSOR)
    rows = []
    for i, row in enumerate(numbers.rows):
        figures = measured_numbers.figures[i] if i < len(measured_numbers.figures) else None
        cells = _range_cells(row, figures)
        if numbers.reference:
            gap = _gap_cells(row, figures, order)
            growth = _growth_cell(measured_numbers, i)
            cells = [gap[0], *cells[:2], growth, *gap[1:], *cells[2:5]]
        cells.append(_tensor_cell(row))
        module, name = name_parts(one_line(row.label))
        texts, keys = zip(*cells, strict=True)
        hint, detail = _hint(row, figures), fault_text(row, figures)
        line = ("", *texts), (float(i), *keys)
        rows.append(TableRow((i,), module, name, hint, *line, detail=detail))
    return OperatorContents(headings, tuple(rows))


_Cell = tuple[str, float | str]


def _range_cells(row: NumbersRow, figures: Figures | None) -> list[_Cell]:
    """Mean, max, min, NaN, Inf, SD, zeros."""
    if figures is None:
        return [(PENDING if row.value is not None else MISSING, -math.inf)] * 7
    summary = figures.summary
    if summary is None:
        return [(MISSING, -math.inf)] * 7
    numbers = [_number(number) for number in (summary.mean, summary.max, summary.min)]
    counts: list[_Cell] = [_count(number) for number in (summary.nan, summary.inf)]
    return [*numbers, *counts, _number(summary.sd), _count(summary.zeros)]


def _gap_cells(row: NumbersRow, figures: Figures | None, order: Sequence[Measure]) -> list[_Cell]:
    """The measures, then the place of the largest error."""
    if figures is None and row.pair is not None:
        return [(PENDING, -math.inf)] * (len(order) + 1)
    gap = None if figures is None else figures.gap
    if gap is None:
        return [(MISSING, -math.inf)] * (len(order) + 1)
    cells: list[_Cell] = []
    for measure in order:
        value = value_of(measure, gap)
        if measure is Measure.SNR and gap.is_exact:
            cells.append((EQUAL, math.inf))
        elif value is None:
            cells.append((MISSING, -math.inf))
        else:
            cells.append((measure_text(measure, value), value))
    place = MISSING if gap.place is None else index_text(gap.place)
    return [*cells, (place, place)]


def _growth_cell(measured_numbers: MeasuredNumbers, row: int) -> _Cell:
    growth = measured_numbers.growths.get(row)
    if growth is None or growth.factor is None or growth.factor < _LEAST_GROWTH:
        return MISSING, -math.inf
    return times_text(growth.factor), growth.factor


def _tensor_cell(row: NumbersRow) -> _Cell:
    value = row.value_or_reference
    text = MISSING if value is None else one_line(value.layout.text)
    return text, text


def _hint(row: NumbersRow, figures: Figures | None) -> str:
    parts = []
    if row.value is None:
        parts.append("only in the reference")
    elif not row.is_result:
        parts.append(f"argument {row.number}" if row.number is not None else "argument")
    elif row.number is not None:
        parts.append(f"[{row.number}]")
    summary = None if figures is None else figures.summary
    if summary is not None:
        parts += [f"{group_digits(summary.nan)} NaN"] if summary.nan else []
        parts += [f"{group_digits(summary.inf)} Inf"] if summary.inf else []
    return " · ".join(parts)


def fault_text(row: NumbersRow, figures: Figures | None) -> str:
    """Return why a row has no figures, "" if it has."""
    if figures is not None and figures.fault:
        return one_line(f"{figures.fault[:1].upper()}{figures.fault[1:]}")
    return ""


def row_colors(numbers: LoggedNumbers, palette: Palette | None) -> Palette:
    """Return the palette index of every row, from that of every operator, else by its name."""
    names = by_name([row.call.name if row.call is not None else "" for row in numbers.rows])
    color_of_row = np.full(len(numbers.rows), PLAIN, np.uint8)
    for i, row in enumerate(numbers.rows):
        operators = row.operators
        colors = {
            operator % OPERATORS if palette is None else int(palette[operator])
            for operator in operators
        }
        if len(operators) == 1 or (len(colors) == 1 and min(colors) >= RAMP):
            color_of_row[i] = colors.pop()
        elif operators:  # shared calls are gray, unless errors have colors
            color_of_row[i] = SLAB
        elif row.call is not None:
            color_of_row[i] = names[i]
    return color_of_row


# -- texts -----------------------------------------------------------------------------------------


def subtitle_text(measured_numbers: MeasuredNumbers) -> str:
    """Return what is listed: "11 of 14 values compared"."""
    numbers = measured_numbers.numbers
    # A value that is paired with several references has a row for each.
    count = len({id(row.value) for row in numbers.rows if row.value is not None})
    text = counted(count, "logged value")
    if numbers.reference:
        paired = {id(numbers.rows[i].value) for i in numbers.compared}
        text = f"{group_digits(len(paired))} of {text} compared"
    if not measured_numbers.is_complete:
        text += f" · {group_digits(len(measured_numbers.figures))} of {len(numbers.rows)} read…"
    return text


def conclusion_text(measured_numbers: MeasuredNumbers) -> str:
    """Return where the error grows most, or starts; "" without a reference."""
    numbers = measured_numbers.numbers
    if not numbers.reference or not measured_numbers.is_complete or not numbers.compared:
        return ""
    gaps = [measured_numbers.figures[i].gap for i in numbers.compared]
    if all(gap is None or gap.is_exact for gap in gaps):
        return "All compared values are equal" if any(gaps) else "No value can be compared"
    growth = measured_numbers.growths.get(measured_numbers.most)
    if growth is None:
        return ""
    name = full_label(numbers.rows[measured_numbers.most])
    after = figure_text(growth.after)
    if growth.factor is None:
        return f"The error starts at {name}: {after} of the signal"
    before = figure_text(growth.before)
    times = times_text(growth.factor)
    return f"The error grows most at {name}: {times}, from {before} to {after} of the signal"


def jump_text(measured_numbers: MeasuredNumbers) -> str:
    """Return the label of the largest jump: "softmax · error 12 ×"."""
    growth = measured_numbers.growths.get(measured_numbers.most)
    if growth is None:
        return ""
    name = full_label(measured_numbers.numbers.rows[measured_numbers.most])
    grown = "starts" if growth.factor is None else times_text(growth.factor)
    return f"{name} · error {grown}"


def full_label(row: NumbersRow) -> str:
    """Return the label of a row with the number of its value."""
    label = one_line(row.label)
    return label if row.number is None else f"{label} [{row.number}]"


def tip_lines(measured_numbers: MeasuredNumbers, row: int) -> tuple[str, ...]:
    """Return the lines about a row below the mouse, the first one as a title."""
    numbers_row = measured_numbers.numbers.rows[row]
    figures = measured_numbers.figures[row] if row < len(measured_numbers.figures) else None
    lines = [full_label(numbers_row), _tensor_cell(numbers_row)[0]]
    if figures is None:
        return (*lines, "Not read yet")
    if figures.fault:
        lines.append(fault_text(numbers_row, figures))
    summary = figures.summary
    if figures.gap is not None:
        lines += gap_lines(figures.gap)
    elif summary is not None:
        if summary.min is not None:
            low, high = figure_text(summary.min), figure_text(summary.max)
            lines.append(f"from {low} to {high}, mean {figure_text(summary.mean)}")
        if summary.nan or summary.inf:
            lines.append(_hint(numbers_row, figures))
    growth = measured_numbers.growths.get(row)
    if growth is not None and growth.factor is not None:
        before, after = figure_text(growth.before), figure_text(growth.after)
        lines.append(f"error of the signal: {before} before, {after} here")
    return tuple(lines)


def gap_lines(gap: Gap) -> list[str]:
    """Return the measures of a gap as a few lines."""
    if gap.is_exact:
        return ["equal to the reference"]
    parts = [
        f"{name} {text}"
        for name, text in (("MSE", figure_text(gap.mse)), ("L1", figure_text(gap.l1)))
        if text
    ]
    return list(filter(None, (brief_text(gap), " · ".join(parts), odd_text(gap))))


def brief_text(gap: Gap) -> str:
    """Return the main measures: "SNR 139.8 dB · cosine 1.000000 · max error 1.8e−07 at 0, 5"."""
    parts = [] if gap.snr is None else [f"SNR {gap.snr:.1f}{NARROW_SPACE}dB".replace("-", MINUS)]
    if gap.cosine is not None:
        parts.append(f"cosine {measure_text(Measure.COSINE, gap.cosine)}")
    if gap.max_abs is not None and gap.place is not None:
        parts.append(f"max error {figure_text(gap.max_abs)} at {index_text(gap.place)}")
    return " · ".join(parts)


def odd_text(gap: Gap) -> str:
    """Return how many values are NaN and infinite: "5 NaN, 1 Inf in the reference"."""
    return ", ".join(
        f"{group_digits(count)} {name}{side}"
        for name, both in (("NaN", gap.nan), ("Inf", gap.inf))
        for side, count in zip(("", " in the reference"), both, strict=True)
        if count
    )


def measure_text(measure: Measure, value: float) -> str:
    """Return a value of a measure without its unit."""
    if measure is Measure.SNR:
        return f"{value:.1f}".replace("-", MINUS)
    if measure is Measure.COSINE:
        return f"{value:.6f}".replace("-", MINUS)
    return figure_text(value)


def figure_text(value: float | None) -> str:
    """Return a number with 4 digits: "1.409e−15"; "" for None."""
    return "" if value is None else f"{value:.4g}".replace("-", MINUS)


def index_text(index: Sequence[int]) -> str:
    """Return an index: "0, 5, 5"."""
    return ", ".join(map(str, index))


def times_text(factor: float) -> str:
    """Return a factor: "1.7 ×", "12 ×"."""
    if factor < 10:
        return f"{factor:.2g}{NARROW_SPACE}×"
    text = f"{factor:.1e}".replace("-", MINUS) if factor >= 1e6 else group_digits(round(factor))
    return f"{text}{NARROW_SPACE}×"


def _number(value: float | None) -> _Cell:
    return (MISSING, -math.inf) if value is None else (figure_text(value), value)


def _count(count: int) -> _Cell:
    return group_digits(count) if count else "0", float(count)


BINS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Histograms:
    """How many finite values are in each bin from low to high; b is empty without a reference."""

    low: float
    high: float
    a: Ints
    b: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What needs all values of a row: its summary, and the histograms, None without any number."""

    summary: Summary
    histograms: Histograms | None


@dataclass(frozen=True, slots=True, eq=False)
class DetailQuestion:
    """A row and what to show of it.

    plane: None for that of the largest error. summary, gap: of the row, None if not known. known:
    what was counted of the same row before.
    """

    row: NumbersRow
    shown: Shown
    plane: int | None
    summary: Summary | None
    gap: Gap | None
    known: Counted | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Detail:
    """The answer. plane, counted: None if there are no values, and `fault` says why.

    largest: the number of the value with the largest error, None for none. note: why the reference
    is not shown.
    """

    question: DetailQuestion
    plane: Plane | None = None
    counted: Counted | None = None
    largest: int | None = None
    fault: str = ""
    note: str = ""


def detail_of(question: DetailQuestion) -> Detail:
    """Answer a question; a pure function of the files."""
    try:
        return _detail_of(question)
    except UnreadableFile as error:  # that has changed since its values were listed
        return Detail(question, fault=str(error))


def _detail_of(question: DetailQuestion) -> Detail:
    row = question.row
    stored_tensor, fault = _opened(row.value)
    paired = None if row.pair is None else row.pair.reference
    reference, note = _opened(paired, "Reference: ")
    if stored_tensor is None:
        stored_tensor, reference, fault = reference, None, fault or note
    if stored_tensor is None:
        return Detail(question, fault=fault)
    if reference is not None and not same_shape(stored_tensor.layout.sizes, reference.layout.sizes):
        reference, note = None, OTHER_SHAPES
    shape = PlaneShape(stored_tensor.layout.sizes)
    if not stored_tensor.count:
        return Detail(question, fault="The tensor has no values")
    gap = question.gap if reference is not None else None
    largest = None
    if gap is not None and gap.place is not None:
        sizes = stored_tensor.layout.sizes
        largest = int(np.ravel_multi_index(gap.place, sizes)) if gap.place else 0
    plane = question.plane
    if plane is None:
        plane = 0 if largest is None else largest // (shape.height * shape.width)
    plane = min(max(plane, 0), shape.count - 1)
    side = question.shown if reference is not None else Shown.A
    return Detail(
        question,
        plane_of(stored_tensor, reference, plane, side),
        question.known or _counted(stored_tensor, reference, question.summary),
        largest,
        note=note,
    )


def _opened(value: Value | None, side: str = "") -> tuple[StoredTensor | None, str]:
    """Return a value, None with the reason if it cannot be read."""
    if value is None:
        return None, ""
    try:
        return value.open(), ""
    except (UnreadableFile, ValueError) as error:
        return None, f"{side}{error}"


def _counted(
    stored_tensor: StoredTensor, reference: StoredTensor | None, summary: Summary | None
) -> Counted:
    summary = summary or summary_of(stored_tensor)
    both = [summary] if reference is None else [summary, summary_of(reference)]
    lows = [summary.min for summary in both if summary.min is not None]
    highs = [summary.max for summary in both if summary.max is not None]
    if not lows:
        return Counted(summary, None)
    low, high = min(lows), max(highs)
    bins = BINS if high > low else 1
    none = np.empty(0, np.int64)
    b = none if reference is None else histogram_of(reference, low, high, bins)
    return Counted(summary, Histograms(low, high, histogram_of(stored_tensor, low, high, bins), b))
