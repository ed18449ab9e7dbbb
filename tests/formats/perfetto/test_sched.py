"""What runs on each CPU, and the states of threads, at the edges of a trace."""

from tests.builders.android_traces import APP, RENDER, AndroidTrace
from viewer.formats import open_file


def slices(trace, end):
    s = trace.slices
    return [
        (trace.name(i), int(s.start[i]), int(s.end[i]))
        for i, row in enumerate(s.rows().tolist())
        if trace.tracks[s.row_track[row]].thread.endswith(end)
    ]


def test_what_still_runs_at_the_end_is_left_out_and_counted(tmp_path):
    made = AndroidTrace()
    made.switches((10, 0, 0, APP), (30, APP, 1, RENDER))
    trace = open_file(str(made.save(tmp_path)))
    assert slices(trace, "CPU 0") == [(f"t{APP} {APP}", 10, 30)]
    assert [(p.count, "no end" in p.kind or "whose end" in p.kind) for p in trace.problems] == [
        (1, True)
    ]


def test_a_wakeup_counts_only_while_the_thread_sleeps(tmp_path):
    made = AndroidTrace()
    made.switches((10, 0, 0, APP), (30, APP, 1, 0), (60, 0, 0, APP), (70, APP, 0x100, 0))
    made.switches((90, 0, 0, APP), (95, APP, 0, 0))
    made.wakes((5, APP), (20, APP), (40, APP), (50, APP), (80, APP))
    found = slices(open_file(str(made.save(tmp_path))), " · state")
    assert found == [
        ("Runnable", 5, 10), ("Running", 10, 30), ("Sleeping", 30, 40), ("Runnable", 40, 60),
        ("Running", 60, 70), ("Runnable (preempted)", 70, 90), ("Running", 90, 95),
    ]  # fmt: skip


def test_names_of_threads_come_from_switches_if_no_process_tree_has_them(tmp_path):
    made = AndroidTrace()
    made.switches((10, 0, 0, 77), (30, 77, 1, 0))
    trace = open_file(str(made.save(tmp_path)))
    assert slices(trace, "CPU 0") == [("t77 77", 10, 30)]
    assert [t.process for t in trace.tracks] == ["CPUs", "Threads without a process"]


def test_clocks_of_cpus_are_counters(tmp_path):
    made = AndroidTrace()
    made.switches((10, 0, 0, APP), (30, APP, 1, 0))
    made.clocks((5, 4, 1_800_000), (20, 0, 300_000), (25, 4, 1_800_000), (28, 4, 2_047_500))
    trace = open_file(str(made.save(tmp_path)))
    assert trace.problems == ()
    assert [
        (c.process, c.name, c.unit, c.tick.tolist(), c.value.tolist()) for c in trace.counters
    ] == [
        ("CPUs", "CPU 0 clock", "MHz", [20], [300.0]),
        ("CPUs", "CPU 4 clock", "MHz", [5, 28], [1800.0, 2047.5]),
    ]  # fmt: skip
    assert trace.counters[1].text(2047.5, trace.clock.ns_per_tick).endswith("MHz")


def test_clocks_alone_are_something_to_show(tmp_path):
    made = AndroidTrace()
    made.clocks((5, 0, 1_800_000))
    assert len(open_file(str(made.save(tmp_path))).counters) == 1
