"""The flow sections of the details card: producers and consumers with their cost in the scope.

A link goes to the slice on the other end, if a slice is selected and has one; otherwise it selects
the operator. Model inputs and parameters are listed below the producers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from viewer.analysis.cost.costs import CostTable
from viewer.analysis.flows.slice_flows import FlowEnd
from viewer.gui.panels.base.swatches import Swatch, colors_of
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import anchor, label, span
from viewer.gui.session.feeds.flows import FlowAnswer
from viewer.model.times import format_time, group_digits, tick_to_ns
from viewer.program.dataflow import NO_GRAPH, NO_GRAPH_IN_MAP, NO_GRAPH_IN_PROFILE, ExternalInput
from viewer.render.palette import Palette

_MOST_SHOWN = 12
_MOST_GIVEN = 6
_LONGEST_NAME = 120
_WITHOUT_GRAPH = (NO_GRAPH, NO_GRAPH_IN_MAP, NO_GRAPH_IN_PROFILE)


class FlowSection(QWidget):
    """One direction: producers or consumers. `follow` is called with a link's target.

    colors: the palette index of every operator.
    """

    def __init__(
        self,
        answer: FlowAnswer,
        trace: int,
        costs: CostTable | None,
        theme: Theme,
        follow: Callable[[str], None],
        colors: Palette,
        *,
        forward: bool,
    ) -> None:
        super().__init__()
        self._colors = colors
        open_trace, around = answer.open_trace, answer.around
        program = open_trace.table.program
        self._theme = theme
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(theme.px(4))
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
            self._link(
                None, open_trace.label(i), f"slice:{trace}:{i}", open_trace.length_text(i), follow
            )
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
            self._link(operator, name, target, " · ".join(parts), follow)
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

    def _link(
        self,
        operator: int | None,
        name: str,
        target: str,
        cost: str,
        follow: Callable[[str], None],
    ) -> None:
        theme, name = self._theme, name[:_LONGEST_NAME]
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        operators = [] if operator is None else [operator]
        swatch = Swatch(colors_of(operators, self._colors), theme)
        row.addWidget(swatch, 0, Qt.AlignmentFlag.AlignTop)
        text = anchor(target, _breakable(name), theme)
        if cost:
            text += span(f" · {cost}", theme.tokens.text2)
        text_label = label(text, theme, wrap=True, html=True)
        text_label.linkActivated.connect(follow)
        row.addWidget(text_label, 1)
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
