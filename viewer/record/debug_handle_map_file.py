"""Writes debug handle map files, which explain a delegate's identifiers for any profile.

Such a file replaces an ETRecord if there is none, for example for the CSV of a simulator. JSON:

    {"opscope_debug_handle_map": 1,
     "methods": {"forward": {"0": {"delegate": "ToyNpu",
                                   "entries": [["Fancy Fusion", [1, 2]], [10, [3]]]}}},
     "operators": {"1": {"target": "aten.addmm.default", "name": "linear", "module": "head.fc",
                         "file": "/home/user/model.py", "line": 12}}}

For each method, `methods` has delegate instances by the instruction id of their DELEGATE_CALL, or
by "*" if it is not known or the map applies to all calls. Entries are pairs, because the
identifiers 10 and "10" differ. `operators` describes the operator of a debug handle, with only the
known fields: `name` is its display name, `target` the graph node's operator or a list of several,
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
    """The identifiers of one delegate call, or of every call if it has no instruction.

    Attributes:
        mapping: A builder, or the result of any builder's `get_delegate_mapping()`.
        delegate: The name of the backend.
        method: The method of the model.
        instruction: The id of its DELEGATE_CALL in the method; None if not known, as in the profile
            of a simulator.
    """

    mapping: DelegateMappingBuilder | Mapping[Any, Sequence[int]]
    delegate: str = ""
    method: str = "forward"
    instruction: int | None = None


def write_debug_handle_map(
    path: str | os.PathLike[str], *instances: DelegateInstance, nodes: Any | Iterable[Any] = ()
) -> None:
    """Write the map of one or more delegate instances to a file, atomically.

    The operators that builders know are included.

    Args:
        path: The file to write.
        instances: At least one.
        nodes: More nodes (fx nodes, operators of a program) that describe operators, for example
            for a mapping without a builder.

    Raises:
        ValueError: Without an instance, for two instances of one call, for a negative instruction,
            or for an invalid mapping.
        TypeError: For an invalid mapping.
        OSError: If the file cannot be written.
    """
    # Its import of `secrets` takes 30 ms, which a program that only registers does not need.
    from viewer.codecs.atomic_file import write_whole

    if not instances:
        raise ValueError("give at least one DelegateInstance: a file without any says nothing")
    methods: dict[str, dict[str, Any]] = {}
    nodes_of_handle: dict[int, list[GraphNode]] = {}
    for instance in instances:
        if instance.instruction is not None and instance.instruction < 0:
            raise ValueError(
                f"{instance.instruction} is no instruction id: give that of the DELEGATE_CALL, or "
                "None where it is not known"
            )
        call = ANY_INSTRUCTION if instance.instruction is None else str(instance.instruction)
        calls = methods.setdefault(instance.method, {})
        if call in calls:
            where = "of any call" if instance.instruction is None else f"at instruction {call}"
            raise ValueError(
                f"two delegate instances {where} of {instance.method}: give each its own"
            )
        calls[call] = {
            "delegate": instance.delegate,
            "entries": _pairs(instance.mapping),
        }
        if isinstance(instance.mapping, DelegateMappingBuilder):
            for handle, graph_nodes in instance.mapping.graph_nodes.items():
                nodes_of_handle.setdefault(handle, []).extend(graph_nodes)
    for node in each_node(nodes):
        for graph_node in graph_nodes_of(node):
            nodes_of_handle.setdefault(graph_node.debug_handle, []).append(graph_node)
    written: dict[str, Any] = {MAP_MARK: MAP_VERSION, "methods": methods}
    if nodes_of_handle:
        written["operators"] = {
            str(handle): _operator(nodes_of_handle[handle]) for handle in sorted(nodes_of_handle)
        }
    write_whole(path, json.dumps(written).encode())


def _pairs(mapping: DelegateMappingBuilder | Mapping[Any, Sequence[int]]) -> list[Any]:
    """[identifier, [debug handles]] for each entry."""
    stated: Mapping[Any, Sequence[int]]
    if isinstance(mapping, DelegateMappingBuilder):
        stated = mapping.get_delegate_mapping()
    else:
        stated = mapping
    return [
        [checked_identifier(key), [debug_handle(h) for h in handles]]
        for key, handles in stated.items()
    ]


def _operator(nodes: list[GraphNode]) -> dict[str, Any]:
    """The file's description of one debug handle's operator."""
    from viewer.program.program import Operator

    operator = Operator(0, "", nodes[0].debug_handle, tuple(nodes))
    targets = operator.ops
    fields: dict[str, Any] = {"name": operator.op}
    if targets:
        fields = {"target": targets[0] if len(targets) == 1 else list(targets), **fields}
    if operator.module_path:
        fields["module"] = operator.module_path
    if operator.source is not None:
        fields["file"], fields["line"] = operator.source.path, operator.source.line
    return fields
