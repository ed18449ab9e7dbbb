"""Statistics by key: they add up, equal the costs of operators, and count nothing twice."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.builders.etdump_writer import delegate, framework, operator
from tests.paths import DATA
from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.delegate_clocks import with_clock_rates
from viewer.analysis.links.labels import set_label
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import link, unlinked
from viewer.analysis.statistics import grouping as grouping_module
from viewer.analysis.statistics import occurrences
from viewer.analysis.statistics.group_keys import KEYS, NO_LINE
from viewer.analysis.statistics.group_table import Spread
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.npu_units import UnitOverview
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats import open_file
from viewer.formats.executorch.etdump import reader as etdump
from viewer.model.building.builder import TraceBuilder
from viewer.model.queries import foreign
from viewer.model.trace import Clock, KeyKind, Trace

PAIRS = [
    ("torq/compile_c0_mixed_locs.csv", "torq/tiny_cnn.mlir"),
    ("torq/compile_c3_taskid.csv", "torq/tiny_cnn.mlir"),
    ("torq/runtime_r0_nss.csv", "torq/tiny_cnn.mlir"),
    ("etdump/demo_str_x4.etdp", "etrecord/demo_str.etrecord"),
    ("etdump/multi_forward_decode_portable_x3.etdp",
     "etrecord/multi_forward_decode_toedge_portable.etrecord"),
    ("etdump/cond_portable_x5.etdp", "etrecord/cond_toedge_portable.etrecord"),
    ("etdump/cnn_xnnpack_x10.etdp", "etrecord/cnn_teal_xnnpack.etrecord"),
    ("etdump/SYN_qnn_like.etdp", None),
    ("etdump/SYN_wraparound.etdp", None),
    ("table_csv/two_threads.csv", None),
]  # fmt: skip


def linked(profile: str, program: str | None) -> LinkTable:
    trace = open_file(str(DATA / profile))
    return link(trace, open_file(str(DATA / program))) if program else unlinked(trace)


@pytest.fixture(scope="module", params=PAIRS, ids=[p.rpartition("/")[2] for p, _ in PAIRS])
def table(request) -> LinkTable:
    return linked(*request.param)


@pytest.fixture(scope="module")
def c3() -> Grouping:
    return Grouping(linked("torq/compile_c3_taskid.csv", "torq/tiny_cnn.mlir"))


def self_times(grouping: Grouping, key: str, *span: int) -> dict[str, int]:
    return {group.label: group.self_ticks for group in grouping.by(key, *span).groups}


def totals(grouping: Grouping, key: str) -> dict[str, int]:
    return {group.label: group.total for group in grouping.by(key).groups}


# -- sums ------------------------------------------------------------------------------------------


def test_wall_times_and_the_ungrouped_rest_are_the_whole(table):
    grouping = Grouping(table)
    assert {"thread", "name"} <= set(grouping.keys)
    for key in set(grouping.keys):
        found = grouping.by(key)
        assert sum(group.wall or 0 for group in found.groups) + found.ungrouped == found.whole
        assert found.ungrouped >= 0
        for group in found.groups if key != "unit" else ():
            assert 0 <= group.wall <= group.self_ticks <= group.total
            share = group.wall / found.whole if found.whole else 0
            assert group.share == pytest.approx(share)
            spread = group.spread
            assert spread.min <= spread.p50 <= spread.p90 <= spread.max


def test_operators_cost_what_the_cost_table_says(table):
    grouping = Grouping(table)
    if not table.sets:  # nothing is linked
        assert grouping.missing("operator")
        return
    cost = Costs(table).table()
    for key in {"operator", "type", "module", "line"} & set(grouping.keys):
        found = grouping.by(key)
        assert (found.whole, found.ungrouped) == (cost.whole, cost.without_operator)
    found = grouping.by("operator")
    assert sorted(g.self_ticks for g in found.groups) == sorted(row.ticks for row in cost.rows)
    if not table.program.text_lines:
        ticks = {row.operators: row.ticks for row in cost.rows}
        for group in found.groups:
            operators = table.sets[group.number]
            assert group.label.startswith(set_label(table, operators))
            assert group.self_ticks == ticks[operators]


@pytest.mark.parametrize("key", ["name", "thread"])
def test_the_total_of_a_group_is_that_of_its_outermost_slices(table, key):
    """Counted one by one: a slice inside another of its group and lane adds nothing."""
    grouping, trace = Grouping(table), table.trace
    if key == "thread":
        assert totals(grouping, key) == self_times(grouping, key)
        return
    slices, native = trace.slices, set(foreign(trace.slices).tolist())
    expected: Counter[str] = Counter()
    for row in range(len(slices.row_track)):
        for i in range(int(slices.row_ptr[row]), int(slices.row_ptr[row + 1])):
            start, end, name = int(slices.start[i]), int(slices.end[i]), trace.name(i)
            kind = trace.keys.kind[slices.key[i]]
            if i in native or kind == KeyKind.UNATTRIBUTED:
                continue
            above, inside = row - 1, False
            while above >= 0 and same_lane(slices, above, row):
                lo, hi = int(slices.row_ptr[above]), int(slices.row_ptr[above + 1])
                at = lo + int(np.searchsorted(slices.start[lo:hi], start, "right")) - 1
                is_around = at >= lo and slices.end[at] >= end and slices.end[at] > start
                inside |= is_around and trace.name(at) == name and at not in native
                above -= 1
            expected[name] += 0 if inside else end - start
    assert +Counter(totals(grouping, key)) == +expected


def same_lane(slices, a: int, b: int) -> bool:
    """Whether two rows are of one lane, the first above the second."""
    return all(column[a] == column[b] for column in (slices.row_track, slices.row_lane)) and bool(
        slices.row_depth[a] < slices.row_depth[b]
    )


def test_a_recursion_has_its_outermost_call_as_total_and_all_calls_as_slices(dump):
    events = [
        operator("b", 0, 30, 40), operator("a", 1, 20, 50), operator("b", 2, 10, 60),
        operator("a", 3, 0, 100),
    ]  # fmt: skip
    builder = TraceBuilder("r", "test", "", Clock())
    track = builder.track("p", "t")
    for event in reversed(events):
        builder.add(
            track=track, start=np.array([event["start"]]), end=np.array([event["end"]]),
            name=builder.intern(event["name"]), key=builder.key(KeyKind.PLAIN, event["name"]),
        )  # fmt: skip
    groups = {g.label: g for g in Grouping(unlinked(builder.build())).by("name").groups}
    figures = {name: (g.total, g.self_ticks, g.spread.count) for name, g in groups.items()}
    assert figures == {"a": (100, 50 + 20, 2), "b": (50, 20 + 10, 2)}


def test_a_range_of_the_whole_is_the_whole_and_ranges_side_by_side_add_up(table):
    grouping, trace, dice = Grouping(table), table.trace, random.Random(5)
    middle = [dice.randint(trace.start, trace.end) for _ in range(2)]
    cuts = sorted({trace.start, trace.end, *middle})
    for key in grouping.keys:
        whole = grouping.by(key)
        assert grouping.by(key, trace.start, trace.end) == whole
        ticks: Counter[str] = Counter()
        own: Counter[str] = Counter()
        count: Counter[str] = Counter()
        sums = [0, 0, 0]
        for first, last in pairwise(cuts):
            part = grouping.by(key, first, last)
            sums = [a + b for a, b in zip(
                sums, (part.whole, part.ungrouped, part.foreign), strict=True
            )]  # fmt: skip
            for group in part.groups:
                ticks[group.label] += group.total
                own[group.label] += group.self_ticks or 0
                count[group.label] += group.spread.count if group.spread else 0
        assert sums == [whole.whole, whole.ungrouped, whole.foreign]
        for counted, of in (
            (ticks, lambda g: g.total),
            (own, lambda g: g.self_ticks or 0),
            (count, lambda g: g.spread.count if g.spread else 0),
        ):
            expected: Counter[str] = Counter()
            for group in whole.groups:
                expected[group.label] += of(group)
            assert +counted == +expected


# -- the Torq sample, by hand ----------------------------------------------------------------------


def test_operators_of_an_mlir_text_are_called_by_operation_and_line(c3):
    slice_units, out = 8 * 9408, 8 * 1568
    assert self_times(c3, "operator") == {
        "tosa.conv2d@L11 + tosa.clamp@L13": slice_units + out,
        "tosa.depthwise_conv2d@L14 + tosa.rescale@L17": 2 * 14112 + 2 * 6272,
        "tosa.max_pool2d@L18": 2 * 6272 + 2 * 6272 + 2 * 1568,
        "tosa.add@L16": 2 * 6272 + 2 * 6272,
        "tosa.cast@L15": 8000 + 1067 + 712 + 712,
        "func.func@L2": 128 + 8 * 1176,
    }
    found = c3.by("operator")
    assert found.ungrouped == 68  # the one transfer at loc(unknown)
    (conv, *_) = found.groups
    spread = conv.spread
    assert (spread.count, spread.min, spread.max, spread.p50) == (16, 1568, 9408, (1568 + 9408) / 2)
    assert spread.mean == (9408 + 1568) / 2


def test_types_lines_and_locations_of_the_torq_sample(c3):
    assert self_times(c3, "type")["tosa.clamp + tosa.conv2d"] == 87808
    assert self_times(c3, "line")["tiny_cnn.mlir:11, 13"] == 87808
    assert self_times(c3, "line")["tiny_cnn.mlir:2"] == 9536
    places = self_times(c3, "location")
    assert places["loc(unknown)"] == 68
    assert places['loc("tiny_cnn.mlir":2:3)'] == 8 * 1176
    assert c3.by("location").ungrouped == 0


def test_threads_have_their_busy_time_and_stand_in_their_own_order(c3):
    assert [(g.label, g.total) for g in c3.by("thread").groups] == [
        ("compile_c3_taskid.csv > DMA In", 34692),
        ("compile_c3_taskid.csv > DMA Out", 28224),
        ("compile_c3_taskid.csv > CDMA", 2491),
        ("compile_c3_taskid.csv > Slice unit 0", 72128),
        ("compile_c3_taskid.csv > Slice unit 1", 56448),
        ("compile_c3_taskid.csv > CSS", 8000),
    ]


def test_units_are_the_rows_of_the_overview(c3):
    found = c3.by("unit", 1000, 60000)
    rows = UnitOverview(c3.trace).rows(1000, 60000)
    assert [(g.key, g.label, g.total, g.share) for g in found.groups] == [
        (r.key, r.label, r.ticks, r.share) for r in rows
    ]
    assert found.whole == 59000


def test_keys_that_a_trace_has_not_say_why(c3):
    assert c3.keys == (
        "unit", "operator", "type", "line", "location", "thread", "process", "name"
    )  # fmt: skip
    assert c3.missing("module") == "The operators have no modules"
    assert c3.missing("node") == "Operations of an MLIR text have no nodes"
    assert c3.missing("inference") == "The file has no inferences"
    with pytest.raises(ValueError, match="No delegate was called"):
        c3.by("delegate")
    with pytest.raises(ValueError, match="'colour' is not a key: use one of unit, operator"):
        c3.by("colour")
    alone = Grouping(unlinked(open_file(str(DATA / "etdump" / "demo_str_x4.etdp"))))
    assert alone.missing("operator") == "No open ETRecord or source matches the trace"
    assert alone.missing("unit") == "No track belongs to an NPU unit"
    empty = Grouping(unlinked(TraceBuilder("a", "test", "", Clock()).build()))
    assert empty.keys == ()
    assert {empty.missing(key) for key in KEYS} == {"The trace has no slices"}


# -- ETDumps ---------------------------------------------------------------------------------------


def test_runs_of_a_dump_and_calls_of_its_delegates():
    table = linked("etdump/demo_str_x4.etdp", "etrecord/demo_str.etrecord")
    grouping, trace = Grouping(table), table.trace
    assert [(g.label, g.total) for g in grouping.by("inference").groups] == [
        (f"forward · run {run.number} of 4", run.end - run.start) for run in trace.inferences()
    ]
    at = np.flatnonzero(trace.keys.kind[trace.slices.key] == KeyKind.DELEGATE_CALL)
    found = grouping.by("delegate")
    assert {g.label: g.total for g in found.groups} == {
        "BackendStrDemo · instruction 0": int((trace.slices.end - trace.slices.start)[at].sum())
    }
    assert {g.spread.count for g in found.groups} == {4}
    assert found.whole == Costs(table).table().whole


def test_a_kernel_in_its_call_is_no_second_occurrence(dump):
    events = [
        operator("native_call_add.out", 0, 110, 120), operator("OPERATOR_CALL", 0, 105, 125),
        framework("Method::execute", 100, 150),
    ]  # fmt: skip
    grouping = Grouping(unlinked(_read(dump(("Execute", events)))))
    groups = grouping.by("name").groups
    assert {g.label: (g.total, g.self_ticks, g.spread.mean) for g in groups} == {
        "Method::execute": (50, 30, 50), "OPERATOR_CALL": (20, 10, 20),
        "native_call_add.out": (10, 10, 10),
    }  # fmt: skip


def test_what_a_clock_of_its_own_timed_is_counted_and_in_no_sum():
    trace = open_file(str(DATA / "etdump" / "SYN_qnn_like.etdp"))
    foreign = int(trace.slices.columns["native_dur"].valid.sum())
    grouping = Grouping(unlinked(trace))
    found = grouping.by("name")
    assert found.foreign == foreign > 0
    assert found.whole == grouping.by("thread").whole
    busy = sum(
        int(trace.slices.end[i] - trace.slices.start[i])
        for i in range(len(trace.slices))
        if trace.slices.depth(i) == 0
    )
    assert found.whole == busy


@pytest.fixture
def both_clocks(dump) -> LinkTable:
    """Events "conv" of 20 ticks of the file's clock, and of 5000 and 3 of the delegate's."""
    events = [
        delegate("conv", 0, 1010, 1030), operator("DELEGATE_CALL", 0, 1000, 1040),
        delegate("conv", 1, 0, 5000), delegate("conv", 1, 5000, 5003), delegate("relu", 1, 0, 9),
        operator("DELEGATE_CALL", 1, 2000, 2100), framework("Method::execute", 900, 2200),
    ]  # fmt: skip
    return unlinked(_read(dump(("Execute", events))))


def test_a_stated_rate_brings_the_delegates_times_into_lengths_and_no_total(both_clocks):
    before = Grouping(both_clocks).by("name")
    assert before.foreign == 3
    rated = Grouping(with_clock_rates(both_clocks, {"ticks": Fraction(5, 4)}), Fraction(1000))
    found = rated.by("name")
    assert (found.whole, found.ungrouped, found.foreign) == (before.whole, before.ungrouped, 0)
    groups = {group.label: group for group in found.groups}
    lengths = [20 * 1000, 5000 * 5 // 4, 3 * 5 // 4]  # ns, rounded down
    assert groups["conv"].spread == Spread(
        3, np.mean(lengths), 3, 20_000, 6250, float(np.percentile(lengths, 90)), in_ns=True
    )
    assert (groups["conv"].total, groups["conv"].delegate_ns) == (20, 6253)
    assert not groups["conv"].is_apart
    # Nothing of the file's clock: no total, and the last group.
    assert groups["relu"].spread == Spread(1, 11, 11, 11, 11, 11, in_ns=True)
    assert (groups["relu"].total, groups["relu"].share, groups["relu"].delegate_ns) == (0, 0, 11)
    assert groups["relu"].is_apart
    assert found.groups[-1] == groups["relu"]
    assert len(rated.slices("name", groups["conv"].number)) == 3
    # What has no such slices is as before, in ticks.
    same = {group.label: group for group in before.groups}
    assert groups["DELEGATE_CALL"] == same["DELEGATE_CALL"]


def test_the_delegates_times_count_where_they_are_drawn(both_clocks):
    rated = Grouping(with_clock_rates(both_clocks, {"ticks": Fraction(1)}))
    counts = {
        span: {g.label: g.spread.count for g in rated.by("name", *span).groups}
        for span in ((900, 1500), (1500, 2200))
    }
    assert counts[900, 1500]["conv"] == 1
    assert "relu" not in counts[900, 1500]
    assert (counts[1500, 2200]["conv"], counts[1500, 2200]["relu"]) == (2, 1)


def test_a_call_contains_the_delegates_times_as_it_contains_all_its_events(both_clocks):
    rated = with_clock_rates(both_clocks, {"ticks": Fraction(1)})
    for key in ("delegate", "thread", "inference"):
        groups, same = Grouping(rated).by(key).groups, Grouping(both_clocks).by(key).groups
        assert groups == same
        assert all(group.delegate_ns is None for group in groups)


def test_gaps_between_the_events_of_a_call_are_the_call(dump):
    events = [
        delegate("conv", 0, 110, 120), operator("DELEGATE_CALL", 0, 105, 130),
        framework("Method::execute", 100, 150),
    ]  # fmt: skip
    trace = _read(dump(("Execute", events)))
    assert trace.slices.derived_count
    grouping = Grouping(unlinked(trace))
    own = {"Method::execute": 25, "DELEGATE_CALL": 15, "conv": 10}
    assert self_times(grouping, "name") == own
    assert totals(grouping, "name") == {"Method::execute": 50, "DELEGATE_CALL": 25, "conv": 10}
    (call,) = grouping.by("delegate").groups
    assert (call.label, call.total, call.self_ticks) == ("delegate · instruction 0", 25, 25)


def test_equal_labels_are_told_apart_by_their_debug_handles():
    table = linked("etdump/cnn_portable_x10.etdp", "etrecord/cnn_toedge_portable.etrecord")
    labels = [group.label for group in Grouping(table).by("operator").groups]
    assert len(labels) == len(set(labels))


def test_slices_that_overlap_on_one_track_have_all_of_their_self_time():
    builder = TraceBuilder("a", "test", "", Clock())
    track = builder.track("a", "units", flat=True)
    for number, (name, start, end) in enumerate(
        [("x", 0, 10), ("x", 5, 12), ("y", 8, 20), ("x", 30, 31)]
    ):
        builder.add(
            track=track, start=np.array([start]), end=np.array([end]), name=builder.intern(name),
            key=builder.key(KeyKind.LOCATION, name, location=f"loc({number})"),
        )  # fmt: skip
    grouping = Grouping(unlinked(builder.build()))
    found = grouping.by("name")
    assert {g.label: (g.total, g.self_ticks, g.wall) for g in found.groups} == {
        "x": (10 + 7 + 1, 10 + 7 + 1, 8 + 1),
        "y": (12, 12, 12),
    }
    assert (found.whole, found.groups[1].spread.count) == (21, 3)
    (thread,) = grouping.by("thread").groups
    assert (thread.label, thread.self_ticks, thread.wall) == ("a > units", 30, 21)


@pytest.mark.parametrize("key", ["operator", "type", "location"])
def test_a_job_is_no_third_occurrence_beside_its_start_and_its_wait(key):
    """On actions 3 and 4 the host starts job 0, 10 µs, and waits for it, 120 µs."""
    table = linked("torq/host_h1_quoted.csv", "torq/tiny_cnn.mlir")
    (found,) = (g for g in Grouping(table).by(key).groups if g.self_ticks == 130)
    spread = found.spread
    assert (spread.count, spread.mean, spread.min, spread.max) == (2, 65, 10, 120)
    if key == "operator":
        (row,) = (row for row in Costs(table).table().rows if row.ticks == 130)
        assert row.slices == spread.count


def test_by_name_jobs_have_rows_of_their_own():
    table = unlinked(open_file(str(DATA / "torq" / "host_h1_quoted.csv")))
    found = {g.label: g for g in Grouping(table).by("name").groups}
    job = found["job 0"]
    assert (job.total, job.self_ticks, job.spread.mean) == (131, 0, 131)


def test_an_operator_without_a_source_line_says_so():
    table = linked("etdump/cnn_portable_x10.etdp", "etrecord/cnn_toedge_portable.etrecord")
    lines = self_times(Grouping(table), "line")
    unknown = [
        row.ticks
        for row in Costs(table).table().rows
        if all(table.program.operators[i].source is None for i in row.operators)
    ]
    assert lines.get(NO_LINE, 0) == sum(unknown)


def _read(path: Path) -> Trace:
    return etdump.FORMAT.read(str(path), no_progress, never_cancelled)


def test_several_threads_compute_what_takes_long_once(monkeypatch):
    table = linked("torq/compile_c3_taskid.csv", "torq/tiny_cnn.mlir")
    grouping, expected = Grouping(table), Grouping(table).by("name")
    made, original = [], grouping_module.total_charged

    def total_charged(*arguments, **options):
        made.append(arguments)
        return original(*arguments, **options)

    monkeypatch.setattr(grouping_module, "total_charged", total_charged)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: grouping.by("name"), range(8)))
    assert found == [expected] * 8
    assert len(made) == 1


def test_two_keys_in_turn_are_both_kept(monkeypatch):
    grouping = Grouping(linked("torq/compile_c3_taskid.csv", "torq/tiny_cnn.mlir"))
    made, original = [], occurrences.outermost
    monkeypatch.setattr(
        occurrences, "outermost", lambda *some: made.append(some) or original(*some)
    )
    for key in ("name", "operator", "name", "operator", "line", "operator"):
        grouping.by(key)
    assert len(made) == 3
