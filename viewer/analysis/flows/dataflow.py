"""The data flow between the operators of a program, and the neighborhood of some of them.

In an MLIR text, an SSA name means its definition in the nearest enclosing region. No dialect is
known: in generic form the operands are in the first parentheses; in custom form every name is an
operand unless it is defined there (`%i = %lo` in a loop, `%arg0: type` of a function). Values used
inside an operation's regions are inputs of the operations there, and an argument of a region is an
input by its name. An operation that uses a name without a known definition, such as one of a later
block, gets no inputs at all.

A hop of a neighborhood follows an edge of the program's `Dataflow`, so every edge is exact. The
result is limited, since one value may have thousands of consumers: complete hops are shown while
they fit, and the most expensive operators of the first one that does not. What is hidden is
counted. Everything is columnar: 5,000 operators take 1 to 2 ms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, numbers_at
from viewer.dataclasses import dataclass
from viewer.model.times import counted, group_digits
from viewer.program.dataflow import (
    NO_GRAPH,
    NO_GRAPH_IN_MAP,
    NO_GRAPH_IN_PROFILE,
    Dataflow,
    ExternalInput,
    MethodFlow,
    joined,
)
from viewer.program.mlir.locations import STRING_CONTENT
from viewer.program.mlir.operations import OperationReader, OperationText
from viewer.program.program import Program

# Skips strings and comments, which may contain "%", and matches values: "%a", "%0#1" of several
# results. The text after a name shows that it is defined there: "=" in a loop, ":" of an argument.
_VALUE = re.compile(
    rf'"{STRING_CONTENT}"?|//[^\n]*|(?P<name>%[\w$.-]+)(?:\#\d+)?(?P<after>\s*=(?!=)|\s*:)?'
)
_RESULT = re.compile(r"%[\w$.-]+")
_BLOCK = re.compile(r"\^[\w$.-]+\s*\(")
_GENERIC = re.compile(rf'"{STRING_CONTENT}"\s*\(')
_FUNCTION = re.compile(r"[\w.$]*\bfunc\b")


def text_flow(program: Program) -> MethodFlow:
    """Return the edges between the operations of a program that was read from text."""
    reader = OperationReader(program.text_lines)
    operation_texts = list(reader)
    index = _indexes(operation_texts)
    # Per operation with regions (-1: top level), the values defined in its regions.
    named: dict[int, dict[str, int | ExternalInput]] = {}
    pairs: set[tuple[int, int]] = set()
    external_inputs: dict[int, dict[ExternalInput, None]] = {}
    entered: set[int] = set()
    unknown: set[int] = set()
    for number, operation in enumerate(operation_texts):
        around = reader.parent(number)
        here = named.setdefault(around, {})
        if around >= 0 and around not in entered:
            entered.add(around)
            for name in _arguments(operation_texts[around], reader.entry(around)):
                here.setdefault(name, ExternalInput(name, False))
        for name in _RESULT.findall(operation.result):
            here[name] = number
    for number, operation in enumerate(operation_texts):
        for name in _operands(operation):
            maker = _maker(name, reader.parent(number), named, reader)
            if isinstance(maker, ExternalInput):
                external_inputs.setdefault(index[number], {})[maker] = None
            elif maker is None:
                unknown.add(index[number])
            elif maker != number:
                pairs.add((index[number], index[maker]))
    ordered = sorted(pair for pair in pairs if pair[0] not in unknown)
    return MethodFlow(
        tuple(consumer for consumer, _ in ordered),
        tuple(producer for _, producer in ordered),
        {operator: tuple(v) for operator, v in external_inputs.items() if operator not in unknown},
        frozenset(unknown),
    )


def _indexes(operation_texts: list[OperationText]) -> list[int]:
    """Return each operation's index in the program: by function; those in no function last."""
    first: dict[int, int] = {}
    for operation in operation_texts:
        first.setdefault(operation.function_line, len(first))
    if 0 in first:
        first[0] = len(first)
    order = sorted(
        range(len(operation_texts)), key=lambda n: first[operation_texts[n].function_line]
    )
    index = [0] * len(operation_texts)
    for position, number in enumerate(order):
        index[number] = position
    return index


def _maker(
    name: str,
    around: int,
    named: dict[int, dict[str, int | ExternalInput]],
    reader: OperationReader,
) -> int | ExternalInput | None:
    """Return the definition of a name visible in the regions of an operation (-1: top level).

    An operation's number, an argument, or None if there is none in any enclosing region.
    """
    while True:
        maker = named.get(around, {}).get(name)
        if maker is not None or around < 0:
            return maker
        around = reader.parent(around)


def _operands(operation: OperationText) -> list[str]:
    """Return the values that an operation's text uses."""
    text = operation.text
    if operation.result and text.startswith("%"):
        text = text.partition("=")[2]
    if _is_function(operation):
        return []
    generic = _GENERIC.match(text.lstrip())
    if generic is not None:
        text = text.lstrip()[generic.end() :].partition(")")[0]
    return [
        match["name"]
        for match in _VALUE.finditer(text)
        if match["name"] and (generic is not None or not _introduces(match))
    ]


def _introduces(match: re.Match[str]) -> bool:
    """Return whether a match defines its name: "%i = %lo", or "(%arg0: type"."""
    after = (match["after"] or "").strip()
    if after == "=":
        return True
    if after != ":":
        return False
    # "ins(%a, %b : type, type)" lists operands; an argument has its type directly behind it.
    return not match["after"].startswith((" ", "\n", "\t"))


def _arguments(around: OperationText, entry: str) -> list[str]:
    """Return the values that an operation passes to its regions: block or own arguments."""
    blocks = [entry[match.end() :].partition("):")[0] for match in _BLOCK.finditer(entry)]
    names = [name for block in blocks for name in _RESULT.findall(block)]
    text = around.text.partition("=")[2] if around.result else around.text
    if _GENERIC.match(text.lstrip()) is None:
        names += [
            match["name"]
            for match in _VALUE.finditer(text)
            if match["name"] and (_introduces(match) or _is_function(around))
        ]
    return names


def _is_function(operation: OperationText) -> bool:
    return _FUNCTION.fullmatch(operation.name) is not None


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


MOST_HOPS = 6
MOST_SHOWN = 200
# A graph with more edges is unreadable: 100 operators that all use 100 others have 10,000.
MOST_EDGES = 1000
MOST_EXPENSIVE = "most expensive"


class Direction(Enum):
    """The direction of hops. BOTH: a producer's other consumers are two hops away."""

    BOTH = "both"
    PRODUCERS = "producers"
    CONSUMERS = "consumers"


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The operators to show, in program order.

    operators (n): ascending indexes into `Program.operators`. hop (n): hops from the nearest seed,
    0 for a seed. producer, consumer (m): the edges among them, as positions in `operators`.
    hidden_inputs, hidden_outputs (n): how many producers and consumers of an operator are not
    shown. seeds: how many there are, shown or not. within: how many operators are within the hops,
    including the seeds. best: which operators were selected first, such as "most expensive"; "" if
    there was nothing to rank them by. reason: why the inputs of some seed are unknown, "" if all
    are known.
    """

    operators: Ints
    hop: Ints
    producer: Ints
    consumer: Ints
    hidden_inputs: Ints
    hidden_outputs: Ints
    seeds: int
    within: int
    best: str = MOST_EXPENSIVE
    reason: str = ""

    def __len__(self) -> int:
        return len(self.operators)

    @property
    def limit_text(self) -> str:
        """A sentence on how much is shown; "" if everything is."""
        if len(self) == self.within:
            return ""
        of_all = f"{group_digits(len(self))} of {counted(self.within, 'operator')} are shown"
        best = self.best or "first of the model"
        if self.seeds > len(self):
            of_all = f"{group_digits(len(self))} of {counted(self.seeds, 'operator')} are shown"
            return f"{of_all}, the {best}{' first' if self.best else ''}."
        return f"{of_all}, the nearest first and of those the {best}."


def neighborhood(
    flow: Dataflow,
    seeds: Sequence[int],
    hops: int,
    direction: Direction = Direction.BOTH,
    cost_order: Ints | None = None,
    most: int = MOST_SHOWN,
    most_edges: int = MOST_EDGES,
    best: str = MOST_EXPENSIVE,
) -> Neighborhood:
    """Return the operators within some hops of the seeds, up to `most` and `most_edges`.

    seeds: indexes into `Program.operators`; invalid ones are ignored. hops: clipped to
    0..`MOST_HOPS`. cost_order: the cost of every operator, or another rank; ties, and all without
    it, are in program order. best: what the rank means.
    """
    count = len(flow.input_ptr) - 1
    valid_seeds = np.unique(np.asarray(seeds, np.int64))
    valid_seeds = valid_seeds[(valid_seeds >= 0) & (valid_seeds < count)]
    hop = _hops(flow, valid_seeds, min(max(hops, 0), MOST_HOPS), direction)
    operators = np.flatnonzero(hop >= 0)
    cost = np.zeros(count, np.int64) if cost_order is None else cost_order
    operators = operators[np.lexsort((operators, -cost[operators], hop[operators]))]
    nearest = operators[: max(most, 0)]
    latest = np.maximum(*_edges_among(flow, nearest))
    if len(latest) > most_edges:
        # The largest number of operators whose edges fit the limit.
        nearest = nearest[: max(int(np.sort(latest)[most_edges]), 1)]
    nearest = np.sort(nearest)
    producer, consumer = _edges_among(flow, nearest)
    return Neighborhood(
        nearest,
        hop[nearest],
        producer,
        consumer,
        np.diff(flow.input_ptr)[nearest] - np.bincount(consumer, minlength=len(nearest)),
        np.diff(flow.output_ptr)[nearest] - np.bincount(producer, minlength=len(nearest)),
        len(valid_seeds),
        len(operators),
        "" if cost_order is None else best,
        _reason(flow, valid_seeds),
    )


def _hops(flow: Dataflow, seeds: Ints, hops: int, direction: Direction) -> Ints:
    """Return per operator the hops to the nearest seed, -1 if more than `hops`."""
    hop = numbers_at(len(flow.input_ptr) - 1, seeds, 0, -1)
    front = seeds
    for number in range(1, hops + 1):
        reached: list[Ints] = []
        if direction is not Direction.CONSUMERS:
            reached.append(_rows(flow.input_ptr, flow.inputs, front)[1])
        if direction is not Direction.PRODUCERS:
            reached.append(_rows(flow.output_ptr, flow.outputs, front)[1])
        operators = np.unique(np.concatenate(reached))
        front = operators[hop[operators] < 0]
        if not len(front):
            break
        hop[front] = number
    return hop


def _edges_among(flow: Dataflow, operators: Ints) -> tuple[Ints, Ints]:
    """Return producers and consumers of the edges among some operators, as positions."""
    position = numbers_at(len(flow.input_ptr) - 1, operators, np.arange(len(operators)), -1)
    consumer, producer = _rows(flow.input_ptr, flow.inputs, operators)
    producer = position[producer]
    inside: Bools = producer >= 0
    return producer[inside], consumer[inside]


def _rows(ptr: Ints, values: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the values of some rows of a CSR table, each with the position of its row."""
    length = ptr[rows + 1] - ptr[rows]
    owner: NDArray[np.int64] = np.repeat(np.arange(len(rows)), length)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
    return owner, values[ptr[rows][owner] + within]


def _reason(flow: Dataflow, seeds: Ints) -> str:
    if not flow.unknown:
        return ""
    return next((flow.unknown[s] for s in seeds.tolist() if s in flow.unknown), "")
