"""`--compat` against what the official Inspector 1.5.1 wrote, byte for byte, and where it stops.

The tables in tests/data/inspector are its `save_data_to_tsv`, one per <dump>__<record>; those with
`.delegate` were made with include_delegate_debug_data=True.
"""

import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.builders.etdump_writer import Run, delegate, framework, operator, write_dump
from tests.compat.inspector.test_reference_outputs import saved
from tests.paths import TESTS
from viewer.compat.inspector import official as inspector_events
from viewer.compat.inspector import official as official_inspector
from viewer.compat.inspector import official_record as inspector_record
from viewer.compat.inspector.official_record import InspectorError

DATA = TESTS / "data"
GOLDEN = DATA / "inspector"
PLACES = (DATA / "etrecord", GOLDEN, TESTS.parent / "resources/samples/attention_xnnpack")
TABLES = sorted(path.name for path in GOLDEN.glob("*__*.tsv"))
OLD = ["cnn_ge_xnnpack_x3", "demo_generated_int_x3"]


def record_path(name: str) -> Path | None:
    if name == "none":
        return None
    return next(f for place in PLACES if (f := place / f"{name}.etrecord").exists())


def official(dump: Path, record: Path | None, source: str = "ns", target: str = "ms"):
    loaded = inspector_record.read(str(record)) if record else None
    return official_inspector.answer(*inspector_events.read(str(dump)), loaded, source, target)


def as_tsv(answer, include_metadata: bool = False) -> bytes:
    file = io.BytesIO()
    answer.sheet(include_metadata).write_tsv(file)
    return file.getvalue()


def cells(answer, column: str) -> dict[str, object]:
    """event_name -> cell; the last one of a name."""
    columns = answer.sheet().columns
    return dict(zip(columns["event_name"], columns[column], strict=True))


# -- the official answers --------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_1_5_1_byte_for_byte(name):
    dump, record = name.split(".")[0].split("__")
    found = official(DATA / "etdump" / f"{dump}.etdp", record_path(record))
    assert as_tsv(found, ".delegate." in name) == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize("name", OLD)
def test_records_of_1_0_as_1_5_1_answers_them(name):
    folder = DATA / "etrecord" / "1.0.1"
    found = official(folder / f"{name}.etdp", folder / f"{name[:-3]}.etrecord")
    assert as_tsv(found) == (folder / f"{name}.inspector_1.5.1.tsv").read_bytes()


def test_the_boxed_table_of_its_command_line():
    found = official(DATA / "etdump/demo_str_x4.etdp", record_path("demo_str"))
    expected = (GOLDEN / "cli_demo_str.stdout.txt").read_text(encoding="utf-8")
    assert "".join(f"{line}\n" for line in found.sheet().grid()) == expected


def test_fields_that_the_table_hides_are_its_too():
    """The reference holds every field of every event, OPERATOR_CALL included."""
    pairs = [p for p in sorted(GOLDEN.glob("*__*.json")) if p.with_suffix(".tsv").exists()]
    assert len(pairs) >= 10
    for path in pairs:
        dump, record = path.stem.split("__")
        expected = [
            {
                "event_name": event["name"],
                "raw": event["perf_raw"],
                "op_types": event["op_types"],
                "debug_handles": event["debug_handles"],
                "delegate_debug_identifier": event["delegate_debug_identifier"],
                "start_time": event["start_time"],
            }
            for block in json.loads(path.read_text(encoding="utf-8"))["event_blocks"]
            for event in block["events"]
        ]
        found = official(DATA / "etdump" / f"{dump}.etdp", record_path(record)).as_json()
        assert [{name: row[name] for name in expected[0]} for row in found] == expected


def test_events_with_debug_values_alone_are_rows_without_numbers():
    """As 1.5.1 has them; two of this dump's nine are outputs of the run and are no rows."""
    found = official(DATA / "etdump/SYN_debug_values.etdp", None)
    lines = as_tsv(found).decode().splitlines()
    assert len(lines) == 12
    assert lines[3:9] == [f"{i}\tExecute\t\t\t\t\t\t\t\t[]\tFalse\t\t" for i in range(2, 8)]
    assert lines[9:11] == [
        "8\tExecute\tFancy Fusion\t\t\t\t\t\t\t[]\tTrue\t\t",
        "9\tExecute\t3\t\t\t\t\t\t\t[]\tTrue\t\t",
    ]


@pytest.mark.parametrize(
    ("source", "target", "value"),
    [("ns", "ns", 7000.0), ("ns", "us", 7.0), ("us", "ms", 7.0), ("ms", "ns", 7e9),
     ("s", "ms", 7e6), ("cycles", "cycles", 7000.0)],
)  # fmt: skip
def test_time_scales(source, target, value):
    found = official(DATA / "etdump/SYN_qnn_like.etdp", None, source, target)
    assert cells(found, f"avg ({target})")["DELEGATE_CALL"] == pytest.approx(value)


# -- where it stops --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dump", "record", "kind"),
    [
        ("cnn_portable_x1", "broken_partial_save", "TypeError"),
        ("multi_encode_decode_portable_x3", "multi_encode_decode_toedge_portable", "KeyError"),
        ("multi_forward_decode_portable_x3", "multi_forward_decode_toedge_portable",
         "AttributeError"),
        ("multi_forward_decode_xnnpack_x3", "multi_forward_decode_teal_xnnpack", "AttributeError"),
        ("cnn_portable_x1", "0.6.0/cnn_portable", "TypeError"),
        ("cnn_portable_x1", "0.6.0/demo_str", "TypeError"),
        ("cnn_portable_x1", "0.1/demo_str_gen0.1", "KeyError"),
        ("cnn_portable_x1", "1.0.1/cnn_xnnpack_lowered", "SerializeError"),
        ("SYN_allocations", "none", "ValueError"),
        ("SYN_empty_runs", "none", "TypeError"),
        ("SYN_no_runs", "none", "TypeError"),
        ("noprefix_small", "none", "CalledProcessError"),
    ],
)  # fmt: skip
def test_it_stops_where_the_inspector_does(dump, record, kind):
    with pytest.raises(InspectorError) as stopped:
        official(DATA / "etdump" / f"{dump}.etdp", record_path(record))
    assert stopped.value.kind == kind


def test_cycles_go_with_cycles_alone():
    with pytest.raises(InspectorError, match="both the source and target time scale"):
        official(DATA / "etdump/cnn_portable_x1.etdp", None, "cycles", "ms")


def test_a_dump_of_the_first_schema(dump):
    path = dump(("Execute", [framework("Method::execute", 1, 2)]), g1=True)
    with pytest.raises(InspectorError, match=r"schema of release 0\.1"):
        official(path, None)


def test_a_counter_that_cannot_have_wrapped(dump):
    path = dump(("Execute", [framework("Method::execute", 1 << 33, 5)]))
    with pytest.raises(InspectorError, match="wrap-around of time values"):
        official(path, None)


# -- its semantics on small dumps ------------------------------------------------------------------


def test_times_of_any_size_count(dump):
    """The reader leaves times of 2^62 and more out; the Inspector has no such bound."""
    top = (1 << 64) - 1
    found = official(dump(("Execute", [framework("Method::execute", top - 3000, top)])), None)
    assert cells(found, "avg (ms)") == {"Method::execute": 0.003}
    assert cells(found, "start_time") == {"Method::execute": [top - 3000]}


def test_a_wrapped_delegate_event_mixes_two_units(dump):
    """Start and end are scaled first, and then the limit of unscaled ticks is added."""
    events = [
        delegate("a", 0, (1 << 32) - 2_000_000, 1_000_000),
        operator("DELEGATE_CALL", 0, 1, 2),
    ]
    found = official(dump(("Execute", events)), None)
    start, end = ((1 << 32) - 2_000_000) / 1e6, 1.0
    assert cells(found, "avg (ms)")["a"] == (4294967295 - start) + end


def test_branches_are_blocks_and_runs_without_a_list_of_events_are_passed_over(dump):
    one = [operator("native_call_a", 0, 1, 2), framework("Method::execute", 0, 9)]
    two = [operator("native_call_b", 1, 1, 4), framework("Method::execute", 0, 9)]
    found = official(
        dump(("Execute", one), ("Default", []), ("Execute", two), ("Execute", one)), None
    )
    columns = found.sheet().columns
    assert columns["event_block_name"] == ["Execute"] * 4
    assert columns["event_name"] == ["native_call_a", "Method::execute", "native_call_b",
                                     "Method::execute"]  # fmt: skip
    assert [len(s) for s in columns["start_time"]] == [2, 2, 1, 1]


def test_events_of_one_instruction_are_told_where_the_first_stands(dump):
    events = [
        operator("native_call_a", 0, 1, 2), operator("native_call_b", 1, 3, 4),
        operator("extra", 0, 5, 6), framework("Method::execute", 0, 9),
    ]  # fmt: skip
    found = official(dump(("Execute", events)), None)
    assert found.sheet().columns["event_name"] == [
        "native_call_a", "extra", "native_call_b", "Method::execute",
    ]  # fmt: skip


def test_every_event_named_after_operator_call_is_hidden_but_answered(dump):
    events = [operator("MY_OPERATOR_CALL_2", 0, 1, 2), framework("Method::execute", 0, 9)]
    found = official(dump(("Execute", events)), None)
    assert found.sheet().columns["event_name"] == ["Method::execute"]
    assert [row["event_name"] for row in found.as_json()] == [
        "MY_OPERATOR_CALL_2", "Method::execute",
    ]  # fmt: skip


# -- bundled inputs --------------------------------------------------------------------------------


@pytest.fixture
def with_references(tmp_path):
    """The record demo_str with reference outputs, a number of them per method."""

    def write(**counts: int) -> Path:
        path = tmp_path / "bundled.etrecord"
        outputs = {method: [[0.5]] * count for method, count in counts.items()}
        shutil.copy(DATA / "etrecord" / "demo_str.etrecord", path)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("reference_outputs", saved(outputs).getvalue())
        return path

    return write


def bundled(tmp_path: Path, *inputs: int) -> Path:
    """A dump with one run per bundled input, -1 for none."""
    events = [operator("OPERATOR_CALL", 0, 10, 20), framework("Method::execute", 0, 30)]
    runs = [Run("Execute", events, bundled_input=index) for index in inputs]
    return write_dump(tmp_path / "bundled.etdp", runs)


@pytest.mark.parametrize(
    ("outputs", "inputs", "blocks"),
    [(2, (0, 1), 2), (1, (0, 0), 1), (1, (-1,), 1), (2, (-2,), 1)],
)
def test_runs_with_reference_outputs_are_a_block_per_input(
    tmp_path, with_references, outputs, inputs, blocks
):
    """An index of -1, of a run without a bundled input, picks the last output."""
    found = official(bundled(tmp_path, *inputs), with_references(forward=outputs))
    assert len(found.events) == 2 * blocks


@pytest.mark.parametrize(
    ("outputs", "inputs", "kind", "text"),
    [
        (
            {"forward": 2}, (0, 2), "IndexError",
            "list index out of range (reference output 2 of 2, for the bundled input of a run)",
        ),
        (
            {"forward": 0}, (-1,), "IndexError",
            "list index out of range (reference output -1 of 0, for the bundled input of a run)",
        ),
        ({"encode": 2}, (0,), "KeyError", "'forward'"),
    ],
)  # fmt: skip
def test_it_stops_at_an_input_without_a_reference_output(
    tmp_path, with_references, outputs, inputs, kind, text
):
    with pytest.raises(InspectorError) as stopped:
        official(bundled(tmp_path, *inputs), with_references(**outputs))
    assert (stopped.value.kind, stopped.value.text) == (kind, text)


def test_without_reference_outputs_no_input_stops_it(tmp_path):
    dump = bundled(tmp_path, 0, 5)
    assert len(official(dump, DATA / "etrecord" / "demo_str.etrecord").events) == 4
    assert len(official(dump, None).events) == 4
