"""What the graph is about, the panel's question and answer, and the texts of what is visible.

A subject is a program alone, the costs of a profile, or the changes of two arms. It connects the
operators of its program with the selection of the session. The graph is that of the whole model, or
of it what is at most some steps away from some operators. No Qt widgets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from viewer.analysis.comparison.comparison import CHANGED, Verdict
from viewer.analysis.comparison.levels import CALLS
from viewer.analysis.delegates.delegation import Instance
from viewer.analysis.flows.dataflow import (
    Direction,
    Neighborhood,
    dataflow_of,
    is_dataflow_known,
    neighborhood,
)
from viewer.analysis.numbers.compared import OperatorErrors
from viewer.analysis.workload.mlir_work import with_tensors
from viewer.analysis.workload.operator_tensors import outputs_of
from viewer.arrays import Ints
from viewer.dataclasses import dataclass, field
from viewer.gui.panels.base.slice_facts import tensor_text
from viewer.gui.panels.graph.measures import (
    NO_SLICE,
    Amounts,
    ChangeFigures,
    ChangeFill,
    Fill,
    Measure,
    MeasureKind,
    NoCostFill,
    NodeCell,
    NodeFigures,
    amounts,
    backend_name,
    call_name,
    call_place,
    cut_line,
    measure_of,
    tags_of,
)
from viewer.gui.session.comparison import row_of_selection, select_rows
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import counted, group_digits
from viewer.program.program import Operator, Program, Tensor
from viewer.program.source_files import file_name
from viewer.render.graph.model_tree import (
    GroupKind,
    GroupTree,
    ShownGroups,
    first_opened,
    group_edges,
    group_tree,
    operator_edges,
    shown_groups,
    shown_operators,
)
from viewer.render.graph.nested_layout import GroupSizes, NestedLayout, NestedLayouter
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB
from viewer.reports.compare_text import WORDS
from viewer.workspace.workspace import Workspace

_PLAIN = NodeCell("", NoCostFill.PLAIN)

Values = Amounts | ChangeFigures | None


@dataclass(frozen=True, slots=True)
class NodeLook:
    """What is drawn for a visible node.

    name: of the module, delegate or operator. detail: its class, which call it is, or the module of
    an operator. figure: its value, "" for none. backend: of the delegate call that the node is, -1
    for none. tag: the delegate call of an operator that is drawn without it.
    """

    name: str
    detail: str
    figure: str
    fill: Fill
    verdict: Verdict | None = None
    backend: int = -1
    tag: str = ""


def value_of(figure: str) -> str:
    """Return the value alone of "8.544 µs · 15.5 % + shared" or "2.774 µs shared by 5"."""
    for mark in (" · ", " shared", " in ", " + "):
        figure = figure.partition(mark)[0]
    return figure


def backends_of(calls: Sequence[Instance]) -> tuple[str, ...]:
    """Return the delegates of some calls, each once."""
    return tuple(dict.fromkeys(backend_name(call) for call in calls))


def place_of(operator: Operator) -> str:
    """Return an operator's module, else its source line; "" if neither is recorded."""
    if operator.module_path:
        return operator.module_path
    source = operator.source
    return f"{file_name(source.path)}:{source.line}" if source else ""


def looks_of(
    shown_groups: ShownGroups,
    program: Program,
    calls: Sequence[Instance],
    figures: NodeFigures | None,
    values: Values,
    tags: Mapping[int, str] | None = None,
) -> tuple[dict[int, NodeLook], str]:
    """Return the looks of all visible nodes, and the end of the scale, "" for none.

    values: what to color by, None for nothing. tags: the delegate calls of operators that are drawn
    without what is around them.
    """
    tree = shown_groups.tree
    nodes = shown_groups.visible if tags is None else shown_groups.boxes
    if isinstance(values, Amounts):
        cells, most = _valued(shown_groups, values, nodes, is_whole=tags is None)
    elif values is None:
        cells, most = dict.fromkeys(nodes.tolist(), _PLAIN), ""
    else:
        cells, most = _changed(tree, values, nodes), values.most
    names = backends_of(calls) if tags is None else ()
    backends = {name: number for number, name in enumerate(names)}
    runs = set(np.flatnonzero(tree.kind == GroupKind.RUN).tolist())
    looks = {}
    for node, cell in cells.items():
        name, detail, backend, tag = tree.names[node], tree.details[node], -1, ""
        call = int(tree.call[node])
        if call >= 0 or node in runs:
            detail = counted(int(tree.operators[node]), "operator")
        if call >= 0:
            name = backend_name(calls[call])
            detail = " · ".join(filter(None, (call_place(calls, call), detail)))
            backend = backends[name]
        if tags is not None:
            operator = int(tree.operator[node])
            tag = tags.get(operator, "") or ("" if figures is None else figures.tag(operator))
            detail = place_of(program.operators[operator])
        look = cut_line(name), cut_line(detail, from_end=True), cell.text, cell.fill, cell.verdict
        looks[node] = NodeLook(*look, backend, cut_line(tag))
    return looks, most


def _valued(
    shown_groups: ShownGroups, values: Amounts, nodes: Ints, *, is_whole: bool
) -> tuple[dict[int, NodeCell], str]:
    """Return the cells of nodes, and the end of the scale.

    That is the largest value of a box; if all of their values are shared, of a delegate call. For
    some operators of a model, it is the largest value of all its operators.
    """
    tree, measure = shown_groups.tree, values.measure
    most = values.own[shown_groups.is_box].max(initial=0) if is_whole else values.most
    if not most:
        most = values.own[shown_groups.is_frame & (tree.kind == GroupKind.CALL)].max(initial=0)
    part = measure.parts(values.own[nodes], float(most))
    steps = np.clip((part * HEAT_STEPS).astype(np.int64), 0, HEAT_STEPS - 1)
    linked = values.linked_inside[nodes].tolist()
    cells = {}
    for node, step, is_linked in zip(nodes.tolist(), steps.tolist(), linked, strict=True):
        if values.is_shared(node):
            cells[node] = NodeCell(values.text(node), SLAB)
        elif values.has[node]:
            operator = int(tree.operator[node])
            text = values.text(node)
            if operator >= 0 and measure.operator_text is not None:
                text = measure.operator_text(operator)
            cells[node] = NodeCell(text, HEAT + step)
        elif is_linked:
            cells[node] = NodeCell(measure.none, NoCostFill.IDLE)
        else:
            cells[node] = NodeCell("not linked", NoCostFill.UNLINKED)
    return cells, measure.most(np.asarray(most).item())


def _changed(tree: GroupTree, figures: ChangeFigures, nodes: Ints) -> dict[int, NodeCell]:
    """Return the changes of operators; a group counts the verdicts of its rows."""
    is_operator = tree.operator[nodes] >= 0
    operators = nodes[is_operator]
    changes = figures.cells(tree.operator[operators])
    cells = dict(zip(operators.tolist(), changes, strict=True))
    for node in nodes[~is_operator].tolist():
        cells[node] = _of_group(figures, tree, node)
    return cells


def _of_group(figures: ChangeFigures, tree: GroupTree, node: int) -> NodeCell:
    """Return how many rows of a group are slower and faster, in the color of the largest change."""
    rows: dict[int, int] = {}
    for operator in tree.inside(node).tolist():
        row = figures.changes.row_of(operator)
        if row >= 0:
            rows.setdefault(row, operator)
    if not rows:
        return NodeCell(NO_SLICE, NoCostFill.UNLINKED)
    changes = {row: figures.changes.comparison.compared[row] for row in rows}
    count = Counter(change.verdict for change in changes.values())
    parts = [
        f"{count[verdict]} {WORDS[verdict]}"
        for verdict in (Verdict.SLOWER, Verdict.FASTER)
        if count[verdict]
    ]
    if not parts:
        verdict = Verdict.NO_CHANGE
        if count[Verdict.CANNOT_TELL]:
            verdict = Verdict.CANNOT_TELL
        return NodeCell(WORDS[verdict], ChangeFill(verdict), verdict)
    largest = max(
        (row for row in rows if changes[row].verdict in CHANGED),
        key=lambda row: abs(changes[row].change_ns),
    )
    cell = figures.cells(np.array([rows[largest]], np.int64))[0]
    return NodeCell(", ".join(parts), cell.fill, cell.verdict)


# The edges of this many operators, or lines of a text, are found in less than 5 ms.
OPERATORS_AT_ONCE, LINES_AT_ONCE = 2000, 300


@dataclass(frozen=True, eq=False)
class GraphSubject:
    """A program, alone or with the costs of a profile, or with the changes of arms A and B.

    It is the program of A. figures: None for nothing.
    """

    program: Program
    figures: NodeFigures | None = None

    @property
    def title(self) -> str:
        if self.figures is None:
            return f"{display_name(self.program.path)}, without a profile"
        return self.figures.title

    def selected(self, session: Session) -> tuple[int, ...]:
        """Return the operators of the selection, () for none of the program."""
        figures, state = self.figures, session.state
        if isinstance(figures, ChangeFigures):
            row = row_of_selection(session, figures.comparison)
            return figures.changes.operators[row] if row >= 0 else ()
        if figures is None or state.operators is None or len(state.others):
            return ()
        trace, operators = state.operators
        return operators if session.traces[trace].table is figures.answer.open_trace.table else ()

    def select(self, session: Session, operators: tuple[int, ...]) -> bool:
        """Select the slices of operators; False if the session has none to select."""
        figures = self.figures
        if figures is None:
            return False
        if isinstance(figures, ChangeFigures):
            rows = {row for operator in operators for row in figures.changes.rows_of(operator)}
            if rows:
                select_rows(session, figures.comparison, rows, CALLS)
            else:
                session.clear_selection()
            return bool(rows)
        table = figures.answer.open_trace.table
        number = next((i for i, t in enumerate(session.traces) if t.table is table), None)
        if number is not None:
            session.select_operators(number, operators)
        return True


@dataclass(frozen=True, slots=True)
class Center:
    """What a neighborhood is around.

    seeds: operators. what: the name of several ones, such as "Xnnpack · call 2 of 10".
    """

    seeds: tuple[int, ...]
    what: str
    hops: int
    direction: Direction


@dataclass(frozen=True, eq=False)
class GraphModel:
    """What stays the same while groups open and close, and what was computed for it.

    producer, consumer: of every edge between operators. opened: the groups that are open first.
    tags: the delegate call of operators.
    """

    program: Program
    tree: GroupTree
    producer: Ints
    consumer: Ints
    opened: frozenset[int]
    layouter: NestedLayouter
    tags: dict[int, str]
    _values: dict[MeasureKind, tuple[object, Values]] = field(default_factory=dict)

    def has_values(self, question: GraphQuestion) -> bool:
        """Whether nothing has to be computed to color as a question wants it."""
        kind = question.kind
        if kind is None:
            return True
        return kind in self._values and self._values[kind][0] is question.needs

    def values(self, question: GraphQuestion) -> Values:
        """Return what to color by; computed again if what it depends on has changed."""
        kind = question.kind
        if kind is None:
            return None
        if not self.has_values(question):
            values: Values = None
            if kind is not MeasureKind.CHANGE:
                measure = measure_of(
                    kind, self.program, question.figures, question.space, question.errors
                )
                values = None if measure is None else amounts(self.tree, measure)
            elif isinstance(question.figures, ChangeFigures):
                values = question.figures
            self._values[kind] = question.needs, values
        return self._values[kind][1]


@dataclass(frozen=True, eq=False)
class GraphQuestion:
    """What to show.

    figures: of the profile or the comparison. calls: the delegate calls. kind: what to color by,
    None for nothing. center: of a neighborhood, None for the whole model. opened: the open groups
    of the whole model, None for those of the first view. space: the open files; files: an object
    that is another one after they changed. model: the same as before, if it is of this program.
    errors: of the logged values of operators, None if they are not compared.
    """

    program: Program
    figures: NodeFigures | None
    calls: tuple[Instance, ...]
    kind: MeasureKind | None
    center: Center | None
    opened: frozenset[int] | None
    sizes: GroupSizes
    space: Workspace
    files: object
    model: GraphModel | None
    errors: OperatorErrors | None = None

    @property
    def needs(self) -> object:
        """What the values to color by depend on."""
        if self.kind in (MeasureKind.TIME, MeasureKind.CHANGE):
            return self.figures
        return self.errors if self.kind is MeasureKind.ERROR else self.files

    @property
    def key(self) -> tuple[object, ...]:
        """What determines the answer."""
        same = self.program, self.figures, self.files, self.errors
        return *map(id, same), self.kind, self.center, self.opened, self.sizes


@dataclass(frozen=True, eq=False)
class GraphAnswer:
    """A graph to draw.

    around: the operators to show, None for the whole model. values: what it is colored by, None for
    nothing. looks: of every visible node. most: the end of the scale, "" for none. opened: the open
    groups.
    """

    question: GraphQuestion
    model: GraphModel
    around: Neighborhood | None
    layout: NestedLayout
    values: Values
    looks: dict[int, NodeLook]
    most: str
    opened: frozenset[int]

    @property
    def measure(self) -> Measure | None:
        """What the values are, None for changes and without values."""
        return self.values.measure if isinstance(self.values, Amounts) else None

    @cached_property
    def hidden(self) -> dict[int, tuple[int, int]]:
        """How many producers and consumers of a node of a neighborhood are not shown."""
        around = self.around
        if around is None:
            return {}
        counts = zip(around.hidden_inputs.tolist(), around.hidden_outputs.tolist(), strict=True)
        return dict(zip(self.model.tree.leaf[around.operators].tolist(), counts, strict=True))

    @property
    def seeds(self) -> Ints:
        around = self.around
        if around is None:
            return np.zeros(0, np.int64)
        return np.asarray(self.model.tree.leaf[around.operators[around.hop == 0]])

    @property
    def focus(self) -> int:
        """The node that a neighborhood is most about: the seed of the highest rank; -1 for none."""
        seeds, figures = self.seeds, self.question.figures
        operators = self.model.tree.operator[seeds]
        if not len(seeds):
            return -1
        rank = -operators if figures is None else figures.order[operators]
        return int(seeds[np.argmax(rank)])

    def is_placed_as(self, other: GraphAnswer) -> bool:
        """Whether it differs from another answer in figures alone, or in what is open."""
        return (
            self.model is other.model
            and self.question.center == other.question.center
            and self.question.sizes.across == other.question.sizes.across
            and (
                self.around is other.around is None
                or self.layout.shown.boxes.tolist() == other.layout.shown.boxes.tolist()
            )
        )


def has_edges_at_once(program: Program) -> bool:
    """Whether the edges of a program are known, or can be found in a few ms."""
    if is_dataflow_known(program):
        return True
    return len(program.operators) <= OPERATORS_AT_ONCE and len(program.text_lines) <= LINES_AT_ONCE


def graph_model(program: Program, calls: tuple[Instance, ...]) -> GraphModel:
    """Return the model of a program, with nothing laid out yet."""
    tree = group_tree(program, calls)
    edges = operator_edges(dataflow_of(program))
    return GraphModel(program, tree, *edges, first_opened(tree), NestedLayouter(), tags_of(calls))


def around_of(question: GraphQuestion) -> Neighborhood | None:
    """Return the operators to show, None for all. Pure."""
    center, figures = question.center, question.figures
    if center is None:
        return None
    return neighborhood(
        dataflow_of(question.program),
        center.seeds,
        center.hops,
        center.direction,
        None if figures is None else figures.order,
        best="" if figures is None else figures.best,
    )


def work_out(question: GraphQuestion, around: Neighborhood | None = None) -> GraphAnswer:
    """Answer a question. Pure, but for what the model keeps. around: if it is already known."""
    model = question.model or graph_model(question.program, question.calls)
    opened = model.opened if question.opened is None else question.opened
    around = around or around_of(question)
    values = model.values(question)
    if around is None:
        groups, tags = shown_groups(model.tree, opened), None
    else:
        groups, tags = shown_operators(model.tree, around.operators), model.tags
    looks, most = looks_of(groups, model.program, question.calls, question.figures, values, tags)
    edges = group_edges(groups, model.producer, model.consumer)
    layout = model.layouter.layout(groups, edges, question.sizes)
    return GraphAnswer(question, model, around, layout, values, looks, most, opened)


_MOST_TENSORS = 6
_MOST_INPUTS = 6
_MOST_CARRIED = 4  # edges that a tooltip names


def node_tip(answer: GraphAnswer, node: int) -> str:
    lines = _group_lines if answer.model.tree.operator[node] < 0 else _operator_lines
    return "\n".join(cut_line(line) for line in lines(answer, node))


def _operator_lines(answer: GraphAnswer, node: int) -> Iterator[str]:
    question, look = answer.question, answer.looks[node]
    program, calls = question.program, question.calls
    number = int(answer.model.tree.operator[node])
    operator = program.operators[number]
    yield operator.label
    if operator.source is not None:
        yield f"{file_name(operator.source.path)}:{operator.source.line}"
    call = next((call for call in calls if number in call.operators), None)
    if call is not None:
        yield f"in a delegate call: {backend_name(call)}, instruction {call.instruction}"
    elif look.tag:
        yield f"in a delegate call: {look.tag}"
    figures = [] if question.figures is None else question.figures.lines(number)
    yield from figures
    yield from (f"output: {text}" for text in _tensors(outputs_of(with_tensors(program, operator))))
    flow = dataflow_of(program)
    inputs = flow.given.get(number, ())
    if constants := sum(value.is_kept for value in inputs):
        yield f"input: {counted(constants, 'parameter')} or constants of the model"
    names = [value.name for value in inputs if not value.is_kept]
    yield from (f"input: model input {name}" for name in names[:_MOST_INPUTS])
    if len(names) > _MOST_INPUTS:
        yield f"and {group_digits(len(names) - _MOST_INPUTS)} more inputs"
    if number in flow.unknown:
        yield f"{flow.unknown[number]}."
    for count, what in zip(
        answer.hidden.get(node, (0, 0)), ("inputs from", "outputs to"), strict=True
    ):
        if count:
            yield f"{what} {counted(count, 'more operator')}"
    title = "" if answer.measure is None else answer.measure.title
    if look.figure and title != "Time" and not any(look.figure in line for line in figures):
        yield f"{title}: {look.figure}" if title else look.figure


def _group_lines(answer: GraphAnswer, node: int) -> Iterator[str]:
    tree, question, look = answer.model.tree, answer.question, answer.looks[node]
    around = [
        tree.names[group]
        for group in tree.around(node)[::-1]
        if group and tree.kind[group] == GroupKind.MODULE
    ]
    call, count = int(tree.call[node]), counted(int(tree.operators[node]), "operator")
    if tree.kind[node] == GroupKind.MODULE:
        yield ".".join([*around, look.name]) + (f" ({look.detail})" if look.detail else "")
    else:
        name = look.name if call < 0 else call_name(question.calls, call)
        yield f"{name} in {'.'.join(around)}" if around else name
    if call >= 0:
        yield f"instruction {question.calls[call].instruction}"
        whole = len(question.calls[call].operators)
        if whole != tree.operators[node]:
            count += f" of {group_digits(whole)} in this delegate call"
    yield count
    title = "" if answer.measure is None else answer.measure.title
    if look.figure:
        yield f"{title}: {look.figure}" if title else look.figure
    values = answer.values
    if isinstance(values, Amounts) and values.own[node] and values.sets[node]:
        yield f"and {values.shared_text(node)}, not divided"
    if node:
        is_open = bool(answer.layout.shown.is_frame[node])
        yield f"Double-click to {'collapse' if is_open else 'expand'}"


def edge_tip(answer: GraphAnswer, edge: int) -> str:
    """Return the tooltip of an edge: what it carries; of a single one the tensors, if known."""
    edges, model = answer.layout.edges, answer.model
    carried = edges.carried[edges.ptr[edge] : edges.ptr[edge + 1]]
    ends = [
        [model.program.operators[int(side[number])] for side in (model.producer, model.consumer)]
        for number in carried[:_MOST_CARRIED].tolist()
    ]
    lines = [f"{source.label} → {target.label}" for source, target in ends]
    if len(carried) == 1:
        lines += _tensors(_passed(answer, *ends[0]))
    else:
        lines.insert(0, f"{group_digits(len(carried))} edges")
    if len(carried) > _MOST_CARRIED:
        lines.append(f"and {group_digits(len(carried) - _MOST_CARRIED)} more")
    return "\n".join(cut_line(line) for line in lines)


def _passed(answer: GraphAnswer, producer: Operator, consumer: Operator) -> Sequence[Tensor]:
    """Return the tensors that flow between two operators, if known, else all that one returns."""
    program = answer.question.program
    source, target = with_tensors(program, producer), with_tensors(program, consumer)
    inputs = {tensor.name for node in target.nodes for tensor in node.inputs}
    outputs = [tensor for node in source.nodes for tensor in node.outputs]
    return [tensor for tensor in outputs if tensor.name in inputs] or outputs_of(source)


def _tensors(tensors: Sequence[Tensor]) -> list[str]:
    texts = [f"{cut_line(t.name)}: {cut_line(tensor_text(t))}" for t in tensors[:_MOST_TENSORS]]
    more = len(tensors) - _MOST_TENSORS
    return [*texts, f"and {more} more"] if more > 0 else texts


def summary(answer: GraphAnswer, marked: Sequence[int]) -> str:
    """Return the line below the graph: about its operators, or the changes of the marked ones."""
    figures = answer.question.figures
    text = _around_text(answer) if answer.around is not None else _whole_text(answer)
    if figures is None:
        return text
    return figures.summary(marked) or " · ".join(filter(None, (text, figures.left_out)))


def _whole_text(answer: GraphAnswer) -> str:
    """Return "38 operators · 12 modules · 10 delegate calls · 4 closed groups"."""
    tree, calls = answer.model.tree, len(answer.question.calls)
    modules = int((tree.kind == GroupKind.MODULE).sum())
    closed = int(tree.is_group[answer.layout.shown.boxes].sum())
    parts = [counted(len(tree.leaf), "operator")]
    parts += [counted(modules, "module")] if modules else []
    parts += [counted(calls, "delegate call")] if calls else []
    parts.append(counted(closed, "closed group") if closed else "all groups open")
    return " · ".join(parts)


def _around_text(answer: GraphAnswer) -> str:
    """Return "conv2d: 1 producer, 2 consumers · 14 operators shown"."""
    question, center = answer.question, answer.question.center
    assert center is not None
    assert answer.around is not None
    count = f"{counted(len(answer.around), 'operator')} shown"
    if len(center.seeds) != 1:
        return f"{center.what}: {count}" if center.what else count
    (seed,) = center.seeds
    flow = dataflow_of(question.program)
    name = cut_line(question.program.operators[seed].label)
    consumers = counted(len(flow.outputs_of(seed)), "consumer")
    if seed in flow.unknown:
        return f"{name}: {consumers}, producers unknown · {count}"
    return f"{name}: {counted(len(flow.inputs_of(seed)), 'producer')}, {consumers} · {count}"
