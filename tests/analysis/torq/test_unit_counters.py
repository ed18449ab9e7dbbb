"""Counters of units against what they must add up to, and against counting tick by tick."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.analysis.torq.unit_counters import MOST_PROCESSES, MOST_WINDOWS, unit_counters
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, Column, KeyKind, Unit
from viewer.model.trace_attributes import stated_counter

CYCLES = Clock("cycle", Fraction(5, 4), assumed=True)
THREADS = {
    "DMA In": Unit.DMA_IN,
    "DMA Out": Unit.DMA_OUT,
    "CDMA": Unit.CDMA,
    "Slice unit 0": Unit.SLICE,
    "Slice unit 1": Unit.SLICE,
    "CSS": Unit.CSS,
    "NSS jobs": Unit.NSS,
    "Host": Unit.HOST,
}


def trace_of(*work, units=THREADS, clock=CYCLES, process="p"):
    """A trace from (thread, start, end, bytes or None)."""
    builder = TraceBuilder("in.csv", "test", "1", clock)
    key = builder.key(KeyKind.PLAIN, "")
    for thread, start, end, size in work:
        builder.add(
            track=builder.track(process, thread, flat=True, unit=units.get(thread, Unit.NONE)),
            start=np.array([start]),
            end=np.array([end]),
            name=builder.intern(thread),
            key=key,
            columns={"bytes": Column(np.array([size or 0]), np.array([size is not None]))},
        )
    return builder.build()


def counters(trace):
    """By name, without the length of windows."""
    return {c.name.partition(" · ")[0]: c for c in unit_counters(trace)}


def steps(counter):
    return list(zip(counter.tick.tolist(), counter.value.tolist(), strict=True))


def integral(counter, end):
    """The exact sum of value x ticks until the end of the trace."""
    ticks = [*counter.tick.tolist(), end]
    return sum(
        Fraction(value) * (after - tick)
        for tick, after, value in zip(ticks, ticks[1:], counter.value.tolist(), strict=False)
    )


def at(counter, tick):
    found = int(np.searchsorted(counter.tick, tick, side="right")) - 1
    return counter.value[found].item() if found >= 0 else 0


# -- by hand -------------------------------------------------------------------------------------


def test_units_at_work_are_counted_and_a_unit_with_overlaps_once():
    trace = trace_of(
        ("DMA In", 0, 10, 64), ("DMA In", 5, 20, 64), ("Slice unit 0", 10, 30, None),
        ("Slice unit 1", 20, 40, None), ("CSS", 60, 70, None), ("NSS jobs", 0, 70, None),
    )  # fmt: skip
    counter = counters(trace)["Concurrent units"]
    assert steps(counter) == [(0, 1), (10, 2), (30, 1), (40, 0), (60, 1), (70, 0)]
    assert (counter.unit, counter.process, counter.note) == ("", "p", "")


def test_bandwidth_and_bytes_are_those_of_the_transfers_under_way():
    trace = trace_of(("DMA Out", 0, 10, 100), ("DMA Out", 5, 25, 40), ("DMA Out", 25, 30, 30))
    found = counters(trace)
    assert steps(found["DMA Out bandwidth"]) == [(0, 10), (5, 12), (10, 2), (25, 6), (30, 0)]
    assert steps(found["DMA Out bytes"]) == [(0, 100), (5, 140), (10, 40), (25, 30), (30, 0)]


def test_bandwidth_is_told_at_the_rate_of_the_clock():
    counter = counters(trace_of(("DMA In", 0, 1979, 9408)))["DMA In bandwidth"]
    assert counter.value[0] == 9408 / 1979
    assert counter.per_tick
    assert counter.text(counter.value[0], Fraction(5, 4)) == "3.803\u202fGB/s"
    assert counter.text(counter.value[0], Fraction(10)) == "475.392\u202fMB/s"
    assert counter.text(0, Fraction(10)) == "0"


def test_transfers_without_a_length_or_bytes_are_left_out_and_counted():
    trace = trace_of(
        ("DMA In", 0, 10, 100), ("DMA In", 5, 5, 100), ("DMA In", 20, 30, None),
        ("DMA In", 30, 40, None),
    )  # fmt: skip
    found = counters(trace)
    said = "1 transfer without a length and 2 transfers without bytes are not included"
    for name in ("DMA In bandwidth", "DMA In bytes"):
        assert steps(found[name])[1:] == [(10, 0)]
        assert found[name].note == said
    assert integral(found["DMA busy"], 40) == 100 * 30


def test_transfers_none_of_which_tells_its_bytes_have_no_bandwidth():
    assert "DMA In bandwidth" not in counters(trace_of(("DMA In", 0, 10, None)))
    assert "DMA In bytes" not in counters(trace_of(("DMA In", 3, 3, 64), ("CSS", 0, 9, None)))


def test_slice_units_are_busy_on_average_and_dma_where_any_is():
    trace = trace_of(
        ("Slice unit 0", 0, 1000, None), ("Slice unit 1", 0, 500, None),
        ("DMA In", 0, 100, 1), ("DMA Out", 50, 250, 1), ("CDMA", 900, 1000, 1),
    )  # fmt: skip
    found = {c.name: c for c in unit_counters(trace)}
    assert steps(found["Slice units busy · per 5 cycles"]) == [(0, 100), (500, 50), (1000, 0)]
    assert steps(found["DMA busy · per 5 cycles"]) == [(0, 100), (250, 0), (900, 100), (1000, 0)]


def test_a_window_tells_the_share_of_its_own_time_and_the_last_ends_with_the_trace():
    trace = trace_of(("CSS", 0, 301, None), ("CSS", 302, 401, None), ("CSS", 500, 503, None))
    (counter,) = unit_counters(trace)
    assert counter.name == "CSS busy · per 5 cycles"
    assert steps(counter) == [
        (0, 100), (300, 80), (305, 100), (400, 20), (405, 0), (500, 100), (503, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("clock", "ticks", "window"),
    [
        (CYCLES, 150, "per 1 cycle"), (CYCLES, 200, "per 1 cycle"), (CYCLES, 201, "per 2 cycles"),
        (CYCLES, 90_000, "per 500 cycles"), (CYCLES, 10**7, "per 50k cycles"),
        (CYCLES, 10**9, "per 5M cycles"), (CYCLES, 10**17, "per 500\u2009000G cycles"),
        (Clock("us", Fraction(1000)), 3_333, "per 20\u202fµs"),
        (Clock(), 70_000, "per 500\u202fns"),
        (Clock(), 2_000_000_000, "per 10\u202fms"),
    ],
)  # fmt: skip
def test_windows_are_round_and_named(clock, ticks, window):
    (counter,) = unit_counters(trace_of(("NSS jobs", 7, 7 + ticks, None), clock=clock))
    assert counter.name == f"NPU busy · {window}"
    assert steps(counter) == [(7, 100), (7 + ticks, 0)]


def test_each_process_has_counters_of_its_own_units():
    builder = TraceBuilder("in.csv", "test", "1", CYCLES)
    key = builder.key(KeyKind.PLAIN, "")
    for number in range(MOST_PROCESSES + 5):
        builder.add(
            track=builder.track(f"p{number}", "CSS", unit=Unit.CSS), key=key, name=0,
            start=np.array([number * 10]), end=np.array([number * 10 + 10]),
        )  # fmt: skip
    found = unit_counters(builder.build())
    assert [c.process for c in found] == [f"p{n}" for n in range(MOST_PROCESSES)]
    assert steps(found[3])[0][0] == 20


def test_no_units_no_counters():
    assert unit_counters(trace_of(("a", 0, 9, 1), ("b", 0, 9, 1))) == ()
    assert unit_counters(trace_of(("Host", 0, 9, 1))) == ()
    assert unit_counters(trace_of()) == ()
    (only,) = unit_counters(trace_of(("CSS", 3, 3, None), ("CSS", 3, 4, None)))
    assert steps(only) == [(3, 100), (4, 0)]
    assert unit_counters(trace_of(("CSS", 3, 3, None))) == ()


def test_units_whose_work_has_no_length_were_never_at_work():
    (only,) = unit_counters(trace_of(("CSS", 3, 3, None), ("DMA In", 3, 3, 64)))
    assert (only.name, steps(only)) == ("Concurrent units", [])


# -- the samples ---------------------------------------------------------------------------------


def test_the_counters_of_a_real_schedule(data):
    trace = open_file(str(data / "torq" / "compile_c3_taskid_mtu.csv"))
    found = counters(trace)
    assert list(found) == [
        "Concurrent units", "Slice units busy", "CSS busy", "DMA busy", "DMA In bandwidth",
        "DMA Out bandwidth", "CDMA bandwidth", "DMA In bytes", "DMA Out bytes", "CDMA bytes",
    ]  # fmt: skip
    # By hand from the rows of the file: DMA In at 0-216-2195, 2196-4175 and 4176-6155, the slice
    # units from 2195 and 4175 on.
    assert steps(found["Concurrent units"])[:4] == [(0, 1), (2196, 2), (4176, 3), (6155, 2)]
    assert steps(found["DMA In bytes"])[:3] == [(0, 1024), (216, 9408), (2195, 0)]


def test_slice_units_that_a_file_does_not_tell_apart_count_as_one_and_it_is_said(data):
    found = counters(open_file(str(data / "torq" / "compile_c0_callsite.csv")))
    assert found["Concurrent units"].note.startswith("the file does not distinguish slice units")
    assert "DMA In bytes" not in found


# -- what counters add up to, for any intervals --------------------------------------------------

transfers = st.tuples(
    st.sampled_from(list(THREADS)), st.integers(-400, 400), st.integers(0, 300),
    st.none() | st.integers(0, 10**6),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(transfers, min_size=1, max_size=30))
def test_integrals_are_the_sums_of_the_slices(work):
    trace = trace_of(*((thread, start, start + length, n) for thread, start, length, n in work))
    found = counters(trace)
    busy = {
        thread: {t for name, start, length, _ in work if name == thread
                 for t in range(start, start + length)}
        for thread in THREADS
    }  # fmt: skip
    dma = busy["DMA In"] | busy["DMA Out"] | busy["CDMA"]
    slices = [ticks for name, ticks in busy.items() if name.startswith("Slice") and name in
              {thread for thread, *_ in work}]  # fmt: skip
    counted = [ticks for name, ticks in busy.items() if name not in ("NSS jobs", "Host")]
    if "Concurrent units" in found:
        counter = found["Concurrent units"]
        assert integral(counter, trace.end) == sum(map(len, counted))
        assert counter.value[-1:].tolist() in ([], [0])  # nothing without any length
        for tick in range(trace.start, trace.end):
            assert at(counter, tick) == sum(tick in ticks for ticks in counted)
    for name, ticks in (("CSS", busy["CSS"]), ("DMA", dma), ("NPU", busy["NSS jobs"])):
        if f"{name} busy" in found:
            share = float(integral(found[f"{name} busy"], trace.end)) / 100
            assert share == pytest.approx(len(ticks))
    if slices and trace.end > trace.start:
        share = float(integral(found["Slice units busy"], trace.end)) / 100
        assert share == pytest.approx(sum(map(len, slices)) / len(slices))
    for name in ("DMA In", "DMA Out", "CDMA"):
        moved = [(length, n) for thread, _, length, n in work
                 if thread == name and length and n is not None]  # fmt: skip
        assert (f"{name} bytes" in found) == (f"{name} bandwidth" in found) == bool(moved)
        if moved:
            rate = integral(found[f"{name} bandwidth"], trace.end)
            assert float(rate) == pytest.approx(sum(n for _, n in moved))
            assert integral(found[f"{name} bytes"], trace.end) == sum(
                length * n for length, n in moved
            )
    for counter in found.values():
        assert (np.diff(counter.tick) > 0).all()
        assert (np.diff(counter.value) != 0).all()
        assert (counter.value >= 0).all()
        assert not len(counter.value) or counter.value[-1] == 0
        assert len(counter.tick) <= MOST_WINDOWS + 2 or counter.unit != "%"


@pytest.mark.slow
def test_rounding_does_not_add_up_over_many_transfers():
    """Three overlapping streams of sevenths and thirds, a hundred thousand times."""
    n = 100_000
    begin = np.arange(n) * 100
    start = np.concatenate([begin, begin + 30, begin + 31])
    end = np.concatenate([begin + 70, begin + 100, begin + 61])
    builder = TraceBuilder("in.csv", "test", "1", CYCLES)
    builder.add(
        track=builder.track("p", "DMA In", flat=True, unit=Unit.DMA_IN), start=start, end=end,
        name=0, key=builder.key(KeyKind.PLAIN, ""),
        columns={"bytes": Column(np.repeat([1, 7, 9], n))},
    )  # fmt: skip
    counter = counters(builder.build())["DMA In bandwidth"]
    assert len(counter.value) == 5 * n + 1
    # From 70 to 100 of each hundred ticks the second stream is alone.
    assert counter.value[4::5].tolist() == [0.1] * n
    first, last = counter.value[:5].tolist(), counter.value[-6:-1].tolist()
    assert last == pytest.approx(first, rel=1e-12)
    whole = counter.value[:-1] * np.diff(counter.tick)
    assert whole.sum() == pytest.approx(17 * n, rel=1e-12)


def test_far_times_and_huge_transfers_stay_finite():
    far = 10**18 - 1
    trace = trace_of(
        *(("DMA In", i - far, 10**17 - far, 10**18 - 1) for i in range(12)), ("CSS", 0, far, None)
    )
    found = counters(trace)
    assert found["DMA In bytes"].value.max() == pytest.approx(12e18)
    assert found["DMA In bandwidth"].value.max() == pytest.approx(120)
    assert found["DMA busy"].value.tolist() == [100, 0]
    assert found["CSS busy"].value.max() == 100


def test_a_column_of_texts_named_bytes_is_no_size():
    trace = trace_of(("DMA In", 0, 9, 5))
    texts = replace(trace.slices, columns={"bytes": Column.of_texts(["many"])})
    assert "DMA In bytes" not in counters(replace(trace, slices=texts))


def test_a_counter_that_the_file_states_stands_before_those_of_units():
    samples = np.array([9, 1, 5, 9]), np.array([4.5, 2.0, 2.0, 7.5])
    stated = stated_counter("p", "memory", *samples)
    # Of several samples at one time the last one counts, and only changes are kept.
    assert (stated.tick.tolist(), stated.value.tolist()) == ([1, 9], [2.0, 7.5])
    builder = TraceBuilder("f", "test", "", Clock())
    track = builder.track("p", "DMA In", flat=True, unit=Unit.DMA_IN)
    builder.add(track=track, start=np.array([0]), end=np.array([9]), name=builder.intern("d"),
                key=builder.key(KeyKind.PLAIN, ""))  # fmt: skip
    builder.counter(stated)
    found = unit_counters(builder.build())
    assert found[0] is stated
    assert [counter.name[:8] for counter in found[1:]] == ["DMA busy"]
