"""Slices so long that their durations cannot be added up."""

from fractions import Fraction

import numpy as np
import pytest

from viewer.model.building.builder import TOO_LONG, TraceBuilder
from viewer.model.intervals import MOST_SUM, fits, sum_of_durations, too_long
from viewer.model.trace import Clock, KeyKind, Problem, Trace


def columns(*spans: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    times = np.array(spans, np.int64).reshape(-1, 2)
    return times[:, 0], times[:, 1]


def test_a_sum_may_exceed_what_one_difference_can_hold():
    assert sum_of_durations(*columns((-(2**63), 2**63 - 1), (0, 5))) == 2.0**64


@pytest.mark.parametrize(
    ("spans", "found"),
    [
        ([], []),
        ([(0, 10), (5, 7)], []),
        ([(0, 2**62)], []),
        ([(0, 2**62), (0, 2**62)], [1]),
        ([(0, 2**61), (3, 2**62), (0, 7)], [1]),
        ([(-(2**62), 2**62), (0, 7), (0, 2**63 - 1)], [0, 2]),
    ],
)
def test_the_longest_are_found_until_the_others_fit(spans, found):
    assert too_long(*columns(*spans), Fraction(1)).tolist() == found


def test_the_sum_must_fit_in_ns_and_in_ticks():
    spans = columns((0, 2**53), (0, 2**40))
    assert too_long(*spans, Fraction(1)).tolist() == []
    assert too_long(*spans, Fraction(1000)).tolist() == [0]
    assert too_long(*columns((0, 2**62), (0, 2**62)), Fraction(1, 1000)).tolist() == [1]
    assert fits(MOST_SUM / 1000, Fraction(1000))
    assert not fits(MOST_SUM / 999, Fraction(1000))
    assert not fits(1.0, Fraction(10**400))


def built(clock: Clock, levels: list[int] | None = None) -> Trace:
    """A parent that is too long, with a child, and another slice on a second track."""
    builder = TraceBuilder("x", "test", "", clock)
    start, end = columns((0, 2**62), (5, 2**61), (0, 2**62))
    builder.add(
        track=np.array([builder.track("p", "a"), 0, builder.track("p", "b")], np.uint32),
        start=start,
        end=end,
        name=builder.intern("s"),
        key=builder.key(KeyKind.PLAIN, "s"),
        levels=None if levels is None else np.array(levels, np.int32),
    )
    builder.flows(np.array([0]), np.array([2]))
    return builder.build()


@pytest.mark.parametrize("levels", [None, [0, 1, 0]])
def test_slices_that_are_too_long_become_instants_of_one_problem(levels):
    trace = built(Clock(), levels)
    assert Problem(TOO_LONG, 2, "slice 0") in trace.problems
    slices = trace.slices
    durations = (slices.end - slices.start)[np.argsort(slices.source_row)]
    assert durations.tolist() == [0, 2**61 - 5, 0]
    rows = (slices.source_row[trace.flows.producer], slices.source_row[trace.flows.consumer])
    assert [part.tolist() for part in rows] == [[0], [2]]


def test_a_clock_of_long_ticks_leaves_no_slice_that_long():
    trace = built(Clock(ns_per_tick=Fraction(1000)))
    assert Problem(TOO_LONG, 3, "slice 0") in trace.problems
