"""The rows of queries as tracks: which are drawn, where, and what is left out."""

from decimal import Decimal

import numpy as np
import pytest

from viewer.model.trace import Trace
from viewer.view.derived_tracks import NEEDED, DerivedTrack, derived_trace, why_no_track

GAPS = DerivedTrack("gaps", "SELECT 1")


def slices_of(trace: Trace) -> dict[int, tuple[str, int, int, str]]:
    """Return name, start, end and thread of each slice, by its row in the result."""
    columns = trace.slices
    return {
        int(columns.source_row[i]): (
            trace.strings[int(columns.name[i])],
            int(columns.start[i]),
            int(columns.end[i]),
            trace.tracks[columns.track(i)].thread,
        )
        for i in range(len(columns))
    }


@pytest.mark.parametrize("seed", range(5))
def test_every_row_with_times_is_a_slice_in_its_track(seed):
    rng = np.random.default_rng(seed)
    odd = [None, "text", float("nan"), float("inf"), 1 << 80, -(1 << 80), Decimal("NaN")]
    rows, expected = [], {}
    for number in range(200):
        start, length = int(rng.integers(-1000, 1000)), int(rng.integers(0, 300))
        name, pivot = f"n{rng.integers(5)}", int(rng.integers(3))
        row = [name, Decimal(start) if rng.random() < 0.1 else start, length, pivot]
        if rng.random() < 0.2:
            row[int(rng.integers(1, 3))] = odd[int(rng.integers(len(odd)))]
        elif rng.random() < 0.1:
            row[2] = -1 - length
        else:
            expected[number] = name, start, start + length, str(pivot)
        rows.append(tuple(row))
    trace = derived_trace(GAPS, ["name", "ts", "dur", "pivot"], rows)
    assert slices_of(trace) == expected
    assert {track.process for track in trace.tracks} == {"Derived by query gaps"}
    (problem,) = trace.problems
    assert problem.count == len(rows) - len(expected)
    # No two slices of a row overlap: they went to lanes, or inside one another.
    for first, last in zip(trace.slices.row_ptr, trace.slices.row_ptr[1:], strict=False):
        start, end = trace.slices.start[first:last], trace.slices.end[first:last]
        assert (start[1:] >= end[:-1]).all()


def test_start_ns_counts_from_the_zero_of_the_clock_and_ts_from_its_axis():
    rows = [(1_500, 10)]
    by_clock = derived_trace(GAPS, ["start_ns", "dur_ns"], rows, zero_ns=1_000)
    by_axis = derived_trace(GAPS, ["ts", "dur"], rows, zero_ns=1_000)
    assert slices_of(by_clock) == {0: ("slice", 500, 510, "gaps")}
    assert slices_of(by_axis) == {0: ("slice", 1_500, 1_510, "gaps")}


def test_values_are_counters():
    rows = [(0, 1, "a"), (10, 2.5, "b"), (20, None, "a"), (30, 7, "a"), (None, 1, "b")]
    trace = derived_trace(GAPS, ["start_ns", "value", "pivot"], rows)
    drawn = {c.name: (c.tick.tolist(), c.value.tolist()) for c in trace.counters}
    assert drawn == {"a": ([0, 30], [1.0, 7.0]), "b": ([10], [2.5])}
    assert not len(trace.slices)


@pytest.mark.parametrize("columns", [["name"], ["start_ns"], ["dur_ns", "value"], ["start", "dur"]])
def test_other_columns_say_what_is_needed(columns):
    assert why_no_track(columns) == NEEDED
    with pytest.raises(ValueError, match="start_ns and dur_ns"):
        derived_trace(GAPS, columns, [])


def test_a_pivot_of_too_many_values_is_refused():
    with pytest.raises(ValueError, match="more than 100 values"):
        derived_trace(GAPS, ["ts", "dur", "pivot"], [(n, 1, n) for n in range(101)])


def test_no_rows_are_no_slices():
    trace = derived_trace(GAPS, ["ts", "dur", "pivot"], [])
    assert not len(trace.slices)
    assert trace.problems == ()
