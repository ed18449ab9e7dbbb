"""Columns from what delegates log with their events: metadata, and JSON in identifiers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders.etdump_cases import column, read_path, rows, slices_by_row
from tests.builders.etdump_writer import Event, delegate, framework, operator
from viewer.analysis.links.delegate_clocks import NATIVE_NS
from viewer.analysis.statistics.group_keys import KEYS
from viewer.export.perfetto.arguments import RESERVED as PERFETTO
from viewer.formats import register_metadata_parser, unregister_metadata_parser
from viewer.formats.executorch.etdump.metadata import MOST_COLUMNS, RESERVED, values_of
from viewer.model.trace import Trace
from viewer.tables.slices import SLICES

CORE_ML = {
    "operatorName": "ios17.gelu",
    "preferredComputeUnit": "CPU",
    "supportedComputeUnits": ["NE", "CPU"],
    "estimatedCost": 0.25,
    "outputNames": ["gelu_0"],
}


@pytest.fixture
def logged(dump: Callable[..., Path]) -> Callable[..., Trace]:
    """A trace of one delegate call whose events have the metadata given; None for none."""

    def read(*metadata: Any) -> Trace:
        events: list[Event] = []
        for i, item in enumerate(metadata):
            raw = item if isinstance(item, bytes | None) else json.dumps(item).encode()
            more = {} if raw is None else {"metadata": raw}
            events.append(delegate(f"op {i}", 0, 100 + 10 * i, 110 + 10 * i, **more))
        events.append(operator("DELEGATE_CALL", 0, 100, 100 + 10 * len(metadata)))
        return read_path(dump(("Execute", [*events, framework("Method::execute", 90, 5000)])))

    return read


def cells(trace: Trace, name: str, count: int = 1) -> list[Any]:
    """The values of a column for the first events in the file; just one if count is 1."""
    where = slices_by_row(trace)
    return [column(trace, name, where[i]) for i in range(count)]


def names(trace: Trace) -> set[str]:
    return set(trace.slices.columns) - {"instruction_id"}


def test_every_key_of_an_object_is_a_column_of_its_type(logged):
    trace = logged({"tiles": 4, "cost": 0.5, "fused": True, "unit": "dsp"}, {"tiles": 5}, None)
    assert names(trace) == {"metadata", "tiles", "cost", "fused", "metadata.unit"}
    assert cells(trace, "tiles", 4) == [4, 5, None, None]
    assert cells(trace, "cost", 3) == [0.5, None, None]
    assert cells(trace, "fused", 2) == [True, None]
    kinds = {n: trace.slices.columns[n].values.dtype.kind for n in ("tiles", "cost", "fused")}
    assert kinds == {"tiles": "i", "cost": "f", "fused": "b"}


def test_the_metadata_itself_stays_as_it_was_logged(logged):
    raw = b'{"tiles": 4}'
    assert cells(logged(raw, b"\x07\xff", b"plain"), "metadata", 3) == [
        raw.decode(), "07ff", "plain"
    ]  # fmt: skip


def test_nested_objects_are_flattened_and_lists_are_text(logged):
    trace = logged({"tile": {"size": {"x": 8, "deep": {"a": 1}}}, "units": ["NE", "CPU"]})
    assert cells(trace, "tile.size.x") == [8]
    assert cells(trace, "tile.size.deep") == ['{"a":1}']
    assert cells(trace, "units") == ['["NE","CPU"]']


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        (1, 2.5, [1.0, 2.5]),
        (1, "two", ["1", "two"]),
        (True, 3, ["true", "3"]),
        (2**60 + 1, 0.5, [str(2**60 + 1), "0.5"]),
        (2**80, 1, [str(2**80), "1"]),
        (None, 1, [None, 1]),
        ("", "x", [None, "x"]),
    ],
)
def test_values_of_several_types_become_what_keeps_them_exact(logged, first, second, shown):
    assert cells(logged({"v": first}, {"v": second}), "v", 2) == shown


def test_numbers_that_are_not_finite_are_missing(logged):
    assert cells(logged(b'{"a": NaN, "b": 1e999, "c": 1}'), "c") == [1]
    assert names(logged(b'{"a": NaN, "b": 1e999, "c": 1}')) == {"metadata", "c"}


@pytest.mark.parametrize(
    "taken", ["name", "Start_NS", "metadata", "identifier", "operator", "native_dur"]
)
def test_a_name_that_is_in_use_gets_a_prefix(logged, taken):
    trace = logged({taken: 3})
    assert cells(trace, f"metadata.{taken}") == [3]


def test_names_that_differ_in_case_are_kept_apart(logged):
    trace = logged({"Cost": 1, "cost": 2})
    assert names(trace) == {"metadata", "Cost", "metadata.cost"}


def test_all_names_of_tables_and_exports_are_reserved():
    # These columns are what their keys group by.
    columns = {"kernel", "backend", "count"}
    assert {*SLICES.names, *PERFETTO, *KEYS, NATIVE_NS} - columns <= RESERVED


def test_a_key_beyond_the_limit_is_counted_and_stays_in_the_metadata(logged):
    trace = logged({f"k{i}": i for i in range(MOST_COLUMNS + 3)})
    assert len(names(trace)) == MOST_COLUMNS + 1
    assert [(p.kind, p.count, p.first) for p in trace.problems] == [
        ("keys of metadata beyond the first 64: only in the column metadata", 3, "k64")
    ]


@pytest.mark.parametrize(
    "raw", [b"{", b"[1]", b"7", b'{"a": 1} x', b"{\xff}", b'{"a":' * 100_000, b"tiles=4", b"\0"]
)
def test_what_is_no_object_stays_text(logged, raw):
    trace = logged(raw)
    assert names(trace) == {"metadata"}
    assert trace.problems == ()


def test_a_trailing_nul_does_not_hide_the_object(logged):
    assert cells(logged(b'{"tiles": 4}\0'), "tiles") == [4]


def test_an_operator_of_core_ml_that_left_the_neural_engine_says_so(logged):
    trace = logged(
        CORE_ML,
        {**CORE_ML, "preferredComputeUnit": "NE"},
        {**CORE_ML, "supportedComputeUnits": ["CPU"]},
    )
    assert cells(trace, "fell_back_to_cpu", 3) == [True, False, False]
    assert cells(trace, "operatorName") == ["ios17.gelu"]
    assert cells(trace, "supportedComputeUnits") == ['["NE","CPU"]']
    assert cells(trace, "estimatedCost") == [0.25]


def blob(data: bytes, **more: Any) -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    return {
        "available": True, "is_text": False, "vulkan_result": 0, "size": len(data),
        "encoding": "base64", "reason": "", "data": encoded, **more,
    }  # fmt: skip


@pytest.mark.parametrize("version", [1, 2])
def test_the_statistics_of_vgf_are_columns_by_segment(logged, version):
    segment = {
        "segment_id": 7,
        "is_data_graph_pipeline": True,
        "debug_database": blob(b"", available=False, reason="not loaded"),
        "statistics_info": blob(b"info", is_text=True),
        "statistics_memory": blob(b"\xde\xad"),
    }
    statistics: dict[str, Any] = {
        "schema": "executorch.vgf.neural_statistics",
        "schema_version": version,
        "data_available": True,
        "reason": "",
        "segments": [segment],
    }
    if version == 2:
        statistics["statistics_mode"] = {"executorch_index": 1}
    trace = logged(statistics)
    assert cells(trace, "segments") == [1]
    assert cells(trace, "segments.0.segment_id") == [7]
    assert cells(trace, "segments.0.statistics_info.text") == ["info"]
    assert cells(trace, "segments.0.statistics_memory.size") == [2]
    assert cells(trace, "segments.0.debug_database.reason") == ["not loaded"]
    assert cells(trace, "statistics_mode.executorch_index") == [1 if version == 2 else None]
    assert not [name for name in names(trace) if name.endswith(".data")]


def test_statistics_of_an_unknown_version_are_not_interpreted():
    raw = '{"schema": "executorch.vgf.neural_statistics", "schema_version": 3, "segments": [{}]}'
    found = values_of(raw.encode())
    assert found is not None
    assert found["segments"] == "[{}]"


@pytest.mark.parametrize(
    ("identifier", "kernel", "dispatch"),
    [
        ('{"kernel_name": "conv2d_half", "operator_id": 1, "dispatch_id": 12}', "conv2d_half", 12),
        ('{nchw_to_image, "dispatch_id": 3}', "nchw_to_image", 3),
        ('{nchw_to_image, "dispatch_id": 4294967295}', "nchw_to_image", None),
        ('{"dispatch_id": 12}', None, None),
        ("{", None, None),
        ("conv", None, None),
    ],
)
def test_a_shader_of_vulkan_has_its_kernel_and_dispatch(dump, identifier, kernel, dispatch):
    events = [
        delegate(identifier, 0, 105, 110),
        operator("DELEGATE_CALL", 0, 100, 200),
        framework("Method::execute", 90, 300),
    ]
    trace = read_path(dump(("Execute", events)))
    assert cells(trace, "kernel") + cells(trace, "dispatch_id") == [kernel, dispatch]
    assert ("kernel" in names(trace)) == (kernel is not None)


def test_scopes_of_ethos_u_are_nested_in_the_call_as_they_ran(dump):
    """They are logged by name on the clock of the host, under the instruction of their call."""
    events = [
        operator("+EthosUBackend::execute()handles.input.memcpy()", 0, 110, 120),
        operator("+EthosUBackend::execute()NPU", 0, 120, 180),
        operator("EthosUBackend::execute()", 0, 105, 190),
        operator("DELEGATE_CALL", 0, 100, 200),
        framework("Method::execute", 90, 300),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace) == [
        ("Method::execute", 0, 90, 300),
        ("DELEGATE_CALL", 1, 100, 200),
        ("EthosUBackend::execute()", 2, 105, 190),
        ("+EthosUBackend::execute()handles.input.memcpy()", 3, 110, 120),
        ("+EthosUBackend::execute()NPU", 3, 120, 180),
    ]


@pytest.fixture
def parser():
    """Registers parsers for one test."""
    added = []

    def add(parse: Callable[[bytes], Any]) -> None:
        added.append(register_metadata_parser(parse))

    yield add
    for parse in added:
        unregister_metadata_parser(parse)


def test_a_registered_parser_makes_columns_of_other_metadata(logged, parser):
    parser(lambda raw: {"function_code": raw[0]} if len(raw) == 1 else None)
    trace = logged(b"\x05", {"tiles": 1}, b"two")
    assert cells(trace, "function_code", 3) == [5, None, None]
    assert cells(trace, "tiles", 2) == [None, 1]


def test_a_faulty_parser_is_counted_and_the_file_still_opens(logged, parser):
    def broken(raw: bytes) -> Any:
        if raw == b"a":
            raise KeyError("a")
        return {"v": []}

    parser(broken)
    trace = logged(b"a", b"b", b"c")
    assert names(trace) == {"metadata"}
    name = broken.__qualname__
    assert [(p.kind, p.count, p.first) for p in trace.problems] == [
        (f"metadata parser {name} raised KeyError: skipped", 1, "event 0"),
        (f"metadata parser {name} returned a value of type list: skipped", 2, "event 1"),
    ]
