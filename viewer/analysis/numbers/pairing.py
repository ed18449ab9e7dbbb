"""Which value of a run is compared with which reference: another run, arrays, expected outputs.

Calls that share an operator, in one run or through the pairs of two programs, are one row, as in
the comparison of times: all kernels of a convolution against the delegate call that took them over.
The last call of a row has the result, so its results are compared with those of the last call of
the other side. A delegate call is left out if its own events logged the same operators.

Arrays have a debug handle. As in ExecuTorch's Inspector, the last result of a row belongs to its
last debug handle, the one before to the handle before. Of several results of a kernel, the one of
the same shape is meant, then the one of the same dtype, else the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from viewer.analysis.comparison.alignment import aligned
from viewer.analysis.comparison.joined import Joined, Member
from viewer.analysis.comparison.operator_pairs import OperatorPairs, pair_operators
from viewer.analysis.links.labels import set_label
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.numbers.logged_calls import METHOD, LoggedCall
from viewer.analysis.numbers.logged_values import Value, results_of
from viewer.codecs.tensor_values import same_shape

ONLY_A, ONLY_B = "only in A", "only in B"
RESULT = "result of the method"
_NO_PAIRS = OperatorPairs((), (), False)
_BY_KEY = "key of the array"
Logged = tuple[LoggedCall, list[Value]]
ArrayKey = tuple[int, ...] | str


@dataclass(frozen=True, slots=True)
class Side:
    """What an inference of a linked profile logged, in the order in which calls finished."""

    table: LinkTable
    method: str
    logged: tuple[Logged, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A value and its reference; one of them is None if there is no partner.

    label: of the operators. handles: of A's row. operators: of A's row, as indexes. result: its
    number among several results, None if there is only one. why: how they were paired, or why not.
    """

    label: str
    label_of_reference: str
    handles: tuple[int, ...]
    operators: tuple[int, ...]
    result: int | None
    value: Value | None
    reference: Value | None
    why: str


@dataclass(frozen=True)
class _Row:
    """The calls of one side that belong together; `last` has the result."""

    side: Side
    members: tuple[int, ...]

    @cached_property
    def last(self) -> LoggedCall:
        return self.side.logged[self.members[-1]][0]

    @cached_property
    def results(self) -> list[Value]:
        return results_of(*self.side.logged[self.members[-1]])

    @cached_property
    def handles(self) -> tuple[int, ...]:
        """The distinct handles of all calls; those of the last call come last."""
        last = tuple(dict.fromkeys(self.last.handles))
        calls = (self.side.logged[i][0] for i in self.members[:-1])
        others = dict.fromkeys(handle for call in calls for handle in call.handles)
        return tuple(handle for handle in others if handle not in last) + last

    @cached_property
    def operators(self) -> tuple[int, ...]:
        calls = (self.side.logged[i][0] for i in self.members)
        return tuple(dict.fromkeys(operator for call in calls for operator in call.operators))


# -- two runs --------------------------------------------------------------------------------------


def paired_runs(a: Side, b: Side) -> list[Pair]:
    """Return the pairs of two inferences, in the order of A, then what only B has."""
    pairs = _NO_PAIRS
    if a.table.program is not None and b.table.program is not None:
        pairs = pair_operators(a.table.program, b.table.program)
    joined = Joined[Member]()
    comparable = [_comparable(side) for side in (a, b)]
    for number, side in enumerate((a, b)):
        for i in comparable[number]:
            joined.add((number, "call", i))
            for operator in side.logged[i][0].operators:
                joined.join((number, "call", i), (number, "operator", operator))
    for pair in pairs.pairs:
        joined.join((0, "operator", pair.a), (1, "operator", pair.b))
    for i, j in _unlinked_pairs(a, b, comparable):
        joined.join((0, "call", i), (1, "call", j))
    rows = []
    for members in joined.groups():
        calls = [tuple(sorted(i for s, kind, i in members if s == n and kind == "call"))
                 for n in (0, 1)]  # fmt: skip
        if calls[0] or calls[1]:
            rows.append((calls[0], calls[1]))
    rows.sort(key=lambda row: (not row[0], row[0][-1:] or row[1][-1:]))
    paired: list[Pair] = []
    for x, y in rows:
        why = _why(a, b, x, y, pairs)
        paired += _of_row(_Row(a, x) if x else None, _Row(b, y) if y else None, why)
    return paired


def _comparable(side: Side) -> list[int]:
    """The calls with values, without delegate calls whose events logged the same operators."""
    inside: dict[str, set[int]] = {}
    for call, values in side.logged:
        if call.identifier is not None and values:
            inside.setdefault(call.backend, set()).update(call.operators)
    return [
        i
        for i, (call, values) in enumerate(side.logged)
        if values
        and not (call.is_delegate_call and inside.get(call.backend, set()) & set(call.operators))
    ]


def _unlinked_pairs(
    a: Side, b: Side, comparable: Sequence[Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """Pairs of calls by equal names, in the order in which they finished.

    They are those without operators; all, if one side has no program to compare operators with.
    """
    is_linked = a.table.program is not None and b.table.program is not None
    x, y = (
        [i for i in indexes if not (is_linked and side.logged[i][0].operators)]
        for side, indexes in zip((a, b), comparable, strict=True)
    )
    names = [
        [(call.name, call.instruction == METHOD) for call in (side.logged[i][0] for i in indexes)]
        for side, indexes in ((a, x), (b, y))
    ]
    for i, j in aligned(*names):
        yield x[i], y[j]


def _why(a: Side, b: Side, x: Sequence[int], y: Sequence[int], pairs: OperatorPairs) -> str:
    if not y:
        return ONLY_A
    if not x:
        return ONLY_B
    of_a, of_b = (
        {operator for i in indexes for operator in side.logged[i][0].operators}
        for side, indexes in ((a, x), (b, y))
    )
    used = dict.fromkeys(
        pair.why for i in sorted(of_a) for pair in pairs.of_a.get(i, ()) if pair.b in of_b
    )
    if used:
        return "; ".join(used)
    return RESULT if a.logged[x[-1]][0].instruction == METHOD else "same name"


def _of_row(a: _Row | None, b: _Row | None, why: str) -> Iterator[Pair]:
    """The pairs of the results of a row."""
    of_a, of_b = (row.results if row is not None else [] for row in (a, b))
    label, other = (_label(row) if row is not None else "" for row in (a, b))
    row = a or b
    assert row is not None
    handles, operators = row.handles, a.operators if a is not None else ()
    if a is not None and b is not None and len(of_a) != len(of_b):
        value = _meant(of_a, of_b[-1]) if len(of_b) == 1 else of_a[-1]
        reference = _meant(of_b, of_a[-1]) if len(of_a) == 1 else of_b[-1]
        yield Pair(label, other, handles, operators, None, value, reference, why)
        return
    count = max(len(of_a), len(of_b))
    for i in range(count):
        yield Pair(
            label=label or other,
            label_of_reference=other,
            handles=handles,
            operators=operators,
            result=i if count > 1 else None,
            value=of_a[i] if of_a else None,
            reference=of_b[i] if of_b else None,
            why=why,
        )


def _label(row: _Row) -> str:
    """The operators of the call that has the result."""
    if row.last.is_delegate_call and len(row.last.operators) == 1:
        return f"{set_label(row.side.table, row.last.operators)} ({row.last.backend})"
    return row.last.label


# -- arrays and expected outputs -------------------------------------------------------------------


def paired_arrays(
    side: Side, arrays: Mapping[ArrayKey, Value]
) -> tuple[list[Pair], list[ArrayKey]]:
    """Return the pairs of an inference with arrays, and the keys of those without a partner.

    A key is one debug handle, a set of them, the label of an operator, or "output_0" for a result
    of the method.
    """
    rows, used = _rows(side), set[ArrayKey]()
    keys = _Keys(arrays, [name for row in rows for name in _names(row)])
    pairs: list[Pair] = []
    for row in rows:
        if row.last.instruction == METHOD:
            for i, value in enumerate(row.results):
                if (name := f"output_{i}") in arrays:
                    used.add(name)
                    pairs.append(Pair(f"output {i}", name, (), (), i, value, arrays[name], RESULT))
            continue
        last = keys.of(row)
        if last is None:
            pairs += _of_row(row, None, ONLY_A)
        count = row.last.results or 1
        handles = [row.handles[i : i + 1] for i in range(-count, 0) if -i <= len(row.handles)]
        for i, key in enumerate([last, *handles[-2::-1]][: len(row.results)]):
            if key is None or key not in arrays:
                continue
            used.add(key)
            reference, value = arrays[key], row.results[-1 - i]
            is_alike = same_shape(value.layout.sizes, reference.layout.sizes)
            if row.last.results is None or (count > 1 and not is_alike):
                value = _meant(row.results, reference)
            number = next(n for n, row_value in enumerate(row.results) if row_value is value)
            pairs.append(
                Pair(
                    label=_label(row),
                    label_of_reference=key_text(key),
                    handles=row.handles,
                    operators=row.operators,
                    result=number if count > 1 else None,
                    value=value,
                    reference=reference,
                    why=_BY_KEY,
                )
            )
    return pairs, [key for key in arrays if key not in used]


class _Keys:
    """Finds the array of the last result of a row."""

    def __init__(self, arrays: Mapping[ArrayKey, Value], names: Sequence[str]) -> None:
        self._arrays = arrays
        self._often = Counter(names)
        self._sets = {frozenset(key): key for key in arrays if isinstance(key, tuple)}

    def of(self, row: _Row) -> ArrayKey | None:
        """Its key: all handles of the row, the last one, or a name that no other row has."""
        whole = self._sets.get(frozenset(row.handles))
        names = [name for name in _names(row) if self._often[name] == 1]
        keys: list[ArrayKey | None] = [whole, row.handles[-1:], *names]
        return next((key for key in keys if key and key in self._arrays), None)


def _names(row: _Row) -> tuple[str, ...]:
    """The label of a row, and that of the operator of its last handle."""
    program = row.side.table.program
    last = row.handles[-1:]
    operators = () if program is None else (program.operators[i] for i in row.operators)
    of_last = (operator.label for operator in operators if (operator.debug_handle,) == last)
    return tuple(dict.fromkeys((_label(row), *of_last)))


def _rows(side: Side) -> list[_Row]:
    """The calls of an inference, joined by their operators."""
    joined = Joined[Member]()
    for i in _comparable(side):
        joined.add((0, "call", i))
        for operator in side.logged[i][0].operators:
            joined.join((0, "call", i), (0, "operator", operator))
    groups = (
        tuple(sorted(i for _, kind, i in members if kind == "call")) for members in joined.groups()
    )
    return [
        _Row(side, calls)
        for calls in sorted(filter(None, groups), key=lambda calls_of_row: calls_of_row[-1])
    ]


def paired_outputs(side: Side, expected: Sequence[Value]) -> list[Pair]:
    """Return the pairs of the results of the method with expected ones, in their order."""
    logged = next(
        (values for call, values in side.logged if call.instruction == METHOD), list[Value]()
    )
    return [
        Pair(
            label=f"output {i}",
            label_of_reference=f"expected output {i}",
            handles=(),
            operators=(),
            result=i,
            value=logged[i] if i < len(logged) else None,
            reference=expected[i] if i < len(expected) else None,
            why=RESULT
            if i < min(len(logged), len(expected))
            else (ONLY_A if i < len(logged) else ONLY_B),
        )
        for i in range(max(len(logged), len(expected)))
    ]


def _meant(results: Sequence[Value], reference: Value) -> Value:
    """The result that a reference is of."""
    same = [value for value in results if same_shape(value.layout.sizes, reference.layout.sizes)]
    if len(same) > 1:
        same = [value for value in same if value.layout.dtype == reference.layout.dtype]
    return same[0] if len(same) == 1 else results[-1]


def key_text(key: ArrayKey) -> str:
    """Return the name of an array: "8", "1,2,3"."""
    return key if isinstance(key, str) else ",".join(map(str, key))
