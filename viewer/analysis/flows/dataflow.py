"""The data flow between the operators of a program, computed once per program."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from viewer.analysis.flows.mlir_dataflow import text_flow
from viewer.program.dataflow import (
    NO_GRAPH,
    NO_GRAPH_IN_MAP,
    NO_GRAPH_IN_PROFILE,
    Dataflow,
    MethodFlow,
    joined,
)
from viewer.program.program import Program

_known: WeakKeyDictionary[Program, Dataflow] = WeakKeyDictionary()


def dataflow_of(program: Program) -> Dataflow:
    """Return the edges of a program; they are computed on first use.

    For an MLIR text that takes about as long as reading it, because all its operations are scanned.
    """
    flow = _known.get(program)
    if flow is None:
        flow = _known[program] = _computed(program)
    return flow


def is_dataflow_known(program: Program) -> bool:
    """Return whether `dataflow_of` returns immediately, because the result is cached."""
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
            if program.is_recorded:
                why = NO_GRAPH_IN_PROFILE
            unknown.update((operator.index, why) for operator in method.operators)
        else:
            flows.append(method.flow)
    return joined(count, flows, unknown)
