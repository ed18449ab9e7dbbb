"""32-bit counters that wrap: any ETDump modulo 2^32 reads like the one with whole times."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.builders.etdump_cases import read_path, rows
from tests.builders.etdump_writer import Event, Run, delegate, framework, operator, write_dump
from tests.paths import DATA
from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.linker import unlinked
from viewer.formats.executorch.etdump.wraps import WRAPPED
from viewer.model.queries import foreign, self_time
from viewer.model.times import LAP
from viewer.model.trace import Trace

HALF = LAP >> 1
APART = "delegate events with a separate clock: placed inside their call for drawing only"
AGAIN = "the clock restarted: later inferences are on separate threads"
SINGLE = "end before start: taken as a 32-bit counter that wrapped"
Runs = list[tuple[str, list[Event]]]


class Made:
    """Makes runs with whole times. `long`: the share of spans that take up to half a lap."""

    def __init__(self, seed: int, long: float, late: float) -> None:
        self.random = random.Random(seed)
        self.time, self.long, self.late = 0, long, late

    def passes(self, limit: int = HALF) -> None:
        """A leaf or a gap."""
        limits = (50, 10**6, 10**8)
        is_long = self.random.random() < self.long
        self.time += self.random.randrange(limit if is_long else self.random.choice(limits))

    def leaf(self) -> tuple[int, int]:
        start = self.time
        self.passes(LAP - (LAP >> 4))
        return start, self.time

    def call(self, i: int) -> list[Event]:
        start, kind, inside = self.time, self.random.randrange(4), []
        if kind == 0:
            return [operator("MOVE_CALL", i, *self.leaf())]
        if kind == 1:
            return [operator("OPERATOR_CALL", i, *self.leaf())]
        self.passes()
        if kind == 2:
            inside = [operator("native_call_add.out", i, *self.leaf())]
            name = "OPERATOR_CALL"
        else:
            name, usual, self.long = "DELEGATE_CALL", self.long, 0
            for k in range(self.random.randrange(1, 5)):
                identifier = f"op{k}" if self.random.random() < 0.5 else k
                inside.append(delegate(identifier, i, *self.leaf()))
                self.passes()
            self.long = usual
            if self.random.random() < self.late:
                self.random.shuffle(inside)
        self.passes()
        return [*inside, operator(name, i, start, self.time)]

    def execute(self) -> tuple[str, list[Event]]:
        start, inside = self.time, []
        for i in range(self.random.randrange(1, 6)):
            self.passes()
            inside += self.call(i)
        self.passes()
        return "Execute", [*inside, framework("Method::execute", start, self.time)]

    def load(self) -> tuple[str, list[Event]]:
        start = self.time
        self.passes()
        init = framework("Method::init", *self.leaf())
        self.passes()
        return "Default", [init, framework("Program::load_method", start, self.time)]

    def runs(self) -> Runs:
        made = []
        for _ in range(self.random.randrange(2, 6)):
            made.append(self.load() if self.random.random() < 0.2 else self.execute())
            self.passes()
        return made


def shifted(runs: Runs, by: int, lap: int = 1 << 63) -> list[Run]:
    """The runs later by some ticks, modulo a lap."""
    return [
        Run(
            name,
            [{**e, "start": (e["start"] + by) % lap, "end": (e["end"] + by) % lap} for e in events],
        )
        for name, events in runs
    ]


def facts(trace: Trace) -> tuple[object, ...]:
    """What a wrap must not change; times from the first run on."""
    base = min(run.start for run in trace.runs)
    runs = [(r.kind, r.number, r.track, r.start - base, r.end - base) for r in trace.runs]
    return (
        [(name, depth, start - base, end - base) for name, depth, start, end in rows(trace)],
        [track.thread for track in trace.tracks],
        runs,
        self_time(trace.slices).tolist(),
        [Costs(unlinked(trace)).of_run(run).whole for run in trace.runs],
        trace.slices.source_row.tolist(),
    )


def check(folder: Path, seed: int, long: float, late: float) -> bool:
    """Compare a trace with itself modulo a lap; return whether that wrapped."""
    made = Made(seed, long, late)
    runs, pick = made.runs(), made.random
    by = pick.choice([0, pick.randrange(LAP), LAP - pick.randrange(1, 10**8)])
    low = shifted(runs, by, LAP)
    whole = read_path(write_dump(folder / "t.etdp", shifted(runs, by + LAP)))
    trace = read_path(write_dump(folder / "t.etdp", low))
    assert facts(trace) == facts(whole), (seed, long, late, by)
    logged = np.array([event["start"] for run in low for event in run.events])
    measured = trace.slices.derived_count == 0
    assert not measured or np.array_equal(np.sort(trace.slices.start % LAP), np.sort(logged))
    counts = [problem.count for problem in trace.problems if problem.kind == WRAPPED]
    laps = max((run.end for run in trace.runs), default=0) // LAP
    assert counts == ([laps] if laps else []), (seed, long, late, by)
    return bool(laps)


SPANS = [(0.0, 0.5), (0.05, 0.0), (0.2, 0.2)]


@pytest.mark.slow
@pytest.mark.parametrize(("long", "late"), SPANS)
def test_a_trace_modulo_a_lap_reads_like_the_whole_one(tmp_path, long, late):
    assert sum(check(tmp_path, seed, long, late) for seed in range(12)) > 3


@pytest.mark.nightly
@pytest.mark.parametrize(("long", "late"), SPANS)
def test_many_traces_modulo_a_lap_read_like_the_whole_ones(tmp_path, long, late):
    assert sum(check(tmp_path, seed, long, late) for seed in range(12, 1500)) > 500


def test_a_wrap_inside_an_inference_is_undone():
    trace = read_path(DATA / "counter_wraps" / "inside.etdp")
    executes = [(s, e) for name, depth, s, e in rows(trace) if name == "Method::execute"]
    assert [end - start for start, end in executes] == [30_003_600] * 4
    gaps = [after[0] - before[1] for before, after in pairwise(executes)]
    assert gaps == [1_000_000] * 3
    assert [depth for name, depth, _, _ in rows(trace) if name == "OPERATOR_CALL"] == [1] * 12
    own = self_time(trace.slices)
    named = np.array([trace.name(i) for i in range(len(trace.slices))])
    assert int(own[named == "Method::execute"].sum()) == 12_000
    assert Costs(unlinked(trace)).table().whole == 120_014_400
    assert [track.thread for track in trace.tracks] == ["Execute"]
    assert [(p.kind, p.count, p.first) for p in trace.problems] == [(WRAPPED, 1, "event 7")]


def executed(events: list[Event], start: int, end: int) -> tuple[str, list[Event]]:
    return "Execute", [*events, framework("Method::execute", start, end)]


def moved(start: int) -> tuple[str, list[Event]]:
    """A short inference that the wrap is not in."""
    return executed([operator("MOVE_CALL", 0, start + 1, start + 3)], start, start + 5)


def read_whole(dump: Callable[..., Path], runs: Runs, by: int) -> Trace:
    """Read runs modulo a lap, and check that they read like the whole ones."""
    whole = read_path(dump(*((run.name, run.events) for run in shifted(runs, by + LAP))))
    trace = read_path(dump(*((run.name, run.events) for run in shifted(runs, by, LAP))))
    assert facts(trace) == facts(whole)
    return trace


@pytest.mark.parametrize("by", [0, LAP - 150, LAP - 1, LAP // 2])
def test_a_call_of_several_laps_is_as_long_as_its_events(dump, by):
    """A call that holds its events shows that they are on the host's clock."""
    half = HALF - 100
    events = [
        delegate("conv", 0, 110, 120),
        operator("DELEGATE_CALL", 0, 100, 130),
        delegate("conv", 1, 210, half),
        delegate("relu", 1, half + 5, 2 * half),
        delegate("add", 1, 2 * half + 6, 3 * half),
        operator("DELEGATE_CALL", 1, 200, 3 * half + 70),
        operator("native_call_a", 2, 3 * half + 90, 5 * half),
        operator("OPERATOR_CALL", 2, 3 * half + 80, 5 * half + 400),
    ]
    runs = [executed(events, 90, 5 * half + 500), moved(5 * half + 900)]
    assert [p.kind for p in read_whole(dump, runs, by).problems] == [WRAPPED]


def test_a_parent_is_longer_than_a_lap_though_no_time_goes_back(dump):
    """The call starts before the inference does, modulo a lap."""
    call = operator("MOVE_CALL", 0, LAP - LAP // 16, LAP + HALF)
    runs = [executed([call], 0, LAP + HALF + 10)]
    trace = read_whole(dump, runs, LAP // 8)
    assert [p.kind for p in trace.problems] == [WRAPPED]


def test_delegate_events_logged_late_stay_inside_their_call(dump):
    """Two units of one delegate, logged one after the other; the counter wraps between them."""
    events = [
        *(delegate(f"a{i}", 0, 110 + 100 * i, 180 + 100 * i) for i in range(4)),
        *(delegate(f"b{i}", 0, 110 + 100 * i, 180 + 100 * i) for i in range(4)),
        operator("DELEGATE_CALL", 0, 100, 600),
    ]
    for by in (LAP - 150, LAP - 300, LAP - 550):
        trace = read_whole(dump, [executed(events, 90, 610), moved(700)], by)
        assert {p.kind: p.count for p in trace.problems}[WRAPPED] == 1


def test_scopes_of_delegates_around_others_stay_around_them(dump):
    events = [
        operator("memcpy", 0, 112, 120),
        operator("NPU", 0, 120, 170),
        operator("execute", 0, 105, 180),
        operator("DELEGATE_CALL", 0, 100, 185),
    ]
    for by in (LAP - 110, LAP - 150, LAP - 182):
        read_whole(dump, [executed(events, 90, 200)], by)


def test_a_failed_inference_has_no_scope_and_still_wraps(dump):
    calls = [operator("OPERATOR_CALL", i, 100 * i, 100 * i + 50) for i in range(1, 5)]
    read_whole(dump, [moved(0), ("Execute", calls), moved(900)], LAP - 270)


def test_qnns_events_start_at_0_and_are_no_wraps(dump):
    """Wherever the counter wraps, also where 0 is a time inside the call."""
    events = [
        delegate("QNN accelerator (execute) time (cycles)", 0, 0, 4000),
        delegate("conv:OpId_1 (cycles)", 0, 0, 1200),
        delegate("relu:OpId_2 (cycles)", 0, 0, 300),
        operator("DELEGATE_CALL", 0, 100, 9000),
    ]
    for by in (LAP - 95, LAP - 5000, LAP - 8999):
        runs = [executed(events, 90, 9010), moved(9100)]
        low = shifted(runs, by, LAP)
        for event in low[0].events[:3]:
            event["start"], event["end"] = 0, (event["end"] - by) % LAP
        trace = read_path(dump(*((run.name, run.events) for run in low)))
        expected = [(p.kind, p.count) for p in trace.problems]
        assert expected == [(WRAPPED, 1), (APART, 3)]
        assert len(foreign(trace.slices)) == 3
        native = trace.slices.columns["native_dur"]
        assert [native.value(i) for i in foreign(trace.slices)] == [4000, 1200, 300]
        assert [run.end - run.start for run in trace.runs] == [8920, 5]


@pytest.mark.parametrize("at", [900_000, 3_000_000_000, LAP - 400, 1 << 40])
def test_shaders_on_the_clock_of_the_gpu_are_no_wraps(dump, at):
    """Neither of them makes its call longer, with and without a wrap of the host."""
    for by in (0, LAP - 150):
        calls = [
            delegate("ETVK_COPY_INPUTS", 0, 112 + by, 120 + by),
            delegate("ETVK_COMPUTE_GRAPH_EXECUTE", 0, 122 + by, 160 + by),
            delegate("{conv2d}", 0, at, at + 30),
            delegate("{relu}", 0, at + 50, at + 55),
            delegate("ETVK_COPY_OUTPUTS", 0, 162 + by, 170 + by),
            delegate("ETVK_EXECUTE", 0, 110 + by, 171 + by),
            operator("DELEGATE_CALL", 0, 100 + by, 180 + by),
        ]
        for event in calls:
            if not str(event.get("text")).startswith("{"):
                event["start"], event["end"] = event["start"] % LAP, event["end"] % LAP
        run = executed(calls, (90 + by) % LAP, (190 + by) % LAP)
        trace = read_path(dump(run))
        lengths = [end - start for _, _, start, end in rows(trace)]
        assert lengths[:2] == [100, 80]
        expected = [APART] if not by else [WRAPPED, APART]
        assert [p.kind for p in trace.problems] == expected
        native = trace.slices.columns["native_start"]
        shown = [native.value(i) for i in foreign(trace.slices)]
        assert shown == [at, at + 50]


def test_cycles_of_a_faster_clock_do_not_make_their_calls_longer(dump):
    """A free counter of a delegate, with more cycles than its call has ticks."""
    pick = random.Random(5)
    runs = []
    for k in range(8):
        at, start = pick.randrange(1, HALF), LAP - 4000 + 1000 * k
        events = [
            delegate(0, 0, at, at + 30_000),
            delegate(1, 0, at + 30_010, at + 90_000),
            operator("DELEGATE_CALL", 0, (start + 10) % LAP, (start + 300) % LAP),
        ]
        runs.append(executed(events, start % LAP, (start + 400) % LAP))
    trace = read_path(dump(*runs))
    assert [run.end - run.start for run in trace.runs] == [400] * 8
    assert [(p.kind, p.count) for p in trace.problems] == [(WRAPPED, 1), (APART, 16)]


def test_a_clock_that_was_reset_is_no_wrap(dump):
    """It goes back by less than half a lap; what wraps after that is undone."""
    runs = [moved(0), moved(1000), moved(10), moved(LAP - 2)]
    trace = read_path(dump(*((run.name, run.events) for run in shifted(runs, 0, LAP))))
    assert {p.kind: p.count for p in trace.problems} == {WRAPPED: 1, AGAIN: 1}
    assert [track.thread for track in trace.tracks] == ["Execute", "Execute · clock 2"]
    assert [run.end - run.start for run in trace.runs] == [5] * 4
    assert trace.runs[3].start - trace.runs[2].end == LAP - 2 - 15


def test_a_counter_of_64_bits_is_left_alone(dump):
    """Times above 2^32 show that there is no wrap, even where one goes back by most of a lap."""
    runs = [moved(LAP + 10), moved(LAP - 10), moved(5)]
    trace = read_path(dump(*runs))
    assert [run.start for run in trace.runs] == [LAP + 10, LAP - 10, 5]
    assert [(p.kind, p.count) for p in trace.problems] == [(AGAIN, 2)]


def test_times_that_fit_no_nesting_stay_as_logged(dump):
    """As a kernel that ended before its inference began."""
    runs = [executed([operator("native_call_a", 0, LAP - 100, 100)], 1000, 9000)]
    trace = read_path(dump(*runs))
    assert rows(trace)[0] == ("Method::execute", 0, 1000, 9000)
    assert next(p.kind for p in trace.problems) == SINGLE
