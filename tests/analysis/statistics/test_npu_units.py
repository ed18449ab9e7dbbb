"""The overview of units against Torq's own profiler, single ticks, and sums done by hand."""

import csv
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import paths
from viewer.analysis.statistics.npu_units import UnitOverview, has_units
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.times import ticks_to_ns
from viewer.model.trace import Clock, KeyKind, Trace, Unit

DATA = paths.DATA / "torq"
COMPILE = [
    "compile_c0_callsite.csv", "compile_c0_mixed_locs.csv", "compile_c1_css_cdma.csv",
    "compile_c2_actionindex_callsite.csv", "compile_c3_taskid.csv", "compile_c3_taskid_mtu.csv",
    "compile_c3_hostile_locs.csv",
]  # fmt: skip


def ticks(trace: Trace, first: int | None = None, last: int | None = None) -> dict[str, int]:
    return {row.key: row.ticks for row in UnitOverview(trace).rows(first, last)}


def made(*slices: tuple[Unit, str, str, int, int]) -> Trace:
    """A trace of (unit, thread, name, start, end)."""
    builder = TraceBuilder("a.csv", "test", "", Clock())
    for unit, thread, name, start, end in slices:
        builder.add(
            track=builder.track("a.csv", thread, flat=unit not in (Unit.HOST, Unit.HAL), unit=unit),
            start=np.array([start]), end=np.array([end]), name=builder.intern(name),
            key=builder.key(KeyKind.PLAIN, name),
        )  # fmt: skip
    return builder.build()


# -- against the reference -------------------------------------------------------------------------


def test_c0_equals_f63e303_which_counts_in_cycles():
    """Its printed summary; "SLICE" is its word for the slice units."""
    found = ticks(open_file(str(DATA / "compile_c0_callsite.csv")))
    assert (found["dma"], found["slice"]) == (62916, 85458)
    assert (found["only_dma"], found["overlap"]) == (36260, 26656)
    assert (found["idle"], found["overall"]) == (0, 121718)
    shares = {
        row.key: f"{row.share:.2%}"
        for row in UnitOverview(open_file(str(DATA / "compile_c0_callsite.csv"))).rows()
    }
    assert [shares[k] for k in ("dma", "slice", "only_dma", "overlap")] == [
        "51.69%", "70.21%", "29.79%", "21.90%"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["compile_c1_css_cdma.csv", "compile_c2_actionindex_callsite.csv"]
)  # fmt: skip
def test_c1_equals_36d5652_and_c2_equals_183cae4_once_each_end_is_floored_to_ns(name):
    """Both floor every start and end to ns and add up the floored ones; our ticks stay exact."""
    trace = open_file(str(DATA / name))
    rate = Fraction(5, 4)
    slices = trace.slices
    floored = replace(
        trace,
        slices=replace(
            slices, start=ticks_to_ns(slices.start, rate), end=ticks_to_ns(slices.end, rate)
        ),
    )
    reference = {
        "overall": 165261, "overlap": 33320, "slice": 106822, "compute": 116822, "css": 10000,
        "only_compute": 83502, "dma_cdma": 81759, "only_dma": 48439, "dma": 78645, "cdma": 3114,
        "idle": 0,
    }  # fmt: skip
    found = ticks(floored)
    assert {key: found[key] for key in reference} == reference
    # In cycles CDMA is 1067 + 712 + 712, which are 3113.75 ns.
    assert ticks(trace)["cdma"] == 2491


def test_each_slice_unit_has_its_row_where_183cae4_has_zeros():
    found = ticks(open_file(str(DATA / "compile_c2_actionindex_callsite.csv")))
    assert found["slice_unit_0"] == 4 * 9408 + 2 * 14112 + 6272
    assert found["slice_unit_1"] == 4 * 9408 + 3 * 6272


def test_r0_jobs_lie_where_they_ran_and_not_late_by_one_duration():
    """f63e303 draws [open, open + start], hence its overall of 1121 and idle of 85."""
    with (DATA / "runtime_r0_nss.csv").open() as file:
        rows = list(csv.reader(file, delimiter=";"))[1:]
    at_work = {t for r in rows for t in range(int(r[1]) - int(r[2]), int(r[1]))}
    found = ticks(open_file(str(DATA / "runtime_r0_nss.csv")))
    assert found == {
        "nss": len(at_work), "busy": len(at_work), "idle": 1116 - len(at_work), "overall": 1116,
    }  # fmt: skip


# -- a host profile --------------------------------------------------------------------------------


@pytest.fixture
def host() -> Trace:
    """host_h4_latest.csv: tracks of the host and the HAL, and the jobs that follow from it."""
    slices, begun, job = [], {}, 0
    with (DATA / "host_h4_latest.csv").open() as file:
        for row in csv.DictReader(file):
            event, _, which = row["event"].rpartition("_")
            number = (row["invocation_id"], row["action_id"], event)
            if which == "BEGIN":
                begun[number] = int(row["timestamp_us"])
                job = begun[number] if event == "NSS_START" else job
                continue
            unit = Unit.HAL if row["dispatch_name"].startswith("__HAL") else Unit.HOST
            end = int(row["timestamp_us"])
            slices.append((unit, unit.name, event, begun.pop(number), end))
            if event == "NSS_WAIT":
                slices.append((Unit.NSS, "NSS jobs", "job", job, end))
    assert begun == {}
    return made(*slices)


def test_h4_by_hand(host):
    init = 4 + 812 + 305 + 221
    stages = 1 + 36 + 74 + 61 + 29
    starts = 13 + 8 + 14 + 15
    actions = 1 + 2 + 142 + starts + 98 + 179
    jobs = 123 + 135 + 60 + 85
    busy = init + stages + actions + jobs - starts + 47 + 4
    assert ticks(host) == {
        "nss": jobs,
        "host": init + stages + actions,
        "host_programs": 98,
        "host_copy": 142 + 179,
        "hal": 47 + 4,
        "busy": busy,
        "idle": 4812340968 - 4812337551 - busy,
        "overall": 4812340968 - 4812337551,
    }


def test_h4_beside_the_newest_torq(host):
    """Equal: jobs (its "DMA+CDMA union", as a job uses both) and host copies.

    It counts HOST_START to the end of HOST_WAIT as the host's program, 1 µs more, and as the HAL's
    time the stage that holds all dispatches: then only 2 µs of 1115 are left to be idle.
    """
    found = ticks(host, 4812339851, 4812340966)
    assert (found["nss"], found["host_copy"], found["overall"]) == (403, 321, 1115)
    assert (found["host_programs"], found["hal"]) == (99 - 1, 1113 - 6 - 1103 + 47)
    assert found["idle"] == 1115 - found["busy"] == 38


def test_annotated_profiles_have_the_same_rows_under_their_own_names():
    host = (Unit.HOST, "Host")
    trace = made(
        (*host, "torq_hl.host_copy", 0, 10), (*host, "torq_hl.start_program", 10, 12),
        (*host, "torq_hl.wait_program", 12, 20), (*host, "torq_hl.start_program (host)", 20, 25),
        (Unit.NSS, "NSS jobs", "job 0", 10, 19),
    )  # fmt: skip
    assert ticks(trace) == {
        "nss": 9, "host": 17, "host_programs": 5, "host_copy": 10, "busy": 24, "idle": 1,
        "overall": 25,
    }  # fmt: skip


def test_a_call_of_the_hal_that_holds_no_dispatch_is_work():
    hal = (Unit.HAL, "HAL", "HAL_CALL")
    trace = made((*hal, 0, 10), (*hal, 20, 30), (Unit.HOST, "Host", "DISPATCH", 22, 25))
    assert (ticks(trace)["hal"], ticks(trace)["host"], ticks(trace)["idle"]) == (10, 3, 17)


# -- what the rows are of --------------------------------------------------------------------------


def test_units_that_a_trace_has_not_have_no_row():
    assert list(ticks(open_file(str(DATA / "compile_c0_callsite.csv")))) == [
        "dma_in", "dma_out", "dma", "dma_cdma", "slice", "compute", "only_dma", "only_compute",
        "overlap", "busy", "idle", "overall",
    ]  # fmt: skip
    plain = made((Unit.NONE, "CPU", "a", 0, 5))
    assert not has_units(plain)
    assert UnitOverview(plain).rows() == ()


def test_an_event_of_no_known_unit_counts_in_the_overall_time_alone():
    trace = made((Unit.NONE, "Other", "X", 0, 10), (Unit.DMA_IN, "DMA In", "a", 4, 6))
    assert (ticks(trace)["busy"], ticks(trace)["idle"], ticks(trace)["overall"]) == (2, 8, 10)


def test_a_unit_without_time_divides_nothing_by_zero():
    (row, *_) = UnitOverview(made((Unit.CSS, "CSS", "a", 7, 7))).rows()
    assert (row.key, row.ticks, row.share) == ("css", 0, 0.0)


events = st.lists(
    st.tuples(
        st.sampled_from([Unit.DMA_IN, Unit.DMA_OUT, Unit.CDMA, Unit.SLICE, Unit.CSS, Unit.NSS]),
        st.integers(-9, 20),
        st.integers(0, 8),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@given(events, st.integers(-12, 30), st.integers(0, 20))
def test_every_row_is_what_single_ticks_say(items, first, long):
    trace = made(*((u, f"{u.name} 0", "a", start, start + n) for u, start, n in items))
    seen = set(range(max(first, trace.start), min(first + long, trace.end)))
    of = {u: {t for v, s, n in items if u is v for t in range(s, s + n)} & seen for u in Unit}
    dma = of[Unit.DMA_IN] | of[Unit.DMA_OUT]
    moved, compute = dma | of[Unit.CDMA], of[Unit.SLICE] | of[Unit.CSS]
    busy = moved | compute | of[Unit.NSS]
    wanted = {
        "dma_in": of[Unit.DMA_IN], "dma_out": of[Unit.DMA_OUT], "dma": dma,
        "cdma": of[Unit.CDMA], "dma_cdma": moved, "slice_0": of[Unit.SLICE],
        "slice": of[Unit.SLICE], "css": of[Unit.CSS], "compute": compute,
        "only_dma": moved - compute, "only_compute": compute - moved, "overlap": moved & compute,
        "nss": of[Unit.NSS], "busy": busy, "idle": seen - busy, "overall": seen,
    }  # fmt: skip
    found = ticks(trace, first, first + long)
    assert found == {key: len(wanted[key]) for key in found}
    assert {"busy", "idle", "overall"} <= found.keys()


@pytest.mark.parametrize("name", COMPILE)
def test_ranges_add_up(name):
    trace = open_file(str(DATA / name))
    whole = ticks(trace)
    assert ticks(trace, trace.start, trace.end) == whole
    middle = (trace.start + trace.end) // 2
    halves = ticks(trace, None, middle), ticks(trace, middle, None)
    assert {key: halves[0][key] + halves[1][key] for key in whole} == whole
    assert whole["dma_cdma"] == whole["only_dma"] + whole["overlap"]
    assert whole["compute"] == whole["only_compute"] + whole["overlap"]
    assert ticks(trace, trace.end + 5, trace.end + 9)["overall"] == 0
    assert ticks(trace, -(10**30), 10**30) == whole


def test_where_the_longest_stretch_of_a_row_lies():
    overview = UnitOverview(
        made(
            (Unit.DMA_IN, "DMA In", "a", 0, 10), (Unit.DMA_IN, "DMA In", "b", 10, 15),
            (Unit.CSS, "CSS", "c", 12, 40), (Unit.DMA_IN, "DMA In", "d", 60, 70),
        )
    )  # fmt: skip
    assert overview.longest("dma_in") == (0, 15)
    assert overview.longest("only_dma") == (0, 12)
    assert overview.longest("overlap") == (12, 15)
    assert overview.longest("idle") == (40, 60)
    assert overview.longest("overall") == (0, 70)
    assert overview.longest("dma_in", 8, 100) == (60, 70)
    assert overview.longest("css", 50, 70) is None
    assert overview.longest("slice") is None
