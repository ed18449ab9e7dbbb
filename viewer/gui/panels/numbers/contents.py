"""The rows and texts of the Numbers panel. No Qt.

The swatch of a row is that of its color: a row has the number of its color in `operators`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from viewer.analysis.numbers.compared import Gap
from viewer.gui.panels.base.operator_tables.contents import OperatorContents, TableRow, name_parts
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.tables.columns import ColumnKind, Heading
from viewer.gui.panels.numbers.measures import Measure, value_of
from viewer.gui.session.numbers.logged import Figures, LoggedNumbers, MeasuredNumbers, NumbersRow
from viewer.model.text import one_line
from viewer.model.times import MINUS, NARROW_SPACE, counted, group_digits
from viewer.render.palette import OPERATORS, PLAIN, RAMP, SLAB, Palette, by_name

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
            cells = [
                gap[0],
                *cells[:2],
                _growth_cell(measured_numbers, i),
                *gap[1:],
                *cells[2:5],
            ]
        cells.append(_tensor_cell(row))
        module, name = name_parts(one_line(row.label))
        texts, keys = zip(*cells, strict=True)
        rows.append(
            TableRow(
                (i,),
                module,
                name,
                _hint(row, figures),
                ("", *texts),
                (float(i), *keys),
                detail=fault_text(row, figures),
            )
        )
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
        if measure is Measure.SNR and gap.is_exact:
            cells.append((EQUAL, math.inf))
            continue
        value = value_of(measure, gap)
        cells.append(
            (MISSING, -math.inf) if value is None else (measure_text(measure, value), value)
        )
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
    """Return the palette index of every row: that of its operator, or of its name.

    palette: the index of every operator.
    """
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
