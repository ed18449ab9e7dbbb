"""ETDumps: real ones against the official Inspector and a scalar walker, odd ones built here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from flatbuffers import encode
from flatbuffers import number_types as n
from flatbuffers.table import Table

from tests import paths
from tests.builders.etdump_cases import (
    DUMPS,
    EXECUTE,
    LOAD,
    READABLE,
    REAL,
    WHOLE,
    column,
    read,
    read_path,
    rows,
    slices_by_row,
)
from tests.builders.etdump_writer import Event, delegate, framework, operator
from tests.paths import DATA
from viewer.codecs.reading import ReadCancelled, UnreadableFile, never_cancelled, no_progress
from viewer.formats.executorch.etdump import reader as etdump
from viewer.model.queries import children_of, foreign
from viewer.model.timing import TIMING_TEXTS, timings
from viewer.model.trace import KeyKind, Trace

GOLDENS = DATA / "inspector"
SNAPSHOTS = paths.SNAPSHOTS / "etdump"


# -- two other readers of the same file: slow, and plain to check ----------------------------------
CONV, ADD = "Convolution (NHWC, F32) IGEMM #1", "Add (ND, F32) #1"


def walk(path: Path, events_slot: int = 3) -> Iterator[Event]:
    """Every profile event, one field at a time, through the official flatbuffers package."""
    data = path.read_bytes()
    base = 0 if data[4:8] == b"ED00" else 4
    root = Table(data, base + encode.Get(n.UOffsetTFlags.packer_type, data, base))

    def number(table: Table, slot: int, flags: Any, default: int) -> int:
        return table.GetSlot(4 + 2 * slot, default, flags)

    def text(table: Table, slot: int) -> bytes | None:
        o = table.Offset(4 + 2 * slot)
        return bytes(table.String(table.Pos + o)) if o else None

    def tables(table: Table, slot: int) -> list[Table]:
        o = table.Offset(4 + 2 * slot)
        if not o:
            return []
        start = table.Vector(o)
        return [Table(data, table.Indirect(start + 4 * i)) for i in range(table.VectorLen(o))]

    row = 0
    for run, block in enumerate(tables(root, 1)):
        for event in tables(block, events_slot):
            o = event.Offset(4)
            if o:
                profile = Table(data, event.Indirect(event.Pos + o))
                yield {
                    "row": row,
                    "run": run,
                    "name": text(profile, 0),
                    "chain": number(profile, 1, n.Int32Flags, 0),
                    "instruction": number(profile, 2, n.Int32Flags, -1),
                    "number": number(profile, 3, n.Int32Flags, -1),
                    "text": text(profile, 4),
                    "metadata": text(profile, 5),
                    "start": number(profile, 6, n.Uint64Flags, 0),
                    "end": number(profile, 7, n.Uint64Flags, 0),
                }
            row += 1


@pytest.mark.parametrize("name", READABLE)
def test_every_field_is_what_the_flatbuffers_package_reads(name):
    trace = read(name)
    where = slices_by_row(trace)
    events = list(walk(DUMPS / f"{name}.etdp"))
    assert len(events) == len(trace.slices) - trace.slices.derived_count
    for event in events:
        i = where[event["row"]]
        key = int(trace.slices.key[i])
        identifier = event["number"] if event["number"] != -1 else event["text"]
        if isinstance(identifier, bytes):
            identifier = identifier.decode()
        assert trace.keys.identifier[key] == identifier
        assert type(trace.keys.identifier[key]) is type(identifier)
        assert trace.name(i) == (
            str(identifier) if event["name"] is None else event["name"].decode()
        )
        on_chain = event["chain"] >= 0
        assert trace.keys.instruction[key] == (event["instruction"] if on_chain else -1)
        expected = event["instruction"] if on_chain and event["instruction"] >= 0 else None
        assert column(trace, "instruction_id", i) == expected
        shown = column(trace, "metadata", i)
        assert (shown or "") in ((event["metadata"] or b"").decode("latin-1"),
                                 (event["metadata"] or b"").hex())  # fmt: skip
        native = column(trace, "native_dur", i)
        if native is not None:
            assert native == event["end"] - event["start"]
        else:
            wrapped = event["end"] < event["start"]
            assert trace.slices.start[i] == event["start"]
            assert trace.slices.end[i] == event["end"] + (wrapped << 32)


@pytest.mark.parametrize("golden", sorted(p.stem for p in GOLDENS.glob("*.json")))
def test_durations_are_those_of_the_official_inspector(golden):
    answer = json.loads((GOLDENS / f"{golden}.json").read_text())
    if "event_blocks" not in answer or not (DUMPS / f"{answer['etdump']}.etdp").exists():
        pytest.skip("not an Inspector answer for a dump of this folder")
    trace = read(answer["etdump"])
    where = slices_by_row(trace)
    runs: dict[int, dict[tuple[Any, ...], int]] = {}
    for event in walk(DUMPS / f"{answer['etdump']}.etdp"):
        i = where[event["row"]]
        key = int(trace.slices.key[i])
        instruction = int(trace.keys.instruction[key]) if event["chain"] >= 0 else 0
        # Inspector keeps the last of several equal events in a run.
        identity = (trace.name(i), trace.keys.identifier[key], instruction)
        runs.setdefault(event["run"], {})[identity] = i
    blocks: dict[tuple[Any, ...], list[dict[tuple[Any, ...], int]]] = {}
    for number, found in enumerate(runs.values()):
        signature = (trace.runs[number].name, tuple(found))
        blocks.setdefault(signature, []).append(found)

    assert len(blocks) == len(answer["event_blocks"])
    for (signature, ours), block in zip(blocks.items(), answer["event_blocks"], strict=True):
        assert signature[0] == block["name"]
        theirs = {
            (e["name"], e["delegate_debug_identifier"], e["instruction_id"]): e
            for e in block["events"]
        }
        assert list(theirs) == list(signature[1])
        for identity, event in theirs.items():
            mine = [found[identity] for found in ours]
            native = [column(trace, "native_dur", i) for i in mine]
            length = [
                int(trace.slices.end[i] - trace.slices.start[i]) if own is None else own
                for i, own in zip(mine, native, strict=True)
            ]
            assert event["perf_raw"] == pytest.approx([ns / 1e6 for ns in length], abs=1e-9)
            if native[0] is None:
                assert event["start_time"] == trace.slices.start[mine].tolist()


# -- what a person sees ----------------------------------------------------------------------------


def picture(trace: Trace) -> str:
    """The trace as text: tracks, runs, rows, keys, and count and length of slices by key."""
    s, k = trace.slices, trace.keys
    lines = [f"{trace.format} {trace.generation}, {trace.clock}"]
    lines += [f"problem: {p.count} x {p.kind} [{p.first}]" for p in trace.problems]
    lines += [f"track {t.process} > {t.thread}" for t in trace.tracks]
    lines += [
        f"run {r.kind.name} {r.number} {r.name!r} on {trace.tracks[r.track].thread}, "
        f"scope {trace.scopes[r.scope].name}, {r.start} .. {r.end}"
        for r in trace.runs
    ]
    count = np.diff(s.row_ptr).tolist()
    lines += [
        f"row {trace.tracks[t].thread} lane {lane} depth {depth}: {c} slices"
        for t, lane, depth, c in zip(
            s.row_track.tolist(), s.row_lane.tolist(), s.row_depth.tolist(), count, strict=True
        )
    ]
    depth = s.row_depth[s.rows()]
    times = np.bincount(s.key, minlength=len(k))
    length = np.bincount(s.key, weights=s.end - s.start, minlength=len(k))
    for i in range(len(k)):
        own = np.flatnonzero(s.key == i)
        at = ",".join(map(str, np.unique(depth[own])))
        lines.append(
            f"{KeyKind(int(k.kind[i])).name:14} {trace.scopes[int(k.scope[i])].name:9} "
            f"instruction {int(k.instruction[i]):3} depth {at:3} {times[i]:4} x "
            f"{int(length[i]):9} {trace.strings[int(k.name[i])]!r}"
            + (f" id {k.identifier[i]!r}" if k.identifier[i] is not None else "")
        )
    for name, values in s.columns.items():
        shown = sorted({str(values.value(i)) for i in range(len(s))})
        lines.append(f"column {name}: {len(shown)} values: {'; '.join(shown[:12])}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", READABLE)
def test_picture(name):
    """Set UPDATE_SNAPSHOTS=1 to write the pictures anew, and read the difference."""
    text = picture(read(name))
    file = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", WHOLE)
def test_real_dumps_have_no_problems(name):
    assert read(name).problems == ()


@pytest.mark.parametrize("name", WHOLE)
def test_real_dumps_nest_as_execute_instruction_kernel(name):
    trace = read(name)
    s = trace.slices
    assert not [p for p in trace.problems if "levels" in p.kind]
    assert set(s.row_depth.tolist()) == {0, 1, 2}
    assert not s.row_lane.any()
    depth = s.row_depth[s.rows()]
    kind = trace.keys.kind[s.key]
    for i in range(len(s)):
        name = trace.name(i)
        if name in ("Method::execute", "Program::load_method"):
            assert depth[i] == 0
        elif kind[i] in (KeyKind.KERNEL, KeyKind.DELEGATE_EVENT, KeyKind.UNATTRIBUTED):
            assert depth[i] == 2
        else:
            assert depth[i] == 1


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("g1", [True, False])
def test_all_generations_and_prefixes_read_alike(dump, prefix, g1):
    path = dump(LOAD, EXECUTE, prefix=prefix, g1=g1)
    assert etdump.FORMAT.sniff(path.read_bytes()[:4096])
    trace = read_path(path)
    assert trace.generation == ("G1" if g1 else "G2/G3")
    assert trace.problems == ()
    assert rows(trace) == [
        ("Program::load_method", 0, 5, 25),
        ("Method::init", 1, 10, 20),
        ("Method::execute", 0, 100, 140),
        ("OPERATOR_CALL", 1, 105, 125),
        ("native_call_add.out", 2, 110, 120),
        ("MOVE_CALL", 1, 130, 131),
    ]


def test_allocators_are_not_taken_for_the_events_of_the_first_generation(dump):
    trace = read_path(dump(("Execute", [])))
    assert trace.generation == "G2/G3"
    assert [(p.kind, p.count) for p in trace.problems] == [("run without events", 1)]


def test_a_run_that_was_cut_off_keeps_its_nesting(dump):
    trace = read_path(dump(("Execute", [*EXECUTE[1][:3], operator("native_call_b", 2, 132, 133)])))
    assert rows(trace) == [
        ("OPERATOR_CALL", 0, 105, 125),
        ("native_call_add.out", 1, 110, 120),
        ("MOVE_CALL", 0, 130, 131),
        ("native_call_b", 0, 132, 133),
    ]
    assert trace.problems == ()


def test_scopes_inside_a_call_or_beside_it_find_their_level(dump):
    events = [
        framework("custom", 111, 112),
        operator("native_call_add.out", 0, 113, 120),
        operator("OPERATOR_CALL", 0, 105, 125),
        framework("copy inputs", 126, 129),
        framework("Method::execute", 100, 140),
        framework("Method::execute", 150, 160),
    ]
    assert rows(read_path(dump(("Execute", events)))) == [
        ("Method::execute", 0, 100, 140),
        ("OPERATOR_CALL", 1, 105, 125),
        ("custom", 2, 111, 112),
        ("native_call_add.out", 2, 113, 120),
        ("copy inputs", 1, 126, 129),
        ("Method::execute", 0, 150, 160),
    ]


def test_repeated_events_of_a_run_are_all_kept(dump):
    events = [operator("native_call_add.out", 0, t, t + 5) for t in (101, 111, 121)]
    trace = read_path(dump(("Execute", [*events, framework("Method::execute", 100, 140)])))
    assert rows(trace)[1:] == [("native_call_add.out", 1, t, t + 5) for t in (101, 111, 121)]
    assert len(trace.keys) == 2


# -- delegates -------------------------------------------------------------------------------------


def test_integer_and_text_identifiers_stay_apart(dump):
    events = [
        delegate(1, 0, 110, 111),
        delegate("1", 0, 112, 113),
        delegate(0, 0, 114, 114),
        operator("DELEGATE_CALL", 0, 105, 120),
    ]
    trace = read_path(dump(("Execute", events)))
    found = trace.keys.identifier[trace.keys.kind == KeyKind.DELEGATE_EVENT].tolist()
    assert found == [1, "1", 0]
    assert [type(i) for i in found] == [int, str, int]
    assert "native_dur" not in trace.slices.columns


def test_metadata_is_text_or_hexadecimal(dump):
    events = [
        delegate(1, 0, 1, 2, metadata='{"µ": 1}'.encode()),
        delegate(2, 0, 2, 3, metadata=b"\xff\x00"),
        delegate(3, 0, 3, 4, metadata=b"\x01"),
        delegate(4, 0, 4, 5, metadata=b""),
        delegate(5, 0, 5, 6),
    ]
    trace = read_path(dump(("Execute", events)))
    where = slices_by_row(trace)
    assert [column(trace, "metadata", where[i]) for i in range(5)] == [
        '{"µ": 1}', "ff00", "01", None, None
    ]  # fmt: skip


# -- odd data --------------------------------------------------------------------------------------


def test_times_that_do_not_fit_are_left_out_and_counted(dump):
    events = [
        operator("OPERATOR_CALL", 0, 1, 1 << 63),
        operator("OPERATOR_CALL", 1, 1, 1 << 62),
        operator("OPERATOR_CALL", 2, 2, 3),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace) == [("OPERATOR_CALL", 0, 2, 3)]
    assert trace.slices.source_row.tolist() == [2]
    assert [(p.kind, p.count, p.first) for p in trace.problems] == [
        ("times of 2^62 and more: left out", 2, "event 0")
    ]


def test_a_wrapped_32_bit_counter_is_mended_and_a_backwards_one_is_not(dump):
    high = 1 << 32
    events = [
        operator("OPERATOR_CALL", 0, high - 10, 5), operator("OPERATOR_CALL", 1, high + 50, 20)
    ]  # fmt: skip
    trace = read_path(dump(("Execute", events)))
    assert rows(trace) == [
        ("OPERATOR_CALL", 0, high - 10, high + 5), ("OPERATOR_CALL", 0, high + 50, high + 50)
    ]  # fmt: skip
    assert [p.count for p in trace.problems] == [1, 1]


def test_events_without_a_name_get_one(dump):
    trace = read_path(dump(("Execute", [operator("", 3, 1, 2), {"start": 2, "end": 3}])))
    assert [row[0] for row in rows(trace)] == ["event", "event"]
    assert trace.keys.kind.tolist() == [KeyKind.PLAIN, KeyKind.PLAIN]
    assert [(p.kind, p.count) for p in trace.problems] == [
        ('event without a name: called "event"', 2)
    ]


def test_text_that_is_not_utf8_is_shown_and_counted(dump):
    path = dump(("Execute", [operator("native_call_XYZ.out", 0, 1, 2)]))
    path.write_bytes(path.read_bytes().replace(b"XYZ", b"X\xffZ"))
    trace = read_path(path)
    assert trace.strings == ("native_call_X\ufffdZ.out",)
    assert [p.count for p in trace.problems] == [1]


def test_other_chains_are_a_column(dump):
    trace = read_path(dump(("Execute", [operator("OPERATOR_CALL", 0, 1, 2, chain=2)])))
    assert column(trace, "chain", 0) == 2
    assert "chain" not in read("cnn_portable_x1").slices.columns


def test_events_outside_any_call_are_nested_by_time(dump):
    events = [
        delegate("late", 0, 500, 600),
        framework("Method::execute", 100, 140),
        delegate("early", 0, 10, 20),
    ]
    trace = read_path(dump(("Execute", events)))
    assert sorted(rows(trace)) == [
        ("Method::execute", 0, 100, 140), ("early", 0, 10, 20), ("late", 0, 500, 600)
    ]  # fmt: skip
    assert ["levels contradict" in p.kind for p in trace.problems] == [True]


# -- broken files ----------------------------------------------------------------------------------


def test_broken_files_name_the_place_and_the_remedy():
    assert not etdump.FORMAT.sniff((DUMPS / "BAD_empty.etdp").read_bytes())
    assert not etdump.FORMAT.sniff((DUMPS / "BAD_zip.etdp").read_bytes())
    with pytest.raises(UnreadableFile) as caught:
        read("BAD_truncated")
    assert caught.value.where == "byte 7712"
    assert "should have 15424 bytes" in caught.value.reason
    assert "copy it again" in caught.value.remedy
    for name in ("BAD_empty", "BAD_zip"):
        with pytest.raises(UnreadableFile, match="not an ETDump"):
            read(name)
    with pytest.raises(UnreadableFile, match="No such file"):
        read("missing")


def test_every_cut_of_an_unprefixed_dump_is_an_error_or_a_trace(tmp_path):
    data = (DUMPS / "noprefix_small.etdp").read_bytes()
    path = tmp_path / "cut.etdp"
    for size in range(len(data)):
        path.write_bytes(data[:size])
        try:
            assert len(read_path(path).slices) <= 4
        except UnreadableFile as error:
            assert error.where.startswith("byte ")  # noqa: PT017


def test_runs_that_share_one_list_cannot_blow_up(tmp_path):
    """One list of 1000 events under 1000 runs would be a million events out of a few KB."""
    b = flatbuffers.Builder(1024)

    def vector(offset: int) -> int:
        b.StartVector(4, 1000, 4)
        for _ in range(1000):
            b.PrependUOffsetTRelative(offset)
        return b.EndVector()

    b.StartObject(3)
    events = vector(b.EndObject())
    b.StartObject(4)
    b.PrependUOffsetTRelativeSlot(3, events, 0)
    runs = vector(b.EndObject())
    b.StartObject(2)
    b.PrependUOffsetTRelativeSlot(1, runs, 0)
    b.FinishSizePrefixed(b.EndObject(), b"ED00")
    path = tmp_path / "shared.etdp"
    path.write_bytes(bytes(b.Output()))
    assert path.stat().st_size < 10_000
    with pytest.raises(UnreadableFile, match="events overlap: they claim 1000000 elements"):
        read_path(path)


def test_reading_reports_progress_and_can_be_cancelled():
    path = str(DUMPS / "deep_portable_x3.etdp")
    seen: list[tuple[int, int]] = []
    etdump.FORMAT.read(path, lambda done, total: seen.append((done, total)), never_cancelled)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1] == os.path.getsize(path)
    for patience in range(3):
        answers = iter([False] * patience + [True] * 10)
        with pytest.raises(ReadCancelled):
            etdump.FORMAT.read(path, no_progress, lambda answers=answers: next(answers))


def times_of(trace: Trace) -> dict[str, str]:
    """Name -> where its time comes from."""
    names = [trace.name(i) for i in range(len(trace.slices))]
    texts = [TIMING_TEXTS[timing] for timing in timings(trace.slices).tolist()]
    return dict(zip(names, texts, strict=True))


def test_events_of_xnnpack_are_placed_and_rounded(dump):
    events = [
        delegate(CONV, 0, 1_234, 3_234),
        delegate(ADD, 0, 3_234, 3_234),
        operator("DELEGATE_CALL", 0, 1_000, 5_000),
        framework("Method::execute", 900, 6_000),
    ]
    assert times_of(read_path(dump(("Execute", events)))) == {
        CONV: "placed, rounded",
        ADD: "placed, rounded",
        "DELEGATE_CALL": "measured",
        "Method::execute": "measured",
        "unattributed": "derived",
    }


@pytest.mark.parametrize("odd", [(1_234, 3_235), (3_300, 4_300)])
def test_an_event_that_is_no_whole_us_shows_that_its_call_is_not_rounded(dump, odd):
    """Either its duration, or its start counted from the first event of the call."""
    first, second = (odd, (3_235, 3_235)) if odd[0] == 1_234 else ((1_234, 3_234), odd)
    events = [
        delegate(CONV, 0, *first),
        delegate(ADD, 0, *second),
        operator("DELEGATE_CALL", 0, 1_000, 5_000),
        delegate("Softmax (NC, F32) #1", 1, 7_000, 9_000),
        operator("DELEGATE_CALL", 1, 6_500, 9_500),
        framework("Method::execute", 900, 10_000),
    ]
    found = times_of(read_path(dump(("Execute", events))))
    assert (found[CONV], found[ADD]) == ("placed", "placed")
    assert found["Softmax (NC, F32) #1"] == "placed, rounded"


@pytest.mark.parametrize("other", ["conv_1", "Custom Op #1", 7])
def test_one_name_of_xnnpack_among_those_of_another_backend_is_measured(dump, other):
    events = [
        delegate(CONV, 0, 1_000, 3_000),
        delegate(other, 0, 3_000, 4_000),
        operator("DELEGATE_CALL", 0, 900, 5_000),
        delegate(ADD, 1, 6_000, 7_000),
        operator("DELEGATE_CALL", 1, 5_900, 8_000),
        framework("Method::execute", 800, 9_000),
    ]
    found = times_of(read_path(dump(("Execute", events))))
    assert (found[CONV], found[str(other)]) == ("measured", "measured")
    assert found[ADD] == "placed, rounded"


@pytest.mark.parametrize("name", ["Invalid Unary Op #1", "Convolution (NHWC, F32) IGEMM #12"])
def test_operators_that_xnnpack_made_itself_are_placed_and_rounded(dump, name):
    events = [
        delegate(name, 0, 1_000, 3_000),
        delegate(ADD, 0, 3_000, 4_000),
        operator("DELEGATE_CALL", 0, 900, 5_000),
        framework("Method::execute", 800, 9_000),
    ]
    found = times_of(read_path(dump(("Execute", events))))
    assert (found[name], found[ADD]) == ("placed, rounded", "placed, rounded")


def test_the_name_alone_is_not_enough_outside_of_a_delegate_call(dump):
    events = [delegate(CONV, 0, 1_000, 3_000), framework("Method::execute", 900, 4_000)]
    assert times_of(read_path(dump(("Execute", events))))[CONV] == "measured"


def test_costs_in_the_metadata_of_core_ml_are_estimates(dump):
    cost = json.dumps({"operatorName": "ios17.conv", "estimatedCost": 0.25}).encode()
    other = json.dumps({"operatorName": "estimatedCost"}).encode()
    events = [
        delegate("conv", 0, 1_100, 1_500, metadata=cost),
        delegate("relu", 0, 1_500, 1_700, metadata=other),
        delegate("add", 0, 1_700, 1_800, metadata=b'{"estimatedCost": '),
        delegate("mul", 0, 1_800, 1_900, metadata=cost + b"\0"),
        operator("DELEGATE_CALL", 0, 1_000, 2_000),
        framework("Method::execute", 900, 3_000),
    ]
    found = times_of(read_path(dump(("Execute", events))))
    assert [found[n] for n in ("conv", "relu", "add")] == ["estimated", "measured", "measured"]
    assert found["mul"] == "estimated"  # some delegates log the NUL at the end of the text too


def test_events_on_a_clock_of_their_own_are_placed():
    trace = read("SYN_qnn_like")
    placed = [TIMING_TEXTS[t] for t in timings(trace.slices)[foreign(trace.slices)].tolist()]
    assert placed == ["placed"] * 3


@pytest.mark.parametrize("name", ["attn_xnnpack_x5", "cnn_xnnpack_x10"])
def test_all_events_of_real_dumps_are_placed_and_rounded(name):
    trace = read(name)
    is_event = trace.keys.kind[trace.slices.key] == KeyKind.DELEGATE_EVENT
    texts = {TIMING_TEXTS[t] for t in timings(trace.slices)[is_event].tolist()}
    assert texts == {"placed, rounded"}


def uncovered_of(trace: Trace) -> list[tuple[int, int]]:
    """The derived slices; nothing else may be flagged."""
    s = trace.slices
    derived = np.zeros(len(s), np.bool_) if s.derived is None else s.derived
    assert [trace.name(i) for i in np.flatnonzero(derived)] == ["unattributed"] * s.derived_count
    return [(int(s.start[i]), int(s.end[i])) for i in np.flatnonzero(derived)]


def test_what_no_event_of_a_call_covers_is_unattributed(dump):
    events = [
        delegate("a", 0, 110, 120),
        delegate("b", 0, 120, 120),
        delegate("c", 0, 150, 160),
        operator("DELEGATE_CALL", 0, 100, 160),
        operator("native_call_add.out", 1, 162, 165),
        operator("OPERATOR_CALL", 1, 161, 166),
        operator("DELEGATE_CALL", 2, 170, 190),
        framework("Method::execute", 90, 200),
    ]
    trace = read_path(dump(("Execute", events)))
    assert uncovered_of(trace) == [(100, 110), (120, 150)]
    assert trace.problems == ()
    assert rows(trace)[1:7] == [
        ("DELEGATE_CALL", 1, 100, 160),
        ("unattributed", 2, 100, 110),
        ("a", 2, 110, 120),
        ("b", 2, 120, 120),
        ("unattributed", 2, 120, 150),
        ("c", 2, 150, 160),
    ]


def test_events_that_overlap_cover_what_they_cover_together(dump):
    events = [
        delegate("inner", 0, 120, 140),
        delegate("outer", 0, 110, 150),
        delegate("late", 0, 130, 170),
        operator("DELEGATE_CALL", 0, 100, 200),
    ]
    trace = read_path(dump(("Execute", events)))
    assert uncovered_of(trace) == [(100, 110), (170, 200)]


def test_a_call_that_its_events_cover_has_nothing_unattributed(dump):
    events = [
        delegate("a", 0, 100, 120),
        delegate("b", 0, 120, 160),
        operator("DELEGATE_CALL", 0, 100, 160),
    ]
    assert uncovered_of(read_path(dump(("Execute", events)))) == []


def test_a_foreign_clock_says_nothing_about_what_it_covers(dump):
    events = [delegate("conv (cycles)", 0, 0, 5), operator("DELEGATE_CALL", 0, 100, 160)]
    assert uncovered_of(read_path(dump(("Execute", events)))) == []


@pytest.mark.parametrize("name", [n for n in REAL if "xnnpack" in n or n.startswith("demo_")])
def test_events_and_unattributed_time_add_up_to_every_call(name):
    trace = read(name)
    s, kind = trace.slices, trace.keys.kind[trace.slices.key]
    for call in np.flatnonzero(kind == KeyKind.DELEGATE_CALL).tolist():
        inner = children_of(s, call)
        if len(inner):
            assert int((s.end - s.start)[inner].sum()) == int(s.end[call] - s.start[call])
