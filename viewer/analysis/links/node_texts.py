"""The texts of the graph nodes behind the slices of a key, for tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from viewer.analysis.links.link_table import LinkTable
from viewer.program.frames import Frame
from viewer.program.program import GraphNode, Operator, Program


@dataclass(frozen=True, slots=True)
class NodeTexts:
    """What some nodes are, in graph order; each text once.

    names: in the graph. op_types: operators of the edge dialect, "aten.convolution.default".
    modules: paths of their innermost modules. sources: "file:line" of the model. callers: that
    of the user's own files, where the source is in an installed package.
    """

    names: tuple[str, ...] = ()
    op_types: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()


def node_texts(table: LinkTable) -> list[NodeTexts]:
    """Return the texts of the nodes of every key; computed once per distinct set of nodes."""
    if table.program is None:
        return [NodeTexts()] * len(table.links)
    sets = zip(table.node_sets, table.parts, strict=True)
    texts = [*(_texts(table.program, nodes, parts) for nodes, parts in sets), NodeTexts()]
    return [texts[number] for number in table.node_set_of_key.tolist()]


def _texts(
    program: Program,
    numbers: tuple[int, ...],
    parts: tuple[GraphNode, ...] | tuple[Operator, ...],
) -> NodeTexts:
    nodes = [program.nodes[i] for i in numbers]
    return NodeTexts(
        _distinct(node.name for node in nodes),
        _distinct(node.op for node in nodes),
        _distinct(part.module_path for part in parts),
        places(part.source for part in parts),
        places(part.caller for part in parts),
    )


def places(frames: Iterable[Frame | None]) -> tuple[str, ...]:
    """The distinct "file:line" of some frames."""
    return _distinct(f"{at.path}:{at.line}" for at in frames if at is not None)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))
