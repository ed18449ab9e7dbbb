"""Data flow between the operators of a program, as columns.

The edges are exact. A reader follows every value through everything that is not an operator
(getitem, delegate calls, nested graphs) to the operators that produced it, or reports that it
cannot. Edges connect operators, not nodes: values passed between nodes of one operator are not
edges. External inputs are listed separately: model inputs, parameters and constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from viewer.arrays import Ints
from viewer.dataclasses import dataclass

NO_GRAPH = "The ETRecord has no graph of this method, so the inputs of its operators are unknown"
NO_GRAPH_IN_MAP = "A debug handle map has no graph, so the inputs of its operators are unknown"
NO_GRAPH_IN_PROFILE = "A profile has no graph, so the inputs of its operators are unknown"
NO_INPUTS = "The ETRecord does not record the exact inputs of this operator"


@dataclass(frozen=True, slots=True)
class ExternalInput:
    """A value from outside the graph: a parameter, buffer, constant, or input.

    is_kept: True for a parameter, buffer or constant, named by its path in the model; False for an
    input of the model or an argument of a function.
    """

    name: str
    is_kept: bool


@dataclass(frozen=True, slots=True)
class MethodFlow:
    """The data flow of one method: edges between operators, and external inputs.

    producers, consumers: distinct ascending pairs of indexes into `Program.operators`. given:
    external inputs by operator. unknown: operators whose inputs are not known.
    """

    consumers: tuple[int, ...] = ()
    producers: tuple[int, ...] = ()
    given: Mapping[int, tuple[ExternalInput, ...]] | None = None
    unknown: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Dataflow:
    """The edges of a whole program in both directions.

    Created by `viewer.analysis.flows.dataflow.dataflow_of`. inputs[input_ptr[i] : input_ptr[i + 1]]
    are the operators whose results operator i takes, in graph order; outputs likewise the operators
    that take its result. unknown: operators whose inputs are not known, with the reason.
    """

    input_ptr: Ints
    inputs: Ints
    output_ptr: Ints
    outputs: Ints
    given: Mapping[int, tuple[ExternalInput, ...]]
    unknown: Mapping[int, str]

    def inputs_of(self, operator: int) -> Ints:
        """The operators whose results an operator takes."""
        return self.inputs[self.input_ptr[operator] : self.input_ptr[operator + 1]]

    def outputs_of(self, operator: int) -> Ints:
        """The operators that take the results of an operator."""
        return self.outputs[self.output_ptr[operator] : self.output_ptr[operator + 1]]

    def next_to(self, operator: int, *, forward: bool) -> Ints:
        """The consumers of an operator (`forward`) or its producers."""
        return self.outputs_of(operator) if forward else self.inputs_of(operator)


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The inputs and outputs of a set of operators, without edges inside the set.

    given: external inputs. reason: why inputs are not known; "" if they are.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    given: tuple[ExternalInput, ...]
    reason: str = ""


def neighbors_of(flow: Dataflow, operators: Sequence[int]) -> Neighbors:
    """The neighbors of several operators taken as one, such as those of a delegate call."""
    inside = np.array(operators, np.int64)
    sides = (
        np.unique(np.concatenate([flow.next_to(o, forward=forward) for o in operators]))
        for forward in (False, True)
    )
    inputs, outputs = (np.setdiff1d(side, inside) for side in sides)
    external_inputs = dict.fromkeys(g for o in operators for g in flow.given.get(o, ()))
    return Neighbors(
        tuple(inputs.tolist()),
        tuple(outputs.tolist()),
        tuple(external_inputs),
        next((flow.unknown[o] for o in operators if o in flow.unknown), ""),
    )


def joined(count: int, flows: list[MethodFlow], unknown: Mapping[int, str]) -> Dataflow:
    """Merge the flows of all methods of a program with `count` operators."""
    consumers = np.array([c for flow in flows for c in flow.consumers], np.int64)
    producers = np.array([p for flow in flows for p in flow.producers], np.int64)
    why = dict(unknown)
    external_inputs: dict[int, tuple[ExternalInput, ...]] = {}
    for flow in flows:
        why.update(dict.fromkeys(flow.unknown, NO_INPUTS))
        external_inputs.update(flow.given or {})
    return Dataflow(
        *_compressed(count, consumers, producers),
        *_compressed(count, producers, consumers),
        external_inputs,
        why,
    )


def _compressed(count: int, rows: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Compress to CSR form: offsets (count + 1) and the values of each row, ascending."""
    order = np.lexsort((values, rows))
    ptr = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=count), out=ptr[1:])
    return ptr, values[order]
