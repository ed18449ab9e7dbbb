"""Which operators of a program take the results of which, computed once per program."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from viewer.analysis.flows.mlir_dataflow import text_flow
from viewer.program.dataflow import NO_GRAPH, NO_GRAPH_IN_MAP, Dataflow, MethodFlow, joined
from viewer.program.program import Program

_known: WeakKeyDictionary[Program, Dataflow] = WeakKeyDictionary()


def dataflow_of(program: Program) -> Dataflow:
    """The edges of a program, computed when first asked for.

    Of an MLIR text that takes about as long as reading it did, since all its operations are looked
    through.
    """
    flow = _known.get(program)
    if flow is None:
        flow = _known[program] = _computed(program)
    return flow


def is_dataflow_known(program: Program) -> bool:
    """Whether `dataflow_of` answers at once, since it has been asked before."""
    return program in _known


def _computed(program: Program) -> Dataflow:
    count = len(program.operators)
    if program.text_lines:
        return joined(count, [text_flow(program)], {})
    flows: list[MethodFlow] = []
    unknown: dict[int, str] = {}
    for method in program.methods:
        if method.flow is None:
            why = NO_GRAPH_IN_MAP if method.delegates_only else NO_GRAPH
            unknown.update((operator.index, why) for operator in method.operators)
        else:
            flows.append(method.flow)
    return joined(count, flows, unknown)
