"""The Torq host profile, against the samples and small files whose answer is known."""

import csv
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests import paths
from tests.builders.csv_cases import expect_snapshot
from viewer.analysis.links.labels import slice_labels
from viewer.analysis.links.linker import unlinked
from viewer.codecs.reading import ReadCancelled, UnreadableFile, never_cancelled, no_progress
from viewer.formats.torq.host_csv import FORMAT
from viewer.model.inference_views import aligned_runs, has_run_views, mean_run
from viewer.model.queries import run_of_slices
from viewer.model.trace import KeyKind, RunKind, Trace, Unit

SNAPSHOTS = paths.SNAPSHOTS / "torq"
SAMPLES = (
    "host_h0_unquoted.csv", "host_h1_quoted.csv", "host_h2_dispatch.csv", "host_h4_latest.csv",
    "host_h4_latest_2inv.csv",
)  # fmt: skip
HEADER = "dispatch_name,invocation_id,action_id,timestamp_us,event\n"
OLD_HEADER = "actionIndex, elapsed_time(us), timestamp(us), event, location\n"
DISPATCH = "main_dispatch_0_conv_56x56x32_i8"


def read(path: Path) -> Trace:
    return FORMAT.read(str(path), no_progress, never_cancelled)


@pytest.fixture
def made(tmp_path):
    """Reads a file of some lines "dispatch,invocation,action,time,event"."""

    def make(*lines: str, header: str = HEADER) -> Trace:
        path = tmp_path / "host.csv"
        path.write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
        return read(path)

    return make


def slices(trace: Trace, thread: str) -> list[tuple[str, int, int, int]]:
    """(name, depth, start, end) of the slices of a track, in the order of the file."""
    s = trace.slices
    own = [i for i in range(len(s)) if trace.tracks[s.track(i)].thread == thread]
    own.sort(key=lambda i: (s.source_row[i], s.depth(i)))
    return [(trace.name(i), s.depth(i), int(s.start[i]), int(s.end[i])) for i in own]


def problems(trace: Trace) -> dict[str, tuple[int, str]]:
    return {p.kind: (p.count, p.first) for p in trace.problems}


def runs(trace: Trace) -> list[tuple[RunKind, int, int, int]]:
    return [(run.kind, run.number, run.start, run.end) for run in trace.runs]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_as_it_is_read(data, name):
    trace = read(data / "torq" / name)
    assert trace.problems == ()
    assert (trace.clock.unit, trace.clock.ns_per_tick) == ("us", Fraction(1000))
    assert (trace.clock.assumed, trace.clock.domain) == (False, "torq host")
    expect_snapshot(trace, SNAPSHOTS / f"{Path(name).stem}.txt")


@pytest.mark.parametrize("name", SAMPLES)
def test_every_pair_of_the_file_is_a_slice_with_its_times(data, name):
    """Pairs as the file's own order gives them: an end belongs to the last open begin."""
    trace = read(data / "torq" / name)
    open_rows: list[tuple[int, int]] = []
    expected = []
    with (data / "torq" / name).open(newline="") as file:
        for row, line in enumerate(list(csv.reader(file))[1:]):
            at, event = (line[3], line[4]) if len(line) == 5 and line[0][0] in "m_" else line[2:4]
            if event.endswith("_END"):
                begin, start = open_rows.pop()
                expected.append((begin, start, int(at)))
            else:
                open_rows.append((row, int(at)))
    s = trace.slices
    stated = np.flatnonzero(~s.derived)
    found = zip(s.source_row[stated], s.start[stated], s.end[stated], strict=True)
    assert sorted((int(r), int(a), int(b)) for r, a, b in found) == sorted(expected)


def test_host_and_hal_scopes_stages_and_actions_are_nested(data):
    trace = read(data / "torq" / "host_h4_latest.csv")
    assert [(t.thread, t.unit) for t in trace.tracks] == [
        ("Host", Unit.HOST), ("HAL", Unit.HAL), ("NSS jobs", Unit.NSS),
    ]  # fmt: skip
    host = slices(trace, "Host")
    assert host[0] == (f"INIT {DISPATCH}", 0, 4812337551, 4812338900)
    assert host[5] == (f"DISPATCH {DISPATCH}", 0, 4812339862, 4812340906)
    assert host[9] == ("DISPATCH_EXECUTE_ACTIONS", 1, 4812339978, 4812340812)
    assert host[10] == ("ALLOC", 2, 4812339978, 4812339979)
    # Without a length, at the very end of what it is in: by its place in the file it is inside.
    assert host[25] == ("DEALLOC", 2, 4812340812, 4812340812)
    assert [(name, depth) for name, depth, *_ in slices(trace, "HAL")] == [
        ("HAL_CALL __HAL_QUEUE_EXECUTE__", 0),
        ("HAL_QUEUE_WAIT", 1),
        ("HAL_QUEUE_APPLY_DEFERRED", 1),
        ("HAL_CALL __HAL_COMMAND_BUFFER_DISPATCH__", 2),
        ("HAL_CALL __HAL_COMMAND_BUFFER_COPY_BUFFER__", 2),
        ("HAL_COMMAND_BUFFER_COPY_BUFFER", 3),
        ("HAL_QUEUE_SIGNAL", 1),
    ]


def test_columns_tell_scopes_actions_and_jobs_apart(data):
    trace = read(data / "torq" / "host_h4_latest.csv")
    s = trace.slices

    def cells(name: str) -> dict:
        i = next(i for i in range(len(s)) if trace.name(i) == name)
        kind = KeyKind(trace.keys.kind[s.key[i]]).name
        shown = {c: v for c, column in s.columns.items() if (v := column.value(i)) is not None}
        return {"kind": kind} | shown

    of_dispatch = {"dispatch": DISPATCH, "scope": "DISPATCH", "invocation_id": 3}
    assert cells("NSS_WAIT") == {"kind": "ACTION", "action_id": 4} | of_dispatch
    assert cells("DISPATCH_SYNC_BINDINGS_IN") == {"kind": "FRAMEWORK"} | of_dispatch
    # It says INIT and happens inside of a dispatch.
    assert cells("INIT_PREPARE_OUTPUT_DIRS") == {"kind": "FRAMEWORK"} | of_dispatch
    assert cells("INIT_HW_OPEN") == {
        "kind": "FRAMEWORK", "dispatch": DISPATCH, "scope": "INIT", "invocation_id": 0,
    }  # fmt: skip
    assert cells("HAL_QUEUE_SIGNAL") == {
        "kind": "FRAMEWORK", "scope": "__HAL_QUEUE_EXECUTE__", "invocation_id": 1,
    }  # fmt: skip
    assert cells("job 1") == {"kind": "JOB", "job_id": 1} | of_dispatch


def test_actions_and_jobs_have_the_identity_that_debug_info_knows(data):
    trace = read(data / "torq" / "host_h4_latest_2inv.csv")
    keys = trace.keys
    for kind, ids in ((KeyKind.ACTION, list(range(16))), (KeyKind.JOB, [0, 1, 2, 3])):
        own = np.flatnonzero(keys.kind == kind)
        assert sorted(keys.instruction[own].tolist()) == ids  # one key for both inferences
        assert {trace.scopes[int(keys.scope[k])].name for k in own} == {DISPATCH}


@pytest.mark.parametrize("name", SAMPLES[2:])
def test_a_job_lies_from_its_start_to_the_end_of_its_wait(data, name):
    """As the reference of today has it, in ns: `NSS Programs` of reference/head/trace."""
    reference = [
        (4812340125, 4812340248), (4812340249, 4812340384), (4812340385, 4812340445),
        (4812340446, 4812340531),
    ]  # fmt: skip
    jobs = slices(read(data / "torq" / name), "NSS jobs")
    assert [job for job, *_ in jobs] == ["job 0", "job 1", "job 2", "job 3"] * (len(jobs) // 4)
    if name == "host_h4_latest.csv":
        assert [(start, end) for *_, start, end in jobs] == reference


def test_in_the_first_generations_the_location_is_the_identity(data):
    bare, quoted = (read(data / "torq" / name) for name in SAMPLES[:2])
    assert bare.keys.location.tolist() == quoted.keys.location.tolist()
    where = (
        'loc(fused[callsite("tiny_cnn.mlir":13:10 at "tiny_cnn.mlir":2:3), '
        'callsite("tiny_cnn.mlir":11:10 at "tiny_cnn.mlir":2:3)])'
    )
    for trace in (bare, quoted):
        s = trace.slices
        job = next(i for i in range(len(s)) if trace.name(i) == "job 0")
        wait = next(i for i in range(len(s)) if trace.name(i) == "NSS_WAIT")
        for i in (job, wait):
            key = int(s.key[i])
            assert KeyKind(trace.keys.kind[key]) is KeyKind.LOCATION
            assert trace.keys.location[key] == s.columns["location"].value(i) == where
            assert trace.keys.instruction[key] == 4
        assert (int(s.start[job]), int(s.end[job])) == (4812337731, 4812337862)


def test_an_inference_is_a_queue_call_with_a_dispatch_in_it(data):
    trace = read(data / "torq" / "host_h4_latest_2inv.csv")
    assert runs(trace) == [
        (RunKind.LOAD, 0, 4812337551, 4812338900),
        (RunKind.INFERENCE, 1, 4812339850, 4812340968),
        (RunKind.INFERENCE, 2, 4812341368, 4812342526),
    ]
    of_run = np.bincount(run_of_slices(trace) + 1, minlength=4).tolist()
    # 5 slices of the host are the load, 23 each inference; HAL and jobs are on other tracks.
    assert of_run == [7 + 7 + 8, 5, 23, 23]


def test_without_the_hal_an_inference_begins_where_a_dispatch_comes_again(made):
    lines = []
    for i, name in enumerate(("a", "b", "a", "b", "b", "a")):
        lines += [
            f"{name},{i},-1,{10 * i},DISPATCH_BEGIN",
            f"{name},{i},-1,{10 * i + 5},DISPATCH_END",
        ]
    trace = made(*lines)
    assert trace.generation == "H2"
    assert runs(trace) == [
        (RunKind.INFERENCE, 1, 0, 15), (RunKind.INFERENCE, 2, 20, 35),
        (RunKind.INFERENCE, 3, 40, 55),
    ]  # fmt: skip


def test_a_run_that_is_one_dispatch_is_called_by_it(data):
    trace = read(data / "torq" / "host_h2_dispatch.csv")
    codes, texts = slice_labels(unlinked(trace))
    labels = [texts[code] for code in codes]
    assert labels.count(f"{DISPATCH} · run 1 of 2") == labels.count(f"{DISPATCH} · run 2 of 2") == 1
    assert has_run_views(trace)
    assert len(aligned_runs(trace).tracks) == 2
    assert len(mean_run(trace).slices) == 17


def test_a_dispatch_that_opens_the_hardware_and_does_nothing_is_a_load(made):
    trace = made(
        "d,0,-1,0,DISPATCH_BEGIN", "d,0,-1,1,DISPATCH_HW_OPEN_BEGIN",
        "d,0,-1,8,DISPATCH_HW_OPEN_END", "d,0,-1,9,DISPATCH_END",
        "d,1,-1,20,DISPATCH_BEGIN", "d,1,0,21,ALLOC_BEGIN", "d,1,0,22,ALLOC_END",
        "d,1,-1,29,DISPATCH_END",
    )  # fmt: skip
    assert trace.generation == "H3"
    assert runs(trace) == [(RunKind.LOAD, 0, 0, 9), (RunKind.INFERENCE, 1, 20, 29)]


def test_the_generation_is_told_by_what_occurs(made):
    assert made("d,0,-1,0,DISPATCH_BEGIN", "d,0,0,1,ALLOC_BEGIN").generation == "H2"
    assert made("__HAL_QUEUE_EXECUTE__,0,-1,0,HAL_CALL_BEGIN").generation == "H3"
    assert made("d,0,-1,0,INIT_BEGIN").generation == "H4"
    assert made("d,0,-1,0,DISPATCH_EXECUTE_ACTIONS_BEGIN").generation == "H4"


def test_an_event_without_its_partner_is_kept_as_a_point_and_counted(made):
    trace = made(
        "d,0,-1,0,DISPATCH_BEGIN", "d,0,1,5,ALLOC_BEGIN", "d,0,2,6,NSS_WAIT_BEGIN",
        "d,0,2,9,NSS_WAIT_END", "d,0,3,9,DEALLOC_END", "d,0,4,9,WHAT", "d,0,-1,10,DISPATCH_END",
    )  # fmt: skip
    assert problems(trace) == {
        "event that is neither a begin nor an end event: left out": (1, "row 6"),
        "begin event without an end event: drawn as an instant": (1, "row 2"),
        "end event without a begin event: drawn as an instant": (1, "row 5"),
        "NSS_WAIT without an NSS_START before it: no NSS job": (1, "row 3"),
    }
    assert slices(trace, "Host") == [
        ("DISPATCH d", 0, 0, 10), ("ALLOC", 1, 5, 5), ("NSS_WAIT", 1, 6, 9), ("DEALLOC", 1, 9, 9),
    ]  # fmt: skip
    s = trace.slices
    assert {trace.name(i): s.columns["unpaired"].value(i) for i in np.flatnonzero(s.derived)} == {
        "ALLOC": "begin event without an end event", "DEALLOC": "end event without a begin event",
    }  # fmt: skip


def test_pairs_that_cross_keep_their_times(made):
    trace = made(
        "d,0,1,0,ALLOC_BEGIN", "d,0,2,5,HOST_COPY_BEGIN", "d,0,1,10,ALLOC_END",
        "d,0,2,15,HOST_COPY_END", "d,0,3,20,NSS_START_BEGIN", "d,0,3,21,NSS_START_END",
    )  # fmt: skip
    assert problems(trace) == {
        "begin and end events that cross: nested by time": (2, "row 1"),
        "NSS_START without an NSS_WAIT after it: no NSS job": (1, "row 5"),
    }
    assert [(a, b) for *_, a, b in slices(trace, "Host")] == [(0, 10), (5, 15), (20, 21)]
    assert trace.slices.row_lane.tolist() == [0, 1]


def test_pairs_are_of_one_execution_of_one_dispatch(made):
    """The same action of two executions, interleaved: each has its own begin and end."""
    trace = made(
        "d,0,1,0,ALLOC_BEGIN", "d,1,1,1,ALLOC_BEGIN", "d,1,1,4,ALLOC_END", "d,0,1,9,ALLOC_END",
    )  # fmt: skip
    assert slices(trace, "Host") == [("ALLOC", 0, 0, 9), ("ALLOC", 1, 1, 4)]
    assert trace.problems == ()


def test_times_that_go_back_are_counted_and_kept(made):
    trace = made(
        "d,0,1,50,ALLOC_BEGIN", "d,0,1,60,ALLOC_END", "d,0,2,10,HOST_COPY_BEGIN",
        "d,0,2,5,HOST_COPY_END",
    )  # fmt: skip
    found = problems(trace)
    assert found["time earlier than in the row above: kept"] == (2, "row 3")
    assert found["slice ends before it starts: drawn as an instant"] == (1, "slice 2")
    assert sorted((a, b) for *_, a, b in slices(trace, "Host")) == [(10, 10), (50, 60)]


@pytest.mark.parametrize("lost", ["3,4812340125,NSS_START_BEGIN", "3,4812340138,NSS_START_END"])
def test_a_start_that_lost_its_begin_or_its_end_is_still_counted(data, tmp_path, lost):
    """Debug info knows jobs by number: with job 0 gone, the next one is still job 1."""
    whole = (data / "torq" / "host_h4_latest.csv").read_text()
    path = tmp_path / "host.csv"
    path.write_text(whole.replace(f"{DISPATCH},3,{lost}\n", ""))
    trace = read(path)
    assert [slice_[0] for slice_ in slices(trace, "NSS jobs")] == ["job 1", "job 2", "job 3"]
    ((name, _, start, end), *_) = slices(trace, "NSS jobs")
    assert (name, start, end) == ("job 1", 4812340249, 4812340384)


def test_a_job_is_numbered_by_its_start_in_its_execution(made):
    """The second start has no wait: it is no job, and the third one keeps its number."""
    lines = []
    for action, event in ((1, "NSS_START"), (2, "NSS_WAIT"), (3, "NSS_START"), (5, "NSS_START"),
                          (6, "NSS_WAIT")):  # fmt: skip
        lines += [f"d,7,{action},{action * 10},{event}_BEGIN",
                  f"d,7,{action},{action * 10 + 4},{event}_END"]  # fmt: skip
    trace = made(*lines)
    assert slices(trace, "NSS jobs") == [("job 0", 0, 10, 24), ("job 2", 0, 50, 64)]
    assert problems(trace) == {"NSS_START without an NSS_WAIT after it: no NSS job": (1, "row 5")}


def test_a_bare_location_with_commas_quotes_and_parentheses_survives(made):
    where = r'loc(fused<{a = 1 : i64}>["/a, b/m (1).mlir":1:2, "Relu, 0"("\22x\22;\\.mlir":3:4)])'
    trace = made(f"0,0,5,ALLOC_START,{where}", f"0,1,6,ALLOC_END,{where}", header=OLD_HEADER)
    assert (trace.generation, trace.problems) == ("H0", ())
    assert trace.keys.location.tolist() == [where]
    doubled = where.replace('"', '""')
    lines = (f'0,0,5,ALLOC_START,"{doubled}"', f'0,1,6,ALLOC_END,"{doubled}"')
    quoted = made(*lines, header=OLD_HEADER)
    assert (quoted.generation, quoted.problems) == ("H1", ())
    assert quoted.keys.location.tolist() == [where]


def test_numbers_that_no_time_can_have_are_counted(made):
    trace = made(
        f"d,0,1,{'9' * 30},ALLOC_BEGIN", "d,0,1,-3,ALLOC_END", "d,0,one,5,ALLOC_BEGIN",
    )  # fmt: skip
    assert problems(trace) == {
        "row with a number too large for a time": (1, "line 2"),
        f"row that is not {HEADER.strip()}": (1, "line 4"),
        "negative time: kept": (1, "row 2"),
        "end event without a begin event: drawn as an instant": (1, "row 2"),
    }


@pytest.mark.parametrize("event", ["NSS_START_BEGIN", "HAL_CALL_END", "DISPATCH_BEGIN"])
def test_many_rows_without_a_partner_take_no_longer_than_others(made, event):
    count = 50_000
    began = time.process_time()
    trace = made(*(f"d{i % 7},{i},{i % 99},{i},{event}" for i in range(count)))
    assert trace.slices.derived_count == count
    assert time.process_time() - began < 5  # a second, where twice as many take twice as long


def test_other_files_are_not_taken(data):
    for name in ("compile_c2_actionindex_callsite.csv", "runtime_r0_nss.csv", "tiny_cnn.mlir"):
        assert not FORMAT.sniff((data / "torq" / name).read_bytes()[:4096])
        with pytest.raises(UnreadableFile, match="not a Torq host profile"):
            read(data / "torq" / name)


def test_reading_tells_bytes_and_can_be_cancelled(data):
    path = data / "torq" / "host_h4_latest.csv"
    steps: list[tuple[int, int]] = []
    FORMAT.read(str(path), lambda done, total: steps.append((done, total)), never_cancelled)
    assert steps[-1] == (path.stat().st_size, path.stat().st_size)
    with pytest.raises(ReadCancelled):
        FORMAT.read(str(path), no_progress, lambda: True)
