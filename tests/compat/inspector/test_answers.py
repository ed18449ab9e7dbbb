"""The right answers beside the official ones: they differ where the official tool is wrong.

One test for each of its faults that can show in the table; all else is equal.
"""

import zipfile
from pathlib import Path

import pytest

from tests.builders.etdump_writer import delegate, framework, operator
from tests.compat.inspector.test_official import DATA, TABLES, cells, official, record_path
from viewer.analysis.statistics.events import event_statistics
from viewer.compat.inspector.answers import NUMBERS, InspectorAnswers
from viewer.compat.inspector.official_record import InspectorError
from viewer.workspace.workspace import Workspace


def right(dump: Path, record: Path | None, source: str = "ns", target: str = "ms"):
    work = Workspace()
    trace = work.open(str(dump))
    if record:
        work.open(str(record))
    return InspectorAnswers(event_statistics(work.links(trace)), source, target)


def both(dump: str, record: str):
    paths = DATA / "etdump" / f"{dump}.etdp", record_path(record)
    return right(*paths), official(*paths)


def json_rows(answers) -> list[dict]:
    return [row for block in answers.as_json() for row in block["rows"]]


# -- what is equal ---------------------------------------------------------------------------------

BELONG = [
    *(
        name
        for name in TABLES
        if name.startswith(("attn_xnnpack", "cnn_portable_x", "cnn_runtimeapi", "cond_", "demo_p"))
        and "NOdeepcopy" not in name
    ),
    "cnn_xnnpack_x10__cnn_teal_xnnpack.tsv",
    "cnn_xnnpack_x10__cnn_session_xnnpack.tsv",
]


@pytest.mark.parametrize("name", BELONG)
def test_a_pair_without_a_fault_differs_in_float_noise_alone(name):
    found, expected = (x.sheet().columns for x in both(*name.removesuffix(".tsv").split("__")))
    assert list(found) == list(expected)
    for column, cells_of_column in expected.items():
        if column.endswith("(ms)"):
            assert found[column] == pytest.approx(cells_of_column, rel=1e-9, abs=1e-8)
        else:
            assert found[column] == cells_of_column


# -- faults of the official tool -------------------------------------------------------------------


def test_fault_a_methods_not_called_forward():
    names = "multi_encode_decode_portable_x3", "multi_encode_decode_toedge_portable"
    with pytest.raises(InspectorError, match="KeyError"):
        both(*names)
    found = right(DATA / "etdump" / f"{names[0]}.etdp", record_path(names[1])).sheet().columns
    blocks = set(zip(found["event_block_name"], found["event_name"], strict=True))
    assert ("Execute (decode)", "Method::execute") in blocks
    assert ("Execute (encode)", "Method::execute") in blocks
    kernels = [i for i, n in enumerate(found["event_name"]) if n.startswith("native_call_")]
    assert kernels
    assert all(found["op_types"][i] for i in kernels)


def test_fault_a_several_methods_are_linked_to_forward_alone(tmp_path):
    """Up to 1.1 a record held the graph of forward and the maps of all methods: no error then."""
    old = tmp_path / "old.etrecord"
    name = "edge_dialect_exported_program"
    with (
        zipfile.ZipFile(record_path("multi_forward_decode_toedge_portable")) as source,
        zipfile.ZipFile(old, "w") as target,
    ):
        for member in source.namelist():
            if not member.startswith(f"{name}/decode"):
                data = source.read(member)
                target.writestr(member.replace(f"{name}/forward", name), data)
    dump = DATA / "etdump/multi_forward_decode_portable_x3.etdp"
    assert cells(official(dump, old), "op_types")["native_call_sigmoid.out"] == [
        "aten.relu.default"
    ]
    found = right(dump, old)
    assert cells(found, "op_types")["native_call_sigmoid.out"] == []
    assert cells(found, "op_types")["native_call_relu.out"] == ["aten.relu.default"]


@pytest.mark.parametrize("name", ["0.6.0/cnn_portable", "1.0.1/cnn_xnnpack_lowered"])
def test_fault_b_records_of_older_releases(name):
    folder, stem = name.split("/")
    dump = DATA / "etrecord" / folder / f"{stem}_x3.etdp"
    with pytest.raises(InspectorError):
        official(dump, record_path(name))
    found = right(dump, record_path(name)).sheet().columns
    assert any("aten.convolution.default" in str(ops) for ops in found["op_types"])


def test_fault_c_a_record_made_without_deepcopy_is_off_by_one():
    found, theirs = both("cnn_portable_x10", "cnn_standalone_NOdeepcopy")
    relu = "native_call_relu.out"
    assert cells(theirs, "op_types")[relu] == ["mean.out"]
    assert cells(found, "op_types")[relu] == ["aten.relu.out"]


@pytest.mark.parametrize(
    "names",
    [("attn_portable_x5", "cnn_toedge_portable"), ("demo_str_x4", "demo_generated_int"),
     ("cnn_xnnpack_x10", "cnn_toedge_portable")],
)  # fmt: skip
def test_fault_d_a_pair_that_does_not_belong_together_is_not_linked(names):
    found, theirs = both(*names)
    assert any(ops for ops in theirs.sheet().columns["op_types"])
    assert not any(ops for ops in found.sheet().columns["op_types"])


def test_fault_e_identifiers_that_are_substrings_of_each_other():
    """10 contains "1" and "0"; the last key of the map wins there."""
    found, theirs = both("demo_manual_int_x4", "demo_manual_int")
    assert cells(theirs, "op_types")["10"] == ["aten.tan.default"]
    assert cells(found, "op_types")["10"] == ["aten.convolution.default", "aten.relu.default"]
    assert cells(found, "op_types")["0"] == cells(theirs, "op_types")["0"] == ["aten.tan.default"]


def test_fault_f_digits_in_the_name_of_a_shader_match_integer_keys(dump):
    shader = '{"operator": {"name": "conv2d", "args": [1, 3]}, "kernel_name": "conv2d_3x3"}'
    known = [delegate(i, 0, 10 * i + 11, 10 * i + 15) for i in range(4)]
    call = operator("DELEGATE_CALL", 0, 10, 100)
    path = dump(("Execute", [*known, delegate(shader, 0, 70, 75), call]))
    record = record_path("demo_generated_int")
    assert cells(official(path, record), "op_types")[shader] == ["aten.tan.default"]
    assert cells(right(path, record), "op_types")[shader] == []
    assert cells(right(path, record), "op_types")["0"] != []


def test_fault_h_lowered_modules_are_searched():
    found, theirs = both("cnn_xnnpack3_x5", "cnn_standalone_after_tobackend")
    calls = [i for i, n in enumerate(found.sheet().columns["event_name"]) if n == "DELEGATE_CALL"]
    assert len(calls) == 3
    assert not any(theirs.sheet().columns["op_types"][i] for i in calls)
    assert all(found.sheet().columns["op_types"][i] for i in calls)


def test_fault_i_an_event_that_repeats_in_a_run_is_all_there():
    found, theirs = both("SYN_repeat_in_run", "none")
    name = "native_call_add.out"
    assert cells(theirs, "start_time")[name] == [3100]
    assert cells(found, "start_time")[name] == [1100, 2100, 3100]
    assert [cells(found, f"{n} (ms)")[name] for n in NUMBERS] == [
        6e-05, 0.0001, 0.00026, 0.00015, 5e-05, 0.0003,
    ]  # fmt: skip
    assert next(r for r in json_rows(found) if r["event_name"] == name)["count"] == 3


@pytest.mark.parametrize(
    ("name", "rows"),
    [("SYN_allocations", 1), ("SYN_empty_runs", 1), ("noprefix_small", 2)],
)
def test_fault_j_dumps_that_stop_the_official_tool_are_answered(name, rows):
    path = DATA / "etdump" / f"{name}.etdp"
    with pytest.raises(InspectorError):
        official(path, None)
    assert len(right(path, None).sheet()) == rows


def test_fault_l_operators_in_branches_say_why_they_have_no_source():
    """The export gives them no debug handle at all: the same empty cell, and a reason beside it."""
    found, theirs = both("cond_portable_x5", "cond_toedge_portable")
    assert found.sheet().columns["op_types"] == theirs.sheet().columns["op_types"]
    reasons = {
        r["link_reason"] for r in json_rows(found)
        if r["event_name"].startswith("native_call_") and not r["op_types"]
    }  # fmt: skip
    assert reasons == {"inside a branch of control flow, which has no debug handle"}


def test_scopes_of_the_runtime_are_never_linked():
    """Chain index -1 comes with instruction 0, which the official tool then looks up."""
    found, theirs = both("demo_str_x4", "demo_str")
    assert cells(theirs, "delegate_backend_name")["DEMO_INIT"] == "BackendStrDemo"
    assert cells(found, "delegate_backend_name")["DEMO_INIT"] is None
    load = {r["event_name"]: r for r in json_rows(found)}
    assert theirs.as_json()[1]["debug_handles"] == [1, 2, 3, 4, 5]
    assert load["Method::init"]["debug_handles"] == []


def test_scaled_once_without_float_noise():
    found, theirs = both("demo_str_x4", "demo_str")
    assert cells(theirs, "p90 (ms)")["Fancy Fusion"] == 0.0100750000000005
    assert cells(found, "p90 (ms)")["Fancy Fusion"] == 0.010075
    assert cells(found, "avg (ms)")["Fancy Fusion"] == 0.0100725
    row = next(r for r in json_rows(found) if r["event_name"] == "Fancy Fusion")
    assert row["raw"] == [0.010075, 0.010075, 0.010065, 0.010075]


def test_a_percentile_between_two_ticks_is_exact(dump):
    """1022.3 ticks have no float of their own; divided twice they end in ...299."""
    runs = [("Execute", [framework("Method::execute", 0, n)]) for n in (671, 1061, 1061, 1063)]
    found = right(dump(*runs), None)
    assert cells(found, "p10 (ms)") == {"Method::execute": 0.000788}
    assert cells(found, "p90 (ms)") == {"Method::execute": 0.0010624}


def test_a_counter_that_wrapped_loses_no_tick():
    found, theirs = both("SYN_wraparound", "none")
    name = "native_call_add.out"
    assert cells(theirs, "avg (ms)")[name] == 0.000199
    assert cells(found, "avg (ms)")[name] == 0.0002


# -- clocks of their own ---------------------------------------------------------------------------


def test_cycles_have_no_place_among_milliseconds():
    found = right(DATA / "etdump/SYN_qnn_like.etdp", None).sheet().columns
    assert list(found)[-7:] == [*(f"native_{name}" for name in NUMBERS), "native_unit"]
    assert found["event_name"][2:4] == [
        "QNN accelerator (execute) time (cycles)", "aten_convolution_default:OpId_12 (cycles)",
    ]  # fmt: skip
    assert found["p50 (ms)"][2:6] == [None, None, None, 0.007]
    assert found["native_p50"][2:6] == [5000, 1200, 300, None]
    assert found["native_unit"][2:6] == ["cycles", "cycles", "cycles", None]


def test_microseconds_of_another_clock_are_microseconds(dump):
    """The official tool takes all ticks for those of the dump."""
    events = [delegate("conv (us)", 0, 0, 30), operator("DELEGATE_CALL", 0, 1000, 51_000)]
    path = dump(("Execute", events))
    assert cells(official(path, None), "avg (ms)")["conv (us)"] == 3e-05
    found = right(path, None)
    assert cells(found, "avg (ms)") == {"conv (us)": 0.03, "DELEGATE_CALL": 0.05}
    assert "native_unit" not in found.sheet().columns
    assert cells(found, "start_time")["conv (us)"] == [0]


def test_a_dump_of_cycles_asked_for_in_cycles(dump):
    events = [delegate("conv (us)", 0, 0, 30), operator("DELEGATE_CALL", 0, 1000, 51_000)]
    found = right(dump(("Execute", events)), None, "cycles", "cycles").sheet().columns
    assert found["avg (cycles)"] == [None, 50_000]
    assert found["native_unit"] == ["us", None]


@pytest.mark.parametrize(
    ("source", "target", "value"),
    [("ns", "ns", 7000), ("ns", "us", 7), ("us", "ms", 7), ("ms", "ns", 7e9), ("s", "ns", 7e12)],
)
def test_time_scales(source, target, value):
    found = right(DATA / "etdump/SYN_wraparound.etdp", None, source, target)
    assert cells(found, f"avg ({target})")["Method::execute"] == value * 8 / 7


def test_metadata_is_a_column_when_asked_for():
    found = right(DATA / "etdump/demo_str_x4.etdp", record_path("demo_str"))
    assert "delegate_debug_metadata" not in found.sheet().columns
    column = found.sheet(include_metadata=True).columns["delegate_debug_metadata"]
    assert column[3] == ['{"op": "conv_relu_op", "cycles": 100}'] * 4
    assert column[4] is None
    plain = right(DATA / "etdump/cnn_portable_x1.etdp", None)
    assert "delegate_debug_metadata" not in plain.sheet(include_metadata=True).columns
