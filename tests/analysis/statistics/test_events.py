"""Statistics of events over runs: all occurrences, whole ticks, native units apart."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.etdump_writer import delegate, framework, operator
from tests.paths import DATA
from viewer.analysis.links.linker import link, unlinked
from viewer.analysis.statistics.events import (
    EventStatistics,
    event_statistics,
    first_of,
    merge_runs,
)
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats.executorch.etdump import reader as etdump
from viewer.formats.table import reader as table_csv
from viewer.model.trace import RunKind
from viewer.workspace.workspace import Workspace

RUN = [operator("native_call_add.out", 0, 110, 120), framework("Method::execute", 100, 150)]


def of(path: Path) -> EventStatistics:
    trace = etdump.FORMAT.read(str(path), no_progress, never_cancelled)
    return event_statistics(unlinked(trace))


def durations(found: EventStatistics) -> list[tuple[str, list[int]]]:
    return [
        (found.name(i), found.duration[found.occurrences(i)].tolist()) for i in range(len(found))
    ]


def later(events, by: int):
    return [{**e, "start": e["start"] + by, "end": e["end"] + by} for e in events]


def test_one_row_per_event_over_all_runs(dump):
    found = of(dump(("Execute", RUN), ("Execute", later(RUN, 1000))))
    assert durations(found) == [("native_call_add.out", [10, 10]), ("Method::execute", [50, 50])]
    (block,) = found.blocks
    assert (block.name, block.runs, block.rows) == ("Execute", (0, 1), range(2))
    assert block.kind is RunKind.INFERENCE
    assert found.statistics.total.tolist() == [20, 100]
    slices = found.table.trace.slices
    assert slices.start[found.slices].tolist() == [110, 1110, 100, 1100]
    assert slices.source_row[found.slices].tolist() == [0, 2, 1, 3]


def test_every_occurrence_in_a_run_counts(dump):
    events = [
        operator("native_call_add.out", 0, t, t + n) for n, t in ((5, 101), (7, 111), (9, 121))
    ]
    found = of(dump(("Execute", [*events, framework("Method::execute", 100, 140)])))
    assert durations(found)[0] == ("native_call_add.out", [5, 7, 9])
    assert found.statistics.count.tolist() == [3, 1]


def test_a_clock_that_restarts_at_every_run_mixes_no_runs(dump):
    """Two branches, both at time 0: by their times they could not be told apart."""
    other = [operator("native_call_mul.out", 1, 110, 130), framework("Method::execute", 100, 150)]
    found = of(dump(("Execute", RUN), ("Execute", other), ("Execute", RUN)))
    assert [(b.runs, [found.name(i) for i in b.rows]) for b in found.blocks] == [
        ((0, 2), ["native_call_add.out", "Method::execute"]),
        ((1,), ["native_call_mul.out", "Method::execute"]),
    ]
    assert durations(found)[0] == ("native_call_add.out", [10, 10])


def test_a_clock_of_its_own_keeps_its_numbers_and_its_unit():
    found = of(DATA / "etdump/SYN_qnn_like.etdp")
    rows = {found.name(i): (found.unit_name(i), *durations(found)[i][1]) for i in range(len(found))}
    assert rows["aten_convolution_default:OpId_12 (cycles)"] == ("cycles", 1200)
    assert rows["DELEGATE_CALL"] == (None, 7000)
    drawn = found.table.trace.slices
    at = found.slices[found.occurrences(3)]
    assert found.start[found.occurrences(3)].tolist() == [0]
    assert drawn.start[at].tolist() != [0]


def test_an_event_that_is_foreign_once_is_foreign_in_all_runs(dump):
    """By chance the cycles of the second run lie inside its call; they are cycles all the same."""
    first = [delegate("a (cycles)", 0, 0, 5000), operator("DELEGATE_CALL", 0, 10_000, 17_000)]
    second = [
        delegate("a (cycles)", 0, 20_000, 24_000),
        operator("DELEGATE_CALL", 0, 19_000, 25_000),
    ]
    found = of(dump(("Execute", first), ("Execute", second)))
    assert found.unit_name(0) == "cycles"
    assert durations(found)[0] == ("a (cycles)", [5000, 4000])


def test_methods_are_told_apart_and_named_once_a_record_tells_them():
    work = Workspace()
    trace = work.open(str(DATA / "etdump/multi_forward_decode_portable_x3.etdp"))
    assert event_statistics(work.links(trace)).block_titles == (
        "Default (method 1)", "Execute (method 1)", "Default (method 2)", "Execute (method 2)",
    )  # fmt: skip
    work.open(str(DATA / "etrecord/multi_forward_decode_toedge_portable.etrecord"))
    found = event_statistics(work.links(trace))
    assert found.block_titles == (
        "Default (forward)", "Execute (forward)", "Default (decode)", "Execute (decode)",
    )  # fmt: skip
    assert [b.method for b in found.blocks] == ["forward", "forward", "decode", "decode"]
    assert [len(b.runs) for b in found.blocks] == [1, 3, 1, 3]


def test_one_method_needs_no_name():
    work = Workspace()
    trace = work.open(str(DATA / "etdump/cnn_portable_x10.etdp"))
    work.open(str(DATA / "etrecord/cnn_toedge_portable.etrecord"))
    assert event_statistics(work.links(trace)).block_titles == ("Default", "Execute")


@pytest.mark.parametrize("name", ["SYN_no_runs", "SYN_empty_runs", "SYN_allocations"])
def test_dumps_with_little_in_them(name):
    found = of(DATA / "etdump" / f"{name}.etdp")
    assert len(found) == len(found.slices) == int(found.statistics.count.sum())


@pytest.mark.parametrize(
    "path", sorted((DATA / "etdump").glob("[a-z]*_x*.etdp")), ids=lambda p: p.stem
)
def test_the_rows_of_a_dump_hold_each_of_its_slices_once(path):
    found = of(path)
    slices = found.table.trace.slices
    derived = np.zeros(len(slices), np.bool_) if slices.derived is None else slices.derived
    assert np.sort(found.slices).tolist() == np.flatnonzero(~derived).tolist()
    assert int(found.statistics.total.sum()) == int(found.duration.sum())
    assert (slices.key[found.slices] == np.repeat(found.key, found.statistics.count)).all()


def test_a_table_of_an_exported_dump_finds_its_runs_by_their_times(tmp_path):
    (tmp_path / "t.csv").write_text(
        "process,thread,name,start_ns,dur_ns,method,instruction_id,depth\n"
        "p,t,Method::execute,0,50,forward,,0\np,t,add,10,20,forward,0,1\n"
        "p,t,Method::execute,100,50,forward,,0\np,t,add,110,24,forward,0,1\np,t,stray,300,1,,,0\n"
    )
    trace = table_csv.FORMAT.read(str(tmp_path / "t.csv"), no_progress, never_cancelled)
    found = event_statistics(unlinked(trace))
    assert [(b.name, b.runs) for b in found.blocks] == [("Method::execute", (0, 1)), ("", ())]
    assert durations(found) == [("Method::execute", [50, 50]), ("add", [20, 24]), ("stray", [1])]


def test_a_native_duration_that_is_no_number_is_no_duration(tmp_path):
    """Such a slice is drawn somewhere, which says nothing about its length."""
    (tmp_path / "t.csv").write_text(
        "process,thread,name,start_ns,dur_ns,native_dur\np,t,a,0,50,many\np,t,b,60,5,\n"
    )
    trace = table_csv.FORMAT.read(str(tmp_path / "t.csv"), no_progress, never_cancelled)
    assert durations(event_statistics(unlinked(trace))) == [("b", [5])]


def test_links_are_those_of_the_table():
    work = Workspace()
    trace = work.open(str(DATA / "etdump/demo_str_x4.etdp"))
    program = work.open(str(DATA / "etrecord/demo_str.etrecord"))
    table = link(trace, program)
    assert event_statistics(table).table is table


def merged(*runs: str, kinds: str = ""):
    """Runs as texts, one letter an event."""
    run = np.repeat(np.arange(len(runs)), [len(r) for r in runs])
    code = np.array([ord(c) - ord("a") for r in runs for c in r], np.int64)
    found = merge_runs(run, code, list(kinds or "x" * len(runs)))
    letters = "".join(chr(c + ord("a")) for c in found.row_code)
    cut = found.row_ptr.tolist()
    blocks = [
        (members.tolist(), letters[cut[i] : cut[i + 1]]) for i, members in enumerate(found.runs)
    ]
    return blocks, found.row.tolist()


def test_equal_runs_are_one_block_in_order_of_appearance():
    assert merged("ab", "cd", "ab") == (
        [([0, 2], "ab"), ([1], "cd")], [0, 1, 2, 3, 0, 1],
    )  # fmt: skip


def test_how_often_an_event_repeats_tells_no_blocks_apart():
    """A loop of two and one of three turns are the same events."""
    assert merged("abab", "ababab") == ([([0, 1], "ab")], [0, 1, 0, 1, 0, 1, 0, 1, 0, 1])


def test_another_order_or_another_kind_is_another_block():
    assert [b for b, _ in merged("ab", "ba")[0]] == [[0], [1]]
    assert [b for b, _ in merged("ab", "ab", "ab", kinds="xyx")[0]] == [[0, 2], [1]]


def test_runs_without_events_are_in_no_block():
    assert merged("", "a", "", "a")[0] == [([1, 3], "a")]
    assert merged("", "") == ([], [])


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 10**6)), max_size=40))
def test_the_first_of_a_run_and_code_whatever_the_codes(pairs):
    """Codes may be few and large, which is another way through."""
    run, code = np.array(pairs, np.int64).reshape(-1, 2).T
    assert first_of(run, code).tolist() == [pairs.index(pair) for pair in pairs]
