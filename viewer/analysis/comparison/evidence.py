"""What the operators of two methods have in common: the evidence on which they are paired.

Every kind of evidence is a column of codes, equal codes in A and B for what is equal. So any two
operators are compared by comparing numbers, a whole row of candidates at a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.arrays import Ints
from viewer.program.dataflow import Dataflow
from viewer.program.program import Method, Operator, Setting, Tensor

Shape = tuple[int | str, ...] | None
# In names of calls that PyTorch records: "<built-in method dim of Tensor object at 0x7f0e>", and
# "train.py(27): forward".
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LINE = re.compile(r"\(\d+\): ")
MODULE = "nn.Module: "
UNKNOWN = -1
FOLDED = frozenset(("batch_norm",))
# What makes two calls with equal shapes two operators; others depend on shapes or on the backend.
_SETTINGS = frozenset(("stride", "dilation", "groups"))


def without_address(name: str) -> str:
    """Return a name without the address of an object, which is another one in each process."""
    return _ADDRESS.sub("", name) if " at 0x" in name else name


def _what(op: str) -> str:
    """What a recorded call is: without the name of its module, and the line of its function."""
    if op.startswith(MODULE):
        return MODULE
    return _LINE.sub(": ", without_address(op), count=1)


@dataclass(frozen=True)
class PairedOperator:
    """What of an operator is compared. Computed once, because each is compared with many.

    op: the source call, "convolution", without what differs between recordings. shapes: of its
    results and of its parameters. dtypes: of its results. text: of its source line, without what
    follows it. constants: hashes of its parameters, where they are known
    and not all 0 or 1. settings: which part it takes, and how a convolution moves.
    """

    operator: Operator
    op: str
    shapes: tuple[Shape, ...]
    dtypes: tuple[str, ...]
    text: str
    constants: tuple[str, ...] = ()
    settings: tuple[tuple[str, Setting], ...] = ()

    @classmethod
    def of(cls, operator: Operator, contents: Mapping[str, str]) -> PairedOperator:
        """Return what is compared of an operator. contents: parameter -> hash of its values."""
        results = operator.nodes[-1].outputs
        parameters = [t for node in operator.nodes for t in node.inputs if t.parameter]
        distinct: dict[str, Tensor] = {t.parameter: t for t in parameters}
        source = operator.source
        return cls(
            operator,
            _what(operator.op),
            (*(t.shape for t in results), *(t.shape for t in distinct.values())),
            tuple(t.dtype for t in results),
            " ".join(source.text.split()) if source else "",
            constants_of(operator, contents),
            tuple(s for node in operator.nodes for s in node.settings if s[0] in _SETTINGS),
        )

    @cached_property
    def path(self) -> str:
        """The path of its module."""
        return self.operator.module_path


def constants_of(operator: Operator, contents: Mapping[str, str]) -> tuple[str, ...]:
    """Return the known hashes of an operator's parameters. contents: those of its method."""
    if not contents:
        return ()
    names = {t.parameter for node in operator.nodes for t in node.inputs if t.parameter}
    return tuple(sorted(filter(None, map(contents.get, names))))


def only_users(constants: Sequence[tuple[str, ...]]) -> dict[str, int]:
    """Return constant -> the operator that has it, of those that only one has."""
    count = Counter(c for constant in constants for c in set(constant))
    return {c: i for i, constant in enumerate(constants) for c in constant if count[c] == 1}


class Evidence:
    """The evidence of two methods; every column is of A and of B.

    kind: type, shapes, data types and settings. leaf: the last name of the module. inputs, outputs:
    per side and operator, those whose results it takes, and those that take its own.
    """

    def __init__(self, a: Method, b: Method, flows: tuple[Dataflow, Dataflow]) -> None:
        self.a, self.b = (
            [PairedOperator.of(op, method.constants) for op in method.operators]
            for method in (a, b)
        )
        self.type = self._column(lambda operator: operator.op)
        self.shape = self._column(lambda operator: operator.shapes or None)
        self.dtype = self._column(lambda operator: operator.dtypes or None)
        self.text = self._column(lambda operator: operator.text or None)
        self.path = self._column(lambda operator: operator.path or None)
        self.leaf = self._column(lambda operator: operator.path.rpartition(".")[2] or None)
        self.constants = self._column(lambda operator: operator.constants or None)
        self.kind = self._column(
            lambda operator: (operator.op, operator.shapes, operator.dtypes, operator.settings)
        )
        self._place = self._column(lambda operator: (operator.op, operator.path, operator.text))
        self._count = tuple(np.bincount(column) for column in self._place)
        self.inputs = [_within(m, flow.inputs_of) for m, flow in zip((a, b), flows, strict=True)]
        self.outputs = [_within(m, flow.outputs_of) for m, flow in zip((a, b), flows, strict=True)]

    def _column(self, key: Callable[[PairedOperator], Hashable]) -> tuple[Ints, Ints]:
        return codes(map(key, self.a), map(key, self.b))

    def times_at_place(self, x: int, y: int) -> tuple[int, int]:
        """Return how many operators of A and of B are alike at the line and module of two.

        A loop that was unrolled has one in each round.
        """
        (a, b), (of_a, of_b) = self._place, self._count
        return int(of_a[a[x]]), int(of_b[b[y]])

    @property
    def has_flow(self) -> bool:
        """Whether the data flow of both methods is known."""
        return all(any(neighbors) for neighbors in self.inputs)

    def has_norm_behind(self, side: int, number: int) -> bool:
        """Whether only a batch norm takes the result of an operator: it may be folded into it."""
        paired_operators, outputs = (self.a, self.b)[side], self.outputs[side][number]
        return len(outputs) == 1 and paired_operators[outputs[0]].op in FOLDED

    def common(self, pairs: Mapping[int, int], x: int, y: int) -> tuple[int, int]:
        """Return how many paired neighbors of an operator of A one of B has too, and has not."""
        has = [
            pairs[i] in sides[1][y]
            for sides in (self.inputs, self.outputs)
            for i in sides[0][x]
            if i in pairs
        ]
        return sum(has), len(has) - sum(has)

    def cones(
        self, pairs: Mapping[int, int], *, is_exact: bool
    ) -> tuple[tuple[list[int], list[int]], tuple[list[int], list[int]]]:
        """Return codes of an operator with all that its inputs depend on, and all that uses it.

        Both end at what is paired, which equals its partner alone. is_exact: with equal shapes and
        data types, else only types are compared.
        """
        columns = self.kind if is_exact else self.type
        number: dict[Hashable, int] = {}
        numbers = [
            {x: i for i, x in enumerate(pairs)},
            {y: i for i, y in enumerate(pairs.values())},
        ]
        # What is next to an operator tells it from others on the way, but is no part of its own.
        near = [
            [
                (*sorted(pair for j in sources if (pair := number_of.get(j)) is not None), -1,
                 *sorted(pair for j in taken if (pair := number_of.get(j)) is not None))
                for sources, taken in zip(inputs, outputs, strict=True)
            ]
            for number_of, inputs, outputs in zip(numbers, self.inputs, self.outputs, strict=True)
        ]  # fmt: skip
        cones = []
        for sides in (self.inputs, self.outputs):
            both: list[list[int]] = []
            for side, neighbors in enumerate(sides):
                labels = columns[side].tolist()
                cone = [UNKNOWN] * len(labels)
                seen = [UNKNOWN] * len(labels)
                order = range(len(labels))
                for i in order if sides is self.inputs else reversed(order):
                    pair = numbers[side].get(i)
                    if pair is not None:
                        cone[i] = seen[i] = -2 - pair
                        continue
                    key = labels[i], tuple(sorted([seen[j] for j in neighbors[i]]))
                    cone[i] = number.setdefault(key, len(number))
                    seen[i] = number.setdefault((cone[i], near[side][i]), len(number))
                both.append(cone)
            cones.append((both[0], both[1]))
        return cones[0], cones[1]

    def around(self, pairs: Mapping[int, int]) -> list[tuple[Ints, Ints]]:
        """Return columns of what is around: of inputs and outputs, one and two steps away.

        pairs: what is paired already. Those are equal to their partner alone, others to all of
        their type.
        """
        label = [list(column.tolist()) for column in self.type]
        for number, (x, y) in enumerate(pairs.items()):
            label[0][x] = label[1][y] = -2 - number
        columns = []
        for sides in (self.inputs, self.outputs):
            near = label
            for _ in range(2):
                near_keys = [
                    [(label[s][i], *sorted(near[s][j] for j in neighbors))
                     for i, neighbors in enumerate(sides[s])]
                    for s in (0, 1)
                ]  # fmt: skip
                keys = [[key[1:] for key in near_key] for near_key in near_keys]
                columns.append(codes(*keys))
                near = [code.tolist() for code in codes(*near_keys)]
        return columns


def codes(a: Iterable[Hashable], b: Iterable[Hashable]) -> tuple[Ints, Ints]:
    """Return numbers for keys, equal ones for equal keys; `UNKNOWN` for None."""
    number: dict[Hashable, int] = {None: UNKNOWN}
    first, second = (
        np.array([number.setdefault(key, len(number)) for key in keys], np.int64) for keys in (a, b)
    )
    return first, second


def _within(method: Method, neighbors: Callable[[int], Ints]) -> list[list[int]]:
    """The neighbors of each operator of a method, as places in it."""
    place = {op.index: i for i, op in enumerate(method.operators)}
    return [
        [place[j] for j in neighbors(op.index).tolist() if j in place] for op in method.operators
    ]
