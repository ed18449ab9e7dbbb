"""Allocation and debug events: real and built dumps against the official reader, odd ones.

`data/inspector/untimed_events.jsonl` holds what flatc of ExecuTorch 1.5.1 reads with ExecuTorch's
schema: dump, event block, its bundled input index, position of the event, the event (strides left
out, the allocator's name looked up).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders.etdump_writer import (
    ABSENT,
    F32,
    STRING,
    TENSOR,
    Event,
    Missing,
    Run,
    Single,
    Tensor,
    write_dump,
)
from tests.paths import DATA
from viewer.codecs.reading import ReadCancelled, UnreadableFile, never_cancelled, no_progress
from viewer.formats.executorch.etdump import reader as etdump
from viewer.model.trace import RunKind, Trace, UntimedKind, ValueType
from viewer.model.untimed import identifier_of, type_name, value_text, values_of, values_summary

OFFICIAL = [
    json.loads(line)
    for line in (DATA / "inspector" / "untimed_events.jsonl").read_text().splitlines()
]
DTYPES = {"FLOAT": "f32", "LONG": "i64", "BFLOAT16": "bf16", "CHAR": "i8", "BOOL": "bool",
          "FLOAT8E4M3FN": "f8e4m3fn"}  # fmt: skip


def read(path: Path) -> Trace:
    trace = etdump.FORMAT.read(str(path), no_progress, never_cancelled)
    assert isinstance(trace, Trace)
    return trace


@pytest.fixture
def dump(tmp_path: Path) -> Callable[..., Trace]:
    """Writes event blocks and reads them back."""

    def write(*runs: Run, generation: str = "G3") -> Trace:
        return read(write_dump(tmp_path / "built.etdp", runs, generation=generation))

    return write


def execute(*events: Event, **more: Any) -> Run:
    return Run("Execute", events, **more)


def call(instruction: int, start: int, name: str = "OPERATOR_CALL") -> Event:
    return {"name": name, "instruction": instruction, "start": start, "end": start + 5}


def debug(value: Any, instruction: int = 0, **more: Any) -> Event:
    return {"debug": value, "instruction": instruction, **more}


def problems(trace: Trace) -> dict[str, int]:
    return {p.kind: p.count for p in trace.problems}


def source_rows(trace: Trace, slices: np.ndarray) -> list[int]:
    """The events of some slices, -1 for none."""
    return [int(trace.slices.source_row[i]) if i >= 0 else -1 for i in slices.tolist()]


# -- against the official reader -------------------------------------------------------------------


def tensor(told: dict[str, Any]) -> str:
    sizes = " × ".join(map(str, told["sizes"])) or "scalar"
    return f"{DTYPES[told['scalar_type']]} {sizes}"


def official_value(entry: dict[str, Any]) -> str:
    match entry["val"]:
        case "Tensor":
            return tensor(entry["tensor"])
        case "TensorList":
            shown = [tensor(t) for t in entry["tensor_list"]["tensors"]]
            more = ["…"] if len(shown) > 3 else []
            return f"{len(shown)} tensors: {', '.join(shown[:3] + more)}"
        case "Null":
            return "null"
        case name:
            told = entry[f"{name.lower()}_value"][f"{name.lower()}_val"]
            return str(told).lower() if isinstance(told, bool) else str(told)


@pytest.mark.parametrize("name", sorted({line[0] for line in OFFICIAL}))
def test_every_field_is_what_the_official_reader_reads(name):
    trace = read(DATA / "etdump" / f"{name}.etdp")
    events = trace.untimed
    lines = [line[1:] for line in OFFICIAL if line[0] == name]
    assert trace.problems == ()
    assert events.source_row.tolist() == [row for _, _, row, _ in lines]
    assert events.block.tolist() == [block for block, _, _, _ in lines]
    for i, (_, bundled, _, event) in enumerate(lines):
        if events.run[i] >= 0:
            assert trace.runs[events.run[i]].bundled_input == bundled
        if "allocation_event" in event:
            told = event["allocation_event"]
            assert events.kind[i] == UntimedKind.ALLOCATION
            assert events.name.value(i) == told["allocator"]
            assert events.size.value(i) == told["allocation_size"]
            assert value_text(events, i) == ""
            continue
        told = event["debug_event"]
        assert events.kind[i] == UntimedKind.DEBUG
        assert events.name.value(i) == told.get("name")
        number, text = told["delegate_debug_id_int"], told.get("delegate_debug_id_str")
        assert identifier_of(events, i) == (text if number == -1 else number)
        on_chain = told["chain_index"] < 1 << 63
        assert events.chain.value(i) == told["chain_index"] - (0 if on_chain else 1 << 64)
        assert events.instruction.value(i) == (told["instruction_id"] if on_chain else None)
        entry = told["debug_entry"]
        assert value_text(events, i) == official_value(entry)
        assert type_name(events, i).replace(" ", "") == entry["val"].lower()
        assert events.output[i] == entry.get("output", {}).get("bool_val", False)
        assert events.offset.value(i) == entry.get("tensor", {}).get("offset")


# -- where they belong -----------------------------------------------------------------------------


def test_order_is_known_by_the_event_before_and_the_call_by_the_event_behind(dump):
    trace = dump(
        execute(
            debug(1, 0),
            debug(2, 0),
            call(0, 110, "native_call_a"),
            call(0, 105),
            {"allocation": (1, 64)},
            debug(3, 1),
            call(1, 130, "DELEGATE_CALL"),
            {"name": "Method::execute", "chain": -1, "instruction": 0, "start": 100, "end": 200},
            debug(4, 0, chain=-1, output=True),
        )
    )
    events = trace.untimed
    assert source_rows(trace, events.after) == [-1, -1, 3, 3, 7]
    assert source_rows(trace, events.call) == [3, 3, -1, 6, -1]
    assert events.run.tolist() == [0] * 5
    assert trace.name(int(events.call[3])) == "DELEGATE_CALL"
    assert values_of(events, int(events.call[0])).tolist() == [0, 1]
    assert [events.chain.value(i) for i in (2, 4)] == [None, -1]


def test_a_value_belongs_to_the_turn_of_the_loop_that_it_was_logged_in(dump):
    trace = dump(execute(debug(1), call(0, 100), debug(2), call(0, 200), debug(3)))
    assert source_rows(trace, trace.untimed.call) == [1, 3, -1]


def test_a_value_never_belongs_to_another_run_or_chain(dump):
    trace = dump(
        execute(debug(1), call(1, 100)),
        execute(debug(2, chain=3), debug(3, chain=1 << 32), call(0, 200)),
    )
    assert source_rows(trace, trace.untimed.call) == [-1, -1, -1]
    assert trace.untimed.run.tolist() == [0, 1, 1]


def test_a_value_of_a_delegate_belongs_to_the_event_of_its_identifier(dump):
    trace = dump(
        execute(
            debug(1, 0, number=7),
            {"number": 7, "instruction": 0, "start": 101, "end": 102},
            {"text": "7", "instruction": 0, "start": 102, "end": 103},
            debug(2, 0, text="7"),
            debug(3, 0, text="unheard of"),
            call(0, 100, "DELEGATE_CALL"),
            debug(4, 0, number=7),
            {"number": 7, "instruction": 2, "start": 111, "end": 112},
        ),
        execute({"number": 7, "instruction": 0, "start": 201, "end": 202}),
    )
    assert source_rows(trace, trace.untimed.call) == [1, 2, -1, 1]
    assert [identifier_of(trace.untimed, i) for i in range(4)] == [7, "7", "unheard of", 7]


def test_what_a_load_and_the_steps_after_it_log_is_parted_like_their_slices(dump):
    load = [
        {"allocation": (1, 10)},
        {"name": "Method::init", "chain": -1, "instruction": 0, "start": 10, "end": 20},
        {"name": "Program::load_method", "chain": -1, "instruction": 0, "start": 5, "end": 25},
    ]
    trace = dump(Run("Default", [*load, debug(1), call(0, 100), debug(2, 5)]))
    kinds = [trace.runs[run].kind for run in trace.untimed.run.tolist()]
    assert kinds == [RunKind.LOAD, RunKind.INFERENCE, RunKind.INFERENCE]


def test_blocks_and_files_without_a_single_time_are_read(dump):
    alone = dump(execute({"allocation": (1, 5)}), Run(None, []), Run("Default", [debug(2)]))
    assert len(alone.slices) == 0
    assert alone.runs == ()
    assert alone.untimed.run.tolist() == [-1, -1]
    assert alone.untimed.block.tolist() == [0, 2]
    assert alone.untimed.blocks == ("Execute", "", "Default")
    beside = dump(execute(debug(1)), execute(call(0, 10)), execute(debug(3)))
    assert beside.untimed.run.tolist() == [-1, -1]
    assert beside.untimed.after.tolist() == [-1, -1]


def test_events_may_be_many_more_than_fit_one_chunk(dump, monkeypatch):
    monkeypatch.setattr("viewer.formats.executorch.etdump.events._CHUNK", 7)
    events = [e for i in range(40) for e in (debug(Tensor(F32, (i % 3, 2))), call(0, 10 * i))]
    trace = dump(execute(*events))
    assert source_rows(trace, trace.untimed.call) == list(range(1, 80, 2))
    assert trace.untimed.tensors == ("f32 0 × 2", "f32 1 × 2", "f32 2 × 2")


# -- generations -----------------------------------------------------------------------------------


def test_the_first_generation_tells_only_how_many_values_there_are(dump):
    trace = dump(
        execute({"allocation": (1, 5)}, debug([5, 5, 1], 4), debug([], 5), call(4, 10)),
        generation="G1",
    )
    events = trace.untimed
    assert trace.generation == "G1"
    assert [value_text(events, i) for i in range(3)] == ["", "3 values", ""]
    assert events.name.value(0) == "method_allocator"
    assert events.instruction.value(1) == 4
    assert source_rows(trace, events.call) == [-1, 3, -1]
    assert problems(trace) == {"debug event without a value": 1}
    assert [run.bundled_input for run in trace.runs] == [-1]


def test_the_second_generation_has_values_but_no_names(dump):
    trace = dump(execute(debug(Tensor(F32, (1, 8))), call(0, 10)), generation="G2")
    assert trace.generation == "G2/G3"
    assert value_text(trace.untimed, 0) == "f32 1 × 8"
    assert dump(execute(debug(1, name="x"), call(0, 10))).generation == "G3"


# -- values ----------------------------------------------------------------------------------------


def test_tensors_tell_their_bytes_where_the_dtype_tells(dump):
    shapes = [
        (F32, (2, 3)),
        (11, ()),
        (16, (8,)),
        (F32, (2**40, 2**40)),
        (F32, (-1, 4)),
        (99, (1,)),
    ]
    trace = dump(execute(*(debug(Tensor(*shape)) for shape in shapes), call(0, 1)))
    events = trace.untimed
    assert [events.size.value(i) for i in range(6)] == [24, 1, None, None, None, None]
    assert [value_text(events, i) for i in range(6)] == [
        "f32 2 × 3", "bool scalar", "qu4x2 8", f"f32 {2**40} × {2**40}", "f32 -1 × 4",
        "scalar type 99 1",
    ]  # fmt: skip
    assert problems(trace) == {
        "tensor with a negative size": 1, "tensor of an unknown scalar type": 1,
    }  # fmt: skip


def test_scalars_are_written_as_short_as_they_are_exact(dump):
    values = [Single(0.1), 0.1, Single(float("nan")), float("-inf"), 1e300, 2**63 - 1, -(2**63)]
    trace = dump(execute(*map(debug, values), call(0, 1)))
    assert [value_text(trace.untimed, i) for i in range(7)] == [
        "0.1", "0.1", "nan", "-inf", "1e+300", "9223372036854775807", "-9223372036854775808"
    ]  # fmt: skip


def test_equal_values_are_told_together(dump):
    values = [Tensor(F32, (1, 8)), Tensor(F32, (2, 8)), Tensor(F32, (1, 8)), 5, None]
    events = dump(execute(*map(debug, values), call(0, 1))).untimed
    which = values_of(events, int(events.call[0]))
    assert values_summary(events, which) == "5 values: 2 f32 1 × 8, f32 2 × 8, int, null"
    assert values_summary(events, which, most=2) == "5 values: 2 f32 1 × 8, f32 2 × 8, …"


def test_shapes_that_hash_alike_stay_apart(dump, monkeypatch):
    monkeypatch.setattr("viewer.formats.executorch.etdump.untimed.ODD", np.uint64(0))
    shapes = [(1, 2), (2, 1), (1, 2), (3,), ()]
    events = dump(execute(*(debug(Tensor(F32, s)) for s in shapes), call(0, 1))).untimed
    assert [value_text(events, i) for i in range(5)] == [
        "f32 1 × 2", "f32 2 × 1", "f32 1 × 2", "f32 3", "f32 scalar"
    ]  # fmt: skip


# -- odd and hostile data --------------------------------------------------------------------------


def test_allocators_that_no_one_listed_are_called_by_their_number(dump):
    ids = (0, 3, -5, 2**31 - 1, 2, 1)
    trace = dump(
        execute(*({"allocation": (i, 2**64 - 1)} for i in ids), allocators=("a", None)),
        execute({"allocation": (1, 0)}, allocators=()),
    )
    events = trace.untimed
    assert [events.name.value(i) for i in range(7)] == [
        "allocator 0", "allocator 3", "allocator -5", "allocator 2147483647", "allocator 2", "a",
        "allocator 1",
    ]  # fmt: skip
    assert [events.size.value(i) for i in range(7)] == [2**64 - 1] * 6 + [0]
    assert problems(trace) == {"allocation from an allocator that its run does not list": 5}


def test_events_without_content_and_values_without_theirs_are_counted(dump):
    values = [ABSENT, Missing(STRING), Missing(TENSOR), Missing(77), Missing(0)]
    trace = dump(execute({}, *map(debug, values), call(0, 1)))
    assert problems(trace) == {
        "events without content: left out": 1,
        "debug event without a value": 1,
        "debug value is a string: ETDump does not store its text": 1,
        "debug value without its tensor": 1,
        "debug value of an unknown type": 1,
    }
    assert trace.untimed.type.tolist() == [
        ValueType.NONE, ValueType.STRING, ValueType.NONE, ValueType.NONE, ValueType.NULL
    ]  # fmt: skip
    assert {p.first for p in trace.problems} == {
        "event 0",
        "event 1",
        "event 2",
        "event 3",
        "event 4",
    }


def test_a_tensor_of_too_many_dimensions_is_told_by_their_number(dump):
    trace = dump(execute(debug(Tensor(F32, [1] * 17)), debug(Tensor(F32, [1] * 16)), call(0, 1)))
    assert value_text(trace.untimed, 0) == "f32, 17 dimensions"
    assert value_text(trace.untimed, 1) == "f32 " + " × ".join("1" * 16)
    assert problems(trace) == {"tensor of more than 16 dimensions": 1}


def test_vectors_longer_than_the_file_are_an_error(tmp_path):
    path = write_dump(tmp_path / "d.etdp", [execute(debug(Tensor(F32, (123456789, 5))))])
    data = path.read_bytes()
    at = data.index(struct.pack("<Iq", 2, 123456789))
    path.write_bytes(data[:at] + struct.pack("<I", 1 << 31) + data[at + 4 :])
    with pytest.raises(UnreadableFile, match="sizes of a tensor is outside the file"):
        read(path)


def test_reading_can_be_cancelled(tmp_path):
    path = write_dump(tmp_path / "d.etdp", [execute(*map(debug, range(50)))])
    answers = iter([False, True, True])
    with pytest.raises(ReadCancelled):
        etdump.FORMAT.read(str(path), no_progress, lambda: next(answers))
