"""A program: the exported model, operator by operator, with its dispatches and delegate calls.

An *operator* is one debug handle of one method, that is, one call in the model's source, with one
to dozens of graph nodes after decomposition. Colors, costs, selection and correlation ids are per
operator. An MLIR file is also a program; there, an operator is one operation of the text.

A DELEGATE_CALL instruction has the debug handles of all its operators, and the map that the
delegate returned has the identifiers that it logs. An identifier with several handles is of
operators that were fused.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from viewer.dataclasses import dataclass, field
from viewer.model.trace import Problem, Unit
from viewer.program.dataflow import MethodFlow
from viewer.program.debug_handles import NO_INSTRUCTION, DelegateMap
from viewer.program.frames import Frame, caller_of, source_of, users_line_of, without_export

if TYPE_CHECKING:
    from viewer.program.mlir.operations import OperationPlaces


@dataclass(frozen=True, slots=True)
class Action:
    """One step of the runtime in a dispatch.

    op: "torq_hl.start_program". job: the NSS program that it starts or waits for, else None.
    location: the text of its MLIR location, "" if not printed. start, end: cycles, None if not
    estimated. invocation: the name of what it starts or waits for. line, col: its position in the
    text.
    """

    id: int
    op: str
    job: int | None
    location: str
    start: int | None
    end: int | None
    invocation: str
    line: int
    col: int


@dataclass(frozen=True, slots=True)
class UnitWork:
    """One piece of work of one unit: start, ready after its duration, and end of the wait (cycles).

    number: which slice unit; 0 for other units. end: None if nothing waits for it. details: for a
    slice unit, the program that it runs, "conv2d_0".
    """

    unit: Unit
    number: int
    start: int | None
    ready: int | None
    end: int | None
    location: str
    details: str


@dataclass(frozen=True, slots=True)
class NssTask:
    """One task of an NSS job, with the work that it starts."""

    id: int
    job: int | None
    start: int | None
    end: int | None
    location: str
    work: tuple[UnitWork, ...]
    line: int
    col: int


@dataclass(frozen=True, slots=True)
class NssJob:
    """One started NSS program: from the start of its first task to the end of its last (cycles).

    start_action, wait_action: None if no action starts it or waits for it. units: (unit, number) of
    all units that work in it.
    """

    id: int
    name: str
    start_action: int | None
    wait_action: int | None
    tasks: tuple[int, ...]
    units: tuple[tuple[Unit, int], ...]
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The debug info of one dispatch: the function `name` in the text at `path`."""

    path: str
    name: str
    actions: Mapping[int, Action] = field(default_factory=dict)
    jobs: Mapping[int, NssJob] = field(default_factory=dict)
    tasks: Mapping[int, NssTask] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A node, or all nodes of an operator, that a partitioner did not take.

    node: its name in the graph, "aten_mean_dim"; "" if the log names only the operator. op: the
    operator, "aten.mean.dim"; "" if the log names only the node.
    """

    node: str
    op: str
    reason: str


NO_HANDLE = -1  # the debug handle of a node without one

# A non-tensor argument of a call: a number, a bool, or a tuple of numbers per dimension.
Setting = bool | int | float | tuple[bool | int | float, ...]

# The libraries of profiles that name operators as C++ does. Others' names may mean anything.
_QUALIFIED = ("aten::", "onnx::")
_CONVOLUTION = re.compile(r"conv(_transpose)?[123]d")


@dataclass(frozen=True, slots=True)
class Tensor:
    """Name, dtype ("f32") and shape of a value. Symbolic sizes are strings; unknown shapes None.

    parameter: the path of a parameter, buffer or constant, "features.0.weight"; "" for a value that
    is computed or passed in.
    """

    name: str
    dtype: str = ""
    shape: tuple[int | str, ...] | None = None
    parameter: str = ""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One call in a graph, usually of the edge dialect.

    op: the operator without its namespace path, "aten.convolution.default"; "" if a debug handle
    map does not state it. debug_handle: -1 if the node has none. source_op: the ATen call that it
    was decomposed from; in MLIR the operation itself; "" if not recorded. modules: (path, type),
    outermost first. aten: the name of its node in the ATen program, "" if not recorded. branch: the
    part of control flow that contains it, "true branch of cond"; "" at the top level. settings:
    (name, value) of its numeric, non-tensor arguments, as recorded: ("stride", (1, 1)),
    ("transposed", False). Arguments with default values are often absent. position: its place in
    the graph of its method, branches before the node that calls them; -1 if not known.
    """

    name: str
    op: str
    debug_handle: int
    frames: tuple[Frame, ...] = ()
    modules: tuple[tuple[str, str], ...] = ()
    source_op: str = ""
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    aten: str = ""
    branch: str = ""
    settings: tuple[tuple[str, Setting], ...] = ()
    position: int = -1

    @property
    def type(self) -> str:
        """The short name of the source call that it came from: "convolution", "linear"."""
        name = self.source_op or base_name(self.op)
        # The three convolutions and their transposes are one operator of the edge dialect.
        return "convolution" if _CONVOLUTION.fullmatch(name) else name

    @property
    def module_path(self) -> str:
        """The path of its innermost module, "features.4"; "" at the top level."""
        return self.modules[-1][0] if self.modules else ""

    @property
    def source(self) -> Frame | None:
        """The innermost line that is not torch's or Python's own; None if all are."""
        return source_of(self.frames)

    @property
    def caller(self) -> Frame | None:
        """The line of the user's own files that called the source line, if that is a package's."""
        return caller_of(self.frames)

    @property
    def users_line(self) -> Frame | None:
        """The source line if it is in a file of the user's own, else its caller."""
        return users_line_of(self.frames)


@dataclass(frozen=True)
class Operator:
    """One call in the model's source, with the graph nodes that it became.

    index: position in its program, which determines its color. debug_handle: -1 for an MLIR
    operation, and for a call without one, which cannot be linked. place: "L11" for an MLIR
    operation, which has no module to identify it; else "".
    """

    index: int
    method: str
    debug_handle: int
    nodes: tuple[GraphNode, ...]
    place: str = ""

    @cached_property
    def ops(self) -> tuple[str, ...]:
        """The distinct edge dialect operators of its nodes, in graph order; empty if not known."""
        return tuple(dict.fromkeys(node.op for node in self.nodes if node.op))

    @cached_property
    def base_names(self) -> frozenset[str]:
        """The possible names of its kernels: "where" for aten.where.self."""
        return frozenset(base_name(op) for op in self.ops)

    @cached_property
    def op(self) -> str:
        """The short name of the source call: "convolution", "linear"."""
        return next((n.type for n in self.nodes if n.source_op), self.nodes[0].type)

    @cached_property
    def module_path(self) -> str:
        """The path of the innermost module, "features.4"; "" at the top level."""
        return self._module[0]

    @cached_property
    def module_type(self) -> str:
        """The class name of the innermost module, "Conv2d"."""
        return self._module[1].rpartition(".")[2]

    @property
    def label(self) -> str:
        """Module path and operator, "features.4 · convolution"; for MLIR "tosa.conv2d@L11"."""
        return f"{self.module_path} · {self.name}" if self.module_path else self.name

    @property
    def name(self) -> str:
        """The operator without its module; for MLIR with its line, "tosa.conv2d@L11"."""
        return f"{self.op}@{self.place}" if self.place else self.op

    @property
    def is_function(self) -> bool:
        """Whether it is a function of an MLIR text, which is the caller side of most locations."""
        return self.nodes[0].op.endswith(".func")

    @property
    def branch(self) -> str:
        """The part of control flow that contains it, "true branch of cond"; "" at the top level."""
        return next((n.branch for n in self.nodes if n.branch), "")

    @cached_property
    def aten(self) -> tuple[str, ...]:
        """The distinct names of the ATen nodes that it came from."""
        return tuple(dict.fromkeys(node.aten for node in self.nodes if node.aten))

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The stack trace of the call, outermost first, without torch's own export frames."""
        return without_export(next((n.frames for n in self.nodes if n.frames), ()))

    @cached_property
    def source(self) -> Frame | None:
        """The innermost line that is not torch's or Python's own; None if all are."""
        return source_of(self.frames)

    @cached_property
    def caller(self) -> Frame | None:
        """The line of the user's own files that called the source line, if that is a package's."""
        return caller_of(self.frames)

    @cached_property
    def users_line(self) -> Frame | None:
        """The source line if it is in a file of the user's own, else its caller."""
        return users_line_of(self.frames)

    @cached_property
    def _module(self) -> tuple[str, str]:
        return next((n.modules[-1] for n in self.nodes if n.modules), ("", ""))


@dataclass(frozen=True)
class Method:
    """One method of a program, and what the export recorded about its instructions.

    handles: instruction id -> debug handles, in recorded order, with duplicates. delegates:
    instruction id of a DELEGATE_CALL -> its map; the map under `NO_INSTRUCTION` applies to calls
    without one. delegates_only: only delegate maps are known, nothing about other instructions.
    by_handle: debug handle -> operator. later_names: debug handle -> names in the graph after
    transform passes; `NO_HANDLE`: nodes that the passes added. flow: data flow between its
    operators, None if no graph states it. results: names of the values that it returns. outputs:
    instruction id of a DELEGATE_CALL -> the number of its results, where it is recorded. constants:
    parameter path -> hash of its values, "" if all are 0 or 1.
    """

    name: str
    operators: tuple[Operator, ...]
    handles: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    delegates: Mapping[int, DelegateMap] = field(default_factory=dict)
    later_names: Mapping[int, frozenset[str]] = field(default_factory=dict)
    flow: MethodFlow | None = None
    results: frozenset[str] = frozenset()
    delegates_only: bool = False
    outputs: Mapping[int, int] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)

    def delegate_at(self, instruction: int) -> DelegateMap | None:
        """The map of a DELEGATE_CALL: its own, else the one that applies to any call."""
        return self.delegates.get(instruction) or self.delegates.get(NO_INSTRUCTION)

    @property
    def is_mapped(self) -> bool:
        """Whether the export recorded anything about its instructions. If not, matching skips it.

        The maps have no instructions for branches, but a method may consist only of branches.
        """
        inside = (op for operators in self.in_branches.values() for op in operators)
        return bool(self.handles or self.delegates) or any(op.debug_handle >= 0 for op in inside)

    @cached_property
    def calls_of(self) -> Counter[int]:
        """Debug handle -> the number of instructions that the map has for it."""
        return Counter(h for handles in self.handles.values() for h in dict.fromkeys(handles))

    def kernel_names(self, handle: int) -> frozenset[str]:
        """The possible kernel names of a debug handle; empty if no operator has it."""
        operator = self.by_handle.get(handle)
        if operator is None:
            return frozenset()
        return self.later_names.get(handle) or operator.base_names

    @cached_property
    def in_branches(self) -> dict[str, tuple[Operator, ...]]:
        """Base name -> operators with such a node inside control flow, in graph order."""
        found: dict[str, dict[int, Operator]] = {}
        for operator in self.operators:
            for node in operator.nodes:
                if node.branch:
                    found.setdefault(base_name(node.op), {})[operator.index] = operator
        return {name: tuple(operators.values()) for name, operators in found.items()}

    @cached_property
    def by_handle(self) -> dict[int, Operator]:
        """Debug handle -> operator."""
        return {op.debug_handle: op for op in self.operators if op.debug_handle >= 0}


@dataclass(frozen=True, slots=True)
class ExtraGraph:
    """A graph of the model at another export stage; no instructions link to it.

    name: as recorded, "exported_program" (ATen) or "<stage>/<method>".
    """

    name: str
    nodes: tuple[GraphNode, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """One model file: an ETRecord, a debug handle map or an MLIR text.

    text_lines: the file's own lines if the program is a text (MLIR), else empty. graphs: graphs of
    an ETRecord other than the linked methods. dispatches: the Torq debug info of a text. Its
    operations are lowered, so its own lines are not source. is_recorded: whether it is no file of
    its own, but what the profile at `path` records about its operators. is_nested: whether these
    call one another, so that one has many call sites. is_of_layers: whether it describes the layers
    of an engine by their names. rejections: what a log of a partitioner says. directions: methods
    that run the same modules, forward and backward; () if no method runs those of another.
    """

    path: str
    format: str
    generation: str
    methods: tuple[Method, ...]
    problems: tuple[Problem, ...] = ()
    text_lines: tuple[str, ...] = ()
    graphs: tuple[ExtraGraph, ...] = ()
    dispatches: tuple[Dispatch, ...] = ()
    is_recorded: bool = False
    is_nested: bool = False
    is_of_layers: bool = False
    rejections: tuple[Rejection, ...] = ()
    directions: tuple[str, ...] = ()

    @property
    def is_mlir(self) -> bool:
        """Whether it is a text with operations that can be linked; Python sources have none."""
        return bool(self.text_lines and self.methods)

    @property
    def delegates_only(self) -> bool:
        """Whether it covers only delegates: a debug handle map without an ETRecord."""
        return bool(self.methods) and all(method.delegates_only for method in self.methods)

    @property
    def noun(self) -> str:
        """What it is, in JSON: "record", "source", "debug handle map", "profile", "layers" or
        "partitioner log".
        """
        if self.is_recorded:
            return "profile"
        if self.is_of_layers:
            return "layers"
        if self.text_lines:
            return "source"
        if self.rejections:
            return "partitioner log"
        return "debug handle map" if self.delegates_only else "record"

    @property
    def title(self) -> str:
        """What it is, in messages: "source", "debug handle map", "ETRecord" or "profile"."""
        return "ETRecord" if self.noun == "record" else self.noun

    @cached_property
    def operators(self) -> tuple[Operator, ...]:
        """All operators; `operators[i].index == i`."""
        return tuple(op for method in self.methods for op in method.operators)

    @cached_property
    def nodes(self) -> tuple[GraphNode, ...]:
        """The graph nodes of all operators, operator after operator."""
        return tuple(node for op in self.operators for node in op.nodes)

    @cached_property
    def quoted_texts(self) -> dict[str, dict[int, set[str]]]:
        """Recorded path -> line -> the texts that stack traces quote; none for a line without text.

        Whitespace around a text is left out, because Python strips it when it records a line.
        """
        found: dict[str, dict[int, set[str]]] = {}
        # Nodes of one call share their stack trace, which is long.
        traces = {id(node.frames): node.frames for node in self.nodes}
        lines = {(frame.path, frame.line, frame.text) for t in traces.values() for frame in t}
        for path, line, quoted in lines:  # many traces go through the same few lines
            if line > 0:
                texts = found.setdefault(path, {}).setdefault(line, set())
                if text := quoted.strip():
                    texts.add(text)
        return found

    @cached_property
    def source_lines(self) -> frozenset[tuple[str, int]]:
        """The recorded path and line of every operator that has one."""
        return frozenset((frame.path, frame.line) for op in self.operators if (frame := op.source))

    @cached_property
    def has_callers(self) -> bool:
        """Whether files of the user's own called an installed package with a source line."""
        return any(op.caller for op in self.operators)

    @cached_property
    def module_paths(self) -> frozenset[str]:
        """The paths of the innermost modules of all operators."""
        return frozenset(op.module_path for op in self.operators) - {""}

    def node_numbers(self, operator: int) -> range:
        """The indexes into `nodes` of an operator's nodes."""
        return range(self._first_nodes[operator], self._first_nodes[operator + 1])

    def parts(
        self, operators: Sequence[int], nodes: Sequence[int]
    ) -> tuple[GraphNode, ...] | tuple[Operator, ...]:
        """What states the type, line and module of something that ran `nodes` of `operators`.

        These are the nodes if only some of the operators' nodes ran, else the operators.
        """
        if len(nodes) < sum(len(self.operators[i].nodes) for i in operators):
            return tuple(self.nodes[i] for i in nodes)
        return tuple(self.operators[i] for i in operators)

    def operator_of_node(self, node: int) -> Operator:
        """The operator of a node, by its index into `nodes`."""
        return self.operators[bisect_right(self._first_nodes, node) - 1]

    @cached_property
    def _first_nodes(self) -> tuple[int, ...]:
        return tuple(accumulate((len(op.nodes) for op in self.operators), initial=0))

    @cached_property
    def operation_places(self) -> OperationPlaces:
        """The positions of the operations in its text."""
        # Its patterns take 7 ms to compile, and few programs are MLIR.
        from viewer.program.mlir.operations import OperationPlaces

        return OperationPlaces(self.text_lines)

    def method(self, name: str) -> Method | None:
        """The method with that name, or None."""
        return next((m for m in self.methods if m.name == name), None)


def type_of(part: Operator | GraphNode) -> str:
    """The operator type of an operator or node: "convolution", "linear", "tosa.add"."""
    return part.op if isinstance(part, Operator) else part.type


def base_name(op: str) -> str:
    """The name shared by kernels and graph nodes: "where" for "aten.where.self".

    Also for an out variant: "where" for "where.self_out"; and "conv2d" for "aten::conv2d".
    """
    if op.startswith(_QUALIFIED):
        return op.partition("::")[2].partition(".")[0]
    parts = op.split(".")
    return parts[-2] if len(parts) > 2 else parts[0]


def library_of(op: str) -> str:
    """The library of an operator: "aten" for "aten.where.self" and "aten::conv2d"."""
    return op.partition("::")[0].partition(".")[0]


@dataclass(frozen=True, slots=True)
class DelegateIdentifier:
    """One identifier under which a delegate logs an operator. fused: its other operators."""

    key: int | str
    fused: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lowering:
    """One delegate call that contains an operator.

    instruction: `NO_INSTRUCTION` for a map that applies to any call. others: the other operators of
    the call, as indexes into `Program.operators`. identifiers: those of the operator, in the map's
    order. has_map: whether the delegate returned any identifiers.
    """

    instruction: int
    backend: str
    others: tuple[int, ...]
    identifiers: tuple[DelegateIdentifier, ...]
    has_map: bool


def lowered_into(method: Method, operator: Operator) -> tuple[Lowering, ...]:
    """The delegate calls that contain an operator of a method, by instruction."""
    handle = operator.debug_handle
    lowerings = []
    for instruction, delegate in sorted(method.delegates.items()):
        handles = method.handles.get(instruction, ())
        entries = delegate.entries or {}
        identifiers = tuple(
            DelegateIdentifier(key, _others(method, members, handle))
            for key, members in entries.items()
            if handle in members
        )
        if handle >= 0 and (handle in handles or identifiers):
            lowerings.append(
                Lowering(
                    instruction,
                    delegate.backend,
                    _others(method, handles, handle),
                    identifiers,
                    delegate.is_filled,
                )
            )
    return tuple(lowerings)


def instructions_of(method: Method, operator: Operator) -> frozenset[int]:
    """The instructions that run an operator, alone or with others."""
    return frozenset(
        instruction
        for instruction, handles in method.handles.items()
        if operator.debug_handle in handles
    )


def _others(method: Method, handles: tuple[int, ...], own_handle: int) -> tuple[int, ...]:
    operators = (
        method.by_handle.get(handle) for handle in dict.fromkeys(handles) if handle != own_handle
    )
    return tuple(operator.index for operator in operators if operator is not None)
