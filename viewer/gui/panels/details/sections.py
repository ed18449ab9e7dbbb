"""What a details card consists of: its frame, and the sections on runs, code, flows and work.

A link of a flow goes to the slice on the other end, if a slice is selected and has one; otherwise
it selects the operator. Model inputs and parameters are listed below the producers.

Work is computed from shapes, not measured; rates are that work divided by a measured time. If a
figure is unavailable, its row explains why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from viewer.analysis.cost.achieved_rates import TimedNodes, timed_by, timed_in
from viewer.analysis.cost.costs import CostTable
from viewer.analysis.flows.slice_flows import FlowEnd
from viewer.analysis.links.labels import set_label
from viewer.analysis.workload.operator_tensors import used_elsewhere
from viewer.analysis.workload.operator_work import OperatorFigures, figures_of, figures_of_nodes
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.cost_painting import Swatch, colors_of
from viewer.gui.panels.base.panel import PanelHost
from viewer.gui.panels.base.slice_facts import MISSING, Figure, run_of, scope_text
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.controls import laid_out
from viewer.gui.qt.widgets.labels import (
    LONG_WORD,
    ClampedText,
    Hairline,
    KeyFigure,
    KeyValueGrid,
    anchor,
    elided_text,
    explain,
    label,
    span,
)
from viewer.gui.session.feeds.selection import FlowAnswer
from viewer.model.figures import TimeScope, counted_in
from viewer.model.quantiles import percentiles
from viewer.model.queries import starts_in_run
from viewer.model.text import amount_in_unit
from viewer.model.times import NARROW_SPACE, RateOrigin, format_time, group_digits, tick_to_ns
from viewer.model.trace import Run
from viewer.model.warm_up import counted_inferences, included_text
from viewer.program.dataflow import NO_GRAPH, NO_GRAPH_IN_MAP, NO_GRAPH_IN_PROFILE, ExternalInput
from viewer.program.program import Operator, Setting, base_name
from viewer.view.open_trace import OpenTrace, ramp_of, slice_colors
from viewer.view.selection import place_among
from viewer.view.state import SliceRef

# A row with a longer number, such as a start of 12 digits, needs smaller ones.
_LONG_NUMBER = 9


class CardFrame(QWidget):
    """A column of parts, from top to bottom; links to operators and slices select them."""

    def __init__(self, host: PanelHost) -> None:
        super().__init__()
        self._host = host
        self._session, self._theme = host.session, host.theme
        self._grids: dict[str, KeyValueGrid] = {}
        self._column = QVBoxLayout(self)
        theme = host.theme
        inset = theme.px(16)
        self._column.setContentsMargins(inset, theme.px(14), inset, inset)
        self._column.setSpacing(theme.px(8))

    def rows(self, section: str) -> dict[str, str]:
        """Return keys and values of a section, as text or HTML; {} if there is no such section."""
        return dict(self._grids[section].rows) if section in self._grids else {}

    def colors(self, open_trace: OpenTrace, operators: Sequence[int]) -> tuple[int, ...]:
        """Return the palette index of each operator in the current color scheme."""
        return colors_of(operators, open_trace.operator_colors(self._session.state.scheme))

    def _title(
        self,
        open_trace: OpenTrace,
        members: Sequence[Operator],
        fallback: str = "",
        slice_: SliceRef | None = None,
    ) -> None:
        """Add swatch, name (or `fallback`) and module, and which of the selected slices it is."""
        theme = self._theme
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        swatch_column = QVBoxLayout()
        swatch_column.setContentsMargins(0, theme.px(3), 0, 0)
        session, operators = self._session, [m.index for m in members]
        colors = self.colors(open_trace, operators)
        note = ""
        if slice_ is not None:
            scheme = session.state.scheme
            ramp = ramp_of(session.traces, scheme)
            colors = slice_colors(open_trace, slice_.index, operators, scheme, ramp)
            note = place_among(session.traces, slice_, session.state.slices)
        self.swatch = Swatch(colors, theme)
        swatch_column.addWidget(self.swatch)
        swatch_column.addStretch(1)
        row.addLayout(swatch_column)
        name, subtitle = fallback, ""
        if len(members) == 1:
            name = members[0].name
            texts = members[0].module_path, members[0].module_type
            tones = theme.tokens.text1, theme.tokens.text2
            pairs = zip(texts, tones, strict=True)
            subtitle = " ".join(span(text, tone) for text, tone in pairs if text)
        elif members:
            name = set_label(open_trace.table, operators)
            subtitle = span(f"shared by {len(members)} operators", theme.tokens.text2)
        column = QVBoxLayout()
        column.setSpacing(theme.px(2))
        # A label does not break a long word, and would be cut.
        is_long = max(map(len, name.split()), default=0) > LONG_WORD
        title = ClampedText if is_long else partial(label, wrap=True)
        row.addWidget(title(name, theme, "operator"), 1)
        column.addLayout(row)
        for text in filter(None, (subtitle, note and span(note, theme.tokens.text2))):
            line = label(text, theme, "cell", html=True)
            line.setContentsMargins(theme.px(20), 0, 0, 0)
            column.addWidget(line)
        self._column.addLayout(column)

    def _time_figures(self, figures: Sequence[Figure]) -> None:
        """Add the duration in large digits, the other figures next to it, and the start below."""
        row = laid_out(QHBoxLayout(), gap=self._theme.px(24), margins=(0, self._theme.px(4), 0, 0))
        below = QVBoxLayout()
        for number, each in enumerate(figures):
            role: FontRole = "figure" if number else "duration"
            if each.caption == "start":
                role = "caption"
            key_figure = KeyFigure(
                each.number, each.unit, each.caption, self._theme, role, each.copied
            )
            if role == "caption":
                below.addWidget(key_figure)
            else:
                row.addWidget(key_figure, 0, Qt.AlignmentFlag.AlignBottom)
        row.addStretch(1)
        self._column.addLayout(row)
        self._column.addLayout(below)

    def _align_keys(self) -> None:
        """Give all sections key columns of one width, so that their values are in one line."""
        width = max((grid.key_width for grid in self._grids.values()), default=0)
        for grid in self._grids.values():
            grid.set_key_width(width)

    def _figures(self, figures: Sequence[Figure], role: FontRole, columns: int = 0) -> None:
        """Add a row of figures. columns: how many columns to align with, as in the row above."""
        if any(len(each.number) > _LONG_NUMBER for each in figures):
            role = "cost"
        row = QHBoxLayout()
        row.setSpacing(self._theme.px(12))  # with less, two captions read as one
        row.setContentsMargins(0, self._theme.px(4), 0, self._theme.px(2))
        for each in figures:
            texts = each.number, each.unit, each.caption
            row.addWidget(KeyFigure(*texts, self._theme, role, each.copied), 1)
        for _ in range(columns - len(figures)):
            row.addStretch(1)
        self._column.addLayout(row)

    def _section(self, title: str, hint: str = "") -> KeyValueGrid:
        """Start a section with its own grid."""
        self._head(title, hint)
        grid = KeyValueGrid(self._theme)
        grid.linked.connect(self._follow)
        self._grids[title] = grid
        self._column.addWidget(grid)
        return grid

    def linked(self, html: str) -> QLabel:
        """Return a label whose links select, or show a source line."""
        text = label(html, self._theme, wrap=True, html=True)
        text.linkActivated.connect(self._follow)
        return text

    def _head(self, title: str, hint: str = "", html: str = "") -> None:
        theme = self._theme
        self._column.addSpacing(theme.px(6))
        self._column.addWidget(Hairline(theme))
        self._column.addSpacing(theme.px(4))
        text = span(title, theme.tokens.text1, bold=True)
        if html or hint:
            text += f"&nbsp;&nbsp;{html or span(hint, theme.tokens.text3)}"
        self._column.addWidget(label(text, theme, "section", html=True))

    @Slot(str)
    def _follow(self, href: str) -> None:
        kind, _, rest = href.partition(":")
        number, _, what = rest.partition(":")
        if kind == "operator":
            self._session.select_operators(int(number), (int(what),))
        elif kind == "slice":
            ref = SliceRef(int(number), int(what))
            self._session.select_slice(ref, reveal=True, keep_area=True)
        elif kind == "source":
            self._host.show_source(what, int(number))


def costs_of_runs(
    open_trace: OpenTrace, tables: Sequence[CostTable], wanted: tuple[int, ...]
) -> tuple[list[Run], list[int]]:
    """Return the inferences that ran the method of some operators, and their ticks in each."""
    program = open_trace.table.program
    methods = {program.operators[i].method for i in wanted} if program is not None else set()
    runs, costs = [], []
    for run, table in zip(open_trace.trace.finished_inferences(), tables, strict=True):
        if open_trace.table.method_of_scope(run.scope) in (None, *methods):
            runs.append(run)
            costs.append(next((row.ticks for row in table.rows if row.operators == wanted), 0))
    return runs, costs


def spread_text(runs: Sequence[Run], costs: Sequence[int], *, warm_up: bool = False) -> str:
    """Return the percentiles of costs, and which inferences they cover.

    costs: ns for each of the runs, which executed the method. warm_up: whether those that warm up
    count.
    """
    included = [cost for run, cost in zip(runs, costs, strict=True) if warm_up or not run.warms_up]
    p10, p50, p90 = map(format_time, percentiles(np.array(included), (10, 50, 90)))
    of = included_text(len(included), len(runs) - len(included), runs[0].unit)
    return f"p10 {p10} · p50 {p50} · p90 {p90} of {of}"


class CodeSnippet(QWidget):
    """A few lines of code with one line highlighted; lines that are too long end in "…"."""

    _LINE = 19
    _INSET = 4

    def __init__(self, lines: Sequence[tuple[int, str]], marked: int, theme: Theme) -> None:
        super().__init__()
        indent = min((len(t) - len(t.lstrip()) for _, t in lines if t.strip()), default=0)
        self._lines = [(number, text[indent:].expandtabs(4)) for number, text in lines]
        self._marked = marked
        self._theme = theme
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("\n".join(f"{n} {t}" for n, t in self._lines))
        explain(self, next((t for n, t in self._lines if n == marked), ""))

    @guard(QSize())
    def sizeHint(self) -> QSize:
        line = self._theme.px(self._LINE)
        return QSize(self._theme.px(200), line * len(self._lines) + 2 * self._INSET + 2)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, line = self._theme, self._theme.px(self._LINE)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme.color("line"))
        painter.setBrush(theme.color("canvas"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
        font = theme.font("code")
        painter.setFont(font)
        metrics = QFontMetrics(font)
        digits = metrics.horizontalAdvance(str(self._lines[-1][0])) + theme.px(12)
        for i, (number, text) in enumerate(self._lines):
            y = 1 + self._INSET + i * line
            if number == self._marked:
                painter.fillRect(QRectF(1, y, self.width() - 2, line), theme.color("selection"))
            painter.setPen(theme.color("text2" if number == self._marked else "text3"))
            painter.drawText(
                QRectF(0, y, digits, line),
                int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter),
                str(number),
            )
            painter.setPen(theme.color("text1" if number == self._marked else "text2"))
            left = digits + theme.px(8)
            room = self.width() - left - theme.px(8)
            elided = elided_text(metrics, text, Qt.TextElideMode.ElideRight, room)
            painter.drawText(
                QRectF(left, y, room, line), int(Qt.AlignmentFlag.AlignVCenter), elided
            )
        painter.end()


_MOST_SHOWN = 12
_MOST_GIVEN = 6
_LONGEST_NAME = 120
_WITHOUT_GRAPH = (NO_GRAPH, NO_GRAPH_IN_MAP, NO_GRAPH_IN_PROFILE)


class FlowSection(QWidget):
    """One direction: producers or consumers, with links of its card."""

    def __init__(
        self,
        card: CardFrame,
        answer: FlowAnswer,
        trace: int,
        costs: CostTable | None,
        *,
        forward: bool,
    ) -> None:
        super().__init__()
        open_trace, around = answer.open_trace, answer.around
        program = open_trace.table.program
        self._card, self._open_trace, self._theme = card, open_trace, card._theme
        self._column = laid_out(QVBoxLayout(self), gap=card._theme.px(4), margins=(0, 0, 0, 0))
        self.texts: list[str] = []
        ends = _by_operator(answer.flows.ends(forward=forward))
        cost_of = _costs(costs)
        rate = open_trace.axis.ns_per_tick
        others: Sequence[int] = ()
        if around is not None:
            others = around.outputs if forward else around.inputs
        # Jobs and flows stated by the file connect slices, not operators.
        slice_ends = [
            end.slice for end in answer.flows.ends(forward=forward) if end.is_job or end.is_stated
        ]
        self.count = len(others) + len(slice_ends)
        for i in slice_ends[:_MOST_SHOWN]:
            self._link(None, open_trace.label(i), f"slice:{trace}:{i}", open_trace.length_text(i))
        if len(slice_ends) > _MOST_SHOWN:
            self._line(f"and {group_digits(len(slice_ends) - _MOST_SHOWN)} more")
        # Operators of the slice's own flows come first, in the order of the keyboard commands.
        rank = {operator: index for index, operator in enumerate(ends)}
        for operator in sorted(others, key=lambda o: (rank.get(o, len(rank)), o))[:_MOST_SHOWN]:
            assert program is not None
            end, name = ends.get(operator), program.operators[operator].label
            target = f"operator:{trace}:{operator}"
            if end is not None:
                target = f"slice:{trace}:{end.slice}"
            self_ticks, shared, slices = cost_of.get(operator, (0, 0, 0))
            parts = []
            if self_ticks:
                parts.append(format_time(tick_to_ns(self_ticks, rate)))
            if shared:
                parts.append(f"{format_time(tick_to_ns(shared, rate))} shared")
            if costs is not None and not parts:
                parts.append("0" if slices else "no slice")
            if operator in (answer.flows.only_earlier if forward else answer.flows.only_later):
                parts.append("only earlier" if forward else "only later")
            if end is not None and end.overlaps:
                parts.append("at the same time")
            if end is not None and operator in end.through:
                beyond = " + ".join(program.operators[o].name for o in end.operators[:2])
                parts.append(f"{'on to' if forward else 'from'} {beyond}")
            self._link(operator, name, target, " · ".join(parts))
        if len(others) > _MOST_SHOWN:
            self._line(f"and {group_digits(len(others) - _MOST_SHOWN)} more")
        if around is not None and not forward:
            self._given(around.given, is_text=program is not None and bool(program.text_lines))
            if around.reason:
                self._line(f"{around.reason}.")
        if not self.texts and around is None and len(open_trace.trace.flows):
            self._line("No flows in the file.")
        elif not self.texts and around is None:
            self._line(f"{answer.flows.reason}.")
        elif not self.texts and around and around.reason in _WITHOUT_GRAPH:
            # Without a graph the consumers are unknown too.
            self._line(f"{around.reason}.")
        elif not self.texts:
            self._line("No other operator uses its result." if forward else "No inputs.")

    def _link(self, operator: int | None, name: str, target: str, cost: str) -> None:
        theme, name = self._theme, name[:_LONGEST_NAME]
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        operators = [] if operator is None else [operator]
        swatch = Swatch(self._card.colors(self._open_trace, operators), theme)
        row.addWidget(swatch, 0, Qt.AlignmentFlag.AlignTop)
        text = anchor(target, _breakable(name), theme)
        if cost:
            text += span(f" · {cost}", theme.tokens.text2)
        row.addWidget(self._card.linked(text), 1)
        self._column.addLayout(row)
        self.texts.append(f"{name} · {cost}" if cost else name)

    def _given(self, external_inputs: Sequence[ExternalInput], *, is_text: bool) -> None:
        inputs = "Arguments" if is_text else "Model inputs"
        for is_kept, title in ((False, inputs), (True, "Parameters")):
            names = [g.name[:_LONGEST_NAME] for g in external_inputs if g.is_kept is is_kept]
            if names:
                more = len(names) - _MOST_GIVEN
                text = ", ".join(names[:_MOST_GIVEN]) + (f" and {more} more" if more > 0 else "")
                self._line(text, title)

    def _line(self, text: str, title: str = "") -> None:
        html = span(_breakable(text), self._theme.tokens.text2)
        if title:
            html = f"{span(title, self._theme.tokens.text3)} {html}"
        self._column.addWidget(label(html, self._theme, wrap=True, html=True))
        self.texts.append(f"{title} {text}".strip())


def _breakable(text: str) -> str:
    """Allow line breaks in a path, which has no spaces to wrap at."""
    return text.replace(".", ".\u200b").replace("_", "_\u200b")


def _by_operator(ends: Sequence[FlowEnd]) -> Mapping[int, FlowEnd]:
    """Map each operator to its flow end, reached directly or by passing through."""
    ends_of: dict[int, FlowEnd] = {}
    for end in ends:
        for operator in (*end.operators, *end.through):
            ends_of.setdefault(operator, end)
    return ends_of


def _costs(table: CostTable | None) -> Mapping[int, tuple[int, int, int]]:
    """Map each operator to its self ticks, its shared ticks, and its number of slices."""
    costs: dict[int, tuple[int, int, int]] = {}
    for row in table.rows if table is not None else ():
        for operator in row.operators:
            self_ticks, shared, slices = costs.get(operator, (0, 0, 0))
            if row.is_shared:
                shared += row.ticks
            else:
                self_ticks += row.ticks
            costs[operator] = self_ticks, shared, slices + row.slices
    return costs


_MOST_PARTS = 6
_MOST_REASONS = 3
_MOST_NUMBERS = 8


@dataclass(frozen=True, slots=True)
class WorkFigures:
    """The section's figures, the rates in its second line, and its rows, all as plain text."""

    figures: tuple[Figure, ...]
    rates: tuple[Figure, ...]
    rows: tuple[tuple[str, str], ...]


def work_of(
    open_trace: OpenTrace, operator: Operator, scope: TimeScope, slice_: int | None = None
) -> WorkFigures:
    """Return an operator's work, with rates for one of its slices, one inference, or all of them.

    operator: including its tensors; those of an MLIR text are read by `with_tensors`.
    """
    program = open_trace.table.program
    assert program is not None
    operator_figures = figures_of(program, operator)
    timed = _timed(open_trace, operator, scope, slice_)
    where = "this slice" if slice_ is not None else scope_text(open_trace, scope)
    rates, basis = _rates(open_trace, operator, operator_figures, timed, where)
    rows = [*_rows(operator_figures)]
    if basis:
        rows.append(("Rates", basis))
    return WorkFigures(_figures(operator_figures), rates, tuple(rows))


def settings_text(settings: Sequence[tuple[str, Setting]]) -> str:
    """Return an operator's settings: "stride 2 × 2 · groups 1 · transposed no"."""
    return " · ".join(f"{name} {_setting(value)}" for name, value in settings)


def _setting(value: Setting) -> str:
    if isinstance(value, tuple):
        more = f" × {len(value) - _MOST_NUMBERS} more" if len(value) > _MOST_NUMBERS else ""
        return (" × ".join(map(_setting, value[:_MOST_NUMBERS])) or "none") + more
    if isinstance(value, bool):
        return "yes" if value else "no"
    return group_digits(value) if isinstance(value, int) else f"{value:g}"


def _unit(operator_figures: OperatorFigures) -> str:
    return "FLOP" if operator_figures.floating else "OP"


def _figures(operator_figures: OperatorFigures) -> tuple[Figure, ...]:
    caption = "operations"
    if operator_figures.operations is None:
        first = Figure(MISSING, "", caption)
    else:
        number, unit = amount_in_unit(operator_figures.operations, _unit(operator_figures))
        least = f"≥{NARROW_SPACE}" if operator_figures.at_least else ""
        first = Figure(least + number, unit, caption)
    second = Figure(MISSING, "", "moved")
    if operator_figures.moved is not None:
        second = Figure(*amount_in_unit(operator_figures.moved.total, "B"), "moved")
    third = Figure(MISSING, "", "per byte")
    if operator_figures.intensity is not None:
        third = Figure(
            f"{operator_figures.intensity:.3g}", f"{_unit(operator_figures)}/B", "per byte"
        )
    return first, second, third


def _rows(operator_figures: OperatorFigures) -> list[tuple[str, str]]:
    rows = []
    if operator_figures.parts:
        rows.append(("Counted", _parts(operator_figures)))
    elif operator_figures.operations == 0:
        rows.append(("Counted", "no arithmetic"))
    if operator_figures.missing:
        more = len(operator_figures.missing) - _MOST_REASONS
        lines = [
            *operator_figures.missing[:_MOST_REASONS],
            *([f"and {more} more"] if more > 0 else []),
        ]
        rows.append(("Not counted" if operator_figures.at_least else "Unknown", "\n".join(lines)))
    moved = operator_figures.moved
    if moved is None:
        if operator_figures.moved_missing not in operator_figures.missing:
            rows.append(("Bytes", f"unknown: {operator_figures.moved_missing}"))
        return rows
    named = ((moved.inputs, "in"), (moved.parameters, "parameters"), (moved.outputs, "out"))
    text = " · ".join(f"{group_digits(size)} {name}" for size, name in named if size) or "0"
    rows.append(("Bytes", f"{text}\n{operator_figures.note}" if operator_figures.note else text))
    return rows


def _parts(operator_figures: OperatorFigures) -> str:
    """Return "bmm, 2 nodes: 8 192 = 2 × 256 outputs × 8, each" per line, the largest part first."""
    if len(operator_figures.parts) == 1 and operator_figures.parts[0].nodes == 1:
        part = operator_figures.parts[0]
        return f"{group_digits(part.operations)} = {part.rule}"
    lines = []
    for part in operator_figures.parts[:_MOST_PARTS]:
        times = f"{part.nodes} × " if part.nodes > 1 else ""
        rule = f" = {times}({part.rule})" if times and part.rule else f" = {part.rule}"
        lines.append(
            f"{part.op}{'' if part.rule else f', {part.nodes} nodes'}: "
            f"{group_digits(part.operations)}{rule if part.rule else ''}"
        )
    more = len(operator_figures.parts) - _MOST_PARTS
    if more > 0:
        rest = sum(part.operations for part in operator_figures.parts[_MOST_PARTS:])
        lines.append(f"{more} others: {group_digits(rest)}")
    return "\n".join(lines)


# -- rates ----------------------------------------------------------------------------------------


def _timed(
    open_trace: OpenTrace, operator: Operator, scope: TimeScope, slice_: int | None
) -> TimedNodes:
    table, trace = open_trace.table, open_trace.trace
    slices = open_trace.slices_of((operator.index,))
    if slice_ is not None:
        around = run_of(open_trace, slice_)
        return timed_by(
            table,
            operator,
            slice_,
            slices if around is None else starts_in_run(trace, around, slices),
        )
    if scope.ticks is not None:  # a range may cut slices, or calls that belong together
        return TimedNodes(
            reason="Rates are available for a slice or whole inferences, not for a selected range"
        )
    if scope.run is not None:
        return timed_in(table, operator, starts_in_run(trace, scope.run, slices), 1)
    # An ETDump may contain inferences of other methods too.
    scopes = set(np.unique(trace.keys.scope[trace.slices.key[slices]]).tolist())
    counted = counted_inferences(trace, warm_up=scope.warm_up)
    runs = sum(each.scope in scopes for each in counted)
    return timed_in(table, operator, counted_in(trace, scope, slices), max(runs, 1))


def _rates(
    open_trace: OpenTrace, operator: Operator, whole: OperatorFigures, timed: TimedNodes, where: str
) -> tuple[tuple[Figure, ...], str]:
    """Return operations and bytes per second and their basis, or () and why there are none."""
    if whole.operations is None and whole.moved is None:
        return (), ""
    if timed.reason:
        return (), f"unknown: {timed.reason[0].lower()}{timed.reason[1:]}"
    operator_figures, only = whole, ""
    if len(timed.nodes) != len(operator.nodes):
        assert open_trace.table.program is not None
        inner = {t.name for node in operator.nodes for t in node.inputs}
        operator_figures = figures_of_nodes(
            timed.nodes, used_elsewhere(open_trace.table.program, operator) | inner
        )
        only = f", {base_name(timed.nodes[0].op)} only"
    rates: list[Figure] = []
    least = f"≥{NARROW_SPACE}" if operator_figures.at_least else ""
    if operator_figures.operations:
        number, unit = amount_in_unit(
            _per_second(operator_figures.operations, timed, open_trace.axis.ns_per_tick),
            f"{_unit(operator_figures)}/s",
        )
        rates.append(Figure(least + number, unit, where))
    if operator_figures.moved is not None and operator_figures.moved.total:
        number, unit = amount_in_unit(
            _per_second(operator_figures.moved.total, timed, open_trace.axis.ns_per_tick), "B/s"
        )
        rates.append(Figure(number, unit, where))
    if not rates:
        return (), ""
    time = format_time(tick_to_ns(timed.ticks, open_trace.axis.ns_per_tick))
    times = f" for {group_digits(timed.times)} calls" if timed.times > 1 else ""
    clock = (
        "" if open_trace.rate.origin is RateOrigin.STATED else f", clock {open_trace.rate.origin}"
    )
    at_once = " in which any of its slices is active" if timed.units > 1 else ""
    return tuple(rates), f"over {time}{at_once}{times} in {where}{only}{clock}"


def _per_second(amount: int, timed: TimedNodes, ns_per_tick: Fraction) -> float:
    return float(Fraction(amount * timed.times * 10**9) / (timed.ticks * ns_per_tick))
