"""Builds debug handle maps: the operators behind each of a delegate's identifiers.

A delegate's `preprocess()` registers, ahead of time, every identifier that it will log, with the
nodes behind it. The map goes into executorch's `PreprocessResult(debug_handle_map=...)` or into a
separate file (`viewer.record.debug_handle_map_file`). Methods and results are those of the builder
that ExecuTorch documents (devtools, delegate debugging), so that either can replace the other. This
one needs no torch.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from viewer.program.debug_handles import Identifier
from viewer.record.nodes import debug_handle, each_node, graph_nodes_of, handles_of

if TYPE_CHECKING:
    from viewer.program.program import GraphNode


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
