"""Pairs of values with their gaps, where the error starts and grows, and that of each operator.

For that, each error is next to those of the operators that it was made from. The errors are
relative (`Gap.error`). What an operator was made from are the nearest compared
operators before it in the graph; without a graph, the compared value before it.

How far a tensor is from a reference is MSE, L1, SNR, cosine, and the largest error with its place.
MSE, L1 and SNR are those of ExecuTorch's `Inspector.calculate_numeric_gap`: in float64, NaN counts
as 0, and in a tensor with a NaN infinities count as the largest float. L1 is the sum of absolute
differences; SNR is 10 * log10(mean(reference²) / mean(difference²)).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from viewer.analysis.flows.dataflow import dataflow_of
from viewer.analysis.numbers.pairing import RESULT, Pair
from viewer.arrays import Floats, Ints
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.tensor_values import StoredTensor, same_shape
from viewer.program.dataflow import Dataflow
from viewer.program.program import Program

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
    norms = math.sqrt(sums.own) * math.sqrt(sums.reference) if _is_finite(sums) else math.nan
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


def _is_finite(sums: _Sums) -> bool:
    return math.isfinite(sums.own) and math.isfinite(sums.reference)


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
    places: dict[int, list[int]] = {}  # operator -> pairs
    for i, pair in enumerate(pairs):
        if errors[i] is not None:
            for operator in pair.operators:
                places.setdefault(operator, []).append(i)
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
