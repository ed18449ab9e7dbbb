"""Contents of the delegation report: delegates, operators that were not delegated, and links.

While two arms are compared, they are delegates, their calls, and what moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.levels import CALLS, DELEGATE
from viewer.analysis.comparison.operator_changes import (
    ArmCoverage,
    DelegationChanges,
    MovedCall,
    delegation_changes,
)
from viewer.analysis.comparison.rows import NOT_DELEGATED as NOT_DELEGATED_ROW
from viewer.analysis.comparison.session_test import THRESHOLD
from viewer.analysis.cost.source_costs import source_place
from viewer.analysis.delegates.delegation import (
    DelegationReport,
    Instance,
    NotDelegated,
    Unlinked,
    lowering_counts,
)
from viewer.analysis.links.labels import set_labels
from viewer.analysis.links.link_table import LinkState
from viewer.dataclasses import dataclass, replace
from viewer.gui.panels.base.compared_operators import change_headings, change_rows, scale_of
from viewer.gui.panels.base.cost_painting import whole_text
from viewer.gui.panels.base.operator_model import (
    LINE,
    WHOLE_BELOW,
    ComparedCell,
    OperatorContents,
    TableRow,
    base_heading,
    first_line,
    line_of,
    name_parts,
    summed_heading,
    term_heading,
)
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import ColumnKind, Heading
from viewer.gui.qt.widgets.cells import Dots
from viewer.model import figures as figure_terms
from viewer.model.figures import FigureBase, FigureTerm
from viewer.model.times import counted, format_share, format_time, group_digits, percent_digits
from viewer.program.program import Operator, Program, base_name
from viewer.view.open_comparison import OpenComparison
from viewer.view.open_trace import OpenTrace

DELEGATES, NOT_DELEGATED, LINKS = "Delegates", "Not delegated", "Links"
MOST_NOT_DELEGATED = 5000  # operators; a longer table would block the window for more than 100 ms
UPPER_BOUND = "Upper bound on savings: delegates take time, too."
NO_CALLS = (
    "The profile has no delegate calls and no operators of a runtime that supports delegates."
)
NONE_CALLED = "No delegate was called. All operators ran outside delegates."
ALL_DELEGATED = "No operator ran outside delegates."
NONE_RECORDED = (
    "The ETRecord has no delegates: no operator was delegated, or the delegates are not recorded."
)
NONE_OUTSIDE = "All operators are delegated."
PARTLY = "Operators that are partly delegated are in both lists."
_OTHERS = "others with less time"
_MOST_NODES = 3
_LINE_WIDTH = 76
_TIME = FigureTerm(
    "Time",
    "Time of the calls, or the self time of what was not delegated. The hatched part of a bar is "
    "not covered by delegate events.",
)
_UNATTRIBUTED = FigureTerm(
    "Unattributed",
    "The part of the calls that no event inside covers. Time outside calls and operators is "
    "No operator, in the line below the table.",
)
_CALLS = "Here calls of the delegate or operator."


class DelegationLine(Enum):
    """The kind of a row."""

    SECTION = "section"
    INSTANCE = "instance"
    NOT_DELEGATED = "outside"
    CHANGE = "change"
    REASON = "reason"
    MORE = "more"


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A row of a comparison at a level, by its number."""

    level: str
    number: int


@dataclass(frozen=True, slots=True)
class DelegationItem:
    """What a row shows. section: the title of its section."""

    line: DelegationLine
    section: str
    of: Instance | NotDelegated | Unlinked | ComparedRow | None = None


@dataclass(frozen=True, slots=True)
class DelegationPage:
    """The table contents. `TableRow.group` is an index into `items`, in the report's order.

    parts: name, color token and ns of the parts that add up to `whole` ns, for the footer; empty
    without delegate calls.
    """

    contents: OperatorContents
    items: tuple[DelegationItem, ...]
    parts: tuple[tuple[str, str, float], ...] = ()
    whole: float = 0


def page_of(shown: OpenTrace, report: DelegationReport, base: FigureBase) -> DelegationPage:
    """Return the report of a trace. base: what its times are per."""
    program = shown.table.program
    what = whole_text(shown.trace, "the busy time")
    share_term = figure_terms.share(whole_text(shown.trace, figure_terms.BUSY_TIME), "Time", base)
    costs = [row.ticks for row in report.instances] + [
        row.ticks for row in report.not_delegated_rows
    ]
    whole = base.ns(report.whole)
    delegated, not_delegated, no_operator = base.parts(
        report.delegated, report.not_delegated, report.no_operator
    )
    rows = _Rows(max(costs, default=0))
    labels = zip(shown.table.sets, set_labels(shown.table), strict=True)
    same_label = {own: hint for own, (_, hint) in labels}
    delegated_operators = {i for row in report.instances for i in row.operators}

    def members(operators: tuple[int, ...]) -> list[Operator]:
        return [] if program is None else [program.operators[i] for i in operators]

    def cells(ticks: int, rest: str, operators: str, slices: int, line: str) -> tuple[str, ...]:
        share = percent_digits(ticks / report.whole) if report.whole else MISSING
        return "", base.text(ticks), share, rest, operators, group_digits(slices), line

    several = len({row.method for row in report.instances}) > 1
    rows.add_section(DELEGATES, *_delegates_text(report, delegated, whole, what))
    for row in report.instances:
        rest = row.unattributed
        left = MISSING if rest is None else base.text(rest)
        count = MISSING if row.why else group_digits(len(row.operators))
        own = members(row.operators)
        texts = cells(row.ticks, left, count, row.calls or row.events, line_of(own))
        keys = (
            row.label,
            base.ns(row.ticks),
            row.ticks,
            -1 if rest is None else base.ns(rest),
            len(row.operators),
            row.calls or row.events,
            first_line(own),
        )
        _instance(rows, row, several, texts, keys)
    if report.has_calls:
        if report.not_delegated_rows:
            text = f"{format_time(not_delegated)} · {_share(not_delegated, whole)} of {what}"
            rows.add_section(NOT_DELEGATED, text, UPPER_BOUND)
        else:
            rows.add_section(NOT_DELEGATED, "", ALL_DELEGATED)
        for out in _most(report.not_delegated_rows):
            own, count = members(out.operators), str(len(out.operators) or MISSING)
            texts = cells(out.ticks, "", count, out.slices, line_of(own))
            ns = base.ns(out.ticks)
            keys = (out.label, ns, out.ticks, -1, 1, out.slices, first_line(own))
            is_part = bool(own) and delegated_operators.issuperset(out.operators)
            nodes = _nodes_text(shown, out) if is_part else ""
            _outside(rows, out, texts, keys, same_label.get(out.operators, ""), nodes)
    rows.add_section(LINKS, *_links_text(report))
    for reason in report.unlinked:
        amount = f"{counted(reason.slices, 'slice')}"
        if reason.ticks:
            amount += f" · {base.titled(base.text(reason.ticks))}"
        _reason(rows, reason, amount)
    parts: tuple[tuple[str, str, float], ...] = ()
    if report.has_calls:
        parts = (
            ("Delegated", "accent", delegated),
            ("Not delegated", "slab", not_delegated),
            ("No operator", "", no_operator),
        )
    headings = (
        Heading("Delegate or operator", ColumnKind.NAME, 0),
        base_heading(base, _TIME, ColumnKind.TIME, 92),
        term_heading(share_term, ColumnKind.SHARE, 108, WHOLE_BELOW),
        base_heading(base, _UNATTRIBUTED, ColumnKind.TIME, 96),
        Heading("Operators", ColumnKind.NUMBER, 76, "Number of operators in the call."),
        summed_heading(base, figure_terms.COUNT, ColumnKind.NUMBER, 60, _CALLS),
        Heading(LINE, ColumnKind.NUMBER, _LINE_WIDTH),
    )
    return rows.page(headings, program, parts, whole)


def _nodes_text(shown: OpenTrace, row: NotDelegated) -> str:
    """Return the names of the only nodes of a row that ran outside delegates; "" if unknown."""
    program, links = shown.table.program, shown.table.links
    assert program is not None
    if not all(links[key].nodes for key in row.keys):
        return ""
    nodes = sorted({i for key in row.keys for i in links[key].nodes})
    if len(nodes) == sum(len(program.operators[i].nodes) for i in row.operators):
        return ""
    names = list(dict.fromkeys(base_name(program.nodes[i].op) for i in nodes))
    more = f" +{len(names) - _MOST_NODES}" if len(names) > _MOST_NODES else ""
    return ", ".join(names[:_MOST_NODES]) + more


def _most(not_delegated: Sequence[NotDelegated]) -> Sequence[NotDelegated]:
    """Return the rows that were not delegated; beyond `MOST_OUTSIDE` one row sums up the rest."""
    rest = not_delegated[MOST_NOT_DELEGATED:]
    if not rest:
        return not_delegated
    keys = tuple(key for row in rest for key in row.keys)
    ticks, slices = sum(row.ticks for row in rest), sum(row.slices for row in rest)
    label = f"{group_digits(len(rest))} {_OTHERS}"
    return (*not_delegated[:MOST_NOT_DELEGATED], NotDelegated(label, (), ticks, slices, keys))


def record_page(program: Program, report: DelegationReport) -> DelegationPage:
    """Return the report of an ETRecord without a profile, which has no times."""
    several = len(program.methods) > 1
    counts = lowering_counts(report)
    text = " · ".join(filter(None, (counts.operators_text, counts.calls_text)))
    rows = _Rows()
    rows.add_section(DELEGATES, *((text,) if counts.calls else ("", NONE_RECORDED)))
    for row in report.instances:
        count = MISSING if row.why else group_digits(len(row.operators))
        own = [program.operators[i] for i in row.operators]
        keys = (row.label, len(row.operators), first_line(own))
        _instance(rows, row, several, ("", count, line_of(own)), keys)
    outside = replace(counts, delegated=0).operators_text
    below = PARTLY if counts.partly else NONE_OUTSIDE if counts.delegated and not outside else ""
    rows.add_section(NOT_DELEGATED, outside, below)
    for out in report.not_delegated_rows:
        own = [program.operators[i] for i in out.operators]
        texts = "", group_digits(len(out.operators)), line_of(own)
        _outside(rows, out, texts, (out.label, len(out.operators), first_line(own)))
    headings = (
        Heading("Delegate or operator", ColumnKind.NAME, 0),
        Heading("Operators", ColumnKind.NUMBER, 90),
        Heading(LINE, ColumnKind.NUMBER, _LINE_WIDTH),
    )
    return rows.page(headings, program)


class _Rows:
    """Builds rows with their items. Bars are relative to `most` ticks."""

    def __init__(self, most: int = 0) -> None:
        self._most = most
        self._items: list[DelegationItem] = []
        self._rows: list[TableRow] = []

    def add(self, item: DelegationItem, row: TableRow) -> None:
        self._rows.append(replace(row, group=len(self._items)))
        self._items.append(item)

    def add_section(self, title: str, hint: str, below: str = "") -> None:
        """Add a section's title row. hint: text next to the title. below: text below it."""
        item = DelegationItem(DelegationLine.SECTION, title)
        self.add(item, TableRow((), "", title, hint, ("",), (title,), detail=below))

    def share(self, ticks: int) -> float:
        return ticks / self._most if self._most else 0.0

    def page(
        self,
        headings: Iterable[Heading],
        program: Program | None,
        parts: tuple[tuple[str, str, float], ...] = (),
        whole: float = 0,
    ) -> DelegationPage:
        contents = OperatorContents(tuple(headings), tuple(self._rows))
        if program is not None:
            contents = replace(contents, place=lambda i: source_place(program, i))
        return DelegationPage(contents, tuple(self._items), parts, whole)


def _instance(
    rows: _Rows, row: Instance, several: bool, texts: tuple[str, ...], keys: tuple[float | str, ...]
) -> None:
    where = f"instr. {row.instruction}" if row.instruction >= 0 else "call unknown"
    hint = f"{row.method} · {where}" if several else where
    unknown = row.why_not_attributed
    detail = "\n".join(
        part
        for part in (
            row.why and f"Operators unknown: {row.why}",
            unknown and f"Unattributed time unknown: {unknown}",
        )
        if part
    )
    covered = row.covered / row.ticks if row.ticks and not unknown else 1.0
    share = rows.share(row.ticks)
    rows.add(
        DelegationItem(DelegationLine.INSTANCE, DELEGATES, row),
        TableRow(row.operators, *name_parts(row.label), hint, texts, keys, share, full=covered,
                 detail=detail),
    )  # fmt: skip


def _outside(
    rows: _Rows,
    row: NotDelegated,
    texts: tuple[str, ...],
    keys: tuple[float | str, ...],
    same_label_hint: str = "",
    nodes: str = "",
) -> None:
    """Add a row. nodes: names of the only nodes that ran outside, "" for all or unknown."""
    hint = "" if row.operators or row.label.endswith(_OTHERS) else "not linked"
    if len(row.operators) > 1:
        hint = f"shared by {len(row.operators)}"
    logged = row.why if row.is_logged else ""
    hint = " · ".join(filter(None, (hint, same_label_hint, logged)))
    item = DelegationItem(DelegationLine.NOT_DELEGATED, NOT_DELEGATED, row)
    module, op = name_parts(row.label)
    op = f"{op} › {nodes}" if nodes else op
    share, detail = rows.share(row.ticks), f"Not delegated: {row.why}" if row.why else ""
    rows.add(item, TableRow(row.operators, module, op, hint, texts, keys, share, detail=detail))


def _reason(rows: _Rows, row: Unlinked, amount: str) -> None:
    title = row.reason.text[:1].upper() + row.reason.text[1:]
    tone = "warning" if row.reason.state is LinkState.UNLINKED else "text3"
    keys = (title, row.ticks, row.ticks, -1, -1, row.slices, -1)
    texts = row.remedy, amount
    rows.add(
        DelegationItem(DelegationLine.REASON, LINKS, row),
        TableRow((), "", title, row.backend, texts, keys, tone=tone, detail=row.remedy),
    )


def _delegates_text(
    report: DelegationReport, delegated: float, whole: float, what: str
) -> tuple[str, str]:
    """Return the text next to the delegates' title, and the text below it."""
    if not report.has_calls:
        return "", NO_CALLS
    called = [row for row in report.instances if row.keys]
    if not called:
        return "", NONE_CALLED
    hint = f"{format_time(delegated)} · {_share(delegated, whole)} of {what}"
    operators = {i for row in called for i in row.operators}
    calls = counted(len(called), "delegate call")
    sentences = [f"{counted(len(operators), 'operator')} in {calls}"] if operators else []
    known = [row for row in called if row.unattributed is not None]
    if ticks := sum(row.ticks for row in known):
        rest = sum(row.unattributed or 0 for row in known)
        sentences.append(
            f"their events cover {format_share(ticks - rest, ticks)} of this time; the rest "
            "(hatched) is unattributed"
        )
    text = "; ".join(sentences)
    return hint, f"{text[:1].upper()}{text[1:]}." if text else ""


def _links_text(report: DelegationReport) -> tuple[str, str]:
    """Return the text next to the links' title, and the text below it."""
    found = report.coverage
    if not found.linkable:
        return "", "No slice here is linkable."
    text = (
        f"{group_digits(found.linked)} of {group_digits(found.linkable)} linkable slices"
        f" ({format_share(found.linked, found.linkable)})"
    )
    if found.linkable_ticks:
        share = format_share(found.linked_ticks, found.linkable_ticks)
        return text, f"They cover {share} of the linkable time."
    return text, ""


def _share(part: float, whole: float) -> str:
    return format_share(part, whole) if whole else MISSING


SHARED = "shared"  # instead of a time that is not divided
CALLED, OUTSIDE_BOTH = "Delegate calls", "Not delegated in A and B"
NO_COMPARED_CALLS = (
    "The profiles have no delegate calls and no operators of a runtime that supports delegates."
)
NONE_CALLED_IN_ARMS = "No delegate was called in A or B. All operators ran outside delegates."
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
        return f"totals, {self.found.subtitle}"


def compare_delegation(open_comparison: OpenComparison) -> ComparedDelegation:
    changes = delegation_changes(open_comparison.calls, open_comparison.at(DELEGATE))
    for side in (0, 1):
        if (typical := open_comparison.typical(side)) is not None:
            open_comparison.rows_of_slices(typical[0], DELEGATE)  # cached: a row selects slices
    return ComparedDelegation(open_comparison, changes, _ComparedPage(changes).made())


def only_in(arm: int) -> str:
    """Return the title of what is delegated in one arm only. arm: 0 for A, 1 for B."""
    return f"Delegated only in {'AB'[arm]}"


class _ComparedPage:
    """Builds the rows of a comparison, section by section."""

    def __init__(self, changes: DelegationChanges) -> None:
        self._changes = changes
        self._calls = changes.calls
        self._has_lines = self._calls.a.program is not None
        rows_compared = [self._calls.compared[number] for number in changes.rows]
        self._scale = scale_of([*rows_compared, *changes.by_delegate.compared])
        self._rows = _Rows()

    def made(self) -> DelegationPage:
        changes = self._changes
        if not changes.has_calls:
            self._rows.add_section(DELEGATES, "", NO_COMPARED_CALLS)
            return self._page()
        self._rows.add_section(DELEGATES, *_coverage_texts(changes))
        by_delegate = changes.by_delegate
        self._compared(DELEGATES, by_delegate, range(len(by_delegate.rows)), DELEGATE)
        if changes.rows:
            counts = " and ".join(
                f"{group_digits(arm_coverage.calls)} in {name}"
                for name, arm_coverage in zip("AB", changes.coverage, strict=True)
            )
            self._rows.add_section(CALLED, counts, NOT_DIVIDED)
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
        return self._rows.page(columns, self._calls.a.program)

    def _compared(
        self, section: str, comparison: Comparison, numbers: Iterable[int], level: str
    ) -> None:
        rows = change_rows(comparison, numbers, self._scale, has_lines=self._has_lines)
        for row in rows:
            of = ComparedRow(level, row.group)
            item = DelegationItem(DelegationLine.CHANGE, section, of)
            if level == DELEGATE:  # all of its operators say nothing
                name = NOT_DELEGATED if row.op == NOT_DELEGATED_ROW else row.op
                row = replace(
                    row, operators=(), op=name, texts=(*row.texts[:6], "")[: len(row.texts)]
                )
            self._rows.add(item, row)

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
        self._rows.add_section(section, hint, below)
        for moved_call in moved:
            of = ComparedRow(CALLS, moved_call.row)
            item = DelegationItem(DelegationLine.CHANGE, section, of)
            self._rows.add(item, self._moved_row(arm, moved_call))

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
        a = sum(each.a_ns or 0.0 for each in rows_compared)
        b = sum(each.b_ns or 0.0 for each in rows_compared)
        hint = f"medians add up to {format_time(round(a))} in A, {format_time(round(b))} in B"
        self._rows.add_section(OUTSIDE_BOTH, hint)
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
        return "", NONE_CALLED_IN_ARMS
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
