"""Compares values of a run with a reference: pairs, gaps, and where an error starts and grows.

Calls that share an operator, in one run or through the pairs of two programs, are one row, as in
the comparison of times. Its results are those of its last call. A delegate call is left out if its
own events logged the same operators. Arrays have a debug handle. As in ExecuTorch's Inspector, the
last result of a row belongs to its last debug handle, the one before to the handle before. Of
several results of a kernel, the one of the same shape is meant, then the one of the same dtype,
else the last.

To find where an error starts, each relative error (`Gap.error`) is next to those of the nearest
compared operators before it in the graph; without a graph, of the compared value before it.

MSE, L1 and SNR are those of ExecuTorch's `Inspector.calculate_numeric_gap`: in float64, NaN counts
as 0, and in a tensor with a NaN infinities count as the largest float. L1 is the sum of absolute
differences; SNR is 10 * log10(mean(reference²) / mean(difference²)).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count

import numpy as np

from viewer.analysis.comparison.evidence import aligned
from viewer.analysis.comparison.operator_pairs import Joined, Member, OperatorPairs, pair_operators
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.analysis.links.labels import set_label
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.numbers.logged_values import METHOD, LoggedCall, Value, results_of
from viewer.arrays import Floats, Ints, lists_by_key
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.tensor_values import StoredTensor, same_shape
from viewer.dataclasses import dataclass, field
from viewer.program.dataflow import Dataflow
from viewer.program.program import Program

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


_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True, slots=True)
class Gap:
    """The figures of a pair; None where they are not finite or not defined.

    snr: in dB, None if the tensors are equal. error: the noise in relation to the signal,
    sqrt(mean(difference²) / mean(reference²)). place: the index of the largest error, None if there
    is no error. nan, inf: how many values of the tensor and of the reference are.
    """

    count: int
    mse: float | None
    l1: float | None
    snr: float | None
    cosine: float | None
    error: float | None
    max_abs: float | None
    place: tuple[int, ...] | None
    nan: tuple[int, int]
    inf: tuple[int, int]

    @property
    def is_exact(self) -> bool:
        """Whether the tensors are equal, with NaN as 0."""
        return self.l1 == 0


@dataclass(slots=True)
class _Sums:
    """What the figures are made of. odd: values of each side that are NaN and infinite."""

    difference: float = 0.0
    squared: float = 0.0
    own: float = 0.0
    reference: float = 0.0
    product: float = 0.0
    largest: float = 0.0
    at: int = -1
    nan: tuple[int, int] = (0, 0)
    inf: tuple[int, int] = (0, 0)


def gap_of(tensor: StoredTensor, reference: StoredTensor) -> Gap:
    """Return how far a tensor is from a reference with as many values, in the same order."""
    sums = _sums(tensor, reference, (False, False))
    bounded = tuple(n > 0 and i > 0 for n, i in zip(sums.nan, sums.inf, strict=True))
    if any(bounded):
        sums = _sums(tensor, reference, (bounded[0], bounded[1]))
    count = tensor.count
    is_finite = math.isfinite(sums.own) and math.isfinite(sums.reference)
    norms = math.sqrt(sums.own) * math.sqrt(sums.reference) if is_finite else math.nan
    signal, noise = sums.reference / max(count, 1), sums.squared / max(count, 1)
    is_ratio = 0 < signal < math.inf and noise < math.inf
    return Gap(
        count=count,
        mse=_known(noise) if count else None,
        l1=_known(sums.difference) if count else None,
        snr=10 * (math.log10(signal) - math.log10(noise)) if is_ratio and noise > 0 else None,
        cosine=_known(sums.product / norms) if norms > 0 else None,
        error=math.sqrt(noise / signal) if is_ratio else None,
        max_abs=_known(sums.largest) if count else None,
        place=tensor.index(sums.at) if sums.at >= 0 else None,
        nan=sums.nan,
        inf=sums.inf,
    )


def _sums(tensor: StoredTensor, reference: StoredTensor, bounded: tuple[bool, bool]) -> _Sums:
    sums, done = _Sums(), 0
    with np.errstate(over="ignore", invalid="ignore"):
        for x, y in zip(tensor.blocks(), reference.blocks(), strict=True):
            nan, inf = [], []
            for values, is_bounded in ((x, bounded[0]), (y, bounded[1])):
                is_nan = np.isnan(values)
                nan.append(int(is_nan.sum()))
                inf.append(int(np.isinf(values).sum()))
                values[is_nan] = 0.0
                if is_bounded:
                    np.clip(values, -_LARGEST, _LARGEST, out=values)
            sums.nan = sums.nan[0] + nan[0], sums.nan[1] + nan[1]
            sums.inf = sums.inf[0] + inf[0], sums.inf[1] + inf[1]
            difference = x - y
            sums.squared += _dot(difference, difference)
            sums.own += _dot(x, x)
            sums.reference += _dot(y, y)
            sums.product += _dot(x, y)
            np.abs(difference, out=difference)
            sums.difference += float(difference.sum())
            difference[np.isnan(difference)] = 0.0  # infinite on both sides
            index = int(np.argmax(difference))
            if difference[index] > sums.largest:
                sums.largest, sums.at = float(difference[index]), done + index
            done += len(x)
    return sums


def _dot(x: Floats, y: Floats) -> float:
    # Pairwise sums: np.dot may use fewer digits on some machines.
    return float((x * y).sum())


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Growth:
    """The change of an error at an operator.

    before: the largest error of what it was made from, 0 if it was made from inputs only. factor:
    how many times as large it became, None if it was 0.
    """

    before: float
    after: float

    @property
    def factor(self) -> float | None:
        """How many times as large the error became."""
        return self.after / self.before if self.before > 0 else None

    @property
    def increase(self) -> float:
        """By how much it grew."""
        return self.after - self.before


def growth_of(
    pairs: Sequence[Pair], gaps: Sequence[Gap | None], program: Program | None
) -> list[Growth | None]:
    """Return the growth at every pair; None without an error, and for results of the method."""
    errors = [None if gap is None else gap.error for gap in gaps]
    flow = None if program is None or program.is_recorded else dataflow_of(program)
    places = lists_by_key(
        (operator, i)
        for i, pair in enumerate(pairs)
        if errors[i] is not None
        for operator in pair.operators
    )
    growths: list[Growth | None] = []
    last = 0.0
    for pair, error in zip(pairs, errors, strict=True):
        if error is None or pair.why == RESULT:
            growths.append(None)
            continue
        before = last
        if flow is not None and pair.operators and not flow.unknown.keys() & set(pair.operators):
            before = _before(pair, flow, places, errors)
        growths.append(Growth(before, error))
        last = error
    return growths


def _before(
    pair: Pair, flow: Dataflow, places: dict[int, list[int]], errors: Sequence[float | None]
) -> float:
    """The largest error of the nearest compared operators before a pair."""
    seen = set(pair.operators)
    pending = list(pair.operators)
    largest = 0.0
    while pending:
        for operator in flow.inputs_of(pending.pop()).tolist():
            if operator in seen:
                continue
            seen.add(operator)
            if operator in places:
                operator_errors = (errors[i] for i in places[operator])
                largest = max([largest, *(error for error in operator_errors if error is not None)])
            else:
                pending.append(operator)
    return largest


def largest_growth(growths: Sequence[Growth | None]) -> int | None:
    """The number of the pair whose error grows most, in relation to its signal; None if none."""
    grown = [
        (growth.increase, -i)
        for i, growth in enumerate(growths)
        if growth is not None and growth.increase > 0
    ]
    return -max(grown)[1] if grown else None


OTHER_SHAPES = "the shapes differ"


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """A pair with its figures; gap is None if it could not be compared, and `fault` says why."""

    pair: Pair
    gap: Gap | None
    growth: Growth | None
    fault: str


def compared(
    pairs: Sequence[Pair],
    program: Program | None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[ComparedValue]:
    """Return the figures of all pairs. program: that of the compared run, for its graph."""
    gaps: list[Gap | None] = []
    faults: list[str] = []
    for i, pair in enumerate(pairs):
        gap, fault = measured_gap(pair)
        gaps.append(gap)
        faults.append(fault)
        progress(i + 1, len(pairs))
    growths = growth_of(pairs, gaps, program)
    return [ComparedValue(*row) for row in zip(pairs, gaps, growths, faults, strict=True)]


def measured_gap(pair: Pair) -> tuple[Gap | None, str]:
    """Return the gap of a pair; None, with the reason, if it cannot be compared."""
    value, reference = pair.value, pair.reference
    if value is None or reference is None:
        return None, pair.why
    if value.fault or reference.fault:
        return None, value.fault or f"reference: {reference.fault}"
    if not same_shape(value.layout.sizes, reference.layout.sizes):
        return None, OTHER_SHAPES
    try:
        return gap_of(value.open(), reference.open()), ""
    except (UnreadableFile, ValueError) as error:
        return None, str(error)


def grows_most(values: Sequence[ComparedValue]) -> ComparedValue | None:
    """Return the value whose error grows most, None if there is no error."""
    index = largest_growth([value.growth for value in values])
    return None if index is None else values[index]


# The start of each step but the first, relative to the signal.
EDGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
STEP_TITLES = (
    "Error up to 10⁻⁶", "10⁻⁶ to 10⁻⁵", "10⁻⁵ to 10⁻⁴", "10⁻⁴ to 10⁻³", "10⁻³ to 0.01",
    "0.01 to 0.1", "0.1 and more of the signal",
)  # fmt: skip
NOT_COMPARED = -1  # the step of an operator without an error
_versions = count(1)


@dataclass(frozen=True, eq=False)
class OperatorErrors:
    """The largest error of the values of each operator, relative to their signal.

    of: by the index of the operator in its program; inf if it is not finite, or has no signal.
    version: another one for every set of errors.
    """

    of: Mapping[int, float]
    version: int = field(default_factory=lambda: next(_versions))

    def largest(self, operators: Collection[int]) -> float | None:
        """Return the largest error of some operators, None if none has one."""
        return max((self.of[i] for i in operators if i in self.of), default=None)

    def step(self, operators: Collection[int]) -> int:
        """Return the step of the largest error of some operators, or `NOT_COMPARED`."""
        error = self.largest(operators)
        return NOT_COMPARED if error is None else bisect_right(EDGES, error)

    def steps(self, operators: int) -> Ints:
        """Return the step of each of the first operators of the program."""
        return np.array([self.step((i,)) for i in range(operators)], np.int64)
