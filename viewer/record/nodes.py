"""Reads debug handles and module information from the nodes that a delegate passes.

torch.fx nodes are read through their `meta` without importing torch, so any object with such a
`meta` works: `debug_handle`, and for names `nn_module_stack`, `stack_trace` and `torch_fn`, as set
by torch.export. `viewer` graph nodes and operators have the same information in their fields.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

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
