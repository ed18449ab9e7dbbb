"""The rows of a comparison as a table: times of both arms, change, verdict, a dot per session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.comparison import CHANGED, Compared, Comparison, Verdict
from viewer.analysis.comparison.levels import IDENTITIES, NAME
from viewer.analysis.comparison.operator_pairs import Grade, Row
from viewer.analysis.comparison.session_test import THRESHOLD
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.operator_model import (
    LINE,
    ComparedCell,
    OperatorContents,
    TableRow,
    first_line,
    line_of,
    name_parts,
)
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import ColumnKind, Heading
from viewer.gui.qt.widgets.cells import Dots, dots_of
from viewer.model.times import format_time
from viewer.program.program import Operator
from viewer.reports.compare_text import change_ns_text, change_text, row_sentence

# The changes at the edges of the column of dots, the least and the most.
_LEAST_REACH, _MOST_REACH = 0.15, 1.0
_MEDIAN = "Median of the session medians, per inference."
_CHANGE = "B less A, per inference."
_DOTS = (
    "One mark per session: rings are A, dots are B, against the median of A. The line is the 95 % "
    "interval of the change; the shaded band is the threshold of 5 %."
)


@dataclass(frozen=True, slots=True)
class ChangeScale:
    """The largest change of a table, in ns, and the change at the edges of the column of dots."""

    most: float
    reach: float


def scale_of(figures: Iterable[Compared]) -> ChangeScale:
    """Return the scale of some rows."""
    most, changed = 0.0, []
    for compared in figures:
        most = max(most, abs(compared.change_ns))
        if compared.verdict in CHANGED:
            changed.append((compared.verdict, _dots(compared)))
    return ChangeScale(most, reach_of(changed))


def compared_contents(comparison: Comparison, title: str) -> OperatorContents:
    """Return the rows of a comparison, the largest change first. title: of the first column."""
    scale = scale_of(comparison.compared)
    has_lines = comparison.a.program is not None and comparison.a.level not in IDENTITIES
    rows = change_rows(comparison, range(len(comparison.rows)), scale, has_lines=has_lines)
    return OperatorContents(change_headings(title, scale, has_lines=has_lines), tuple(rows))


def change_headings(title: str, scale: ChangeScale, *, has_lines: bool) -> tuple[Heading, ...]:
    """Return the columns of changes. title: of the first one."""
    percent = round(100 * scale.reach)
    return (
        Heading(title, ColumnKind.NAME, 0),
        Heading("A", ColumnKind.TIME, 84, _MEDIAN),
        Heading("B", ColumnKind.TIME, 84, _MEDIAN),
        Heading("Change", ColumnKind.CHANGE, 150, _CHANGE),
        Heading("Change, %", ColumnKind.NUMBER, 72, _CHANGE),
        Heading(f"Sessions, ±{percent} %", ColumnKind.DOTS, 128, _DOTS),
        *((Heading(LINE, ColumnKind.NUMBER, 48),) if has_lines else ()),
    )


def change_rows(
    comparison: Comparison, numbers: Iterable[int], scale: ChangeScale, *, has_lines: bool
) -> list[TableRow]:
    """Return some rows of a comparison, given by number, the largest change first."""
    compared = comparison.compared
    numbers = sorted(numbers, key=lambda number: -abs(compared[number].change_ns))
    return [_table_row(comparison, number, scale, has_lines) for number in numbers]


def reach_of(rows: Iterable[tuple[Verdict, Dots]]) -> float:
    """Return the change at the edges of a column of dots: all sessions of what changed fit."""
    changed = (dots for verdict, dots in rows if verdict in CHANGED)
    farthest = max((abs(x) for dots in changed for x in (*dots.a, *dots.b)), default=0.0)
    # In steps of 5 %, so that the scale of the title is exact.
    return min(max(-(-farthest * 1.05 // 0.05) * 0.05, _LEAST_REACH), _MOST_REACH)


def _dots(compared: Compared) -> Dots:
    return dots_of(compared.sessions_a, compared.sessions_b, compared.a_ns, compared.interval)


def _table_row(
    comparison: Comparison, number: int, scale: ChangeScale, has_lines: bool
) -> TableRow:
    row, compared = comparison.rows[number], comparison.compared[number]
    operators = _operators(comparison.a, row.a) or _operators(comparison.b, row.b)
    module, op = name_parts(row.label)
    share = compared.change_ns / scale.most if scale.most else 0.0
    times = [
        MISSING if ns is None else format_time(round(ns)) for ns in (compared.a_ns, compared.b_ns)
    ]
    changes = change_ns_text(compared) or MISSING, change_text(compared) or MISSING
    texts = ("", *times, *changes, "")
    change = compared.change or 0.0
    drift = comparison.known_drifts[number]
    keys: tuple[float | str, ...] = (
        row.label.lower(),
        compared.a_ns or 0.0,
        compared.b_ns or 0.0,
        compared.change_ns,
        change,
        change,
    )
    if has_lines:
        texts, keys = (*texts, line_of(operators)), (*keys, first_line(operators))
    # Only rows of A have its operators, whose colors the table knows.
    row_operators = sorted({i for part in row.a for i in comparison.a.parts[part].operators})
    return TableRow(
        tuple(row_operators),
        module,
        op,
        _hint(row),
        texts,
        keys,
        group=number,
        detail=row_sentence(row, compared, drift),
        compared=ComparedCell(
            compared.verdict.value, share, _dots(compared), scale.reach, THRESHOLD
        ),
    )


def _hint(row: Row) -> str:
    """How surely its sides belong together, if that is not certain; or that it has one side."""
    if row.grade in (Grade.ONLY_A, Grade.ONLY_B):
        return row.why
    is_named = row.grade is Grade.BY_NAME and row.level in (NAME, *IDENTITIES)  # as all rows are
    return "" if row.grade is Grade.SAME or is_named else row.grade.value.replace("_", " ")


def _operators(arm: Arm, parts: Sequence[int]) -> list[Operator]:
    if arm.program is None:
        return []
    numbers = chain.from_iterable(arm.parts[number].operators for number in parts)
    return [arm.program.operators[i] for i in sorted(set(numbers))]
