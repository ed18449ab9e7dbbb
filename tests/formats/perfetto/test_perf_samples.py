"""Samples of stacks in Perfetto traces, with interned frames and callstacks."""

from itertools import accumulate, pairwise

import numpy as np
import pytest

from tests.builders import sampled
from tests.formats.samples.test_reader import SEEDS, calls, paths, problems
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.timing import Timing, timings


def opened(folder, trace):
    path = folder / "a.pftrace"
    path.write_bytes(trace.SerializeToString())
    return open_file(str(path))


def stacks_and_times(seed):
    stacks = [stack or ("idle",) for stack in sampled.random_stacks(seed)]
    return stacks, list(accumulate([1000 + 10 * (i % 3) for i in range(len(stacks))]))


@pytest.mark.parametrize("seed", SEEDS)
def test_samples_have_the_time_to_the_next_one(tmp_path, seed):
    stacks, times = stacks_and_times(seed)
    trace = opened(tmp_path, sampled.perf_samples(stacks, times))
    usual = int(np.median(np.diff(times)))
    ends = [*times, times[-1] + usual]
    assert paths(trace) == sampled.slices(stacks, ends)
    assert calls(trace) == sampled.sums(stacks, [b - a for a, b in pairwise(ends)])
    assert set(timings(trace.slices).tolist()) == {Timing.SAMPLED}
    assert [(t.process, t.thread) for t in trace.tracks] == [("app", "app 100 · samples")]
    assert trace.problems == ()


def test_each_thread_has_a_track_and_lines_are_columns(tmp_path):
    stacks, times = stacks_and_times(1)
    trace = opened(tmp_path, sampled.perf_samples(stacks, times, threads=3, lines=True))
    names = {track.thread for track in trace.tracks}
    assert names == {"app 100 · samples", "worker1 101 · samples", "worker2 102 · samples"}
    assert trace.slices.columns["line"].values.min() >= 1


def test_a_frame_without_a_function_is_its_address(tmp_path):
    made = sampled.perf_samples([("main", "f")], [5])
    del made.packet[1].interned_data.function_names[:]
    made.packet[1].interned_data.frames[1].mapping_id = 9
    trace = opened(tmp_path, made)
    assert set(calls(trace)) == {("libapp.so+0x10",), ("libapp.so+0x10", "unknown+0x20")}


def test_samples_without_a_whole_stack_are_counted(tmp_path):
    made = sampled.perf_samples([("main",)] * 4, [1, 2, 3, 4])
    made.packet[2].perf_sample.callstack_iid = 77
    made.packet[3].perf_sample.ClearField("callstack_iid")
    made.packet[3].perf_sample.sample_skipped_reason = 1
    trace = opened(tmp_path, made)
    assert len(trace.slices) == 2
    assert list(problems(trace).values()) == [1, 1]


def test_a_trace_of_other_samples_names_them(tmp_path):
    made = sampled.perf_samples([("main",)], [1])
    made.packet[1].ClearField("perf_sample")
    made.packet[1].stack_sample.SetInParent()
    with pytest.raises(UnreadableFile, match="without events that Opscope shows: it has stack_sam"):
        opened(tmp_path, made)
