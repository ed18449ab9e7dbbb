"""The links of a trace: for each identity of its slices, its operators and the reason.

Links are computed per distinct identity key, never per slice, and are stored separately from the
trace. So another ETRecord, pairing or user choice does not reread the file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from viewer.arrays import Bools, Codes, Ints, numbers_at
from viewer.dataclasses import dataclass, field, replace
from viewer.model.text import listed
from viewer.model.trace import Trace
from viewer.program.executables import Executable, ExecutableMethod
from viewer.program.program import GraphNode, Operator, Program

if TYPE_CHECKING:
    from viewer.analysis.links.match import TraceMatch


class LinkState(Enum):
    """How a reason counts for coverage."""

    LINKED = "linked"
    UNLINKED = "unlinked"  # linkable, but no operator was found
    NOT_LINKABLE = "not linkable"  # the file gives no identity that a program could know


class Reason(Enum):
    """Why a key is linked or not: a name for scripts, and its state."""

    BY_INSTRUCTION = ("instruction in the debug handle map", LinkState.LINKED)
    REPLACED = ("debug handle of an operator that a pass replaced", LinkState.LINKED)
    CHOSEN_RECORD = (
        "debug handle in the chosen ETRecord, whose operator has another name",
        LinkState.LINKED,
    )
    BY_IDENTIFIER = ("identifier in the delegate's debug handle map", LinkState.LINKED)
    BY_NODE_ID = ("delegate_node_id in the delegate's debug handle map", LinkState.LINKED)
    BY_TENSOR = ("tensor in the delegate's debug handle map", LinkState.LINKED)
    BY_XNNPACK_NODE = ("XNNPACK node in the program file", LinkState.LINKED)
    BY_VIEW = ("view that the runtime makes, by the program file", LinkState.LINKED)
    BY_BRANCH = ("kernel in a branch, by the program file", LinkState.LINKED)
    BY_LOCATION = ("location in the MLIR text", LinkState.LINKED)
    BY_PROFILE = ("recorded in the profile itself", LinkState.LINKED)
    BY_LAYER = ("name of the layer", LinkState.LINKED)
    NO_IDENTITY = ("no operator ID in this file", LinkState.NOT_LINKABLE)
    FRAMEWORK = ("framework scope", LinkState.NOT_LINKABLE)
    CONTROL = ("instruction without an operator", LinkState.NOT_LINKABLE)
    OUTSIDE_CALLS = ("logged outside any delegate call", LinkState.NOT_LINKABLE)
    WHOLE_CALL = ("total or host event of a whole call", LinkState.NOT_LINKABLE)
    UNATTRIBUTED = (
        "time of a call that its delegate's events do not cover",
        LinkState.NOT_LINKABLE,
    )
    INSERTED = ("inserted by XNNPACK's export", LinkState.NOT_LINKABLE)
    UNKNOWN_LOCATION = ("unknown location", LinkState.NOT_LINKABLE)
    NO_PROGRAM = ("no ETRecord or source is linked", LinkState.UNLINKED)
    METHOD_UNDECIDED = ("several methods match equally well", LinkState.UNLINKED)
    NO_METHOD = ("method not in the ETRecord", LinkState.UNLINKED)
    NOT_IN_MAP = ("instruction not in the debug handle map", LinkState.UNLINKED)
    IN_BRANCH = ("inside a branch of control flow, which has no debug handle", LinkState.UNLINKED)
    ONLY_DELEGATES = ("debug handle map covers only delegate events", LinkState.UNLINKED)
    NOT_IN_GRAPH = ("debug handle not in the graph", LinkState.UNLINKED)
    OTHER_OPERATOR = ("kernel contradicts its debug handle", LinkState.UNLINKED)
    NO_DELEGATE_MAP = ("backend wrote no debug handle map", LinkState.UNLINKED)
    NOT_ALIGNED = (
        "XNNPACK's events do not match the nodes of the program file",
        LinkState.UNLINKED,
    )
    IDENTIFIER_UNKNOWN = ("identifier not in the debug handle map", LinkState.UNLINKED)
    IDENTIFIER_AMBIGUOUS = ("identifier in several delegate instances", LinkState.UNLINKED)
    NO_DEBUG_INFO = ("no debug info of its dispatch is open", LinkState.UNLINKED)
    NOT_IN_DEBUG_INFO = ("not in the dispatch's debug info", LinkState.UNLINKED)
    NOT_IN_TEXT = ("location not in the MLIR text", LinkState.UNLINKED)
    LOCATION_ALONE = (
        "location without an identifier; the ETRecord has no locations",
        LinkState.UNLINKED,
    )

    def __init__(self, text: str, state: LinkState) -> None:
        self.text = text
        self.state = state

    @property
    def listed_text(self) -> str:
        """The text in a list of reasons, where it says which slices it is about if that matters."""
        return _LISTED.get(self, self.text)


# Next to each other, these would seem to contradict each other.
_LISTED = {
    Reason.BY_INSTRUCTION: "operator calls, by instruction",
    Reason.NO_DELEGATE_MAP: "delegate events: the backend wrote no debug handle map",
}
REASONS = {reason.text: reason for reason in Reason}  # by the texts that facts and tables have


@dataclass(frozen=True, slots=True)
class Link:
    """The link of one key.

    handles: debug handles in the ETRecord's order, with duplicates. operators: indexes into
    `Program.operators`, distinct. nodes: indexes into `Program.nodes` of the graph nodes that ran,
    or of those that may have; empty if these are all nodes of the operators. near: for an unlinked
    key, the operators that it may belong to: those of its call for a delegate event, those of the
    branches for a kernel inside control flow. detail: the reason as a sentence about this key.
    """

    reason: Reason
    detail: str
    handles: tuple[int, ...] = ()
    operators: tuple[int, ...] = ()
    near: tuple[int, ...] = ()
    backend: str = ""
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class LinkTable:
    """The links of one trace to one program (or to none), one `Link` per key of the trace.

    clock_rates: the stated ns per cycle or tick of delegates' clocks, by key and unit. executable:
    the open program file that ran, None without one. ran: per scope of the trace its method that
    ran, None if that is not known; () without a program file. Also known without a program.
    rejected: what a partitioner logged of operators that it did not delegate.
    """

    trace: Trace
    program: Program | None
    trace_match: TraceMatch | None
    links: tuple[Link, ...]
    clock_rates: Mapping[tuple[int, str], Fraction] = field(default_factory=dict)
    executable: Executable | None = None
    ran: tuple[ExecutableMethod | None, ...] = ()
    rejected: Mapping[int, str] = field(default_factory=dict)

    @property
    def is_recorded(self) -> bool:
        """Whether the program is what the profile itself records."""
        return self.program is not None and self.program.is_recorded

    @property
    def program_path(self) -> str | None:
        """The path of the program's file; None without one, or if the profile records it."""
        return None if self.program is None or self.is_recorded else self.program.path

    @cached_property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """The distinct sets of operators that keys are linked to; cost is charged to these."""
        return tuple(dict.fromkeys(tuple(sorted(x.operators)) for x in self.links if x.operators))

    @cached_property
    def set_of_key(self) -> Ints:
        """Per key the index into `sets`, -1 if it is not linked (int64)."""
        number = {operators: i for i, operators in enumerate(self.sets)}
        return np.array([number.get(tuple(sorted(x.operators)), -1) for x in self.links], np.int64)

    @cached_property
    def are_shared(self) -> Bools:
        """Per key whether it is linked to several operators."""
        several = [len(operators) > 1 for operators in self.sets]
        return np.array([*several, False], np.bool_)[self.set_of_key]

    @cached_property
    def node_sets(self) -> tuple[tuple[int, ...], ...]:
        """The sets of graph nodes that keys are linked to, as indexes in `Program.nodes`.

        Each is all or a part of the nodes of one of `sets`; two of them may have the same part.
        Cost is charged to these sets, because the nodes of one operator may have different types,
        modules and lines.
        """
        return self._node_sets[0]

    @cached_property
    def node_set_of_key(self) -> Ints:
        """Per key the index into `node_sets`, -1 if it is not linked (int64)."""
        return self._node_sets[1]

    @cached_property
    def set_of_node_set(self) -> Ints:
        """Per node set the index into `sets` (int64)."""
        linked = self.node_set_of_key >= 0
        found = numbers_at(
            len(self.node_sets), self.node_set_of_key[linked], self.set_of_key[linked]
        )
        return found

    @cached_property
    def parts(self) -> tuple[tuple[GraphNode, ...] | tuple[Operator, ...], ...]:
        """Per node set what states its type, module and line: its nodes, or its operators."""
        if self.program is None:
            return ()
        sets = zip(self.set_of_node_set.tolist(), self.node_sets, strict=True)
        return tuple(self.program.parts(self.sets[own], nodes) for own, nodes in sets)

    @cached_property
    def _node_sets(self) -> tuple[tuple[tuple[int, ...], ...], Ints]:
        program = self.program
        nodes: dict[tuple[int, tuple[int, ...]], tuple[int, ...]] = {}
        number: dict[tuple[int, tuple[int, ...]], int] = {}
        of_key = np.full(len(self.links), -1, np.int64)
        for key, own in enumerate(self.set_of_key.tolist()):
            if own < 0 or program is None:
                continue
            what = own, self.links[key].nodes
            if what not in nodes:
                every = (i for operator in self.sets[own] for i in program.node_numbers(operator))
                nodes[what] = tuple(sorted(what[1] or every))
            of_key[key] = number.setdefault((own, nodes[what]), len(number))
        return tuple(part for _, part in number), of_key

    @cached_property
    def states(self) -> Codes:
        """Per key 0 not linkable, 1 unlinked, 2 linked (uint32)."""
        rank = {LinkState.NOT_LINKABLE: 0, LinkState.UNLINKED: 1, LinkState.LINKED: 2}
        return np.array([rank[x.reason.state] for x in self.links], np.uint32)

    def keys_of(self, operators: Collection[int], *, exact: bool = False) -> Bools:
        """Return per key whether it is linked to any of the operators; exact: to exactly these.

        Compares distinct sets, not keys: it runs with every frame and selection, and there may be
        200,000 keys.
        """
        selected = frozenset(operators)
        hit = [selected == set(x) if exact else not selected.isdisjoint(x) for x in self.sets]
        return np.array([*hit, False], np.bool_)[self.set_of_key]

    def operators(self, key: int) -> tuple[Operator, ...]:
        if self.program is None:
            return ()
        return tuple(self.program.operators[i] for i in self.links[key].operators)

    def executed(self, key: int) -> tuple[Operator, ...]:
        """Return the operators of a key, each with only those of its nodes that ran.

        So their lines and modules are those of the nodes. The title of a slice is that of
        `operators`.
        """
        number = int(self.node_set_of_key[key])
        if self.program is None or number < 0:
            return ()
        ran = set(self.node_sets[number])
        operators = []
        for operator in self.operators(key):
            numbers = self.program.node_numbers(operator.index)
            nodes = tuple(n for i, n in zip(numbers, operator.nodes, strict=True) if i in ran)
            if nodes:
                operators.append(replace(operator, nodes=nodes))
        return tuple(operators)

    def nodes(self, key: int) -> tuple[GraphNode, ...]:
        """Return the graph nodes of a key, in graph order per operator."""
        number = int(self.node_set_of_key[key])
        if self.program is None or number < 0:
            return ()
        return tuple(self.program.nodes[i] for i in self.node_sets[number])

    def method_of_scope(self, scope: int) -> str | None:
        """Return the method of a scope's runs, as given in the file or decided by the match."""
        stated = self.trace.scopes[scope].method
        return stated or (self.trace_match.methods[scope] if self.trace_match else None)

    def methods_of_scope(self, scope: int) -> tuple[str, ...]:
        """Return the methods that a scope's runs may be of: one if decided, () if unknown."""
        method = self.method_of_scope(scope)
        if method is not None:
            return (method,)
        return self.trace_match.undecided[scope] if self.trace_match else ()

    def method_text(self, scope: int) -> str:
        """Return the method of a scope's runs, "decode or prefill" while it is open, else ""."""
        return listed(self.methods_of_scope(scope), "or")

    def method_of_track(self, track: int) -> str | None:
        """Return the only method whose inferences are on a track, else None."""
        methods = {self.method_of_scope(scope) for scope in self.scopes_of_tracks.get(track, ())}
        return methods.pop() if len(methods) == 1 else None

    @cached_property
    def scopes_of_tracks(self) -> dict[int, set[int]]:
        """The scopes of the inferences on every track that has any."""
        found: dict[int, set[int]] = {}
        for run in self.trace.inferences():
            found.setdefault(run.track, set()).add(run.scope)
        return found
