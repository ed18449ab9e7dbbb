"""The time of plain profiles: no thread counts twice, no span of a whole thread is a finding."""

from fractions import Fraction

import numpy as np
import pytest

from tests.builders.chrome_cases import read, slice_event
from tests.paths import DATA
from viewer.analysis.cost.event_times import ThreadTime, WorkTime
from viewer.analysis.findings.finding import Family, SliceKeys
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.analysis.links.linker import unlinked
from viewer.analysis.statistics.grouping import Grouping
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.inference_views import aligned_runs, mean_run, typical_run
from viewer.model.recorded_names import PROFILER_STEP
from viewer.model.times import plain_spaces
from viewer.model.trace import Clock, KeyKind, RunKind, Trace

NS = Fraction(1)
PLAIN = KeyKind.PLAIN


def plain(*slices: tuple[str, str, int, int]) -> Trace:
    """A profile without identities; each slice is (thread, name, start, end)."""
    builder = TraceBuilder("plain", "test", "", Clock())
    builder.scope("file")
    for thread, name, start, end in slices:
        builder.add(
            track=builder.track("p", thread), start=np.array([start]), end=np.array([end]),
            name=builder.intern(name), key=builder.key(KeyKind.PLAIN, name),
        )  # fmt: skip
    return builder.build()


def times(trace: Trace) -> tuple[dict[str, int], int]:
    """The time of every name, and the busy time."""
    work = WorkTime(unlinked(trace))
    ticks, whole = (
        ThreadTime(trace).of(work.group_of_key, len(work.groups), spans=False).ticks(WHOLE)
    )
    return dict(work.by_thing(ticks)), whole


def spans(trace: Trace) -> list[str]:
    return [trace.name(i) for i in ThreadTime(trace).whole_spans.tolist()]


def hot_spots(trace: Trace):
    answer = FindingsAnalysis(unlinked(trace)).of(WHOLE, NS)
    families = (*answer.found, *answer.not_reported)
    return next(one for one in families if one.family is Family.LARGEST)


STEPS = (("t", "step", 0, 50), ("t", "conv", 0, 40), ("t", "step", 50, 100), ("t", "relu", 60, 70))


def test_a_span_around_a_thread_is_not_counted_but_what_is_nested_in_it():
    trace = plain(("t", "main", 0, 100), *STEPS)
    assert spans(trace) == ["main"]
    assert times(trace) == ({"step": 50, "conv": 40, "relu": 10}, 100)


def test_a_profiler_that_covers_the_trace_on_a_track_of_its_own_is_not_counted():
    trace = plain(("profiler", "PyTorch Profiler (0)", 0, 100), *STEPS)
    assert spans(trace) == ["PyTorch Profiler (0)"]
    assert times(trace) == ({"step": 50, "conv": 40, "relu": 10}, 100)
    one = hot_spots(trace)
    assert plain_spaces(one.title) == "Speed up step: up to 50 ns (50.0 % of the busy time)"
    assert plain_spaces(one.detail) == (
        "The most expensive of 3 event names. Busy time: 100 ns, not counting PyTorch Profiler (0)."
    )
    assert isinstance(one.place, SliceKeys)


def on_gpu(name, ts, dur, category="kernel"):
    return slice_event(name, ts, dur, cat=category, pid=0, tid=7)


def test_the_time_of_a_gpu_is_that_of_its_kernels(tmp_path):
    """PyTorch writes copies of scopes after the kernels, also with the very times of a kernel."""
    trace = read(
        tmp_path,
        slice_event("forward", 0, 100, cat="user_annotation"),
        slice_event("aten::mul", 10, 20, cat="cpu_op"),
        on_gpu("first", 40, 10),
        on_gpu("second", 70, 10),
        on_gpu("forward", 40, 40, "gpu_user_annotation"),
        on_gpu("inner", 40, 10, "gpu_user_annotation"),
    )
    assert times(trace) == ({"aten::mul": 20_000, "first": 10_000, "second": 10_000}, 120_000)
    names = {group.label: group for group in Grouping(unlinked(trace)).by("name").groups}
    assert (names["first"].self_ticks, names["inner"].self_ticks) == (10_000, 0)


def test_the_spans_of_two_profilers_in_a_merged_file_are_not_counted():
    """They overlap on one track, because both processes call it "PyTorch Profiler"."""
    trace = plain(("profiler", "Profiler (0)", 0, 99), ("profiler", "Profiler (1)", 1, 100), *STEPS)
    assert spans(trace) == ["Profiler (0)", "Profiler (1)"]
    assert times(trace) == ({"step": 50, "conv": 40, "relu": 10}, 100)


@pytest.mark.parametrize(("end", "covers"), [(95, True), (94, False)])
def test_a_span_covers_its_thread_from_95_percent_of_it(end, covers):
    trace = plain(("t", "main", 0, end), ("t", "conv", 0, 60), ("t", "exit", 99, 100))
    assert spans(trace) == (["main"] if covers else [])


def test_spans_in_spans_are_busy_but_no_ones_work():
    trace = plain(("t", "exec", 0, 100), ("t", "main", 1, 99), ("t", "conv", 1, 60))
    assert spans(trace) == ["exec", "main"]
    assert times(trace) == ({"conv": 59}, 100)


def test_a_span_with_nothing_inside_is_the_work_itself():
    trace = plain(("t", "load", 0, 3), ("t", "conv", 3, 100))
    assert spans(trace) == []
    assert times(trace) == ({"conv": 97, "load": 3}, 100)
    assert spans(plain(("t", "conv", 0, 100))) == []


def test_a_thread_that_has_one_short_slice_is_counted():
    trace = plain(*STEPS, ("worker", "upload", 20, 30))
    assert spans(trace) == []
    assert times(trace)[1] == 110
    detail = hot_spots(plain(*STEPS, ("worker", "conv", 20, 50))).detail
    assert plain_spaces(detail).endswith("Busy time of 2 threads, added up: 130 ns.")


def test_time_of_a_span_that_nothing_explains_stays_in_the_whole():
    """One event of 1 ns in a span of 100 is no hot spot of "100 % of the busy time"."""
    trace = plain(("t", "main", 0, 100), ("t", "conv", 10, 11), ("t", "relu", 11, 12))
    assert spans(trace) == ["main"]
    assert times(trace) == ({"conv": 1, "relu": 1}, 100)
    assert plain_spaces(hot_spots(trace).why) == (
        "all 2 with any time take 2.0 % of the busy time of the whole trace"
    )


def test_slices_that_overlap_on_a_thread_count_once_for_the_last_to_start():
    trace = plain(("t", "a", 0, 60), ("t", "b", 40, 90), ("t", "c", 95, 100))
    assert times(trace) == ({"a": 40, "b": 50, "c": 5}, 95)


def test_of_slices_that_start_together_the_shorter_counts():
    trace = plain(("t", "a", 0, 60), ("t", "b", 40, 90), ("t", "c", 40, 50), ("t", "d", 99, 100))
    assert times(trace) == ({"a": 40, "b": 40, "c": 10, "d": 1}, 91)


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_slices_against_each_tick_by_itself(seed):
    random = np.random.default_rng(seed)
    start = random.integers(0, 200, 60)
    end = start + random.integers(1, 40, 60)
    trace = plain(*((f"t{i % 3}", f"n{i % 7}", *at) for i, at in enumerate(zip(start, end))))  # noqa: B905
    slices = trace.slices
    expected: dict[str, int] = {}
    for track in range(3):
        own = [i for i in range(len(slices)) if slices.track(i) == track]
        for tick in range(250):
            active = [i for i in own if slices.start[i] <= tick < slices.end[i]]
            if active:
                last = max(active, key=lambda i: (slices.start[i], -slices.end[i]))
                expected[trace.name(last)] = expected.get(trace.name(last), 0) + 1
    assert times(trace) == (expected, sum(expected.values()))


def test_a_pytorch_profile_is_not_busier_than_it_is_long():
    trace = open_file(str(DATA / "chrome_json" / "kineto_cpu.json"))
    ticks, whole = times(trace)
    assert sum(ticks.values()) <= whole <= trace.end - trace.start
    assert not [name for name in ticks if name.startswith("PyTorch Profiler")]


def test_an_empty_trace_has_no_time():
    assert times(plain()) == ({}, 0)


def test_overlapping_slices_on_another_clock_are_no_busy_time(tmp_path):
    rows = ["process,thread,name,start_ns,dur_ns,native_dur", "p,t,a,0,10,5", "p,t,b,5,10,7"]
    path = tmp_path / "foreign.csv"
    path.write_text("\n".join(rows))
    answer = FindingsAnalysis(unlinked(open_file(str(path)))).of(WHOLE, NS)
    assert answer.found == ()


# -- steps ----------------------------------------------------------------------------------------


def stepped(*slices: tuple[str, str, int, int]) -> Trace:
    """Like `plain`; slices named ProfilerStep#N are steps that cover all tracks."""
    builder = TraceBuilder("plain", "test", "", Clock())
    scope = builder.scope("file")
    for thread, name, start, end in slices:
        track, is_step = builder.track("p", thread), name.startswith(PROFILER_STEP)
        key = builder.key(*((KeyKind.FRAMEWORK, PROFILER_STEP) if is_step else (PLAIN, name)))
        if is_step:
            builder.run(RunKind.INFERENCE, name, track, scope, start, end, all_tracks=True)
        builder.add(
            track=track, start=np.array([start]), end=np.array([end]),
            name=builder.intern(name), key=key,
        )  # fmt: skip
    return builder.build()


TWO = ("t", "ProfilerStep#3", 0, 50), ("t", "ProfilerStep#4", 50, 100)


def test_steps_are_no_work_of_their_own_and_count_alike():
    """The first is explained by 20 of 50 and the second by 40 of 50: 60 of 100 of both."""
    trace = stepped(*TWO, ("t", "conv", 0, 20), ("t", "relu", 60, 100))
    assert spans(trace) == ["ProfilerStep#3", "ProfilerStep#4"]
    assert times(trace) == ({"conv": 20, "relu": 40}, 60)
    less = stepped(*TWO, ("t", "conv", 0, 20), ("t", "relu", 60, 80))
    assert times(less) == ({"conv": 20, "relu": 20}, 100)


def test_a_step_is_the_sum_of_all_threads_in_its_time():
    trace = stepped(*TWO, ("t", "conv", 0, 50), ("t", "relu", 50, 90), ("gpu", "kernel", 30, 60))
    analysis = FindingsAnalysis(unlinked(trace))
    first, second = (analysis.context(TimeScope(run), NS) for run in trace.inferences())
    assert (first.whole_ticks, second.whole_ticks) == (70, 50)
    assert first.busy == "Busy time of 2 threads, added up"
    assert first.whole == "the busy time of step 1"
    assert [first.threads.threads(one.within) for one in (first, second)] == [2, 2]
    assert dict(second.work.by_thing(second.ticks)) == {"relu": 40, "kernel": 10}


@pytest.mark.parametrize("view_of_runs", [aligned_runs, typical_run, mean_run])
def test_the_threads_of_a_step_add_up_in_views_that_show_them_on_one_track(view_of_runs):
    """The kernel and the operator after it run at the same time, and both count."""
    trace = stepped(
        *TWO, ("gpu", "kernel", 10, 45), ("t", "conv", 0, 50), ("gpu", "kernel", 60, 95),
        ("t", "conv", 50, 100),
    )  # fmt: skip
    view = view_of_runs(trace)
    table = unlinked(view)
    analysis, grouping = FindingsAnalysis(table), Grouping(table)
    for run in view.inferences():
        found = analysis.context(TimeScope(run), NS)
        assert dict(found.work.by_thing(found.ticks)) == {"conv": 50, "kernel": 35}
        assert (found.whole_ticks, found.busy) == (85, "Busy time of 2 threads, added up")
    whole = analysis.context(WHOLE, NS).whole_ticks
    assert whole == 85 * len(view.runs)
    assert grouping.by("thread").whole == whole


@pytest.mark.parametrize("name", ["kineto_cpu.json", "torch_training.json.gz"])
def test_statistics_by_thread_add_up_to_the_busy_time_of_findings(name):
    trace = open_file(str(DATA / "chrome_json" / name))
    table = unlinked(trace)
    analysis, grouping = FindingsAnalysis(table), Grouping(table)
    for run in (None, *trace.inferences()):
        scope = TimeScope(run)
        by_thread = grouping.by("thread", *scope.span[:2])
        assert by_thread.whole == analysis.context(scope, NS).whole_ticks
    names = {trace.name(i) for group in (0, 1, 2) for i in grouping.slices("thread", group)}
    assert "PyTorch Profiler (0)" not in names
    assert not any(name.startswith(PROFILER_STEP) for name in names)
