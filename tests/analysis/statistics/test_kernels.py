"""`stats --by kernel`: kernels on the clock of the file, and on those of delegates."""

from __future__ import annotations

import csv
import io
import json
import statistics
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.etdump_writer import Run, delegate, framework, operator, write_dump
from tests.paths import DATA
from viewer.cli import main

VULKAN = str(DATA / "delegate_clocks" / "vulkan_shaders.etdp")
QNN = str(DATA / "delegate_clocks" / "qnn_units.etdp")


def printed(*arguments):
    """What a command prints; not with capsys, which does not go with Hypothesis."""
    out = io.StringIO()
    with redirect_stdout(out):
        assert main(arguments) == 0
    return out.getvalue()


def answer(path, *more):
    facts = json.loads(printed("stats", str(path), "--by", "kernel", "--json", *more))
    (file,) = facts["files"]
    assert len({(row["label"], row.get("clock")) for row in facts["rows"]}) == len(facts["rows"])
    return file, {(row["label"], row.get("clock")): row for row in facts["rows"]}


def adds_up(file, rows):
    """No other clock is in the whole: the host's rows and the rest are all of it."""
    assert sum(row["wall_ns"] for row in rows) + file["ungrouped_ns"] == file["whole_ns"]
    assert all(row["share"] == 0 for row in rows if "clock" in row and not row["self_ns"])


def test_shaders_are_summed_in_ns_by_kernel_without_a_rate():
    file, rows = answer(VULKAN)
    assert {name: (row["count"], row["total_ns"]) for (name, _), row in rows.items()} == {
        "conv2d_dw_output_tile_3x3_texture3d_half": (24, 6 * 2_800_000),
        "linear_naive_buffer_float": (24, 6 * 600_000),
        "binary_add_texture3d_half": (24, 6 * 320_000),
    }
    assert {clock for _, clock in rows} == {"VulkanBackend"}
    assert sum(row["clock_share"] for row in rows.values()) == pytest.approx(1, abs=1e-5)
    assert file["clocks"] == [
        {"clock": "VulkanBackend", "unit": "ns", "total": 6 * 3_720_000, "slices": 72}
    ]
    assert (file["foreign"], file["whole_ns"]) == (0, 6 * 3_604_000)
    adds_up(file, rows.values())
    # One inference is one of six.
    _, one = answer(VULKAN, "--inference", "3")
    assert [row["total_ns"] for row in one.values()] == [2_800_000, 600_000, 320_000]


def test_the_table_says_that_another_clock_is_no_part_of_the_whole():
    text = printed("stats", VULKAN, "--by", "kernel")
    assert "72 slices on the clock of VulkanBackend took 22.320\u202fms" in text
    assert "no part of the whole" in text
    last = text.splitlines()[-1].split()
    assert last[:3] == ["22.320", "ms", "72"]
    assert "22.320" not in text.splitlines()[-2]  # the whole


def test_by_other_keys_the_slices_left_out_point_to_the_kernels():
    text = printed("stats", VULKAN, "--by", "name")
    assert "72 slices with separate clocks left out; see --by kernel" in text
    text = printed("stats", QNN, "--by", "name")
    assert "6 slices with separate clocks left out; see --by kernel" in text
    assert "2 values without a time left out" in text


def test_cycles_are_in_cycles_until_their_rate_is_stated():
    file, rows = answer(QNN)
    assert [(name, r["clock_unit"], r["clock_total"]) for (name, _), r in rows.items()] == [
        ("aten_convolution_default_0:OpId_5", "cycles", 30_000),
        ("aten_add_1:OpId_7", "cycles", 20_000),
    ]
    assert all(row["total_ns"] is None and "mean_ns" not in row for row in rows.values())
    assert file["values"] == 0  # values are no kernels
    adds_up(file, rows.values())
    _, rated = answer(QNN, "--clock", ":cycles=1.25GHz")
    assert [row["total_ns"] for row in rated.values()] == [24_000, 16_000]


@pytest.mark.parametrize("clock", [":VulkanBackend=1GHz", f"{VULKAN}:VulkanBackend=20MHz"])
def test_a_rate_that_is_not_needed_changes_nothing(clock):
    assert printed("stats", VULKAN, "--by", "kernel", "--clock", clock) == printed(
        "stats", VULKAN, "--by", "kernel"
    )


def test_the_export_has_the_same_rows(tmp_path):
    out = tmp_path / "kernels.csv"
    printed("export", VULKAN, "--table", "statistics", "--by", "kernel", "-o", str(out))
    with out.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["clock"]]
    assert [(r["clock_unit"], r["clock_total"], r["delegate_ns"]) for r in rows] == [
        ("ns", total, total) for total in ("16800000", "3600000", "1920000")
    ]


def test_kernels_of_the_runtime_are_on_the_clock_of_the_file():
    file, rows = answer(DATA / "etdump" / "attn_portable_x5.etdp")
    assert file["clocks"] == []
    assert all(name.startswith("native_call_") for name, _ in rows)
    assert {clock for _, clock in rows} == {None}
    adds_up(file, rows.values())


def test_operators_of_xnnpack_are_one_kernel_whatever_their_number():
    file, rows = answer(DATA / "etdump" / "cnn_xnnpack_x10.etdp")
    assert rows
    assert not any("#" in name for name, _ in rows)
    adds_up(file, rows.values())


KERNELS = st.sampled_from(["conv_texture3d_half", "add_buffer_float", "mm_texture2d_int8"])
UNITS = st.sampled_from(["us", "cycles", "ms", "ns"])
DISPATCHES = st.lists(st.tuples(KERNELS, st.integers(0, 10**6)), max_size=8)
NODES = st.lists(st.tuples(st.sampled_from("abc"), UNITS, st.integers(0, 10**4)), max_size=8)
HELD = st.lists(st.tuples(st.sampled_from(["bytes", "count"]), st.integers(0, 10**9)), max_size=3)
KERNEL_CALLS = st.lists(
    st.tuples(st.sampled_from("xyz"), st.integers(1, 10**5)), min_size=1, max_size=4
)
INFERENCES = st.lists(st.tuples(DISPATCHES, NODES, HELD, KERNEL_CALLS), min_size=1, max_size=4)
NS_PER = {"ns": 1, "us": 1_000, "ms": 1_000_000}


@pytest.mark.slow
@settings(max_examples=30)
@given(INFERENCES)
def test_every_kernel_has_what_it_took_on_its_clock(tmp_path_factory, inferences):
    """Any inferences, kernels, dispatches and units, against sums computed from the input."""
    path = write(tmp_path_factory.getbasetemp() / "kernels.etdp", inferences)
    expected: dict[tuple[str, str | None], list[int]] = {}
    cycles: dict[str, list[int]] = {}
    host: dict[str, list[int]] = {}
    for dispatches, nodes, _, kernels in inferences:
        for name, length in dispatches:
            expected.setdefault((name, "VulkanBackend"), []).append(length)
        for name, unit, length in nodes:
            if unit == "cycles":
                cycles.setdefault(name, []).append(length)
            else:
                expected.setdefault((name, unit), []).append(length * NS_PER[unit])
        for name, length in kernels:
            host.setdefault(f"native_call_{name}.out", []).append(length)
    file, rows = answer(path)
    adds_up(file, rows.values())
    assert file["values"] == 0
    found = {}
    for (name, clock), row in rows.items():
        if clock is None:
            assert (row["total_ns"], row["count"]) == (sum(host[name]), len(host.pop(name)))
        elif clock == "cycles":
            lengths = cycles.pop(name)
            assert (row["clock_total"], row["count"]) == (sum(lengths), len(lengths))
            assert row["clock_max"] == max(lengths)
            assert (row["clock_unit"], row["total_ns"]) == ("cycles", None)
        else:
            found[name, clock] = row
    assert not host
    assert not cycles
    assert {key: (row["total_ns"], row["count"]) for key, row in found.items()} == {
        key: (sum(lengths), len(lengths)) for key, lengths in expected.items()
    }
    for key, lengths in expected.items():
        assert found[key]["mean_ns"] == int(statistics.mean(lengths))
        assert found[key]["delegate_ns"] == sum(lengths)
    by_clock: dict[str, int] = {}
    for (_, clock), lengths in expected.items():
        by_clock[clock] = by_clock.get(clock, 0) + sum(lengths)
    sums = {one["clock"]: one["total"] for one in file["clocks"] if one["unit"] == "ns"}
    assert sums == by_clock


def write(path, inferences) -> Path:
    """Inferences of one call of Vulkan, one of QNN, and kernels of the runtime."""
    runs, at, gpu, number = [], 1_000_000, 10**14, 0
    for dispatches, nodes, held, kernels in inferences:
        events, begin = [], at
        events.append(delegate("ETVK_COPY_INPUTS", 0, at + 1, at + 5))
        events.append(delegate("ETVK_COMPUTE_GRAPH_EXECUTE", 0, at + 5, at + 900))
        for name, length in dispatches:
            shader = f'{{{name}, "dispatch_id": {number}}}'
            number, gpu = number + 1, gpu + 7
            events.append(delegate(shader, 0, gpu, gpu + length))
            gpu += length
        events.append(delegate("ETVK_EXECUTE", 0, at + 1, at + 950))
        events.append(operator("DELEGATE_CALL", 0, at, at + 1000))
        at += 1000
        events.append(delegate("QNN (execute) time (us)", 1, 0, 3))
        events += [delegate(f"{n} ({unit})", 1, 0, length) for n, unit, length in nodes]
        events += [delegate(f"held {i} ({unit})", 1, 0, n) for i, (unit, n) in enumerate(held)]
        events.append(operator("DELEGATE_CALL", 1, at, at + 10_000))
        at += 10_000
        for i, (name, length) in enumerate(kernels):
            events.append(operator(f"native_call_{name}.out", 2 + i, at + 2, at + 2 + length))
            events.append(operator("OPERATOR_CALL", 2 + i, at, at + length + 5))
            at += length + 10
        runs.append(Run("Execute", [*events, framework("Method::execute", begin - 5, at + 5)]))
        at += 1000
    return write_dump(path, runs)
