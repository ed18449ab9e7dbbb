"""Traces as Android writes them, beside trace_processor: slices, CPUs, states, counters, stages.

Where it differs, the test says what the file states and that we follow it.
"""

from collections import Counter

import pytest

from tests.builders.android_traces import APP, OTHER, RENDER, AndroidTrace
from tests.peers.trace_processor import TraceProcessor
from viewer.formats import open_file
from viewer.model.timing import Timing, timings

pytestmark = pytest.mark.slow

STATES = {"Running": "Running", "Runnable": "R", "Sleeping": "S", "Uninterruptible sleep": "D",
          "Runnable (preempted)": "R+", "Stopped": "T", "Traced": "t", "Dead": "X",
          "Zombie": "Z"}  # fmt: skip
SLICES = "select name, ts, dur from slice"
SCHED = "select cpu, ts, dur from sched where utid != 0 and dur >= 0"
STATE = (
    "select tid, state, ts, dur from thread_state join thread using (utid) where dur >= 0 and tid"
)


def rich():
    made = AndroidTrace()
    made.prints(
        (100, APP, f"B|{APP}|draw\n"), (110, APP, f"B|{APP}|measure|x\n"), (150, APP, f"E|{APP}\n"),
        (180, APP, "E\n"), (185, RENDER, f"B|{APP}|a\n"), (186, RENDER, "E"),
        (195, OTHER, f"I|{OTHER}|tick\n"), (196, OTHER, "E|"),
    )  # fmt: skip
    made.prints(
        (120, APP, f"S|{APP}|load|7\n"), (125, RENDER, f"S|{APP}|load|8\n"),
        (170, RENDER, f"F|{APP}|load|7\n"), (200, APP, f"F|{APP}|load|8\n"),
        (142, APP, f"G|{APP}|net|get|1\n"), (148, APP, f"H|{APP}|net|1\n"),
        (149, APP, f"N|{APP}|net|ping\n"), (130, APP, f"C|{APP}|queue|3\n"),
        (140, APP, f"C|{APP}|queue|-1\n"),
    )  # fmt: skip
    made.switches(
        (100, 0, 0, APP), (150, APP, 1, RENDER), (160, RENDER, 0, APP), (200, APP, 2, 0),
        (230, 0, 0, RENDER), (260, RENDER, 1, 0),
    )  # fmt: skip
    made.switches(
        (90, 0, 0, OTHER), (135, OTHER, 4, 0), (250, 0, 0, OTHER), (270, OTHER, 0, 0), cpu=2
    )
    made.wakes((155, APP), (210, RENDER), (215, RENDER), (165, OTHER))
    made.gpu((300, 40, 1, 3), (345, 60, 1, 4), (310, 100, 2, 4))
    return made


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    path = rich().save(tmp_path_factory.mktemp("android"))
    trace = open_file(str(path))
    with TraceProcessor(path) as peer:
        yield trace, peer


def rows(trace):
    s = trace.slices
    return [
        (trace.tracks[s.row_track[row]], trace.name(i), int(s.start[i]), int(s.end[i] - s.start[i]))
        for i, row in enumerate(s.rows().tolist())
    ]


def is_of_scheduler(track):
    return track.process == "CPUs" or track.thread.endswith(" · state")


def test_slices_of_atrace_and_of_the_gpu(both):
    trace, peer = both
    ours = Counter(tuple(row) for track, *row in rows(trace) if not is_of_scheduler(track))
    assert ours == Counter(peer.rows(SLICES))
    assert len(ours) == 11


def test_what_ran_on_each_cpu(both):
    trace, peer = both
    ours = Counter(
        (int(track.thread.removeprefix("CPU ")), start, length)
        for track, _, start, length in rows(trace) if track.process == "CPUs"
    )  # fmt: skip
    assert ours == Counter(peer.rows(SCHED))


def test_the_states_of_threads(both):
    trace, peer = both
    ours = Counter(
        (int(track.thread.split()[-3]), STATES[name], start, length)
        for track, name, start, length in rows(trace) if track.thread.endswith(" · state")
    )  # fmt: skip
    assert ours == Counter(peer.rows(STATE))
    assert {state for _, state, _, _ in ours} >= {"Running", "R", "S", "T"}


def test_counters_of_processes(both):
    trace, peer = both
    (counter,) = trace.counters
    assert (counter.process, counter.name) == ("com.example.camera", "queue")
    assert list(zip(counter.tick.tolist(), counter.value.tolist(), strict=True)) == peer.rows(
        "select ts, value from counter order by ts"
    )


def test_threads_and_processes(both):
    trace, _ = both
    places = {(track.process, track.thread) for track in trace.tracks}
    assert ("com.example.camera", f"RenderThread {RENDER}") in places
    assert ("com.example.camera", "load") in places
    assert ("GPU", "graphics") in places


def test_an_app_that_has_just_started_has_the_name_of_its_package(both):
    """trace_processor keeps "zygote64", what the process was before."""
    trace, peer = both
    assert f"t{OTHER} {OTHER}" in {
        track.thread for track in trace.tracks if track.process == "com.example.other"
    }
    assert ("zygote64",) in peer.rows("select name from process")


def test_the_first_switch_of_a_packed_list_states_who_runs_then(tmp_path):
    """trace_processor takes it for the state of the CPU alone, and has no slice for it."""
    made = AndroidTrace()
    made.compact((105, 0, OTHER), (140, 1, 0), (170, 0, OTHER), (190, 1, 0))
    path = made.save(tmp_path)
    ours = [row[2:] for row in rows(open_file(str(path))) if row[0].process == "CPUs"]
    with TraceProcessor(path) as peer:
        assert peer.rows(SCHED) == [(1, 170, 20)]
    assert ours == [(105, 35), (170, 20)]


def test_a_begin_without_an_end_lasts_at_least_to_the_last_print(tmp_path):
    """trace_processor has the duration -1, and draws it to the end of the trace."""
    made = AndroidTrace()
    made.prints((190, RENDER, f"B|{APP}|never ends\n"), (250, OTHER, "no mark"))
    path = made.save(tmp_path)
    trace = open_file(str(path))
    assert [row[1:] for row in rows(trace)] == [("never ends", 190, 60)]
    assert timings(trace.slices).tolist() == [Timing.UNFINISHED]
    assert any("without an end event" in problem.kind for problem in trace.problems)
    with TraceProcessor(path) as peer:
        assert peer.rows(SLICES) == [("never ends", 190, -1)]
