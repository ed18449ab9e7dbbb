"""Reads an ETRecord, which ExecuTorch's export writes about the model, as a `Program`.

An ETRecord is a ZIP archive of JSON members (`archive`): the edge dialect graph of every method
(one flat member up to 1.1, one per method since 1.2), the ATen program and extra graphs of other
stages, and the maps of debug handles, of delegates and of their numbers of outputs (`graph`).
Specified by the ExecuTorch sources, devtools/etrecord; generations 0.1 to 1.5. Rules that the
format does not state, but real files need:

* An ETRecord of one method may store it as "forward" while its maps use the method's own name.
* A save that failed halfway leaves a valid ZIP archive. What exists is shown: the edge graphs
  without maps, or only the ATen program, whose nodes have no debug handles.
* A pass may replace an operator under its debug handle, for example a relu by a clamp, after the
  edge graph was recorded. "edge_after_transform/<method>" then has the operator that ran.
* `to_executorch()` overwrites the handles of a graph that was not copied with instruction ids. The
  debug handle map has the original handles, so they are translated back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewer.codecs.json_values import (
    InvalidJson,
    Parsed,
    mapping,
    memory_needed,
    whole_number,
)
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.dataclasses import replace
from viewer.formats import format_of
from viewer.formats.executorch.etrecord.archive import (
    ATEN,
    DEBUG_HANDLES,
    DELEGATES,
    EDGE,
    EXPORT_GRAPH,
    MAGIC,
    NUMBER_OF_OUTPUTS,
    Members,
    hashes_in,
)
from viewer.formats.executorch.etrecord.dataflow import NodeFlows
from viewer.formats.executorch.etrecord.graph import (
    AtenOrigin,
    GraphReader,
    delegate_maps,
    has_instruction_ids,
    has_node_names,
    instruction_handles,
    output_counts,
    results_of,
)
from viewer.model.trace import Problem
from viewer.program.program import (
    NO_HANDLE,
    ExtraGraph,
    GraphNode,
    Method,
    Operator,
    Program,
    base_name,
)

# Bytes of nodes and operators per byte of their JSON text: 2.9 measured with RSS (32,000 nodes in
# 85 MB, two members), of which a part is memory that Python keeps for reuse.
_HELD = 2
_AFTER_TRANSFORM = "edge_after_transform"


def sniff(head: bytes) -> bool:
    """Whether it is a ZIP archive whose first members have the names of an ETRecord's."""
    return head.startswith(b"PK\x03\x04") and (
        MAGIC.encode() in head or EDGE.encode() in head or b"debug_handle_map" in head
    )


def read(path: str, progress: Progress, cancelled: Cancelled) -> Program:
    """Read an ETRecord; missing or unexpected data becomes a counted problem.

    Raises UnreadableFile, ReadCancelled.
    """
    with Members(path, progress, cancelled) as members:
        return _Reader(path, members, cancelled).program()


FORMAT = format_of("executorch.etrecord.reader")


class _Reader:
    def __init__(self, path: str, members: Members, cancelled: Cancelled) -> None:
        self._path = path
        self._members = members
        self._cancelled = cancelled
        self._problems: dict[str, tuple[int, str]] = {}
        self._graphs = GraphReader(self._problem)
        self._handles: dict[str, Any] = {}
        self._delegates: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._generation = ""
        self._first = 0

    def program(self) -> Program:
        self._read_maps()
        extra = [
            ExtraGraph(n, tuple(self._graphs.all_nodes(self._json(n))))
            for n in self._members.graphs
        ]
        methods = self._methods(extra)
        return Program(
            path=self._path,
            format=FORMAT.name,
            generation=self._generation,
            methods=tuple(methods),
            problems=tuple(Problem(k, n, where) for k, (n, where) in self._problems.items()),
            graphs=tuple(extra),
        )

    def _problem(self, kind: str, first: str = "") -> None:
        had, where = self._problems.get(kind, (0, first))
        self._problems[kind] = (had + 1, where)

    # -- members -----------------------------------------------------------------------------

    def _json(self, name: str) -> Any:
        stop_if(self._cancelled)
        # Check only the maps for duplicates: programs are large, and logged values do not look up
        # their keys.
        is_map = name in self._members.maps
        raw = self._members.read(name)
        # The bytes, their text and its objects exist at the same time.
        allowance().take(self._members.held + len(raw) + memory_needed(raw))
        self._members.held += _HELD * len(raw)
        try:
            parsed = Parsed(raw, find_duplicates=is_map)
        except InvalidJson as error:
            self._problem("a member is not valid JSON and was left out", f"{name}: {error}")
            return None
        for warning in parsed.warnings:
            self._problem(warning, name)
        return parsed.value

    def _read_maps(self) -> None:
        if DEBUG_HANDLES in self._members.maps:
            self._handles = mapping(self._json(DEBUG_HANDLES))
        if DELEGATES in self._members.maps:
            self._delegates = mapping(self._json(DELEGATES))
        if NUMBER_OF_OUTPUTS in self._members.maps:
            self._outputs = mapping(self._json(NUMBER_OF_OUTPUTS))

    def _edge_members(self) -> dict[str, str]:
        """Method -> member with its graph, under the names that the maps use."""
        members = self._members.edge
        mapped = list(self._handles)
        if len(members) == len(mapped) == 1:
            # One method named `encode` is stored as "forward", while the maps use "encode".
            return {mapped[0]: next(iter(members.values()))}
        return members

    # -- methods -----------------------------------------------------------------------------

    def _methods(self, extra: list[ExtraGraph]) -> list[Method]:
        edge = self._edge_members()
        if not edge and not self._handles:
            return self._unfinished(extra)
        if DEBUG_HANDLES not in self._members.maps:
            self._problem("the ETRecord has no debug_handle_map, so slices cannot be linked to it")
        origin = self._origin(extra)
        return [
            self._method(name, edge.get(name), origin, self._later_names(name, extra))
            for name in dict.fromkeys([*edge, *self._handles])
        ]

    def _origin(self, extra: list[ExtraGraph]) -> AtenOrigin | None:
        aten = next((graph for graph in extra if graph.name == ATEN), None)
        if aten is None or EXPORT_GRAPH not in self._members.maps:
            return None
        graph_id = whole_number(self._json(EXPORT_GRAPH))
        if graph_id is None:
            self._problem("export_graph_id is not a number: ATen nodes are not shown")
            return None
        return AtenOrigin(graph_id, frozenset(node.name for node in aten.nodes))

    def _later_names(self, method: str, extra: list[ExtraGraph]) -> dict[int, frozenset[str]]:
        """Debug handle or `NO_HANDLE` -> base names in the graph after transform passes."""
        names_of: dict[int, set[str]] = {}
        for graph in extra:
            if graph.name == f"{_AFTER_TRANSFORM}/{method}":
                for node in graph.nodes:
                    names_of.setdefault(node.debug_handle, set()).add(base_name(node.op))
        return {handle: frozenset(names) for handle, names in names_of.items()}

    def _method(
        self,
        name: str,
        member: str | None,
        origin: AtenOrigin | None,
        later_names: dict[int, frozenset[str]],
    ) -> Method:
        handles = instruction_handles(self._handles.get(name), self._problem)
        nodes: list[GraphNode] = []
        flows = NodeFlows()
        results: frozenset[str] = frozenset()
        if member is None:
            self._problem("the ETRecord has no graph of a method: its operators are unknown", name)
        else:
            program = self._json(member)
            self._generation = self._generation or self._generation_of(program)
            translate = None
            if has_instruction_ids(program):
                self._problem(
                    "the ETRecord was saved without deepcopy: its graph has instruction ids "
                    "instead of debug handles, which were restored from its map",
                    name,
                )
                translate = handles
            graph_nodes = self._graphs.operators(program, origin, translate, flows)
            nodes = [replace(node, position=i) for i, node in enumerate(graph_nodes)]
            results = results_of(program)
            if program is not None and not nodes:
                self._problem("a method's graph has no operators", name)
        operators = self._operators(name, nodes)
        indexes = {id(node): operator.index for operator in operators for node in operator.nodes}
        return Method(
            name=name,
            operators=operators,
            handles=handles,
            delegates=delegate_maps(self._delegates.get(name), self._problem),
            outputs=output_counts(self._outputs.get(name), self._problem),
            constants=self._constants(member, nodes),
            later_names=later_names,
            flow=None if member is None else flows.method_flow([indexes[id(n)] for n in nodes]),
            results=results,
        )

    def _constants(self, member: str | None, nodes: Sequence[GraphNode]) -> dict[str, str]:
        """Path -> hash of the parameters and constants that a method uses.

        Backends may take theirs out of the edge program. The ATen program of a single method has
        them too.
        """
        wanted = {t.parameter for node in nodes for t in node.inputs if t.parameter}
        hash_of: dict[str, str] = {}
        for program in (member, ATEN if len(self._members.edge) == 1 else None):
            for info in self._members.constants(program) if program else ():
                if wanted - hash_of.keys():
                    hash_of = {**hashes_in(self._path, info), **hash_of}
        return {name: hash_of[name] for name in wanted & hash_of.keys()}

    def _operators(self, method: str, nodes: list[GraphNode]) -> tuple[Operator, ...]:
        """One operator per debug handle, and one per node without one."""
        groups: dict[tuple[int, int], list[GraphNode]] = {}
        for number, node in enumerate(nodes):
            alone = number if node.debug_handle == NO_HANDLE else -1
            groups.setdefault((node.debug_handle, alone), []).append(node)
        first = self._first
        self._first += len(groups)
        return tuple(
            Operator(first + i, method, handle, tuple(group))
            for i, ((handle, _), group) in enumerate(groups.items())
        )

    def _unfinished(self, extra: list[ExtraGraph]) -> list[Method]:
        """The calls of `forward`, for an ETRecord whose save ended after its ATen program."""
        aten = next((graph for graph in extra if graph.name == ATEN and graph.nodes), None)
        if aten is None:
            raise UnreadableFile(
                self._path,
                "the ETRecord has neither a program nor a debug handle map",
                remedy="Its save failed before the first program: export it again",
            )
        self._generation = "1.0+"
        self._problem(
            "the ETRecord is incomplete: it has no edge dialect program and no maps, probably "
            "because saving it failed. The operators of its ATen program are shown, but slices "
            "cannot be linked to them; export it again"
        )
        extra.remove(aten)
        return [Method("forward", self._operators("forward", list(aten.nodes)))]

    def _generation_of(self, program: Any) -> str:
        """The releases that write such an ETRecord, which states no release itself."""
        if not self._members.is_flat:
            return "1.2+"
        if {EXPORT_GRAPH, NUMBER_OF_OUTPUTS} & self._members.maps:
            return "1.0-1.1"
        if has_node_names(program):
            return "1.0-1.1"
        major = whole_number(mapping(mapping(program).get("schema_version")).get("major")) or 0
        return "0.4-0.7" if major >= 5 else "0.1-0.3"
