"""Costs: they add up to the whole, whatever is asked, and equal what single ticks say."""

import itertools
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.paths import DATA
from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import link, unlinked
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.trace import Clock, KeyKind, RunKind, Trace
from viewer.program.program import GraphNode, Method, Operator, Program

DUMPS = sorted(
    p
    for p in (DATA / "etdump").glob("*.etdp")
    if not p.name.startswith(("BAD", "deep", "SYN_no_runs"))
)
RECORDS = sorted((DATA / "etrecord").glob("[!b]*.etrecord"))


@pytest.fixture(scope="module")
def tables() -> list[LinkTable]:
    """Every small dump with every small record, right or wrong."""
    traces = [open_file(str(p)) for p in DUMPS]
    programs = [open_file(str(p)) for p in RECORDS]
    return [link(t, p) for t, p in itertools.product(traces, programs)]


def union(spans) -> int:
    total, reach = 0, None
    for start, end in sorted(spans):
        low = start if reach is None else max(start, reach)
        total += max(0, end - low)
        reach = end if reach is None else max(reach, end)
    return total


@pytest.mark.slow
def test_rows_and_the_time_without_an_operator_are_the_whole(tables):
    for table in tables:
        cost = Costs(table).table()
        assert sum(row.ticks for row in cost.rows) + cost.without_operator == cost.whole
        assert cost.single + cost.shared + cost.without_operator == cost.whole
        assert cost.without_operator >= 0
        assert all(isinstance(row.ticks, int) and row.ticks >= 0 for row in cost.rows)


def test_a_run_that_failed_costs_the_instructions_that_it_came_to():
    """It has no Method::execute, and lies beside two that have."""
    trace = open_file(str(DATA / "etdump" / "words_failing_x3.etdp"))
    failed, *whole = trace.inferences()
    at = np.flatnonzero(trace.keys.kind[trace.slices.key] == KeyKind.OPERATOR_CALL).tolist()
    spans = [(int(trace.slices.start[i]), int(trace.slices.end[i])) for i in at]
    calls = union(s for s in spans if s[0] < failed.end)
    for table in (unlinked(trace), link(trace, open_file(str(DATA / RECORD_OF_WORDS)))):
        costs = Costs(table)
        assert costs.of_run(failed).whole == calls
        assert costs.table().whole == sum(run.end - run.start for run in whole)
        everything = costs.table(TimeScope(ticks=(trace.start, trace.end)))
        assert everything.whole == costs.table().whole + calls


RECORD_OF_WORDS = "etrecord/words_toedge_portable.etrecord"
REAL = ("cnn_", "cond_", "demo_", "multi_", "attn_")


@pytest.mark.slow
def test_the_whole_is_the_time_of_the_inferences(tables):
    for table in tables:
        trace = table.trace
        if not Path(trace.path).name.startswith(REAL):
            continue
        executed = sum(
            int(trace.slices.end[i] - trace.slices.start[i])
            for i in range(len(trace.slices))
            if trace.name(i) == "Method::execute"
        )
        assert Costs(table).table().whole == executed > 0


def test_the_whole_is_the_time_of_the_inferences_when_the_counter_wraps():
    trace = open_file(str(DATA / "etdump" / "SYN_wraparound.etdp"))
    table = link(trace, open_file(str(DATA / "etrecord" / "cnn_toedge_portable.etrecord")))
    assert Costs(table).table().whole == 8000


@pytest.mark.slow
def test_consecutive_ranges_add_up(tables):
    dice = random.Random(7)
    for table in tables:
        trace, costs = table.trace, Costs(table)
        inner = [dice.randint(trace.start, trace.end) for _ in range(3)]
        cuts = sorted({trace.start, trace.end, *inner})
        ticks: Counter[tuple[int, ...]] = Counter()
        whole = 0
        for first, last in itertools.pairwise(cuts):
            part = costs.table(TimeScope(ticks=(first, last)))
            assert part.without_operator >= 0
            whole += part.whole
            for row in part.rows:
                ticks[row.operators] += row.ticks
        full = costs.table(TimeScope(ticks=(trace.start, trace.end)))
        assert whole == full.whole
        assert +ticks == +Counter({row.operators: row.ticks for row in full.rows})
        if all(run.finished for run in trace.inferences()):
            assert (full.rows, full.whole) == (costs.table().rows, costs.table().whole)


@pytest.mark.slow
def test_an_operator_costs_the_union_of_its_slices_less_those_of_others_inside(tables):
    """An OPERATOR_CALL and its kernel count once, a call without the events linked inside it."""
    for table in tables:
        trace, s = table.trace, table.trace.slices
        sets = table.set_of_key[s.key] if len(s) else np.empty(0, np.int64)
        tracks = s.row_track[s.rows()]
        foreign = s.columns["native_dur"].valid if "native_dur" in s.columns else None
        own: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for i in np.flatnonzero(sets >= 0).tolist():
            if foreign is None or not foreign[i]:
                span = (int(s.start[i]), int(s.end[i]))
                own.setdefault((int(sets[i]), int(tracks[i])), []).append(span)
        cost = Costs(table).table(TimeScope(ticks=(trace.start, trace.end)))
        rows = {table.sets.index(row.operators): row.ticks for row in cost.rows}
        alone = {g for g in rows if len(table.sets[g]) == 1}
        for group in alone:
            # Nothing is linked inside a kernel or a delegate event, so one operator has it all.
            assert rows[group] == sum(union(v) for (g, _), v in own.items() if g == group)
        linked = union(x for spans in own.values() for x in spans)
        if not s.row_lane.any() and len(trace.tracks) == 1:
            assert sum(rows.values()) == linked


@pytest.mark.slow
def test_what_is_slower_comes_first(tables):
    for table in tables:
        ticks = [row.ticks for row in Costs(table).table().rows]
        assert ticks == sorted(ticks, reverse=True)


# -- lanes, ranges --------------------------------------------------------------------------------

RELUS = Program(
    "record", "ETRecord", "",
    (
        Method(
            "m",
            tuple(
                Operator(i, "m", i + 1, (GraphNode("n", "aten.relu.default", i + 1),))
                for i in (0, 1)
            ),
            {0: (1,), 1: (2,), 2: (1, 2)},
        ),
    ),
)  # fmt: skip


def calls(*items: tuple[int, int, int], kind: KeyKind = KeyKind.OPERATOR_CALL) -> LinkTable:
    """(instruction, start, end) each, all on one thread; instruction 2 is both operators."""
    builder = TraceBuilder("t", "test", "", Clock())
    track, scope = builder.track("p", "t"), builder.scope("m", "m")
    name = "native_call_relu.out" if kind == KeyKind.KERNEL else "OPERATOR_CALL"
    keys = [builder.key(kind, name, scope=scope, instruction=i) for i, _, _ in items]
    builder.add(
        track=track, start=np.array([x[1] for x in items]), end=np.array([x[2] for x in items]),
        name=builder.intern(name), key=np.array(keys, np.uint32),
    )  # fmt: skip
    return link(builder.build(), RELUS)


def rows(table: LinkTable, scope: TimeScope = WHOLE) -> dict[tuple[int, ...], int]:
    return {row.operators: row.ticks for row in Costs(table).table(scope).rows}


def test_overlapping_slices_of_one_operator_add_up_and_share_their_wall_time():
    table = calls((0, 0, 10), (0, 5, 15), (0, 12, 20))
    assert table.trace.slices.row_lane.any()
    costs = Costs(table)
    ((row,), (part,)) = costs.table().rows, costs.table(TimeScope(ticks=(3, 13))).rows
    assert (row.ticks, row.wall, part.ticks, part.wall) == (28, 20, 7 + 8 + 1, 10)
    assert costs.table().without_operator == 0
    assert costs.table().whole == 20


def test_the_wall_time_of_overlapping_operators_is_that_of_the_last_to_start():
    costs = Costs(calls((0, 0, 10), (1, 5, 15))).table()
    assert {r.operators: (r.ticks, r.wall) for r in costs.rows} == {(0,): (10, 5), (1,): (10, 10)}
    assert (costs.whole, costs.without_operator) == (15, 0)


def test_an_operator_inside_another_takes_its_time_from_it():
    assert rows(calls((2, 0, 10), (0, 2, 5))) == {(0, 1): 7, (0,): 3}


def test_overlapping_operators_leave_no_negative_rest():
    cost = Costs(calls((0, 0, 10), (1, 5, 15))).table()
    assert cost.without_operator >= 0


def test_kernel_time_never_exceeds_the_time_in_the_range():
    (row,) = Costs(calls((0, 0, 100), kind=KeyKind.KERNEL)).table(TimeScope(ticks=(0, 10))).rows
    assert row.kernel <= row.ticks == 10


def test_the_longest_stretch_without_an_operator():
    builder = TraceBuilder("t", "test", "", Clock())
    track, scope = builder.track("p", "t"), builder.scope("m", "m")
    execute = builder.key(KeyKind.FRAMEWORK, "Method::execute", scope=scope)
    call = builder.key(KeyKind.OPERATOR_CALL, "OPERATOR_CALL", scope=scope, instruction=0)
    for key, start, end in ((execute, 0, 100), (call, 10, 40), (call, 60, 85)):
        builder.add(
            track=track, start=np.array([start]), end=np.array([end]),
            name=builder.intern("Method::execute" if key == execute else "OPERATOR_CALL"), key=key,
        )  # fmt: skip
    costs = Costs(link(builder.build(), RELUS))
    assert costs.longest_without_operator() == (0, 40, 60)
    assert costs.longest_without_operator(TimeScope(ticks=(50, 100))) == (0, 85, 100)
    assert costs.longest_without_operator(TimeScope(ticks=(10, 40))) is None


def test_a_range_without_slices_costs_nothing():
    cost = Costs(calls((0, 0, 10))).table(TimeScope(ticks=(100, 200)))
    assert (cost.rows, cost.whole, cost.without_operator) == ((), 0, 0)


def test_an_empty_trace():
    trace: Trace = TraceBuilder("t", "test", "", Clock()).build()
    assert Costs(link(trace, RELUS)).table().whole == 0


def test_a_run_costs_what_its_own_track_did():
    """Two methods at once on two threads: the time of one is not of the other's run."""
    builder = TraceBuilder("x", "test", "", Clock())
    for thread, begin in (("one", 0), ("two", 50)):
        track = builder.track("p", thread)
        key = builder.key(KeyKind.OPERATOR_CALL, "OPERATOR_CALL", instruction=0)
        builder.run(RunKind.INFERENCE, "Execute", track, 0, begin, begin + 100)
        at = np.array([begin], np.int64)
        builder.add(track=track, start=at, end=at + 100, name=builder.intern("a"), key=key)
    trace = builder.build()
    costs = Costs(link(trace, RELUS))
    assert [row.ticks for row in costs.table().rows] == [200]
    for run in trace.runs:
        (row,) = costs.of_run(run).rows
        assert (row.ticks, row.slices) == (100, 1)
        assert costs.of_run(run).whole == 100


def test_a_step_costs_what_every_track_did_in_it():
    """The same two threads in two steps that cover all tracks: 0 to 80 and 80 to 150."""
    builder = TraceBuilder("x", "test", "", Clock())
    for thread, begin in (("one", 0), ("two", 50)):
        track = builder.track("p", thread)
        key = builder.key(KeyKind.OPERATOR_CALL, "OPERATOR_CALL", instruction=0)
        at = np.array([begin], np.int64)
        builder.add(track=track, start=at, end=at + 100, name=builder.intern("a"), key=key)
    for start, end in ((0, 80), (80, 150)):
        builder.run(RunKind.INFERENCE, "ProfilerStep#0", 0, 0, start, end, all_tracks=True)
    trace = builder.build()
    costs = Costs(link(trace, RELUS))
    rows = [costs.of_run(run).rows[0] for run in trace.runs]
    assert [(row.ticks, row.slices) for row in rows] == [(110, 2), (90, 0)]
    of_sets = costs.ticks_of_node_sets(trace.runs)
    assert of_sets.sum(axis=1).tolist() == [110, 90]


def test_a_slice_between_two_runs_that_touch_is_of_the_next():
    builder = TraceBuilder("x", "test", "", Clock())
    track = builder.track("p", "t")
    for begin in (0, 100):
        builder.run(RunKind.INFERENCE, "Execute", track, 0, begin, begin + 100)
    trace = builder.build()
    assert [trace.run_at(track, t) for t in (0, 99, 100, 200, 201)] == [0, 0, 1, 1, None]


@pytest.mark.parametrize("name", ["host_h1_quoted.csv", "annotated_a1_host.csv"])
def test_a_job_is_charged_as_its_start_and_wait_and_not_once_more(name):
    """Of the rows of the file: conv2d with its clamp is started for 10 µs and waited for 120."""
    trace, program = (open_file(str(DATA / "torq" / n)) for n in (name, "tiny_cnn.mlir"))
    table = link(trace, program)
    costs = Costs(table).table()
    found = {
        " + ".join(sorted(program.operators[i].op for i in row.operators)): (row.ticks, row.slices)
        for row in costs.rows
    }
    assert found == {
        "func.func": (0 + 1 + 178 + 154, 4),
        "tosa.max_pool2d": (13 + 57 + 117, 3),
        "tosa.depthwise_conv2d + tosa.rescale": (16 + 126, 2),
        "tosa.clamp + tosa.conv2d": (10 + 120, 2),
        "tosa.cast": (16 + 35, 2),
    }
    assert costs.whole == sum(ticks for ticks, _ in found.values())


def test_what_the_hal_calls_is_not_counted_beside_the_call():
    """By hand, in µs: INIT takes 1349, and HAL_QUEUE_EXECUTE 1118 with the dispatch inside it."""
    torq = DATA / "torq"
    trace, text = (open_file(str(torq / n)) for n in ("host_h4_latest.csv", "tiny_cnn.mlir"))
    assert isinstance(trace, Trace)
    assert isinstance(text, Program)
    assert Costs(link(trace, text)).table().whole == 1349 + 1118
