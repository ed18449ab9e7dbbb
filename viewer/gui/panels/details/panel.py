"""The Details panel: everything known about the selected slice, operators or area, as one card.

Each selection gets a new card, because cards differ in their sections. Links in the card select, or
request a source line from the window.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from html import escape

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QAccessible, QColor, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from viewer.analysis.cost.costs import CostTable
from viewer.analysis.links.labels import describe_near, title_of_near
from viewer.analysis.links.link_table import Link, LinkState
from viewer.analysis.links.match import MATCH_EXPLANATION, names_compared
from viewer.analysis.links.mlir_locations import TextPositions
from viewer.analysis.workload.mlir_work import with_tensors
from viewer.analysis.workload.operator_tensors import (
    NotKnown,
    bytes_of_all,
    elements_of,
    inputs_of,
    outputs_of,
    parameters_of,
)
from viewer.gui.panels.base.chart import InferenceChart
from viewer.gui.panels.base.cost_painting import Swatch, slice_color
from viewer.gui.panels.base.panel import PanelHost, ScrollPanel
from viewer.gui.panels.base.slice_facts import (
    MISSING,
    AreaFacts,
    Figure,
    area_facts,
    figure,
    makers,
    no_line_text,
    place_texts,
    position,
    scope_text,
    slice_figures,
    slice_rows,
    tensor_text,
    ticks_text,
)
from viewer.gui.panels.details.sections import (
    CardFrame,
    CodeSnippet,
    FlowSection,
    costs_of_runs,
    settings_text,
    spread_text,
    work_of,
)
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.background import Latest
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import EmptyPlace, KeyValueGrid, WrappedText, anchor, label, span
from viewer.gui.session.feeds.feed import CostFeed
from viewer.gui.session.feeds.selection import FlowFeed
from viewer.gui.session.navigation import pick_run
from viewer.gui.session.session import Session
from viewer.model.figures import WHOLE
from viewer.model.text import name_text
from viewer.model.times import (
    NARROW_SPACE,
    RateOrigin,
    counted,
    format_bounded,
    format_share,
    format_time,
    group_digits,
    split_time,
    tick_to_ns,
)
from viewer.model.timing import ROUNDING_TICKS
from viewer.model.trace import Run
from viewer.program.frames import Frame
from viewer.program.mlir.locations import (
    FilePosition,
    OutlinedPlace,
    PlaceRole,
    outline,
    parse_location,
)
from viewer.program.program import GraphNode, Operator, Program, Tensor, lowered_into
from viewer.program.source_files import file_name, refusal
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.state import Area, SliceRef

_MAY_BREAK = "\u200b"
_MOST_MEMBERS = 40
_MOST_TENSORS = 8
_MOST_NAMES = 12
_MOST_PLACES = 40
_STATE_TONES = {
    LinkState.LINKED: "ok",
    LinkState.UNLINKED: "warning",
    LinkState.NOT_LINKABLE: "text3",
}

_MOST_NODES = 16

_INDENT = "&nbsp;" * 4


def location_lines(
    places: Sequence[OutlinedPlace], program: Program | None, theme: Theme
) -> list[str]:
    """Return a line of HTML per place, with links `source:LINE:PATH`. program: of an MLIR text."""
    texts = TextPositions(program) if program is not None and program.text_lines else None
    tokens = theme.tokens
    lines = []
    for place in places:
        line = _INDENT * place.depth
        if place.role is not PlaceRole.PLACE:
            line += span(f"{place.role.value} ", tokens.text2)
        if place.name:
            line += span(f"{place.name} ", tokens.text1)
        position = place.position
        if position is None:
            line += "" if place.name else span("unknown", tokens.text2)
        else:
            target = f"source:{position.line}:{position.file}"
            line += anchor(target, _position_text(position), theme)
            operator = texts.operator_at(position) if texts is not None else None
            if operator is not None:
                line += "&nbsp;&nbsp;" + span(operator.op, tokens.text2)
        lines.append(line)
    return lines


def _position_text(position: FilePosition) -> str:
    """Return "m.mlir:18:11", or for a range "m.mlir:1:2 – 3:4"."""
    text = f"{file_name(position.file)}:{position.line}"
    text += f":{position.col}" if position.col else ""
    if position.end_line is None:
        return text
    return f"{text} – {position.end_line}:{position.end_col}"


def node_rows(
    open_trace: OpenTrace, operator: Operator, table: CostTable, ran: Collection[int] = ()
) -> list[tuple[str, str]]:
    """Return (time, name and place) for the nodes of an operator, in graph order.

    table: the costs of the scope that times are of. ran: the nodes of the selected slice, as
    indexes into `Program.nodes`. A node without a time of its own is "shared" (several nodes have
    one slice) or has "no slice".
    """
    program = open_trace.table.program
    if program is None or len(operator.nodes) < 2:
        return []
    rows = [row for row in table.by_nodes if row.operators == (operator.index,)]
    alone = {row.nodes[0]: row for row in rows if len(row.nodes) == 1}
    together = {node for row in rows if len(row.nodes) > 1 for node in row.nodes}
    if not alone:
        return []
    found = []
    for number in program.node_numbers(operator.index):
        node = program.nodes[number]
        parts = [node.name]
        if number in alone:
            time = format_time(tick_to_ns(alone[number].ticks, open_trace.axis.ns_per_tick))
            parts += [format_share(alone[number].wall, table.whole)] if table.whole else []
        else:
            time = "shared" if number in together else "no slice"
        parts += [place] if (place := _place(program, node)) else []
        parts += ["this slice"] if number in ran else []
        found.append((time, " · ".join(parts)))
    rest = len(found) - _MOST_NODES
    return [
        *found[:_MOST_NODES],
        *([("", f"and {counted(rest, 'more node')}")] if rest > 0 else []),
    ]


def _place(program: Program, node: GraphNode) -> str:
    source = node.source
    return "" if source is None or program.text_lines else f"line {source.line}"


def subject_of(session: Session) -> object:
    """Return what a card shows; equal for two cards of the same selection."""
    return session.state.slice, session.state.operators, session.state.area


class Card(CardFrame):
    """The card of one selection."""

    def __init__(self, host: PanelHost, costs: CostFeed, facts: AreaFacts | None = None) -> None:
        """facts: the contents of the selected area, if an area is selected."""
        super().__init__(host)
        session = host.session
        self._feed = costs
        self.flows: dict[str, FlowSection] = {}
        self.subject = subject_of(session)
        state = session.state
        if state.slice is not None:
            self._slice(session.traces[state.slice.trace], state.slice.trace, state.slice.index)
        elif state.operators is not None:
            open_trace = session.traces[state.operators[0]]
            members = [op for i in state.operators[1] if (op := _operator(open_trace, i))]
            self._title(open_trace, members)
            self._operator_sections(open_trace, state.operators[0], members)
        elif state.area is not None and facts is not None:
            self._area(state.area, facts)
        self._align_keys()
        self._column.addStretch(1)

    def _slice(self, open_trace: OpenTrace, trace: int, i: int) -> None:
        link = open_trace.link(i)
        members = [op for k in link.operators if (op := _operator(open_trace, k))]
        self._title(open_trace, members, name_text(open_trace.label(i)), SliceRef(trace, i))
        self._time_figures(slice_figures(open_trace, i))
        grid = self._section("Slice")
        for key, value in slice_rows(open_trace, i).items():
            grid.add(key, value, code="\n" in value)
        if open_trace.native(i) is None:
            ticks = escape(ticks_text(open_trace, i))
            if open_trace.rate.origin is not RateOrigin.STATED:
                is_assumed = open_trace.rate.origin is RateOrigin.ASSUMED
                tone = self._theme.tokens.warning if is_assumed else self._theme.tokens.text2
                ticks += ", " + span(open_trace.rate.origin, tone)
            grid.add("Ticks", ticks, html=True)
        self._location(open_trace, i)
        self._link_section(open_trace, link, int(open_trace.trace.slices.key[i]))
        self._operator_sections(open_trace, trace, members, i)
        if link.near and not members:
            near = [op for k in link.near if (op := _operator(open_trace, k))]
            self._members(title_of_near(link), trace, near)

    def _area(self, area: Area, facts: AreaFacts) -> None:
        self._column.addWidget(label("Area", self._theme, "operator"))
        self._figures(
            (
                figure(area.t1 - area.t0, "duration"),
                Figure(group_digits(facts.slices), "", "slices"),
                position(area.t0, "start"),
            ),
            "figure",
        )
        grid = self._section("Busy", f"of {format_time(area.t1 - area.t0)}")
        for name, ns in facts.busy:
            share = format_share(ns, max(area.t1 - area.t0, 1))
            grid.add(format_time(ns), f"{share} · {name}")
        grid = self._section("Slices by name", counted(len(facts.names), "name"))
        for entry in facts.names[:_MOST_NAMES]:
            grid.add(format_time(entry.ns), f"{group_digits(entry.count)} × {entry.name}")
        if len(facts.names) > _MOST_NAMES:
            rest = facts.names[_MOST_NAMES:]
            names, slices = counted(len(rest), "other name"), sum(n.count for n in rest)
            grid.add(format_time(sum(n.ns for n in rest)), f"{names}, {counted(slices, 'slice')}")

    def _location(self, open_trace: OpenTrace, i: int) -> None:
        """Add the compiler's location of a slice: fused members, callee and callers."""
        text = open_trace.trace.keys.location[int(open_trace.trace.slices.key[i])]
        if text is None:
            return
        parts = outline(parse_location(text))
        self._head("Location")
        lines = location_lines(parts[:_MOST_PLACES], open_trace.table.program, self._theme)
        if len(parts) > _MOST_PLACES:
            lines.append(span(f"and {len(parts) - _MOST_PLACES} more", self._theme.tokens.text3))
        for line in lines:
            self._column.addWidget(self.linked(line))

    def _link_section(self, open_trace: OpenTrace, link: Link, key: int) -> None:
        tokens = self._theme.tokens
        state = link.reason.state
        dot = span("●", getattr(tokens, _STATE_TONES[state]))
        self._head("Link", html=f"{dot} {span(state.value, tokens.text1)}")
        scope = int(open_trace.trace.keys.scope[key])
        sentence = link.detail if link.detail.endswith(".") else f"{link.detail}."
        near = "" if link.operators else describe_near(link)
        if near:
            sentence += f" It is {near}."
        self._column.addWidget(label(sentence, self._theme, wrap=True))
        program, trace_match = open_trace.table.program, open_trace.table.trace_match
        grid = KeyValueGrid(self._theme)
        self._grids["Link"] = grid
        if len(open_trace.table.methods_of_scope(scope)) > 1:
            grid.add("Method", f"{open_trace.table.method_text(scope)}, not decided")
        if link.backend:
            grid.add("Backend", link.backend)
        if program is not None:
            title = program.title[0].upper() + program.title[1:]
            grid.add(title, os.path.basename(program.path))
        if open_trace.table.executable is not None:
            grid.add("Program", os.path.basename(open_trace.table.executable.path))
        if trace_match is not None:
            match = trace_match.match
            if not match.checkable:
                grid.add("Match", "cannot be checked, nothing to compare")
            else:
                tone = tokens.text1 if match.belongs else tokens.warning
                grid.add(
                    "Match",
                    span(f"{match.value:.2f}", tone, bold=True)
                    + span(f" · {names_compared(match)}", tokens.text2),
                    html=True,
                    hint=MATCH_EXPLANATION,
                )
        if grid.rows:
            self._column.addWidget(grid)

    def _operator_sections(
        self,
        open_trace: OpenTrace,
        trace: int,
        members: Sequence[Operator],
        slice_: int | None = None,
    ) -> None:
        if len(members) == 1:
            assert open_trace.table.program is not None
            members = [with_tensors(open_trace.table.program, members[0])]
            self._operator(open_trace, trace, members[0])
        elif members:
            self._members("Operators", trace, members)
        if members:
            self._cost(open_trace, members)
            self._nodes(open_trace, members, slice_)
            program = open_trace.table.program
            # A debug handle map has no shapes, so no work can be computed.
            if len(members) == 1 and program is not None and not program.delegates_only:
                self._work(open_trace, members[0], slice_)
            self._flows(open_trace, trace)
            key = None if slice_ is None else int(open_trace.trace.slices.key[slice_])
            self._source(open_trace, members if key is None else open_trace.table.executed(key))
        else:
            self._flows(open_trace, trace)

    def _operator(self, open_trace: OpenTrace, trace: int, operator: Operator) -> None:
        grid = self._section("Operator")
        if operator.debug_handle >= 0:
            grid.add("Handle", str(operator.debug_handle))
        assert open_trace.table.program is not None
        if operator.ops and not open_trace.table.program.is_recorded:
            grid.add("Nodes", f"{len(operator.nodes)} · {_first_two(operator.ops)}")
        if operator.aten:
            grid.add("ATen", _first_two(operator.aten))
        producers = makers(open_trace.table.program, operator.method)
        inputs, outputs = inputs_of(operator), outputs_of(operator)
        if inputs:
            text = self._tensors(open_trace, trace, inputs, producers)
            grid.add("Input" if len(inputs) == 1 else "Inputs", text, html=True)
        if outputs:
            text = self._tensors(open_trace, trace, outputs, {})
            grid.add("Output" if len(outputs) == 1 else "Outputs", text, html=True)
        if parameters := parameters_of(operator):
            grid.add("Parameters", _sizes_text(parameters))
        if len(operator.nodes) == 1 and operator.nodes[0].settings:
            grid.add("Settings", settings_text(operator.nodes[0].settings))
        self._lowered(open_trace, trace, operator, grid)

    def _lowered(
        self, open_trace: OpenTrace, trace: int, operator: Operator, grid: KeyValueGrid
    ) -> None:
        """Add the operator's delegate calls, its identifiers there, and what it was fused with."""
        program = open_trace.table.program
        method = program.method(operator.method) if program else None
        lowerings = lowered_into(method, operator) if method is not None else ()
        if not lowerings:
            outside = open_trace.delegation.why_outside
            if outside is not None and (why := outside.text(operator.index)):
                grid.add("Not delegated", why)
            return
        lines: dict[str, None] = {}
        for call in lowerings[:_MOST_NAMES]:
            fused_with = len(call.others)
            fusion = f"fused with {counted(fused_with, 'other op')}" if fused_with else "not fused"
            lines[call.backend] = None
            if call.instruction >= 0:
                lines[f"instruction {call.instruction} ({fusion})"] = None
        grid.add("Delegate", "<br>".join(map(escape, lines)), html=True)
        keys_by_fused: dict[tuple[int, ...], list[int | str]] = {}
        for identifier in [each for x in lowerings for each in x.identifiers][:_MOST_NAMES]:
            keys_by_fused.setdefault(identifier.fused, []).append(identifier.key)
        for others, keys in keys_by_fused.items():
            if others or keys != [operator.name]:  # the title already shows it
                grid.add(
                    "Logged as", "<br>".join(escape(repr(k), quote=False) for k in keys), html=True
                )
            if fused := [op for k in others if (op := _operator(open_trace, k))]:
                links = [
                    anchor(f"operator:{trace}:{op.index}", op.label, self._theme)
                    for op in fused[:_MOST_NAMES]
                ]
                if len(fused) > _MOST_NAMES:
                    more = f"and {len(fused) - _MOST_NAMES} more"
                    links.append(span(more, self._theme.tokens.text2))
                grid.add("Fused with", "<br>".join(links), html=True)
        if not any(x.has_map for x in lowerings):
            grid.add("Delegate ID", "unavailable (no debug handle map)")

    def _work(self, open_trace: OpenTrace, operator: Operator, slice_: int | None) -> None:
        """Add operations and bytes computed from shapes, and rates if the operator has a time."""
        answer = self._feed.answer
        scope = answer.scope if answer is not None and answer.open_trace is open_trace else WHOLE
        work = work_of(open_trace, operator, scope, slice_)
        self._head("Estimated work", "from tensor shapes")
        self._figures(work.figures, "cost")
        if work.rates:
            self._figures(work.rates, "cost", len(work.figures))
        self._grids["Work"] = grid = KeyValueGrid(self._theme)
        self._column.addWidget(grid)
        for key, text in work.rows:
            grid.add(key, text)

    def _tensors(
        self,
        open_trace: OpenTrace,
        trace: int,
        tensors: Sequence[Tensor],
        made_by: Mapping[str, int],
    ) -> str:
        """Return dtypes and shapes as HTML, each with its parameter or a link to its producer."""
        tokens = self._theme.tokens
        family = escape(self._theme.font("code").family())
        lines = []
        for tensor in tensors[:_MOST_TENSORS]:
            text = escape(tensor_text(tensor)).replace(" ", "&nbsp;")
            line = f'<span style="font-family: {family}; color: {tokens.text1}">{text}</span>'
            producer = made_by.get(tensor.name)
            source = None if producer is None else _operator(open_trace, producer)
            if source is not None:
                link = anchor(f"operator:{trace}:{producer}", source.op, self._theme)
                where = f" {source.source.line}" if source.source else ""
                line += span(" ← ", tokens.text2) + link + span(where, tokens.text2)
            elif tensor.parameter:
                # A path has no spaces to wrap at, and only its end distinguishes a weight from a
                # bias.
                path = tensor.parameter.replace(".", f".{_MAY_BREAK}")
                line += span(" ← ", tokens.text2) + span(path, tokens.text1)
            lines.append(line)
        if len(tensors) > _MOST_TENSORS:
            lines.append(span(f"and {len(tensors) - _MOST_TENSORS} more", tokens.text2))
        return "<br>".join(lines)

    def _members(self, title: str, trace: int, members: Sequence[Operator]) -> None:
        theme = self._theme
        self._head(title, f"{len(members)}")
        box = QVBoxLayout()
        box.setSpacing(theme.px(4))
        for member in members[:_MOST_MEMBERS]:
            row = QHBoxLayout()
            row.setSpacing(theme.px(8))
            swatch = Swatch(self.colors(self._session.traces[trace], [member.index]), theme)
            row.addWidget(swatch, 0, Qt.AlignmentFlag.AlignVCenter)
            # The name of an MLIR operation already includes its line.
            has_line = member.source is not None and not member.place
            line = f" · line {member.source.line}" if has_line and member.source else ""
            line += f" · {member.branch}" if member.branch else ""
            link = anchor(f"operator:{trace}:{member.index}", member.label, theme)
            row.addWidget(self.linked(link + span(line, theme.tokens.text3)), 1)
            box.addLayout(row)
        if len(members) > _MOST_MEMBERS:
            rest = len(members) - _MOST_MEMBERS
            box.addWidget(label(f"and {rest} more", theme, tone="text3"))
        self._column.addLayout(box)

    def _cost(self, open_trace: OpenTrace, members: Sequence[Operator]) -> None:
        answer = self._feed.answer
        if answer is None or answer.open_trace is not open_trace:
            return
        target = tuple(sorted(m.index for m in members))
        table, rate = answer.table, open_trace.axis.ns_per_tick
        row = next((row for row in table.rows if row.operators == target), None)
        single = len(target) == 1
        shared = [r for r in table.rows if single and r.is_shared and target[0] in r.operators]
        self._head(f"Cost in {scope_text(open_trace, answer.scope)}")
        ns = tick_to_ns(row.ticks, rate) if row else 0
        is_cut = row is not None and not row.ticks and row.zeros > 0
        has_share = row is not None and table.whole and not is_cut
        share = f" · {format_share(row.wall, table.whole)}" if row and has_share else ""
        what = "self" if single else "all shared ops"
        figures = [figure(ns, what + share)]
        if row is not None and is_cut:
            text = format_bounded(0, row.zeros, float(ROUNDING_TICKS * rate))
            figures = [Figure(*split_time(text), what)]
        kernel = tick_to_ns(row.kernel, rate) if row else 0
        if any(r.kernel for r in table.rows):
            figures.append(figure(kernel, "kernel") if kernel else Figure(MISSING, "", "kernel"))
        if shared:
            total = tick_to_ns(sum(r.ticks for r in shared), rate)
            calls = sum(r.slices for r in shared)
            figures.append(figure(total, f"in {calls} shared call{'s' if calls != 1 else ''}"))
        else:
            count = row.slices if row else 0
            figures.append(Figure(group_digits(count), "", "slice" if count == 1 else "slices"))
        self._figures(figures, "cost")
        self._chart(open_trace, target)

    def _nodes(
        self, open_trace: OpenTrace, members: Sequence[Operator], slice_: int | None
    ) -> None:
        """Add the graph nodes of one operator with their times, once these are known."""
        answer = self._feed.answer
        if answer is None or answer.open_trace is not open_trace or len(members) != 1:
            return
        ran = () if slice_ is None else open_trace.link(slice_).nodes
        rows = node_rows(open_trace, members[0], answer.table, ran)
        if not rows:
            return
        grid = self._section("Nodes", scope_text(open_trace, answer.scope))
        for time, text in rows:
            grid.add(time, text)

    def _flows(self, open_trace: OpenTrace, trace: int) -> None:
        """Add the operators that the selection takes from and passes to, once they are known."""
        answer, costs = FlowFeed.of(self._session).answer, self._feed.answer
        if answer is None or answer.open_trace is not open_trace:
            return
        if answer.around is None and not (answer.flows.inputs or answer.flows.outputs):
            return
        table = costs.table if costs is not None and costs.open_trace is open_trace else None
        for title, forward in (("Inputs from", False), ("Outputs to", True)):
            section = FlowSection(self, answer, trace, table, forward=forward)
            self._head(title, f"{section.count}" if section.count else "")
            self.flows[title] = section
            self._column.addWidget(section)

    def _chart(self, open_trace: OpenTrace, wanted: tuple[int, ...]) -> None:
        answer = self._feed.answer
        if answer is None or not answer.per_run:
            return
        runs, costs = costs_of_runs(open_trace, answer.per_run, wanted)
        if not any(costs):
            return
        current = runs.index(answer.scope.run) if answer.scope.run in runs else -1
        is_single = len(wanted) == 1
        color = QColor(self._theme.tokens.text3)
        if is_single:
            color = slice_color(self.colors(open_trace, wanted)[0], self._theme)
        rate = open_trace.axis.ns_per_tick
        times = [tick_to_ns(cost, rate) for cost in costs]
        unit = open_trace.file.unit
        tips = [f"{unit.title} {i}, {format_time(ns)}" for i, ns in enumerate(times, 1)]
        chart = InferenceChart(
            times, tips, [1] * len(times), current, self._theme, color=color, has_numbers=True
        )
        what = "Self time" if is_single else "Time of all shared ops"
        chart.setAccessibleName(
            f"{what} per {unit.noun} in {chart.unit}: {', '.join(chart.numbers)}"
        )
        chart.chosen.connect(lambda bar: self._pick_run(open_trace, runs[bar]))
        self._column.addWidget(
            label(f"{what} per {unit.noun}, {chart.unit}", self._theme, "caption", "text2")
        )
        self._column.addWidget(chart)
        warm_up = self._session.state.warm_up
        if len({(run.scope, run.part) for run in runs}) > 1:
            spread = unit.worded("These inferences may be of several methods.")
        else:
            spread = spread_text(runs, times, warm_up=warm_up)
        self._column.addWidget(label(spread, self._theme, "caption", "text2", wrap=True))

    def _pick_run(self, open_trace: OpenTrace, run: Run) -> None:
        if (number := self._session.number_of(open_trace)) is not None:
            pick_run(self._session, (number, open_trace.trace.runs.index(run)))

    def _source(self, open_trace: OpenTrace, members: Sequence[Operator]) -> None:
        places: dict[tuple[str, int], tuple[Frame, str]] = {}
        for member in members:
            texts = place_texts(member)
            for frame, text in texts if len(members) == 1 else texts[-1:]:
                places.setdefault((frame.path, frame.line), (frame, text))
        self._head("Source")
        if not places:
            self._column.addWidget(
                label(no_line_text(members), self._theme, tone="text2", wrap=True)
            )
            return
        for (path, line), (_, text) in places.items():
            link = anchor(f"source:{line}:{path}", f"{file_name(path)}:{line}", self._theme)
            rest = "" if text == "" else "&nbsp;&nbsp;" + span(text, self._theme.tokens.text2)
            self._column.addWidget(self.linked(link + rest))
        frame = list(places.values())[-1 if len(members) == 1 else 0][0]
        self._snippet(frame)
        callers = {(at.path, at.line): at for member in members if (at := member.caller)}
        if callers:
            links = (
                anchor(f"source:{line}:{path}", f"{file_name(path)}:{line}", self._theme)
                for path, line in callers
            )
            text = span("Called from ", self._theme.tokens.text2) + ", ".join(links)
            self._column.addWidget(self.linked(text))

    def _snippet(self, frame: Frame) -> None:
        file = self._session.workspace.source(frame.path)
        if file is None or file.line(frame.line) is None:
            if frame.text:
                self._column.addWidget(
                    CodeSnippet([(frame.line, frame.text)], frame.line, self._theme)
                )
            refused = refusal(frame.path, [], self._session.workspace.choices.source_paths)
            why = (
                refused.rstrip(".") or f"{file_name(frame.path)} was not found on this machine"
                if file is None
                else f"{file_name(frame.path)} here has only {len(file.lines)} lines"
            )
            text = f"{why}; recorded as {frame.path}"
        else:
            near = range(max(frame.line - 1, 1), min(frame.line + 1, len(file.lines)) + 1)
            lines = [(n, file.lines[n - 1]) for n in near]
            self._column.addWidget(CodeSnippet(lines, frame.line, self._theme))
            text = f"Recorded as {file.recorded_path}" if file.is_elsewhere else file.shown
            if file.is_elsewhere:
                text = f"{text}\nShown from {file.shown}"
        self._column.addWidget(WrappedText(text, self._theme, "caption", "text3"))


def _sizes_text(tensors: Sequence[Tensor]) -> str:
    """Return "2 · 80 values · 320 B": how many tensors, and their size or why it is unknown."""
    try:
        size = f"{group_digits(sum(map(elements_of, tensors)))} values"
        size += f" · {group_digits(bytes_of_all(tensors))}{NARROW_SPACE}B"
    except NotKnown as reason:
        size = f"unknown: {reason}"
    return f"{len(tensors)} · {size}"


def _first_two(names: Sequence[str]) -> str:
    more = f" +{len(names) - 2}" if len(names) > 2 else ""
    return f"{', '.join(names[:2])}{more}"


def _operator(open_trace: OpenTrace, index: int) -> Operator | None:
    return open_trace.table.program.operators[index] if open_trace.table.program else None


NOTHING = "Select a slice or operator for details."
NO_RUN = "Also open a profile, then select a slice or operator for details."


@has_role(QAccessible.Role.Grouping)
class DetailsPanel(ScrollPanel):
    """The details of the selection."""

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host, "Details")
        self._costs = CostFeed.of(session)
        self._stale = True
        # Opening files emits several signals at once; the card is created once, after the last.
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self.refresh)
        for signal in (
            session.workspace_changed,
            session.selection_changed,
            session.run_picked,
            session.coloring_changed,
            self._costs.changed,
            FlowFeed.of(session).changed,
            theme.changed,
        ):
            signal.connect(self._invalidate)
        session.workspace_changed.connect(self._forget)
        # The last area, its traces, and its contents.
        self._facts: tuple[Area, list[OpenTrace], AreaFacts] | None = None
        self._latest = Latest(self, self._counted)
        self.refresh()

    def _facts_of(self, area: Area) -> AreaFacts | None:
        """Return an area's contents; None while a worker thread counts many slices."""
        traces = self._session.traces
        if self._facts is not None and self._facts[0] == area and self._facts[1] is traces:
            return self._facts[2]
        if sum(len(open_trace.trace.slices) for open_trace in traces) <= AT_ONCE:
            return area_facts(traces, area)
        self._latest.submit(_count, traces, area)
        return None

    @Slot(object)
    def _counted(self, facts: tuple[Area, list[OpenTrace], AreaFacts]) -> None:
        self._facts = facts
        self._invalidate()

    @Slot()
    def _forget(self) -> None:
        """Release closed traces, because the panel may stay hidden for long."""
        self._facts = None
        if self._session.is_empty:
            self.refresh()

    @Slot()
    def _invalidate(self) -> None:
        self._stale = True
        if self.isVisible():
            self._soon.start(0)

    @guard
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Create the card of the current selection."""
        self._stale = False
        state = self._session.state
        area = state.area if state.slice is None and state.operators is None else None
        facts = None if area is None else self._facts_of(area)
        if area is not None and facts is None:
            return  # a worker thread counts it; the old card stays until then
        before = self.verticalScrollBar().value()
        widget = self.widget()
        is_same_subject = isinstance(widget, Card) and widget.subject == subject_of(self._session)
        card: QWidget
        if state.slice is not None or state.operators is not None or state.area is not None:
            card = Card(self.host, self._costs, facts)
        else:
            has_no_profile = self._session.workspace.programs and not self._session.traces
            card = EmptyPlace(NO_RUN if has_no_profile else NOTHING, self._theme)
        self.replace_widget(card)
        if is_same_subject:
            self.verticalScrollBar().setValue(before)


def _count(traces: list[OpenTrace], area: Area) -> tuple[Area, list[OpenTrace], AreaFacts]:
    return area, traces, area_facts(traces, area)
