"""Contents of the delegation report of a comparison: delegates, their calls, and what moved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.changes.delegation import (
    ArmCoverage,
    DelegationChanges,
    MovedCall,
    delegation_changes,
)
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.levels import CALLS, DELEGATE
from viewer.analysis.comparison.rows import NOT_DELEGATED as NOT_DELEGATED_ROW
from viewer.analysis.comparison.session_test import THRESHOLD
from viewer.analysis.cost.lines import source_place
from viewer.gui.panels.base.operator_tables.compared import (
    change_headings,
    change_rows,
    scale_of,
)
from viewer.gui.panels.base.operator_tables.contents import (
    ComparedCell,
    OperatorContents,
    TableRow,
    first_line,
    line_of,
    name_parts,
)
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.delegation.page import (
    DELEGATES,
    NOT_DELEGATED,
    ComparedRow,
    DelegationItem,
    DelegationLine,
    DelegationPage,
)
from viewer.gui.qt.widgets.change_cells import Dots
from viewer.model.times import counted, format_share, format_time, group_digits
from viewer.view.compared.open_comparison import OpenComparison

SHARED = "shared"  # instead of a time that is not divided
CALLED, OUTSIDE_BOTH = "Delegate calls", "Not delegated in A and B"
NO_CALLS = (
    "The profiles have no delegate calls and no operators of a runtime that supports delegates."
)
NONE_CALLED = "No delegate was called in A or B. All operators ran outside delegates."
NONE_MOVED = "A and B delegate the same operators."
UNKNOWN = "Without an ETRecord of A and B, the operators in delegate calls are unknown."
TOTALS = (
    "Median of the session medians of the total of all calls, per inference. It is longer than the "
    "sum of the medians of these calls if in each inference a different one takes long."
)
NOT_DIVIDED = (
    "A call shares its time among its operators: it is compared with all that runs them in the "
    "other arm."
)


@dataclass(frozen=True, eq=False, slots=True)
class ComparedDelegation:
    """The delegation report of a comparison."""

    found: OpenComparison
    changes: DelegationChanges
    page: DelegationPage

    @property
    def subtitle(self) -> str:
        """What the figures are."""
        return f"totals, {self.found.subtitle}"


def compare_delegation(open_comparison: OpenComparison) -> ComparedDelegation:
    """Return the report of a comparison."""
    changes = delegation_changes(open_comparison.calls, open_comparison.at(DELEGATE))
    for side in (0, 1):
        typical = open_comparison.typical(side)
        if typical is not None:
            open_comparison.rows_of_slices(typical[0], DELEGATE)  # cached: a row selects slices
    return ComparedDelegation(open_comparison, changes, _Page(open_comparison, changes).made())


def only_in(arm: int) -> str:
    """Return the title of what is delegated in one arm only. arm: 0 for A, 1 for B."""
    return f"Delegated only in {'AB'[arm]}"


class _Page:
    """Builds the rows with their items, section by section."""

    def __init__(self, open_comparison: OpenComparison, changes: DelegationChanges) -> None:
        self._found, self._changes = open_comparison, changes
        self._calls = changes.calls
        self._has_lines = self._calls.a.program is not None
        rows_compared = [self._calls.compared[number] for number in changes.rows]
        self._scale = scale_of([*rows_compared, *changes.by_delegate.compared])
        self._items: list[DelegationItem] = []
        self._rows: list[TableRow] = []

    def made(self) -> DelegationPage:
        """Return the page."""
        changes = self._changes
        if not changes.has_calls:
            self._section(DELEGATES, "", NO_CALLS)
            return self._page()
        self._section(DELEGATES, *_coverage_texts(changes))
        by_delegate = changes.by_delegate
        self._compared(DELEGATES, by_delegate, range(len(by_delegate.rows)), DELEGATE)
        if changes.rows:
            counts = " and ".join(
                f"{group_digits(arm_coverage.calls)} in {name}"
                for name, arm_coverage in zip("AB", changes.coverage, strict=True)
            )
            self._section(CALLED, counts, NOT_DIVIDED)
            self._compared(CALLED, self._calls, changes.rows, CALLS)
        for arm in (1, 0):
            if changes.only_in[arm]:
                self._moved(arm, changes.only_in[arm])
        self._outside()
        return self._page()

    def _page(self) -> DelegationPage:
        headings = change_headings("Delegate or operator", self._scale, has_lines=self._has_lines)
        columns = (
            replace(panel_column, tip=TOTALS) if panel_column.title in "AB" else panel_column
            for panel_column in headings
        )
        contents = OperatorContents(tuple(columns), tuple(self._rows))
        program = self._calls.a.program
        if program is not None:
            contents = replace(contents, place=lambda i: source_place(program, i))
        return DelegationPage(contents, tuple(self._items))

    def _section(self, title: str, hint: str, below: str) -> None:
        item = DelegationItem(DelegationLine.SECTION, title)
        self._add(item, TableRow((), "", title, hint, ("",), (title,), detail=below))

    def _add(self, item: DelegationItem, row: TableRow) -> None:
        self._rows.append(replace(row, group=len(self._items)))
        self._items.append(item)

    def _compared(
        self, section: str, comparison: Comparison, numbers: Iterable[int], level: str
    ) -> None:
        rows = change_rows(comparison, numbers, self._scale, has_lines=self._has_lines)
        for row in rows:
            item = DelegationItem(
                DelegationLine.CHANGE, section, ComparedRow(level, row.group)
            )  # fmt: skip
            if level == DELEGATE:  # all of its operators say nothing
                name = NOT_DELEGATED if row.op == NOT_DELEGATED_ROW else row.op
                row = replace(
                    row, operators=(), op=name, texts=(*row.texts[:6], "")[: len(row.texts)]
                )
            self._add(item, row)

    def _moved(self, arm: int, moved: Sequence[MovedCall]) -> None:
        """Add the section of what is delegated in an arm, and not in the other one."""
        other = "BA"[arm]
        operators = {i for moved_call in moved for i in moved_call.operators}
        ns = sum(moved_call.ns or 0.0 for moved_call in moved)
        time = format_time(round(ns))
        hint = f"{counted(len(operators), 'operator')} · medians add up to {time} in {other}"
        below = (
            f"The times are those outside delegates, in {other}. In {'AB'[arm]}, the operators "
            "share their delegate calls, which are compared above."
        )
        section = only_in(arm)
        self._section(section, hint, below)
        for moved_call in moved:
            of = ComparedRow(CALLS, moved_call.row)
            item = DelegationItem(DelegationLine.CHANGE, section, of)
            self._add(item, self._moved_row(arm, moved_call))

    def _moved_row(self, arm: int, moved_call: MovedCall) -> TableRow:
        outside, inside = (self._calls.a, self._calls.b) if arm else (self._calls.b, self._calls.a)
        assert outside.program is not None
        operators = [outside.program.operators[i] for i in moved_call.operators]
        module, op = name_parts(operators[0].label)
        if len(operators) > 1:
            op += f" and {len(operators) - 1} more"
        ns = moved_call.ns or 0.0
        time = MISSING if moved_call.ns is None else format_time(round(ns))
        shared = SHARED if moved_call.members > 1 else MISSING
        times = (time, shared) if arm else (shared, time)
        both = (ns, 0.0) if arm else (0.0, ns)
        instructions = dict.fromkeys(inside.parts[n].id.instruction for n in moved_call.into)
        where = f"instr. {', '.join(map(str, instructions))}"
        texts: tuple[str, ...] = ("", *times, "", "", "")
        keys: tuple[float | str, ...] = (operators[0].label.lower(), *both, ns, 0.0, 0.0)
        if self._has_lines:
            texts, keys = (*texts, line_of(operators)), (*keys, first_line(operators))
        return TableRow(
            self._in_a(moved_call.operators) if arm == 0 else moved_call.operators,
            module,
            op,
            f"partly in {where}" if moved_call.is_partly else f"in {where}",
            texts,
            keys,
            detail=_moved_sentence(inside, arm, moved_call),
            compared=ComparedCell("", 0.0, Dots((), ()), self._scale.reach, THRESHOLD),
        )

    def _in_a(self, operators: Sequence[int]) -> tuple[int, ...]:
        """The operators of A that belong to some of B, whose colors the table does not know."""
        pairs = self._calls.pairs.pairs
        return tuple(sorted({pair.a for pair in pairs if pair.b in operators}))

    def _outside(self) -> None:
        inside = set(self._changes.rows)
        rows = [
            number
            for number, row in enumerate(self._calls.rows)
            if row.level == CALLS and number not in inside
        ]
        if not rows or not self._changes.rows:
            return
        rows_compared = [self._calls.compared[number] for number in rows]
        a, b = (
            sum(each.a_ns or 0.0 for each in rows_compared),
            sum(each.b_ns or 0.0 for each in rows_compared),
        )
        hint = f"medians add up to {format_time(round(a))} in A, {format_time(round(b))} in B"
        self._section(OUTSIDE_BOTH, hint, "")
        self._compared(OUTSIDE_BOTH, self._calls, rows, CALLS)


def _moved_sentence(inside: Arm, arm: int, moved_call: MovedCall) -> str:
    """Return where the other arm runs what moved."""
    calls = " and ".join(
        f"{inside.parts[n].backend} instr. {inside.parts[n].id.instruction}"
        for n in moved_call.into
    )
    shared = (
        f", shared by {counted(moved_call.members, 'operator')}" if moved_call.members > 1 else ""
    )
    partly = " A part ran outside delegates." if moved_call.is_partly else ""
    return f"In {calls} of {'AB'[arm]}{shared}.{partly}"


def _coverage_texts(changes: DelegationChanges) -> tuple[str, str]:
    """Return the text next to the title of the delegates, and the text below it."""
    arms = list(zip("AB", changes.coverage, strict=True))
    if not any(coverage.calls for _, coverage in arms):
        return "", NONE_CALLED
    sentences = [_time_sentence(name, coverage) for name, coverage in arms]
    if not changes.is_linked:
        return "", " ".join([*sentences, UNKNOWN])
    hint = ", ".join(
        f"{group_digits(coverage.delegated)} of {counted(coverage.operators, 'operator')} in {name}"
        for name, coverage in arms
    )
    partly = [
        f"{counted(coverage.partly, 'operator')} in {name}"
        for name, coverage in arms
        if coverage.partly
    ]
    if partly:
        sentences.append(f"Partly delegated: {' and '.join(partly)}.")
    if not any(changes.only_in):
        sentences.append(NONE_MOVED)
    return hint, " ".join(sentences)


def _time_sentence(name: str, arm_coverage: ArmCoverage) -> str:
    if not arm_coverage.calls:
        return f"No delegate call in {name}."
    calls = counted(arm_coverage.calls, "delegate call")
    if arm_coverage.ns is None:
        return f"{calls} in {name}."
    of = ""
    if arm_coverage.inference_ns:
        of = f", {format_share(arm_coverage.ns, arm_coverage.inference_ns)} of an inference"
    return f"{name}: {format_time(round(arm_coverage.ns))} in {calls}{of}."
