"""Where a dump is on the clock of its device: what is stated holds the truth, or nothing is."""

import json
import random
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

import pytest

from tests.builders.android_traces import APP, RENDER, AndroidTrace
from tests.builders.clocked_traces import clocked_trace
from tests.builders.etdump_writer import Run, framework, operator, write_dump
from viewer.formats import open_file
from viewer.model.timing import STEADY, parse_zeros, zeros_text
from viewer.model.trace import Clock, ClockZero, RunKind, Trace
from viewer.model.trace import Run as Inference
from viewer.recording.run_file import (
    MOST_BRACKETS,
    Bracket,
    brackets_in,
    logged_brackets,
    offset_of,
    zero_of,
)
from viewer.workspace.workspace import Workspace

RATES = (Fraction(1), Fraction(1), Fraction(625, 12), Fraction(1000))


@dataclass
class Simulated:
    """A process on a device: its dump, what was bracketed, and the truth. All in ns."""

    trace: Trace
    brackets: list[Bracket]
    log: str
    offset: float


def trace_of(times: list[tuple[float, float]], rate: Fraction) -> Trace:
    """A trace with these inferences, rounded down to ticks."""
    ticks = [(int(start / rate), int(end / rate)) for start, end in times]
    trace = clocked_trace("d.etdp", Clock("ns", rate, assumed=True), *ticks)
    runs = tuple(
        Inference(RunKind.INFERENCE, number, "forward", 0, 0, start, end, total=len(ticks))
        for number, (start, end) in enumerate(ticks, 1)
    )
    return type(trace)(*(getattr(trace, name) for name in list(trace.__slots__)[:9]), runs=runs)


def delay(chance: random.Random, typical: float) -> float:
    """How long a step takes: at times, something else runs for milliseconds."""
    late = chance.expovariate(1 / 4_000_000) if chance.random() < 0.03 else 0.0
    return chance.expovariate(1 / typical) + late


def simulated(seed: int) -> Simulated:
    """Inferences of 20 µs to 50 ms, a device that runs for up to a month, delays of all sizes."""
    chance = random.Random(seed)
    rate = chance.choice(RATES[:3])
    offset = chance.uniform(0, 2.6e15)
    typical, length = chance.uniform(2_000, 25_000), chance.uniform(20_000, 50_000_000)
    now, times, brackets, lines = chance.uniform(1e6, 1e9), [], [], []
    count = chance.randint(20, 60)
    for number in range(1, count + 1):
        before = now
        start = before + delay(chance, typical)
        end = start + length * chance.lognormvariate(0, 0.1)
        after = end + delay(chance, typical)
        times.append((start, end))
        brackets.append((int(before + offset), int(after + offset)))
        seconds, ns = divmod(int(after + offset), 10**9)
        lines.append(
            f"{seconds:6}.{ns // 1000:06}  4321  4322 I ExecuTorch: Iteration {number} of {count}"
            ": 1.234000 ms"
        )
        now = after + delay(chance, typical)
    return Simulated(trace_of(times, rate), brackets, "\n".join(lines), offset)


def check_all(seeds: range) -> None:
    widths, logged_widths = [], []
    for seed in seeds:
        made = simulated(seed)
        logged = logged_brackets(made.log, len(made.brackets))
        for brackets, all_widths in ((made.brackets, widths), (logged, logged_widths)):
            interval = offset_of(made.trace, brackets)
            assert interval is not None, seed
            assert interval[0] <= made.offset <= interval[1], seed
            zero = zero_of(made.trace, brackets)
            assert abs(zero.ns - made.offset) <= zero.error_ns, seed
            all_widths.append(interval[1] - interval[0])
    print(f"median width {median(widths):,} ns, of logs {median(logged_widths):,} ns")
    assert median(widths) <= 100_000
    assert median(logged_widths) <= 100_000


@pytest.mark.slow
def test_the_interval_holds_the_truth():
    check_all(range(60))


@pytest.mark.nightly
def test_the_interval_holds_the_truth_a_thousand_times():
    check_all(range(1000, 2000))


@pytest.mark.slow
def test_what_is_of_another_process_is_no_claim():
    """Brackets of one process are almost never those of another: they contradict each other."""
    claims = 0
    for seed in range(40):
        made, other = simulated(seed), simulated(seed + 500)
        count = min(len(made.brackets), len(other.brackets))
        runs = [(run.start, run.end) for run in made.trace.runs[:count]]
        trace = trace_of([(start, end) for start, end in runs], Fraction(1))
        claims += offset_of(trace, other.brackets[:count]) is not None
    assert claims == 0


TIMES = [(100.0, 200.0), (300.0, 400.0), (500.0, 600.0)]
WHOLE = [(1090, 1210), (1290, 1410), (1490, 1610)]


def test_the_closest_bounds_count():
    assert offset_of(trace_of(TIMES, Fraction(1)), WHOLE) == (988, 1011)
    closer = [(1090, 1203), (1299, 1410), (None, None)]
    assert offset_of(trace_of(TIMES, Fraction(1)), closer) == (997, 1004)
    zero = zero_of(trace_of(TIMES, Fraction(1)), closer)
    assert zero == ClockZero(STEADY, 1000, "opscope record", 4)


@pytest.mark.parametrize(
    "brackets",
    [
        [],
        WHOLE[:2],  # one of the inferences has none
        [*WHOLE, (1690, 1710)],
        [(1090, 1210), (1290, 1410), (2490, 2610)],  # they contradict each other
        [(1090, None), (1290, None), (1490, None)],  # no bound of the other side
        [(None, 1210), (None, 1410), (None, None)],
        [(None, None)] * 3,
        [(1210, 1090), (1410, 1290), (1610, 1490)],
    ],
)
def test_no_claim(brackets):
    assert offset_of(trace_of(TIMES, Fraction(1)), brackets) is None


def test_a_clock_that_restarts_is_no_claim():
    again = [(100.0, 200.0), (300.0, 400.0), (150.0, 250.0)]
    assert offset_of(trace_of(again, Fraction(1)), WHOLE) is None


def test_only_the_first_inferences_have_brackets():
    times = [(200.0 * i, 200.0 * i + 100) for i in range(MOST_BRACKETS + 5)]
    brackets = [(int(start) + 990, int(end) + 1010) for start, end in times]
    trace = trace_of(times, Fraction(1))
    assert offset_of(trace, brackets[:MOST_BRACKETS]) == (988, 1011)
    assert offset_of(trace, brackets[: MOST_BRACKETS - 1]) is None


@pytest.mark.parametrize(
    "value",
    [None, 1, "[[1, 2]]", {}, [1, 2], [[1]], [[1, 2, 3]], [[1, "2"]], [[1, 2.5]], [[True, 2]],
     [[1, 2], None], [[1, 1 << 62]], [[-(1 << 80), 1]]],
)  # fmt: skip
def test_what_is_no_list_of_brackets(value):
    assert brackets_in(value) == []


def test_what_is_one():
    assert brackets_in([[1, 2], [None, 5], [7, None]]) == [(1, 2), (None, 5), (7, None)]
    assert len(brackets_in([[1, 2]] * 9999)) == MOST_BRACKETS


def test_a_log_with_lines_of_others_and_without_some():
    log = """\
I 00:00:00.001 executorch:executor_runner.cpp:485] Iteration 1 of 4: 1.2 ms
--------- beginning of main
   77.000100  4321  4321 I ExecuTorch: Iteration 1 of 4: 1.234000 ms
   77.000150  4321  4321 D ExecuTorch: Preparing inputs.
   77.000200  9999  9999 I Other   : Iteration 2 of 4
   77.000300  4321  4321 I ExecuTorch: executor_runner.cpp:485] Iteration 3 of 4: 1.2 ms
garbage 77 Iteration 4 of 4
"""
    assert logged_brackets(log, 4) == [
        (None, 77_000_100_999), (77_000_100_000, None), (None, 77_000_300_999),
        (77_000_300_000, None),
    ]  # fmt: skip
    assert logged_brackets("no line of a log", 4) == []
    assert logged_brackets("1.000000 ExecuTorch: " * 50_000, 4) == []


def test_an_error_survives_an_export():
    zeros = (
        ClockZero(STEADY, -5, "opscope record", 27_000),
        ClockZero("REALTIME", 7, "a snapshot"),
    )
    assert parse_zeros(zeros_text(zeros)) == zeros


# -- next to a system trace ----------------------------------------------------------------------

DUMP = [(1_000_000, 3_000_000), (4_000_000, 6_000_000)]  # ns since its process started
STARTED = 77_000_000_000_000  # ns of MONOTONIC at that moment
SLEPT = 500_000_000  # ns by which BOOTTIME is ahead of it


def dump_file(path, slice_ns=100_000):
    runs = [
        Run("forward", [operator("a", 0, start + 1000, start + 1000 + slice_ns),
                        framework("Method::execute", start, end)])
        for start, end in DUMP
    ]  # fmt: skip
    return write_dump(path, runs)


def system_file(path, snapshots=((0, 0),)):
    """A trace that counts BOOTTIME, with a thread that runs from the first inference to its end."""
    android = AndroidTrace()
    base = STARTED + SLEPT
    for shift, jitter in snapshots:
        android.snapshot(base + shift, base + shift - SLEPT + jitter)
    android.switches((base + DUMP[0][0], APP, 1, RENDER), (base + DUMP[0][1], RENDER, 1, APP))
    path.write_bytes(android.trace.SerializeToString())
    return path


def record_of(dump, system, error=20_000, **facts):
    """The file about the session of a dump."""
    brackets = [[STARTED + start - error, STARTED + end + error] for start, end in DUMP]
    text = {
        "schema": "opscope-run/1",
        "host_monotonic_ns": brackets,
        "system_trace": {"name": system.name, "bytes": system.stat().st_size},
    }
    dump.with_suffix(".run.json").write_text(json.dumps(text | facts))


@pytest.fixture
def both(tmp_path):
    """A dump and a system trace, in the folders of a recording."""
    for name in ("a", "system"):
        (tmp_path / name).mkdir()
    dump = dump_file(tmp_path / "a/001.etdp")
    system = system_file(tmp_path / "system/001.pftrace")
    record_of(dump, system)
    return dump, system


def space_of(*paths):
    space = Workspace()
    for path in paths:
        space.open(str(path))
    return space


def start_of(space, trace):
    return trace.start + space.clocks.offset_ns(trace)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_both_are_on_one_axis_with_the_error(both, is_reversed):
    space = space_of(*(reversed(both) if is_reversed else both))
    assert len(space.clocks.same_clock(space.traces[0])) == 2
    place = space.clocks.place(space.traces[1])
    assert place.reason == "recorded together: MONOTONIC ±20.002 µs"
    dump = next(trace for trace in space.traces if trace.format == "ETDump")
    (zero,) = dump.clock.zeros
    assert abs(zero.ns - STARTED) <= zero.error_ns == 20_002
    starts = [start_of(space, trace) for trace in space.traces]
    assert abs(starts[0] - starts[1]) <= 20_002
    assert space.choices.same_clocks == ()  # nobody has to state it


def test_an_error_longer_than_the_shortest_slice_is_named(both):
    dump, system = both
    record_of(dump_file(dump, slice_ns=5000), system)
    space = space_of(*both)
    reason = space.clocks.place(space.traces[0]).reason
    assert reason.replace("\u202f", " ") == (
        "recorded together: MONOTONIC ±20.002 µs, longer than the shortest slice (5.000 µs)"
    )


def test_snapshots_that_differ_add_to_the_error(both):
    dump, system = both
    system_file(system, ((0, 0), (10**9, 3000), (2 * 10**9, -2000)))
    record_of(dump, system)
    space = space_of(*both)
    assert "±25.002 µs" in space.clocks.place(space.traces[0]).reason


@pytest.mark.parametrize(
    "change",
    [
        {"host_monotonic_ns": None},
        {"host_monotonic_ns": [[1, 2], [3, 4]]},  # of another process
        {"system_trace": None},
        {"system_trace": {"name": "002.pftrace", "bytes": 1}},
        {"system_trace": {"name": ["001.pftrace"], "bytes": True}},
        {"schema": "other"},
    ],
)
def test_without_a_statement_they_are_on_two_axes(both, change):
    record_of(*both, **change)
    space = space_of(*both)
    assert len(space.clocks.same_clock(space.traces[0])) == 1


def test_another_trace_of_that_name_is_not_meant(both):
    dump, system = both
    system.write_bytes(system.read_bytes() + b"\x0a\x00")
    assert len(space_of(dump, system).clocks.same_clock(space_of(dump, system).traces[0])) == 1


def test_two_dumps_of_a_recording_can_be_put_on_one_axis(both, tmp_path):
    dump, system = both
    other = dump_file(tmp_path / "a/002.etdp")
    later = 5_000_000_000
    brackets = [[STARTED + later + start, STARTED + later + end] for start, end in DUMP]
    record_of(other, system, host_monotonic_ns=brackets, system_trace=None)
    space = space_of(dump, other)
    space.share_clock([str(dump), str(other)])
    first, second = (start_of(space, trace) for trace in space.traces)
    assert abs(second - first - later) <= 20_002
    assert "same clock, as you stated: MONOTONIC ±" in space.clocks.place(space.traces[0]).reason


def test_a_dump_without_a_recording_stays_as_it_is(tmp_path):
    path = dump_file(tmp_path / "d.etdp")
    assert space_of(path).traces[0].clock == open_file(str(path)).clock
