"""Blocks of whole tracks: together they are the trace, and give what it gives as one."""

import time
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.test_queries import GROUPS, groups, slices, trace_of
from viewer.analysis.statistics import occurrences
from viewer.model import queries as blocks_module
from viewer.model.charging import charge, total_charged
from viewer.model.queries import on_two_threads, ranks, track_blocks, tree


def in_small_blocks():
    """Let a block end with its first track that has any slice."""
    return patch.object(blocks_module, "BLOCK", 1)


@pytest.mark.slow
@given(slices, st.sets(st.integers(0, 13), max_size=3))
def test_blocks_are_the_trace_in_parts(items, native):
    whole = trace_of(items, native).slices
    with in_small_blocks():
        blocks = track_blocks(whole)
    assert [block.span.start for block in blocks[1:]] == [block.span.stop for block in blocks[:-1]]
    assert sum(len(block.slices) for block in blocks) == len(whole)
    for block in blocks:
        own, span = block.slices, block.span
        assert np.array_equal(own.start, whole.start[span])
        assert np.array_equal(np.diff(own.rows()), np.diff(whole.rows()[span]))
        assert np.array_equal(ranks(own) + span.start, ranks(whole)[span])
        assert np.array_equal(own.row_track[own.rows()], whole.row_track[whole.rows()[span]])
        for name, column in own.columns.items():
            assert np.array_equal(column.values, whole.columns[name].values[span])


def test_a_track_is_never_divided():
    whole = trace_of([(1, 0, 9, 0), (1, 2, 3, 1), (1, 12, 3, 2), (0, 0, 1, 0), (2, 0, 1, 0)]).slices
    with in_small_blocks():
        assert [len(block.slices) for block in track_blocks(whole)] == [1, 3, 1]


@pytest.mark.slow
@given(slices, groups, st.sets(st.integers(0, 13), max_size=3))
def test_blocks_have_the_tree_and_the_charged_time_of_the_trace(items, group_of_key, native):
    trace, group_of_key = trace_of(items, native), np.array(group_of_key, np.int64)

    def found():
        shape, charged = tree(trace.slices), charge(trace, group_of_key)
        columns = [getattr(shape, name) for name in ("index", "depth", "parent")]
        for one in (charged.of_lanes, charged.of_threads):
            columns += [getattr(one, name) for name in ("track", "start", "end", "group")]
        columns += total_charged(trace, group_of_key, GROUPS, warm_up=True)
        return [column.tolist() for column in columns]

    expected = found()
    with in_small_blocks():
        assert found() == expected


@pytest.mark.slow
@given(slices, st.data())
def test_blocks_have_the_outermost_slices_of_the_trace(items, data):
    whole = trace_of(items).slices
    index = np.flatnonzero(
        data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole)))
    )
    group = whole.key[index].astype(np.int64)
    expected = occurrences.outermost(whole, index, group).tolist()
    with in_small_blocks(), patch.object(occurrences, "BLOCK", 1):
        assert occurrences.outermost(whole, index, group).tolist() == expected


def test_huge_items_are_not_worked_on_at_once(monkeypatch):
    monkeypatch.setattr(blocks_module, "_HUGE", 150_000)
    huge, most = [], []

    def work(size: int) -> int:
        if size > 150_000:
            huge.append(size)
            time.sleep(0.01)
            most.append(len(huge))
            huge.pop()
        return size

    sizes = [200_000, 100_000, 300_000, 160_000, 150_000, 200_000]
    assert on_two_threads(work, sizes, sizes) == sizes
    assert most == [1] * 4


def test_two_threads_keep_the_order_and_raise_what_the_work_raises():
    assert on_two_threads(str, [1, 2, 3], [100_000, 300_000, 200_000]) == ["1", "2", "3"]
    with pytest.raises(ZeroDivisionError):
        on_two_threads(lambda number: 1 // number, [1, 0], [200_000, 200_000])
