"""Pairs of values with their gaps, and where the error grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from viewer.analysis.numeric.gap import Gap, gap_of
from viewer.analysis.numeric.growth import Growth, growth_of, largest_growth
from viewer.analysis.numeric.pairing import Pair
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.tensor_values import same_shape
from viewer.program.program import Program

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
    found = largest_growth([value.growth for value in values])
    return None if found is None else values[found]
