"""A profile whose arrays are in files is equal, in every field, to the same one in memory."""

import sys
from pathlib import Path

import pytest

from tests.builders import many_slices
from tests.builders.equal_traces import differences
from tests.formats.perfetto.test_reader import BEGIN, COUNTER, END, INSTANT, Writer
from tests.formats.test_column_cache import traces
from tests.reliability.fuzz.kinds import KINDS
from tests.reliability.fuzz.values import Dice
from viewer.codecs import large_arrays
from viewer.codecs.memory_budget import Allowance
from viewer.codecs.reading import UnreadableFile
from viewer.export.perfetto.writer import PerfettoSource, export_perfetto
from viewer.formats import event_pairs, open_file
from viewer.model import queries

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems swap")


def read_both(path: Path, monkeypatch) -> tuple:
    """A profile read in memory, and read with all arrays in files; None if it cannot be read."""
    try:
        first = open_file(str(path))
    except UnreadableFile:
        return None, None
    with monkeypatch.context() as small:
        small.setattr(large_arrays, "LARGE", 1)
        small.setattr(large_arrays, "kind_of_disk", lambda _path: "ext4")
        small.setattr(large_arrays, "_MOST_PAGES", 0)
        small.setattr(event_pairs, "_SORTED", 3)
        small.setattr(queries, "_MANY", 1)
        small.setattr(queries, "_HUGE", 1)
        return first, open_file(str(path))


def are_in_files(trace) -> bool:
    """Whether the slices of a trace are in a file: an array in memory has no buffer below it."""
    start = trace.slices.start
    return isinstance(getattr(start, "base", None), memoryview)


@pytest.mark.slow
def test_every_profile_of_the_tests_is_equal(monkeypatch):
    count = 0
    for path, _ in traces():
        first, second = read_both(path, monkeypatch)
        assert list(differences(first, second)) == [], path
        count += first is not None
    assert count > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ["perfetto", "chrome", "table", "torq_host", "perf_samples"])
def test_any_profile_is_equal(name, tmp_path, monkeypatch):
    """Profiles of the fuzzer's grammar, with unusual names, numbers, arguments and flows."""
    kind, dice, count = KINDS[name], Dice(12), 0
    path = tmp_path / f"a{kind.suffix}"
    for _ in range(60):
        path.write_bytes(kind.made(dice))
        first, second = read_both(path, monkeypatch)
        assert list(differences(first, second)) == []
        count += first is not None
    assert count > 10


def test_all_that_a_perfetto_trace_can_have_is_equal(tmp_path, monkeypatch):
    made = Writer()
    for thread in range(5):
        pid = 1 + thread % 2
        made.thread(10 + thread, pid, 100 + thread, f"thread {thread}", f"process {pid}")
    counted = made.packet(9).track_descriptor
    counted.uuid, counted.name = 90, "memory"
    counted.counter.SetInParent()
    for step in range(200):
        track, at = 10 + step % 5, 1000 + 50 * step
        begin = made.event(at, BEGIN, track, f"name {step % 7}")
        argument = begin.debug_annotations.add(name="bytes")
        argument.int_value = step
        if step % 3 == 0:
            begin.flow_ids.append(step // 3 % 9)
        made.event(at + 10, BEGIN, track, "inside")
        made.event(at + 15, INSTANT, track, "at once")
        made.event(at + 20, END, track)
        ended = made.event(at + 40, END, track)
        late = ended.debug_annotations.add(name="result")
        late.string_value = f"text {step % 4}"
        made.event(at, BEGIN, track, "no time")
        made.event(at, END, track)
    for track in range(10, 13):
        made.event(100, BEGIN, track, "not in order of time")
        made.event(90_000, BEGIN, track, "unfinished")
        made.event(95_000, END, 14)
    for at in range(0, 9000, 100):
        made.event(at, COUNTER, 90, counter_value=at % 700)
    path = made.save(tmp_path)
    first, second = read_both(path, monkeypatch)
    assert list(differences(first, second)) == []
    assert are_in_files(second)
    assert not are_in_files(first)
    assert len(first.flows) > 10
    assert first.counters
    assert {"bytes", "result", "unpaired"} <= set(first.slices.columns)
    assert (first.slices.start == first.slices.end).any()


def test_a_trace_that_repeats_its_tracks_is_equal(tmp_path, monkeypatch):
    """As a recording is: not sorted by track, so that tracks are sorted some at a time."""
    path = tmp_path / "many.pftrace"
    export_perfetto([PerfettoSource.of(many_slices.trace(3000))], path)
    path.write_bytes(path.read_bytes() * 2)
    first, second = read_both(path, monkeypatch)
    assert list(differences(first, second)) == []
    assert are_in_files(second)
    assert len(first.slices) > 5000


def test_a_trace_in_files_needs_less_memory(tmp_path, monkeypatch):
    """Else a machine that can open it would refuse it."""
    path = tmp_path / "many.pftrace"
    export_perfetto([PerfettoSource.of(many_slices.trace(20_000))], path)

    def needed() -> int:
        most = []
        monkeypatch.setattr(Allowance, "expect", lambda _self, taken, *_, **__: most.append(taken))
        open_file(str(path))
        return max(most)

    before = needed()
    monkeypatch.setattr(large_arrays, "LARGE", 1)
    monkeypatch.setattr(large_arrays, "kind_of_disk", lambda _path: "ext4")
    with_files = needed()
    assert with_files < before * 0.6
    monkeypatch.setattr(large_arrays, "_FREE", 1 << 60)
    assert needed() == before
