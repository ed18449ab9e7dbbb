"""Which slices hand over to which: the rules one by one, and against a slow search."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import paths
from tests.paths import DATA
from viewer.analysis.flows.slice_flows import NO_OPERATOR, NO_PROGRAM, FlowIndex, JobFlows
from viewer.analysis.links.link_table import Link, LinkTable, Reason
from viewer.analysis.links.linker import link, unlinked
from viewer.formats import open_file
from viewer.model import trace as model
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import NSS_START, NSS_WAIT
from viewer.model.trace import Clock, KeyKind, RunKind, Unit
from viewer.program.program import GraphNode, Method, MethodFlow, Operator, Program
from viewer.workspace.workspace import Workspace

TORQ = paths.DATA / "torq"


def program_of(count, pairs):
    """Operators 0 .. count - 1; pairs of (consumer, producer)."""
    operators = tuple(
        Operator(i, "forward", i, (GraphNode(f"n{i}", f"aten.op{i}.default", i),))
        for i in range(count)
    )
    pairs = sorted(set(pairs))
    flow = MethodFlow(tuple(c for c, _ in pairs), tuple(p for _, p in pairs))
    return Program("made.etrecord", "ETRecord", "", (Method("forward", operators, flow=flow),))


def table_of(slices, pairs, *, runs=(), count=8):
    """slices: (operators, start, end[, level[, track]]); runs: (start, end) on track 0.

    Returns the table, and the slice of each position in the list.
    """
    builder = TraceBuilder("made", "test", "", Clock())
    tracks = [builder.track("p", f"t{n}") for n in range(3)] + [builder.track("q", "t")]
    scope = builder.scope("Execute")
    keys = {}
    for operators, *_ in slices:
        name = " ".join(map(str, operators)) or "none"
        keys[operators] = builder.key(KeyKind.OPERATOR_CALL, name, scope=scope, instruction=1)
    for start, end in runs:
        builder.run(RunKind.INFERENCE, "Execute", 0, scope, start, end)
    for n, (operators, start, end, *more) in enumerate(slices):
        level, track = (*more, 0, 0)[:2] if more else (0, 0)
        builder.add(
            track=tracks[track], start=np.array([start]), end=np.array([end]), name=0,
            key=keys[operators], source_row=np.array([n], np.uint32),
            levels=np.array([level], np.int32),
        )  # fmt: skip
    trace = builder.build()
    by_key = {key: operators for operators, key in keys.items()}
    links = tuple(
        Link(Reason.BY_INSTRUCTION if by_key[k] else Reason.NO_IDENTITY, "", (), by_key[k])
        for k in range(len(trace.keys))
    )
    position = {int(row): i for i, row in enumerate(trace.slices.source_row)}
    return LinkTable(trace, program_of(count, pairs), None, links), position


class Flows:
    """Flows by the positions of slices in the list that was given."""

    def __init__(self, slices, pairs, **more):
        self.table, self.at = table_of(slices, pairs, **more)
        self.number = {i: n for n, i in self.at.items()}
        self.index = FlowIndex(self.table)

    def of(self, n):
        return self.index.flows(self.at[n])

    def inputs(self, n):
        return [self.number[e.slice] for e in self.of(n).inputs]

    def outputs(self, n):
        return [self.number[e.slice] for e in self.of(n).outputs]


CHAIN = [(1, 0), (2, 1), (3, 2)]


def test_a_chain_of_calls():
    flows = Flows([((0,), 0, 10), ((1,), 10, 20), ((2,), 25, 30)], CHAIN)
    assert [flows.inputs(n) for n in range(3)] == [[], [0], [1]]
    assert [flows.outputs(n) for n in range(3)] == [[1], [2], []]


def test_only_slices_of_the_same_inference_count():
    slices = [((0,), 0, 10), ((1,), 10, 20), ((0,), 100, 110), ((1,), 110, 120)]
    flows = Flows(slices, CHAIN, runs=[(0, 50), (100, 150)])
    assert [flows.inputs(n) for n in range(4)] == [[], [0], [], [2]]
    # Without inferences it is the last before, and the first after.
    alone = Flows([*slices[:2], slices[3]], CHAIN)
    assert alone.inputs(2) == [0]


def test_of_several_tiles_it_is_the_last_before_and_the_first_after():
    slices = [((0,), t, t + 5) for t in (0, 10, 20, 30, 40)] + [((1,), 26, 29)]
    flows = Flows(slices, CHAIN)
    assert flows.inputs(5) == [2]
    assert [flows.outputs(n) for n in range(5)] == [[5], [5], [5], [], []]
    assert flows.of(3).only_earlier == (1,)  # its consumer ran only before


def test_the_input_that_ended_last_and_the_output_that_begins_first_go_first():
    slices = [((0,), 0, 10), ((1,), 10, 30), ((2,), 30, 40), ((4,), 50, 60), ((3,), 60, 70)]
    flows = Flows(slices, [(2, 0), (2, 1), (3, 2), (4, 2)])
    assert flows.inputs(2) == [1, 0]
    assert flows.outputs(2) == [3, 4]


def test_slices_at_the_same_time_are_said_to_be():
    flows = Flows([((0,), 0, 30), ((1,), 20, 50, 0, 1)], CHAIN)
    (end,) = flows.of(1).inputs
    assert (flows.number[end.slice], end.overlaps) == (0, True)
    (end,) = flows.of(0).outputs
    assert (flows.number[end.slice], end.overlaps) == (1, True)


def test_a_slice_that_several_operators_share_is_one_end():
    flows = Flows([((0, 1), 0, 10), ((2,), 10, 20)], [(2, 0), (2, 1), (1, 0)])
    (end,) = flows.of(1).inputs
    assert end.operators == (0, 1)
    assert flows.outputs(0) == [1]  # what its operators hand to one another stays inside


def test_operators_without_a_slice_are_passed_through():
    flows = Flows([((0,), 0, 10), ((3,), 20, 30)], CHAIN)
    (end,) = flows.of(1).inputs
    assert (flows.number[end.slice], end.operators, end.through) == (0, (0,), (1, 2))
    (end,) = flows.of(0).outputs
    assert (end.operators, end.through) == ((3,), (2, 1))


def test_what_was_timed_in_another_inference_alone_is_passed_through_too():
    slices = [((0,), 0, 10), ((1,), 10, 20), ((0,), 100, 110), ((2,), 110, 120)]
    flows = Flows(slices, CHAIN, runs=[(0, 50), (100, 150)])
    (end,) = flows.of(3).inputs
    assert (flows.number[end.slice], end.through) == (2, (1,))


def test_a_kernel_gives_way_to_the_call_around_it():
    slices = [((0,), 0, 10), ((0,), 2, 8, 1), ((1,), 10, 20), ((1,), 12, 18, 1)]
    flows = Flows(slices, CHAIN)
    assert [flows.outputs(n) for n in range(2)] == [[2], [2]]
    assert [flows.inputs(n) for n in range(2, 4)] == [[0], [0]]


def test_an_event_of_one_operator_goes_before_the_call_of_several():
    slices = [((0, 1), 0, 30), ((0,), 1, 10, 1), ((1,), 12, 20, 1), ((2,), 40, 50)]
    flows = Flows(slices, CHAIN)
    assert flows.inputs(3) == [2]
    assert flows.inputs(2) == [1]
    assert flows.inputs(0) == []


def test_a_call_hands_nothing_to_what_is_inside_it():
    slices = [((0, 3), 0, 30), ((1,), 12, 20, 1)]
    flows = Flows(slices, CHAIN)
    assert flows.inputs(1) == []
    assert flows.outputs(0) == []
    assert (flows.of(1).only_earlier, flows.of(1).only_later) == ((), ())


def test_the_own_thread_goes_before_others_of_the_process_and_these_before_the_rest():
    producers = [((0,), 0, 10, 0, track) for track in (3, 1, 2)]
    flows = Flows([*producers, ((1,), 20, 30, 0, 2)], CHAIN)
    assert flows.inputs(3) == [2]
    flows = Flows([*producers[:2], ((1,), 20, 30, 0, 2)], CHAIN)
    assert flows.inputs(2) == [1]


def test_a_track_beside_the_inferences_belongs_to_the_one_that_goes_on():
    slices = [((0,), 0, 10), ((1,), 20, 30, 0, 1), ((0,), 100, 110), ((1,), 120, 130, 0, 1)]
    flows = Flows(slices, CHAIN, runs=[(0, 50), (100, 150)])
    assert [flows.inputs(n) for n in (1, 3)] == [[0], [2]]
    assert [flows.outputs(n) for n in (0, 2)] == [[1], [3]]


def test_why_nothing_is_known_is_said():
    flows = Flows([((), 0, 10), ((0,), 10, 20)], [])
    assert flows.of(0).reason == NO_OPERATOR
    assert flows.of(1).reason == ""
    dump = open_file(str(DATA / "etdump" / "demo_str_x4.etdp"))
    space = Workspace()
    space.add(dump)
    unlinked = FlowIndex(space.links(dump))
    assert unlinked.flows(3).reason == NO_PROGRAM


def test_what_takes_too_long_is_not_answered_at_once():
    wide = Flows([((0,), 0, 10)] + [((i,), 20 + i, 21 + i) for i in range(1, 300)],
                 [(i, 0) for i in range(1, 300)], count=300)  # fmt: skip
    assert wide.index.flows(wide.at[0], 100) is None
    assert len(wide.of(0).outputs) == 299
    assert wide.index.flows(wide.at[5], 100) is not None


def test_of_very_many_tiles_those_around_the_slice_are_compared():
    tiles = 30_000
    builder = TraceBuilder("made", "test", "", Clock())
    track, scope = builder.track("p", "t"), builder.scope("s")
    keys = [builder.key(KeyKind.OPERATOR_CALL, n, scope=scope) for n in ("a", "b")]
    start = np.arange(tiles, dtype=np.int64) * 10
    builder.add(track=track, start=start, end=start + 4, name=0, key=keys[0])
    at = 10 * 20_000 + 5
    builder.add(track=track, start=np.array([at]), end=np.array([at + 3]), name=1, key=keys[1])
    trace = builder.build()
    links = tuple(Link(Reason.BY_INSTRUCTION, "", (), (n,)) for n in range(2))
    index = FlowIndex(LinkTable(trace, program_of(2, [(1, 0)]), None, links))
    own = int(np.flatnonzero(trace.slices.start == at)[0])
    flows = index.flows(own, 100)
    assert flows is not None
    assert [int(trace.slices.start[e.slice]) for e in flows.inputs] == [10 * 20_000]


def test_flows_of_the_file_inside_a_slice_are_found_in_all_lanes_of_its_thread():
    rng = np.random.default_rng(1)
    builder = TraceBuilder("made", "test", "", Clock())
    tracks = [builder.track("p", "t"), builder.track("p", "u")]
    count = 300
    start = rng.integers(0, 2000, count)
    end = start + rng.integers(0, 200, count)
    builder.add(
        track=np.array(tracks, np.uint32)[rng.integers(0, 2, count)], start=start, end=end,
        name=builder.intern("x"), key=builder.key(KeyKind.PLAIN, "x"),
    )  # fmt: skip
    trace = builder.build()
    ends = rng.integers(0, len(trace.slices), (2, 12))
    trace = replace(trace, flows=model.Flows(*ends))
    index, slices = FlowIndex(unlinked(trace)), trace.slices
    found = set()
    for i in range(len(slices)):
        for forward in (True, False):
            expected = any(
                slices.track(j) == slices.track(i)
                and slices.start[i] <= slices.start[j]
                and slices.end[j] <= slices.end[i]
                for j in ends[0 if forward else 1].tolist()
            )
            assert index.has_flow_inside(i, forward=forward) == expected
            found.add(expected)
    assert found == {True, False}
    assert len(set(slices.row_lane.tolist())) > 1


# -- against a slow search -------------------------------------------------------------------------

# One thread, slices one after another: whatever is nested or overlaps is told apart above.
SEQUENCES = st.lists(
    st.tuples(st.sets(st.integers(0, 7), min_size=0, max_size=3), st.integers(0, 3),
              st.integers(1, 4)),
    min_size=1, max_size=24,
)  # fmt: skip
DAGS = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda e: e[0] > e[1]),
               max_size=14)  # fmt: skip


def slow(slices, pairs, run_of, n, *, forward):
    """The ends of a slice by trying all: {slice: operators}."""
    own = slices[n][0]
    found, seen, todo = {}, set(own), list(own)
    while todo:
        here = todo.pop(0)
        near = {c for c, p in pairs if p == here} if forward else {p for c, p in pairs if c == here}
        for other in sorted(near - seen):
            seen.add(other)
            same = [
                m for m in range(len(slices)) if other in slices[m][0] and run_of[m] == run_of[n]
            ]
            if not same:
                todo.append(other)
                continue
            fewest = min(len(slices[m][0]) for m in same)
            same = [m for m in same if len(slices[m][0]) == fewest]
            if n in same:
                continue
            ok = [m for m in same if (slices[m][1] >= slices[n][2] if forward
                                      else slices[m][2] <= slices[n][1])]  # fmt: skip
            if ok:
                best = min(ok) if forward else max(ok)
                found.setdefault(best, set()).add(other)
    return found


@pytest.mark.slow
@given(SEQUENCES, DAGS, st.integers(0, 12))
def test_random_programs_on_one_thread(sequence, pairs, cut):
    slices, now = [], 0
    for operators, gap, length in sequence:
        now += gap
        slices.append((tuple(sorted(operators)), now, now + length))
        now += length
    cut = min(cut, len(slices))
    runs = [(s[0][1], s[-1][2]) for s in (slices[:cut], slices[cut:]) if s]
    # A slice that begins where one inference ends and the next begins is of the next.
    run_of = [max(r for r, (a, b) in enumerate(runs) if a <= s[1] <= b) for s in slices]
    flows = Flows(slices, pairs, runs=runs)
    for n in range(len(slices)):
        got = flows.of(n)
        for forward in (False, True):
            ends = {flows.number[e.slice]: set(e.operators) for e in got.ends(forward=forward)}
            assert ends == slow(slices, pairs, run_of, n, forward=forward)


@pytest.mark.parametrize(
    ("dump", "record"),
    [("attn_xnnpack_x5", "words_toedge_portable"), ("cnn_xnnpack_x10", "cnn_teal_xnnpack"),
     ("cnn_portable_x10", "cnn_toedge_portable"), ("cond_portable_x5", "cond_toedge_portable"),
     ("gru_portable_x1", "gru_toedge_portable")],
)  # fmt: skip
def test_flows_of_real_dumps_go_forward_in_time_and_stay_in_their_run(dump, record):
    trace = open_file(str(DATA / "etdump" / f"{dump}.etdp"))
    table = link(trace, open_file(str(DATA / "etrecord" / f"{record}.etrecord")))
    index, slices = FlowIndex(table), trace.slices
    for i in range(len(slices)):
        flows = index.flows(i)
        for forward in (False, True):
            for end in flows.ends(forward=forward):
                first, last = (i, end.slice) if forward else (end.slice, i)
                assert end.overlaps or slices.end[first] <= slices.start[last]
                assert index.run_of(i) == index.run_of(end.slice)
                assert set(end.operators) <= set(table.links[int(slices.key[end.slice])].operators)


@pytest.mark.parametrize(
    ("name", "jobs"), [("host_h4_latest_2inv.csv", 8), ("annotated_a3_latest.csv", 4)]
)
def test_every_job_of_a_profile_has_its_start_and_its_wait(name, jobs):
    trace = open_file(str(TORQ / name))
    slices, flows = trace.slices, JobFlows(trace)
    found = [i for i in range(len(slices)) if flows.is_job(i)]
    assert len(found) == jobs
    for job in found:
        start, wait = flows.next_to(job, forward=False), flows.next_to(job, forward=True)
        assert trace.name(start).upper().replace("_PROGRAM", "").endswith("START")
        assert trace.name(wait).upper().replace("_PROGRAM", "").endswith("WAIT")
        assert (slices.start[start], slices.end[wait]) == (slices.start[job], slices.end[job])
        assert flows.next_to(start, forward=True) == job
        assert flows.next_to(wait, forward=False) == job
        assert flows.next_to(start, forward=False) is None
        assert flows.next_to(wait, forward=True) is None


def test_they_need_no_program():
    trace = open_file(str(TORQ / "host_h4_latest_2inv.csv"))
    index, jobs = FlowIndex(unlinked(trace)), JobFlows(trace)
    start = next(i for i in range(len(trace.slices)) if trace.name(i) == NSS_START)
    (end,) = index.flows(start).outputs
    assert end.is_job
    assert jobs.is_job(end.slice)
    assert index.flows(start).reason


def made(*rows):
    """A host and an NSS: rows of (name, start, end); a job is called "job"."""
    builder = TraceBuilder("made", "test", "", Clock())
    host = builder.track("p", "Host", unit=Unit.HOST)
    nss = builder.track("p", "NSS jobs", unit=Unit.NSS, flat=True)
    for name, start, end in rows:
        is_job = name == "job"
        builder.add(
            track=nss if is_job else host, start=np.array([start]), end=np.array([end]),
            name=builder.intern(name), key=builder.key(KeyKind.ACTION, name),
            derived=np.array([is_job]),
        )  # fmt: skip
    trace = builder.build()
    return trace, {int(row): i for i, row in enumerate(trace.slices.source_row)}


def test_what_only_overlaps_is_not_taken():
    trace, at = made((NSS_START, 0, 4), ("job", 1, 20), (NSS_WAIT, 5, 21))
    flows = JobFlows(trace)
    assert flows.next_to(at[1], forward=False) is None
    assert flows.next_to(at[1], forward=True) is None
    assert flows.next_to(at[0], forward=True) is None


def test_of_two_that_fit_none_is_taken():
    trace, at = made((NSS_START, 0, 4), ("job", 0, 20), ("job", 0, 30), (NSS_WAIT, 5, 20))
    flows = JobFlows(trace)
    assert flows.next_to(at[0], forward=True) is None
    assert flows.next_to(at[3], forward=False) == at[1]


def test_a_trace_without_an_npu_has_none():
    trace = open_file(str(paths.DATA / "etdump" / "cnn_portable_x1.etdp"))
    flows = JobFlows(trace)
    assert all(
        flows.next_to(i, forward=forward) is None
        for i in range(len(trace.slices)) for forward in (False, True)
    )  # fmt: skip
