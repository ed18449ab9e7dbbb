"""The debug handle map file: what a delegate's identifiers mean, to open beside any profile.

It stands in for an ETRecord where there is none, as beside the CSV of a simulator. JSON:

    {"opscope_debug_handle_map": 1,
     "methods": {"forward": {"0": {"delegate": "ToyNpu",
                                   "entries": [["Fancy Fusion", [1, 2]], [10, [3]]]}}},
     "operators": {"1": {"target": "aten.addmm.default", "name": "linear", "module": "head.fc",
                         "file": "/home/user/model.py", "line": 12}}}

`methods` has, for each method, delegate instances by the instruction id of their DELEGATE_CALL, or
by "*" where it is not known or all calls are meant. Entries are pairs, since the identifiers 10 and
"10" are two. `operators` says what stands behind a debug handle, each part of it only where known:
`name` is what it is called on screen, `target` the graph node's operator, or a list of several,
`module` the path of the innermost module, `file` and `line` the user's own line. Read by
`viewer.formats.executorch.debug_handle_map`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from viewer.program.debug_handles import ANY_INSTRUCTION, MAP_MARK, MAP_VERSION
from viewer.record.debug_handle_map import DelegateMappingBuilder, checked_identifier
from viewer.record.nodes import debug_handle, each_node, graph_nodes_of

if TYPE_CHECKING:
    from viewer.program.program import GraphNode


@dataclass(frozen=True, slots=True)
class DelegateInstance:
    """What one call of a delegate (or each, without an instruction) means by its identifiers.

    mapping: a builder, or what any builder's `get_delegate_mapping()` returned. delegate: the name
    of the backend. instruction: the id of its DELEGATE_CALL in the method; None where it is not
    known, as in the profile of a simulator.
    """

    mapping: DelegateMappingBuilder | Mapping[Any, Sequence[int]]
    delegate: str = ""
    method: str = "forward"
    instruction: int | None = None


def write_debug_handle_map(
    path: str | os.PathLike[str], *instances: DelegateInstance, nodes: Any | Iterable[Any] = ()
) -> None:
    """Write the map of one delegate instance or several as a file, whole or not at all.

    What their builders were told of operators is written with them; nodes: more that tell of theirs
    (fx nodes, operators of a program), as for a mapping without a builder. Raises ValueError for
    no instance, two of one call, or a negative instruction, TypeError or ValueError for a mapping
    that is none, OSError.
    """
    # Its random names take 30 ms to import, which a program that only registers does not need.
    from viewer.codecs.atomic_file import write_whole

    if not instances:
        raise ValueError("give at least one DelegateInstance: a file without any says nothing")
    methods: dict[str, dict[str, Any]] = {}
    told: dict[int, list[GraphNode]] = {}
    for one in instances:
        if one.instruction is not None and one.instruction < 0:
            raise ValueError(
                f"{one.instruction} is no instruction id: give that of the DELEGATE_CALL, or None "
                "where it is not known"
            )
        call = ANY_INSTRUCTION if one.instruction is None else str(one.instruction)
        calls = methods.setdefault(one.method, {})
        if call in calls:
            where = "of any call" if one.instruction is None else f"at instruction {call}"
            raise ValueError(f"two delegate instances {where} of {one.method}: give each its own")
        calls[call] = {"delegate": one.delegate, "entries": _pairs(one.mapping)}
        if isinstance(one.mapping, DelegateMappingBuilder):
            for handle, known in one.mapping.graph_nodes.items():
                told.setdefault(handle, []).extend(known)
    for node in each_node(nodes):
        for graph_node in graph_nodes_of(node):
            told.setdefault(graph_node.debug_handle, []).append(graph_node)
    written: dict[str, Any] = {MAP_MARK: MAP_VERSION, "methods": methods}
    if told:
        written["operators"] = {str(handle): _operator(told[handle]) for handle in sorted(told)}
    write_whole(path, json.dumps(written).encode())


def _pairs(mapping: DelegateMappingBuilder | Mapping[Any, Sequence[int]]) -> list[Any]:
    """[identifier, [debug handles]] of every entry."""
    stated: Mapping[Any, Sequence[int]]
    if isinstance(mapping, DelegateMappingBuilder):
        stated = mapping.get_delegate_mapping()
    else:
        stated = mapping
    return [
        [checked_identifier(key), [debug_handle(h) for h in own]] for key, own in stated.items()
    ]


def _operator(nodes: list[GraphNode]) -> dict[str, Any]:
    """What the graph nodes of one debug handle tell of its operator."""
    from viewer.program.program import Operator

    operator = Operator(0, "", nodes[0].debug_handle, tuple(nodes))
    targets = operator.ops
    told: dict[str, Any] = {"name": operator.op}
    if targets:
        told = {"target": targets[0] if len(targets) == 1 else list(targets), **told}
    if operator.module_path:
        told["module"] = operator.module_path
    if operator.source is not None:
        told["file"], told["line"] = operator.source.path, operator.source.line
    return told
