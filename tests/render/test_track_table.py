"""What there is to stack, told from the columns of a trace."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.stocks import Tracked, table
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind
from viewer.render.arrangement import NEVER, busy_of_tracks, table_of, track_list
from viewer.render.time_axis import Axis


def test_the_rows_of_a_trace_tell_kernels_and_zero_lengths():
    builder = TraceBuilder("a.etdp", "etdump", "", Clock())
    call = builder.key(KeyKind.OPERATOR_CALL, "OPERATOR_CALL")
    kernel = builder.key(KeyKind.KERNEL, "native_call_add")
    event = builder.key(KeyKind.DELEGATE_EVENT, "0")
    builder.add(
        track=builder.track("a", "forward"),
        start=np.array([7, 8, 10, 15]),
        end=np.array([9, 9, 20, 15]),
        name=0,
        key=np.array([call, kernel, call, event], np.uint32),
        levels=np.array([0, 1, 0, 1], np.int32),
    )
    builder.track("a", "empty")
    found = table_of(builder.build(), ["forward", "empty"])
    assert found.processes == ("a",)
    assert found.process.tolist() == [0, 0]
    assert found.first.tolist() == [7, NEVER]
    assert found.row_ptr.tolist() == [0, 2, 2]
    assert found.row.tolist() == [0, 1]
    assert found.kernels.tolist() == [False, True]
    assert found.has_lengths.tolist() == [True, True]
    assert found.has_zeros.tolist() == [False, True]


def trace_of(tracks):
    builder = TraceBuilder("t.csv", "test", "", Clock())
    for number, slices in enumerate(tracks):
        times = np.array(slices, np.int64).reshape(-1, 2)
        builder.add(
            track=builder.track("p", f"t{number}"), start=times[:, 0], end=times.sum(axis=1),
            name=0, key=builder.key(KeyKind.PLAIN, ""),
        )  # fmt: skip
    return builder.build()


@pytest.mark.slow
@given(st.lists(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), max_size=8),
                min_size=1, max_size=5))  # fmt: skip
def test_a_track_is_busy_while_anything_lies_on_it(tracks):
    ticks = [{t for start, length in track for t in range(start, start + length)}
             for track in tracks]  # fmt: skip
    assert busy_of_tracks(trace_of(tracks)).tolist() == [len(covered) for covered in ticks]


def test_a_stock_numbers_tracks_and_processes_over_all_traces():
    stock = track_list(
        [table(Tracked("a", "x"), Tracked("b", "y")), table(), table(Tracked("a", "z", first=6))],
        [Axis(), Axis(), Axis(Fraction(5), 100)],
        [[("b", "power"), ("gone", "heat"), ("a", "load")], [], []],
    )
    assert [process.part for process in stock.processes] == [(0, "a"), (0, "b"), (2, "a")]
    assert [process.counters for process in stock.processes] == [(2,), (0,), ()]
    assert [stock.track_of((2, 0)), stock.part(2)] == [2, (2, 0)]
    assert [stock.process_of(part) for part in [(0, 1), (2, "a"), (2, 0)]] == [1, 2, 2]
    gone = [(0, 2), (1, 0), (3, 0), (0, -1), (-1, 0), (0, "z")]
    assert [stock.process_of(part) for part in gone] == [-1] * len(gone)
    assert stock.process_starts() == [None, None, 130]
