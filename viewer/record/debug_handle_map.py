"""Builds and writes debug handle maps: the operators behind each of a delegate's identifiers.

A delegate's `preprocess()` registers every identifier that it will log, with the nodes behind it.
Methods and results are those of the builder that ExecuTorch documents (devtools, delegate
debugging), so that either can replace the other. This one needs no torch: any object with the
`meta` that torch.export sets is a node (`debug_handle`, and for names `nn_module_stack`,
`stack_trace` and `torch_fn`), and so are `viewer` graph nodes and operators.

A file explains a delegate's identifiers for any profile, for example for the CSV of a simulator.
`viewer.formats.executorch.debug_handle_map` reads its JSON:

    {"opscope_debug_handle_map": 1,
     "methods": {"forward": {"0": {"delegate": "ToyNpu",
                                   "entries": [["Fancy Fusion", [1, 2]], [10, [3]]]}}},
     "operators": {"1": {"target": "aten.addmm.default", "name": "linear", "module": "head.fc",
                         "file": "/home/user/model.py", "line": 12}}}

A method has delegate instances by the instruction id of their DELEGATE_CALL, or by "*" if it is not
known or the map applies to all calls. Entries are pairs, because the identifiers 10 and "10"
differ. Of an operator, `name` is its display name, `target` the graph node's operator or a list of
several, `module` the path of the innermost module, `file` and `line` the user's own line.
"""

from __future__ import annotations

import json
import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from viewer.dataclasses import dataclass
from viewer.program.debug_handles import ANY_INSTRUCTION, MAP_MARK, MAP_VERSION, Identifier

if TYPE_CHECKING:
    from viewer.program.program import GraphNode


_NO_HANDLE = -1  # for operators and graph nodes of `viewer`
_OP_NAME = re.compile(r"[\w.:]+")
# torch's marker on nodes that a pass created outside any module.
_NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"


def each_node(nodes: Any | Iterable[Any]) -> list[Any]:
    """One or more nodes as a list. Raises TypeError for a str or bytes."""
    if _is_node(nodes) or not isinstance(nodes, Iterable):
        return [nodes]
    if isinstance(nodes, (str, bytes)):
        raise _no_node(nodes)
    return list(nodes)


def handles_of(node: Any) -> tuple[int, ...]:
    """The debug handles of a node; empty if it has none.

    Raises TypeError if it is not a node, ValueError for a negative handle.
    """
    if not _is_node(node):
        try:
            return (debug_handle(node),)
        except TypeError:
            raise _no_node(node) from None
    if not hasattr(node, "meta"):
        return () if node.debug_handle == _NO_HANDLE else (debug_handle(node.debug_handle),)
    stated = node.meta.get("debug_handle")
    listed = stated if isinstance(stated, (tuple, list, set, frozenset)) else (stated,)
    return tuple(debug_handle(handle) for handle in listed if handle is not None)


def debug_handle(value: Any) -> int:
    """A number (numpy too) as a debug handle. Raises TypeError or ValueError if invalid."""
    if not isinstance(value, bool):
        try:
            handle = operator.index(value)
        except TypeError:
            pass
        else:
            if handle < 0:
                raise ValueError(f"{handle} is no debug handle: they are whole numbers from 0")
            return handle
    raise TypeError(f"{str(value)[:80]!r} is no debug handle: they are whole numbers from 0")


def graph_nodes_of(node: Any) -> Iterator[GraphNode]:
    """The graph nodes of a node's operators; none for a plain handle or without a target.

    A fused node has handles of several operators; its target is none of them.
    """
    if not _is_node(node):
        return
    if not hasattr(node, "meta"):
        if node.debug_handle != _NO_HANDLE:
            yield from getattr(node, "nodes", (node,))
        return
    handles = handles_of(node)
    if len(handles) == 1 and getattr(node, "target", None) is not None:
        yield _of_fx(node, handles[0])


def _of_fx(node: Any, handle: int) -> GraphNode:
    # This imports numpy (0.15 s): only for callers with nodes, which have spent seconds importing
    # torch.
    from viewer.program.frames import parse_frames
    from viewer.program.program import GraphNode

    meta = node.meta
    trace = meta.get("stack_trace")
    call = meta.get("torch_fn")
    stated = call[1] if isinstance(call, tuple) and len(call) == 2 else ""
    return GraphNode(
        name=str(getattr(node, "name", "")),
        op=_target(node.target),
        debug_handle=handle,
        frames=parse_frames(trace) if isinstance(trace, str) else (),
        modules=tuple(_modules(meta.get("nn_module_stack"))),
        # "builtin_function_or_method.conv2d", "OpOverload.sym_size.int"
        source_op=str(stated).partition(".")[2].partition(".")[0],
    )


def _target(target: Any) -> str:
    """The operator's name, "aten.convolution.default", in the edge dialect or ATen."""
    text = str(getattr(target, "_op", target))
    return text if _OP_NAME.fullmatch(text) else str(getattr(target, "__name__", text))


def _modules(stack: Any) -> Iterator[tuple[str, str]]:
    """(path, type) of the modules around a node, outermost first."""
    for entry in stack.values() if isinstance(stack, Mapping) else ():
        if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str):
            path, type_ = entry
            if path != _NO_MODULE:
                yield path, type_.__qualname__ if isinstance(type_, type) else str(type_)


def _is_node(node: Any) -> bool:
    return isinstance(getattr(node, "meta", None), Mapping) or hasattr(node, "debug_handle")


def _no_node(value: Any) -> TypeError:
    return TypeError(
        f"{str(value)[:80]!r} is no node: pass fx nodes, operators of a program, or debug handles"
    )


class DelegateMappingBuilder:
    """Collects the entries of one delegate instance, that is, of one `preprocess()`.

    A *node* is an fx node (anything with `meta["debug_handle"]`, an int, or a tuple if a pass fused
    nodes), an operator or graph node of a `viewer` program, or a plain debug handle.

    Source:
        `DelegateMappingBuilder` in ExecuTorch's exir/backend/utils.py, whose methods and results
        these are.
    """

    def __init__(self, generated_identifiers: bool = False) -> None:
        """Create a builder without entries.

        Args:
            generated_identifiers: False: each entry states its identifier, an int or a str, all of
                one type. True: the builder numbers them from 0.
        """
        self._generated = generated_identifiers
        self._next = 0
        self._entries: dict[Identifier, set[int]] = {}
        self._nodes: dict[int, list[GraphNode]] = {}

    def insert_delegate_mapping_entry(
        self,
        nodes: Any | Iterable[Any] | None = None,
        *more: Any,
        identifier: Identifier | None = None,
        handles: int | Iterable[int | None] | None = None,
    ) -> Identifier:
        """Add an entry for one or more nodes, or for debug handles.

        Nodes without a debug handle and handles that are None are skipped if another one has a
        handle.

        Args:
            nodes: One node or several.
            more: By position, the identifier as in ExecuTorch's documents, or the handles as a list
                or None and then the identifier, as in its release 1.5.1.
            identifier: What the delegate will log; None if the builder generates identifiers.
            handles: Debug handles, instead of nodes.

        Returns:
            The identifier.

        Raises:
            ValueError: If the identifier exists, is missing, or is passed to a builder that
                generates them; for both or neither of nodes and handles; or without any debug
                handle.
            TypeError: For an identifier of another type than the others, or for something that is
                not a node or handle.
        """
        return self._put(nodes, *_by_position(more, identifier, handles), may_exist=False)

    def upsert_delegate_mapping_entry(
        self,
        nodes: Any | Iterable[Any] | None = None,
        *more: Any,
        identifier: Identifier | None = None,
        handles: int | Iterable[int | None] | None = None,
    ) -> Identifier:
        """Add an entry, or add to that of an identifier that exists.

        Args:
            nodes: One node or several.
            more: By position, the identifier as in ExecuTorch's documents, or the handles as a list
                or None and then the identifier, as in its release 1.5.1.
            identifier: What the delegate will log; None if the builder generates identifiers.
            handles: Debug handles, instead of nodes.

        Returns:
            The identifier.

        Raises:
            ValueError: As for `insert_delegate_mapping_entry`, except for an identifier that
                exists.
            TypeError: As for `insert_delegate_mapping_entry`.
        """
        return self._put(nodes, *_by_position(more, identifier, handles), may_exist=True)

    def get_delegate_mapping(self) -> dict[Identifier, tuple[int, ...]]:
        """Return the map for `PreprocessResult(debug_handle_map=...)`.

        Returns:
            Identifier -> its distinct debug handles, ascending; in insertion order.
        """
        return {key: tuple(sorted(handles)) for key, handles in self._entries.items()}

    @property
    def graph_nodes(self) -> Mapping[int, list[GraphNode]]:
        """Debug handle -> the graph nodes of its operator, from the nodes passed so far."""
        return self._nodes

    def _put(
        self,
        nodes: Any | Iterable[Any] | None,
        identifier: Identifier | None,
        handles: int | Iterable[int | None] | None,
        *,
        may_exist: bool,
    ) -> Identifier:
        key = None if identifier is None else checked_identifier(identifier)
        if self._generated and key is not None:
            raise ValueError(
                f"identifier {key!r} was given to a builder that generates them: leave it out, or "
                "make the builder with generated_identifiers=False"
            )
        if not self._generated and key is None:
            raise ValueError(
                "no identifier: give the int or str under which the delegate will log, or make the "
                "builder with generated_identifiers=True"
            )
        if key is not None:
            self._check_kind(key)
            if key in self._entries and not may_exist:
                raise ValueError(
                    f"identifier {key!r} was inserted before: choose another, or add to its "
                    "entry with upsert_delegate_mapping_entry"
                )
        if (nodes is None) == (handles is None):
            raise ValueError("give either nodes or handles: exactly one of them")
        if key is None:
            # Used up even if the entry is rejected below, as in executorch's builder: a delegate
            # that continues after an error gets the same numbers from both.
            key = self._next
            self._next += 1
        node_list = each_node(nodes) if nodes is not None else _listed(handles)
        handle_set = {handle for node in node_list for handle in handles_of(node)}
        if not handle_set:
            raise ValueError(
                f"nothing that was given for identifier {key!r} has a debug handle: pass nodes of "
                "the edge program, whose meta has debug_handle"
            )
        for node in node_list:
            for graph_node in graph_nodes_of(node):
                self._nodes.setdefault(graph_node.debug_handle, []).append(graph_node)
        self._entries.setdefault(key, set()).update(handle_set)
        return key

    def _check_kind(self, key: Identifier) -> None:
        first = next(iter(self._entries), key)
        if isinstance(first, str) is not isinstance(key, str):
            raise TypeError(
                f"identifier {key!r} is {_kind(key)}, and {first!r} before it {_kind(first)}: use "
                "one kind in a map, or a builder each"
            )


def _by_position(
    more: tuple[Any, ...], identifier: Identifier | None, handles: Any
) -> tuple[Identifier | None, Any]:
    """The identifier and the handles of a call. Raises TypeError for one that is stated twice.

    ExecuTorch documents `(nodes, identifier)`; release 1.5.1 has `(nodes, handles, identifier)`.
    A handle alone in second place is written as a list in both.
    """
    if len(more) > 2:
        raise TypeError(f"an entry is nodes, handles and an identifier, and {len(more) - 2} more")
    if not more:
        return identifier, handles
    if len(more) == 1 and not (more[0] is None or isinstance(more[0], (list, tuple, set))):
        by_place = {"identifier": more[0]}
    else:
        by_place = dict(zip(("handles", "identifier"), more, strict=False))
    for name, value in (("identifier", identifier), ("handles", handles)):
        if value is not None and by_place.get(name) is not None:
            raise TypeError(f"the {name} of an entry is given twice")
    return by_place.get("identifier", identifier), by_place.get("handles", handles)


def _kind(key: Identifier) -> str:
    return "a str" if isinstance(key, str) else "an int"


def checked_identifier(identifier: Any) -> Identifier:
    """An identifier as a str or int (numpy integers too). Raises TypeError for other types."""
    if isinstance(identifier, str):
        return identifier
    if not isinstance(identifier, bool):
        try:
            return operator.index(identifier)
        except TypeError:
            pass
    raise TypeError(
        f"an identifier is an int or a str, not {identifier!r}: the delegate logs it as either"
    )


def _listed(handles: int | Iterable[int | None] | None) -> list[int]:
    """Debug handles as a list, without None."""
    if isinstance(handles, (str, bytes)):
        raise TypeError(f"debug handles are whole numbers, not {handles!r}")
    each = handles if isinstance(handles, Iterable) else [handles]
    return [debug_handle(handle) for handle in each if handle is not None]


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
        calls[call] = {"delegate": instance.delegate, "entries": _pairs(instance.mapping)}
        if isinstance(instance.mapping, DelegateMappingBuilder):
            for handle, graph_nodes in instance.mapping.graph_nodes.items():
                nodes_of_handle.setdefault(handle, []).extend(graph_nodes)
    for node in each_node(nodes):
        for graph_node in graph_nodes_of(node):
            nodes_of_handle.setdefault(graph_node.debug_handle, []).append(graph_node)
    written: dict[str, Any] = {MAP_MARK: MAP_VERSION, "methods": methods}
    if nodes_of_handle:
        operators = sorted(nodes_of_handle.items())
        written["operators"] = {str(handle): _operator(of) for handle, of in operators}
    write_whole(path, json.dumps(written).encode())


def _pairs(mapping: DelegateMappingBuilder | Mapping[Any, Sequence[int]]) -> list[Any]:
    """[identifier, [debug handles]] for each entry."""
    if isinstance(mapping, DelegateMappingBuilder):
        mapping = mapping.get_delegate_mapping()
    return [
        [checked_identifier(key), [debug_handle(h) for h in handles]]
        for key, handles in mapping.items()
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
