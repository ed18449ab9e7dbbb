"""Questions about one slice or a few agree with those about all of them."""

from pathlib import Path

import numpy as np
import pytest

from viewer.formats import open_file
from viewer.model import queries
from viewer.model.queries import (
    busy_time,
    children_of,
    self_time,
    self_time_of,
    slices_within,
    starts_in_run,
    tree,
)

FILES = (
    "etdump/attn_xnnpack_x5.etdp",
    "etdump/SYN_qnn_like.etdp",
    "etdump/SYN_wraparound.etdp",
    "table_csv/two_threads.csv",
    "torq/compile_c3_taskid_mtu.csv",
)


@pytest.mark.parametrize("name", FILES)
def test_self_time_of_one_slice_is_that_of_all(data: Path, name: str):
    slices = open_file(str(data / name)).slices
    expected = self_time(slices)
    assert [self_time_of(slices, i) for i in range(len(slices))] == expected.tolist()


@pytest.mark.parametrize("name", FILES)
def test_tracks_of_some_slices_are_those_of_their_rows(data: Path, name: str):
    slices = open_file(str(data / name)).slices
    some = np.arange(0, len(slices), 3)
    assert slices.tracks_of(some).tolist() == slices.row_track[slices.rows()[some]].tolist()


@pytest.mark.parametrize("name", FILES)
def test_a_run_has_the_slices_that_begin_in_it(data: Path, name: str):
    trace = open_file(str(data / name))
    every = np.arange(len(trace.slices))
    for run in trace.runs:
        expected = [
            i for i in every.tolist()
            if trace.slices.track(i) == run.track
            and run.start <= trace.slices.start[i] < max(run.end, run.start + 1)
        ]  # fmt: skip
        assert starts_in_run(trace, run, every).tolist() == expected


@pytest.mark.parametrize("name", FILES)
def test_children_of_one_slice_are_those_of_the_tree(data: Path, name: str):
    slices = open_file(str(data / name)).slices
    shape = tree(slices)
    for position, i in enumerate(shape.index.tolist()):
        expected = np.sort(shape.index[shape.parent == position])
        assert children_of(slices, i).tolist() == expected.tolist()


@pytest.mark.parametrize("few", [600, 0], ids=["row by row", "all at once"])
def test_slices_within_a_range_are_those_that_touch_it(data: Path, monkeypatch, few):
    monkeypatch.setattr(queries, "FEW_ROWS", few)
    slices = open_file(str(data / "etdump/attn_xnnpack_x5.etdp")).slices
    rng = np.random.default_rng(1)
    lo, hi = int(slices.start.min()), int(slices.end.max())
    for first, last in np.sort(rng.integers(lo, hi, (50, 2))).tolist():
        touches = (slices.start < last) & ((slices.end > first) | (slices.start >= first))
        found = slices_within(slices, 0, first, last)
        assert found.tolist() == np.flatnonzero(touches).tolist()
    assert slices_within(slices, 99, lo, hi).tolist() == []  # no such track


def test_busy_time_of_a_whole_run_is_its_length(data: Path):
    trace = open_file(str(data / "etdump/attn_xnnpack_x5.etdp"))
    run = trace.runs[2]
    assert busy_time(trace.slices, run.track, run.start, run.end) == run.end - run.start
    assert busy_time(trace.slices, run.track, run.end, run.end + 1) == 0
