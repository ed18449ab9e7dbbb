"""The rows of a comparison as a table: times of both arms, change, verdict, a dot per session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.comparison import Compared, Comparison, Verdict
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.operator_pairs import Grade
from viewer.analysis.comparison.session_test import THRESHOLD
from viewer.analysis.comparison.steps import CHANGED
from viewer.gui.panels.base.operator_tables.contents import (
    LINE,
    ColumnKind,
    ComparedCell,
    Heading,
    OperatorContents,
    TableRow,
    first_line,
    line_of,
    name_parts,
)
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.qt.widgets.change_cells import Dots, dots_of
from viewer.model.times import format_time
from viewer.program.program import Operator
from viewer.reports.compare_text import change_text, difference_text, row_sentence

# The changes at the edges of the column of dots, the least and the most.
_LEAST_REACH, _MOST_REACH = 0.15, 1.0
_MEDIAN = "Median of the session medians, per inference."
_CHANGE = "B less A, per inference."
_DOTS = (
    "One mark per session: rings are A, dots are B, against the median of A. The line is the 95 % "
    "interval of the change; the shaded band is the threshold of 5 %."
)


def compared_contents(comparison: Comparison, title: str) -> OperatorContents:
    """Return the rows of a comparison, the largest change first. title: of the first column."""
    rows = list(zip(comparison.rows, comparison.compared, strict=True))
    rows.sort(key=lambda both: -abs(both[1].change_ns))
    dots = [dots_of(one.sessions_a, one.sessions_b, one.a_ns, one.interval) for _, one in rows]
    reach = reach_of((one.verdict, own) for (_, one), own in zip(rows, dots, strict=True))
    most = max((abs(one.change_ns) for _, one in rows), default=0.0)
    number = {id(row): i for i, row in enumerate(comparison.rows)}
    has_lines = comparison.a.program is not None
    percent = round(100 * reach)
    headings = (
        Heading(title, ColumnKind.NAME, 0),
        Heading("A", ColumnKind.TIME, 84, _MEDIAN),
        Heading("B", ColumnKind.TIME, 84, _MEDIAN),
        Heading("Change", ColumnKind.CHANGE, 150, _CHANGE),
        Heading("Change, %", ColumnKind.NUMBER, 72, _CHANGE),
        Heading(f"Sessions, ±{percent} %", ColumnKind.DOTS, 128, _DOTS),
        *((Heading(LINE, ColumnKind.NUMBER, 48),) if has_lines else ()),
    )
    found = tuple(
        _table_row(comparison, row, one, own, number[id(row)], most, reach, has_lines)
        for (row, one), own in zip(rows, dots, strict=True)
    )
    return OperatorContents(headings, found)


def reach_of(rows: Iterable[tuple[Verdict, Dots]]) -> float:
    """Return the change at the edges of a column of dots: all sessions of what changed fit."""
    changed = (own for verdict, own in rows if verdict in CHANGED)
    farthest = max((abs(x) for own in changed for x in (*own.a, *own.b)), default=0.0)
    # In steps of 5 %, so that the scale of the title is exact.
    return min(max(-(-farthest * 1.05 // 0.05) * 0.05, _LEAST_REACH), _MOST_REACH)


def _table_row(
    comparison: Comparison,
    row: Row,
    one: Compared,
    dots: Dots,
    number: int,
    most: float,
    reach: float,
    has_lines: bool,
) -> TableRow:
    operators = _operators(comparison.a, row.a) or _operators(comparison.b, row.b)
    module, op = name_parts(row.label)
    share = one.change_ns / most if most else 0.0
    times = [MISSING if ns is None else format_time(round(ns)) for ns in (one.a_ns, one.b_ns)]
    texts = ("", *times, difference_text(round(one.change_ns)), change_text(one) or MISSING, "")
    change = one.change or 0.0
    keys: tuple[float | str, ...] = (
        row.label.lower(),
        one.a_ns or 0.0,
        one.b_ns or 0.0,
        one.change_ns,
        change,
        change,
    )
    if has_lines:
        texts, keys = (*texts, line_of(operators)), (*keys, first_line(operators))
    # Only rows of A have its operators, whose colors the table knows.
    own = sorted({i for part in row.a for i in comparison.a.parts[part].operators})
    return TableRow(
        tuple(own),
        module,
        op,
        "" if row.grade is Grade.SAME else row.grade.value.replace("_", " "),
        texts,
        keys,
        group=number,
        detail=row_sentence(row, one),
        compared=ComparedCell(one.verdict.value, share, dots, reach, THRESHOLD),
    )


def _operators(arm: Arm, parts: Sequence[int]) -> list[Operator]:
    if arm.program is None:
        return []
    numbers = chain.from_iterable(arm.parts[number].operators for number in parts)
    return [arm.program.operators[i] for i in sorted(set(numbers))]
