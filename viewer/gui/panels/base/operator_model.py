"""The rows, columns and model of tables of operators and other groups, with their costs.

Without a profile the table lists a program's operators instead. The model sorts and filters by the
rows' own keys, without a proxy: 5,000 rows stay instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from PySide6.QtCore import QObject, Qt

from viewer.analysis.cost.costs import CostRow
from viewer.analysis.cost.source_costs import lines_text, source_place
from viewer.analysis.links.labels import set_labels
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass, field
from viewer.gui.panels.base.cost_painting import whole_text
from viewer.gui.panels.base.slice_facts import MISSING, plain_ns, plain_number, tensor_text
from viewer.gui.panels.base.table import ArrangedModel, ColumnKind, Copied, Heading
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.cells import Dots
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.tables import LEFT, RIGHT, Index
from viewer.gui.session.feeds.feed import CostAnswer
from viewer.model import figures as figure_terms
from viewer.model.figures import FigureBase, FigureTerm
from viewer.model.text import name_text, visible_line
from viewer.model.times import MINUS, group_digits, is_fraction_of_ns, percent_digits
from viewer.program.program import Operator, Program

R = TypeVar("R")

LINE = "Line"  # the title of the column of source lines
SHARED_SELF = "The time of a slice of several operators is in a row of its own, and never divided."
WHOLE_BELOW = "It is at the right end of the line below the table."
KERNEL = FigureTerm(
    "Kernel",
    "Time of the kernels inside the operator's calls. It is a part of the time of the calls.",
)
_CHARACTER, _INSET, _WIDEST = 7, 18, 220  # px, of a title with what figures are per
CALLS = "A kernel inside its call is not counted again."


def term_heading(term: FigureTerm, kind: ColumnKind, width: int, more: str = "") -> Heading:
    """Return the column of a figure. more: what is special about it in this table."""
    return Heading(term.title, kind, width, term.explained(more))


def base_heading(
    base: FigureBase, term: FigureTerm, kind: ColumnKind, width: int, more: str = ""
) -> Heading:
    """Return the column of a figure with its base: "Self, mean of 4"."""
    title, texts = base.titled(term.title), (more, base.explanation)
    wide = width_of_title(title, width)
    return Heading(title, kind, wide, term.explained(" ".join(filter(None, texts))))


def width_of_title(title: str, least: int) -> int:
    """Return the px of a column whose title says what its figures are per."""
    return max(least, min(_CHARACTER * len(title) + _INSET, _WIDEST)) if "," in title else least


def summed_heading(
    base: FigureBase, term: FigureTerm, kind: ColumnKind, width: int, more: str = ""
) -> Heading:
    """Return the column of a figure that is a sum, also next to means: "Self, sum"."""
    texts = more, base.sum_explanation
    title, tip = base.summed(term.title), term.explained(" ".join(filter(None, texts)))
    wide = width_of_title(title, width) if base.is_mean else width
    return Heading(title, kind, wide, tip, f"sum of {term.title}")


def width_of_counts(most: int, least: int) -> int:
    """Return the px of a column whose largest count is `most`."""
    return max(least, _CHARACTER * len(group_digits(most)) + _INSET)


def median_heading(base: FigureBase) -> Heading:
    """Return the column of the median self time per inference: "Median of 4"."""
    tip = figure_terms.PER_INFERENCE.explained("Here of the self time.")
    return Heading(base.median_title, ColumnKind.TIME, 92, tip, "p50_per_inference_ns")


Cell = tuple[str, float | str]  # the text of a cell, and its sort key: of a time its ns
# A column, and its cell of a row.
RowColumns = Sequence[tuple[Heading, Callable[[R], Cell]]]


def headings_of(title: str, columns: RowColumns[Any]) -> tuple[Heading, ...]:
    """Return the names, under a title, and the other columns."""
    return Heading(title, ColumnKind.NAME, 0), *(heading for heading, _ in columns)


def cells_of(
    columns: RowColumns[R], row: R, name_key: float | str
) -> tuple[tuple[str, ...], tuple[float | str, ...]]:
    """Return the texts and the sort keys of a row. name_key: the key of its name."""
    cells = [cell(row) for _, cell in columns]
    return ("", *(text for text, _ in cells)), (name_key, *(key for _, key in cells))


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """What a row of a comparison shows besides its texts.

    verdict: the value of a `Verdict`, "" for a row that is not compared. share: the change as -1 to
    1 of the largest one. dots: the sessions. reach: the change at the edges of the column of dots.
    band: the threshold.
    """

    verdict: str
    share: float
    dots: Dots
    reach: float
    band: float


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: the operators it covers, and the text and sort key of each column.

    The key of a time is its ns, which copies have instead of the text.

    share: length of the bar, 0 to 1 of its column; 1 is usually the most expensive row. tone: color
    token of a row without operators. indent: nesting level of the name. group: index of the row's
    group in the table, -1 if rows are not groups. mark: position of a line across the bar, 0 to 1
    on the bar's scale, -1 for none. full: the known part of the bar, 0 to 1; the rest is hatched.
    detail: a sentence for the tooltip. compared: the change between two arms, None without one.
    """

    operators: tuple[int, ...]
    module: str
    op: str
    hint: str
    texts: tuple[str, ...]
    keys: tuple[float | str, ...]
    share: float = 0.0
    tone: str = "slab"
    indent: int = 0
    group: int = -1
    mark: float = -1.0
    full: float = 1.0
    detail: str = ""
    compared: ComparedCell | None = None

    @property
    def name(self) -> str:
        """Module, operator and hint, as text to copy and to search."""
        text = f"{self.module} · {self.op}" if self.module else self.op
        return f"{text} ({self.hint})" if self.hint else text


@dataclass(frozen=True, slots=True)
class OperatorContents:
    """The contents of a table. `place` returns the recorded path and line of an operator.

    is_nested: whether rows with an indent stay below the row that they are a part of. total: the
    texts of what some rows are in all, "" where they do not add up; None if none do.
    """

    headings: tuple[Heading, ...] = ()
    rows: tuple[TableRow, ...] = ()
    place: Callable[[int], tuple[str, int] | None] = field(default=lambda i: None)
    is_nested: bool = False
    total: Callable[[Sequence[TableRow]], tuple[str, ...]] | None = None

    def texts(self, column: int) -> Iterator[str]:
        """The texts of a column, without those of rows that span all columns."""
        return (row.texts[column] for row in self.rows if column < len(row.texts))


@dataclass(frozen=True, slots=True)
class SetFacts:
    """The cells of a set of operators that do not depend on its cost, with their sort keys."""

    module: str
    op: str
    hint: str
    line: str
    keys: tuple[str, int]


def set_facts(table: LinkTable) -> dict[tuple[int, ...], SetFacts]:
    """Return the facts of every operator set of a linked trace; 50 ms for 5,000 sets."""
    facts = {}
    operators = () if table.program is None else table.program.operators
    for operator_set, (label, same_label_hint) in zip(table.sets, set_labels(table), strict=True):
        members = [operators[i] for i in operator_set]
        module, op = name_parts(label)
        shared = f"shared by {len(operator_set)}" if len(operator_set) > 1 else ""
        hint = " · ".join(filter(None, (shared, same_label_hint)))
        keys = f"{module} {op}", first_line(members)
        facts[operator_set] = SetFacts(module, op, hint, line_of(members), keys)
    return facts


def costs_contents(answer: CostAnswer, facts: dict[tuple[int, ...], SetFacts]) -> OperatorContents:
    """List the operator sets that have a cost, most expensive first. facts: of the same trace."""
    shown, table = answer.open_trace, answer.table
    program = shown.table.program
    if program is None:
        return OperatorContents()
    base = answer.base
    most = max((r.ticks for r in table.rows), default=0)
    calls = max((r.slices for r in table.rows), default=0)
    kernels = any(cost.kernel for cost in table.rows)
    share_term = figure_terms.share(whole_text(shown.trace, figure_terms.BUSY_TIME), of=base)
    whole = table.whole  # a property that sums all rows: read it once

    def time(cost: CostRow) -> Cell:
        return base.text(cost.ticks, cost.zeros), base.ns(cost.ticks)

    def share(cost: CostRow) -> Cell:
        share = cost.wall / whole if whole else 0.0
        is_cut = cost.zeros > 0 and not cost.ticks
        return MISSING if is_cut else percent_digits(share), share

    def kernel(cost: CostRow) -> Cell:
        return base.text(cost.kernel) if cost.kernel else MISSING, base.ns(cost.kernel)

    def median(cost: CostRow) -> Cell:
        ticks = answer.medians.get(cost.operators, 0)
        return base.median_text(ticks) if ticks or cost.ticks else MISSING, base.ns_of_one(ticks)

    def total(cost: CostRow) -> Cell:
        return base.sum_text(cost.ticks, cost.zeros), base.ns_of_one(cost.ticks)

    columns: RowColumns[CostRow] = (
        (base_heading(base, figure_terms.SELF, ColumnKind.TIME, 92, SHARED_SELF), time),
        (term_heading(share_term, ColumnKind.SHARE, 132, WHOLE_BELOW), share),
        *([(median_heading(base), median)] if answer.medians else ()),
        *([(base_heading(base, KERNEL, ColumnKind.TIME, 88), kernel)] if kernels else ()),
        (summed_heading(base, figure_terms.COUNT, ColumnKind.NUMBER, width_of_counts(calls, 60),
                        CALLS),
            lambda cost: (group_digits(cost.slices), cost.slices)),
        (Heading(LINE, ColumnKind.NUMBER, 76),
            lambda cost: (facts[cost.operators].line, facts[cost.operators].keys[1])),
        *([(summed_heading(base, figure_terms.SELF, ColumnKind.TIME, 92), total)]
            if base.is_mean else ()),
    )  # fmt: skip
    rows = []
    for cost in table.rows:
        fact = facts[cost.operators]
        part = cost.ticks / most if most else 0.0
        cells = cells_of(columns, cost, fact.keys[0])
        rows.append(TableRow(cost.operators, fact.module, fact.op, fact.hint, *cells, part))
    headings = headings_of("Operator", columns)
    return OperatorContents(headings, tuple(rows), lambda i: source_place(program, i))


def record_contents(program: Program) -> OperatorContents:
    """List all operators of a program that has no linked trace, without costs."""
    method = Heading("Method", ColumnKind.TEXT, 110), lambda o: (o.method, o.method)
    handle = Heading("Handle", ColumnKind.NUMBER, 64), lambda o: _number(o.debug_handle)
    columns: RowColumns[Operator] = (
        *([method] if len(program.methods) > 1 else ()),
        *([handle] if not program.text_lines else ()),
        (Heading("Nodes", ColumnKind.NUMBER, 58),  # unknown for a bare handle
            lambda o: _number(len(o.nodes) if o.ops else 0, MISSING)),
        (Heading(LINE, ColumnKind.NUMBER, 60),
            lambda o: _number(o.source.line if o.source else 0, MISSING)),
        (Heading("Output", ColumnKind.CODE, 190), _output),
    )  # fmt: skip
    rows = []
    for operator in program.operators:
        module, op = name_parts(operator.label)
        cells = cells_of(columns, operator, operator.label)
        rows.append(TableRow((operator.index,), module, op, "", *cells))
    headings = headings_of("Operator", columns)
    return OperatorContents(headings, tuple(rows), lambda i: source_place(program, i))


def _number(number: int, zero: str = "0") -> Cell:
    return str(number or zero), number


def _output(operator: Operator) -> Cell:
    from viewer.analysis.workload.operator_tensors import outputs_of

    outputs = outputs_of(operator)
    text = tensor_text(outputs[0]) if outputs else MISSING
    return text, text


def name_parts(label: str) -> tuple[str, str]:
    """Split "features.4 · convolution" into module and operator; the module may be ""."""
    module, dot, op = label.partition(" · ")
    return (module, op) if dot else ("", module)


def line_of(members: Sequence[Operator]) -> str:
    """Return the source lines of some operators, "52–53"."""
    sources = [m.source for m in members if m.source]
    return lines_text(s.line for s in sources) if sources else MISSING


def first_line(members: Sequence[Operator]) -> int:
    """Return the first source line of some operators, 0 for none, as a sort key."""
    return min((m.source.line for m in members if m.source), default=0)


ROW_ROLE = Qt.ItemDataRole.UserRole + 1
RELATED_ROLE = Qt.ItemDataRole.UserRole + 3


class OperatorModel(ArrangedModel[OperatorContents]):
    """The rows of `OperatorContents`, sorted and filtered; `rows` are those that are shown."""

    contents: OperatorContents

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__((), parent)
        self.contents = OperatorContents()
        self.rows: list[TableRow] = []
        self.has_swatches = False  # whether any row has operators
        self._wanted: frozenset[int] = frozenset()
        self.hidden: frozenset[str] = frozenset()  # the columns that are not chosen, by `name_of`

    @staticmethod
    def name_of(heading: Heading) -> str:
        """Return what a column is called whatever its figures are per."""
        return heading.key or heading.title

    def choose_columns(self, hidden: Iterable[str]) -> None:
        """Hide some columns, by `name_of`, and show all others."""
        self.hidden = frozenset(hidden)
        self.describe(self.contents)
        last = len(self.columns) - 1
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, last)

    def show(self, contents: OperatorContents | None, *, stays: bool = False) -> None:
        """Replace all rows; keep the filter, and the order if the number of columns is equal."""
        if contents is None:
            contents = OperatorContents(self.contents.headings)
        if len(contents.headings) != len(self.contents.headings):
            self._sort = None
        super().show(contents, stays=stays)

    def describe(self, contents: OperatorContents) -> None:
        self.columns = contents.headings
        super().describe(contents)
        self.unused |= {
            i for i, heading in enumerate(contents.headings) if self.name_of(heading) in self.hidden
        }
        self._fractions = frozenset(
            column
            for column, heading in enumerate(contents.headings)
            if heading.is_time and any(map(is_fraction_of_ns, contents.texts(column)))
        )
        self.has_swatches = any(row.operators for row in contents.rows)

    def set_selected(self, operators: Iterable[int]) -> None:
        """Tint the rows that share one of these operators."""
        selected = frozenset(operators)
        if selected != self._wanted:
            self._wanted = selected
            self.repaint(RELATED_ROLE)

    def row_of(self, operators: tuple[int, ...]) -> int:
        """Return the row that covers exactly these operators, -1 if it is not shown."""
        members = set(operators)
        return next((i for i, r in enumerate(self.rows) if set(r.operators) == members), -1)

    # -- rows ------------------------------------------------------------------------------------

    def listed(self, contents: OperatorContents) -> Ints:
        return np.arange(len(contents.rows))

    def holds(self, contents: OperatorContents, word: str) -> Bools:
        """Return the rows whose name or line contains a word."""
        titles = [heading.title for heading in contents.headings]
        line = titles.index(LINE) if LINE in titles else 0  # the text of the name column is empty
        found = (word in row.name.lower() or word in row.texts[line] for row in contents.rows)
        hits = np.fromiter(found, np.bool_, len(contents.rows))
        if not contents.is_nested:
            return hits
        # A row keeps its parts, and a part the row that it is below.
        above = _above(contents)
        hits |= hits[above]
        hits[above[hits]] = True
        return hits

    def sorted_items(
        self, contents: OperatorContents, items: Ints, column: int, *, descending: bool
    ) -> Ints:
        """Sort by the keys of rows. A missing number is neither small nor great: it comes last."""
        rows = contents.rows
        by = sorted(items.tolist(), key=lambda i: rows[i].keys[column], reverse=descending)
        by.sort(key=lambda i: rows[i].texts[column] == MISSING)
        if contents.is_nested:
            above = _above(contents).tolist()
            place = {i: number for number, i in enumerate(by)}
            by.sort(key=lambda i: (place.get(above[i], -1), i != above[i]))
        return np.array(by, np.int64)

    def _arrange(self) -> None:
        super()._arrange()
        self.rows = [self.contents.rows[i] for i in self.items.tolist()]

    def copied(self, contents: OperatorContents, items: Ints) -> Copied:
        """Return the names and cells of rows: times in ns, no digit grouping."""
        chosen = [i for i in range(len(contents.headings)) if i not in self.unused]
        headings = [contents.headings[i] for i in chosen]
        titles = [f"{h.title}, ns" if h.is_time else h.title for h in headings]
        return titles, (self._copied_row(contents.rows[i], chosen) for i in items.tolist())

    def _copied_row(self, row: TableRow, chosen: Sequence[int]) -> list[str]:
        cells = [_plain(*c) for c in zip(self.contents.headings, row.texts, row.keys, strict=False)]
        return [row.name, *(cells[i] for i in chosen[1:] if i < len(cells))]

    # -- cells -----------------------------------------------------------------------------------

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_line(row.texts[column]) if column else name_text(row.name)
        if role == ROW_ROLE:
            return row
        if role == RELATED_ROLE:
            return not self._wanted.isdisjoint(row.operators)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if self.columns[column].kind.is_number else LEFT
        if role == Qt.ItemDataRole.ToolTipRole and column == 0:
            return tip("\n".join(filter(None, (row.name, row.detail))))
        return None


def _above(contents: OperatorContents) -> Ints:
    """Return per row the row without an indent that it is below, which may be itself."""
    is_first = np.array([not row.indent for row in contents.rows], np.bool_)
    return np.maximum.accumulate(np.where(is_first, np.arange(len(is_first)), 0))


def _plain(heading: Heading, text: str, key: float | str) -> str:
    """Return a cell for a copy: times in ns, and small shares with their first digits."""
    if heading.is_time and text.lstrip(f"+{MINUS}")[:1].isdecimal():
        return plain_ns(key)
    if heading.kind is ColumnKind.SHARE and text.startswith("<"):
        return f"{100 * float(key):.1g}"
    return plain_number(text)
