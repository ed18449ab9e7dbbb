"""Programs of modules in modules, with any data flow and any delegate calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from viewer.analysis.delegates.delegation import Instance
from viewer.program.dataflow import MethodFlow
from viewer.program.program import GraphNode, Method, Operator, Program


def nested_program(
    places: Sequence[str], edges: Iterable[tuple[int, int]] = (), ops: Sequence[str] = ()
) -> Program:
    """Return a program with an operator in each module, "blocks.0.mlp"; "" for the outermost one.

    edges: (producer, consumer). ops: the names of the operators, "op" by default.
    """
    operators = tuple(
        Operator(i, "forward", i, (_node(i, place, ops[i] if ops else "op"),))
        for i, place in enumerate(places)
    )
    pairs = sorted((consumer, producer) for producer, consumer in edges)
    flow = MethodFlow(tuple(c for c, _ in pairs), tuple(p for _, p in pairs))
    return Program("/m/net.etrecord", "ETRecord", "1", (Method("forward", operators, flow=flow),))


def chain(count: int) -> list[tuple[int, int]]:
    """Return the edges of operators that each take what the one before gives."""
    return [(i, i + 1) for i in range(count - 1)]


def calls_of(operators: Mapping[int, tuple[int, ...]], backend: str = "XnnpackBackend"):
    """Return delegate calls. operators: of each instruction."""
    return tuple(
        Instance("", "forward", instruction, backend, own, "", has_call=True)
        for instruction, own in operators.items()
    )


def _node(number: int, place: str, op: str) -> GraphNode:
    parts = place.split(".") if place else []
    modules = [("", "Net")]
    for depth in range(len(parts)):
        modules.append((".".join(parts[: depth + 1]), parts[depth].capitalize()))
    return GraphNode(f"{op}_{number}", op, number, modules=tuple(modules))
