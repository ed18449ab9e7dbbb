"""The table of debug handle maps: one row an identifier or uncovered handle, times where known."""

import csv

import pytest
from pyarrow import parquet

from tests.builders.workspaces import export, workspace_of
from tests.paths import DATA
from viewer.workspace.exports import NothingToExport
from viewer.workspace.workspace import Workspace


def table(tmp_path, *names):
    space = workspace_of(*(DATA / name for name in names))
    path = tmp_path / "maps.csv"
    export(space, str(path), table="handle_map")
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_profile_with_its_record(tmp_path):
    rows = table(tmp_path, "etdump/demo_manual_int_x4.etdp", "etrecord/demo_manual_int.etrecord")
    assert [(row["identifier"], row["debug_handles"], row["standing"]) for row in rows] == [
        ("10", "[1, 2]", "logged"), ("1", "[3, 4]", "logged"), ("100", "[5]", "logged"),
        ("0", "[5]", "logged"), ("7", "[5]", "logged"), ("9999", "[]", "not registered"),
        ("DEMO_INIT", "[]", "outside calls"),
    ]  # fmt: skip
    assert (rows[0]["slices"], rows[0]["dur_ticks"], rows[0]["dur_ns"]) == ("4", "40300", "40300")
    assert rows[0]["modules"] == "conv1 · convolution; relu1 · relu"


def test_a_time_on_another_clock_is_an_empty_cell(tmp_path):
    rows = table(tmp_path, "etdump/SYN_qnn_like.etdp")
    assert {(row["dur_ticks"], row["dur_ns"], row["on_own_clock"]) for row in rows} == {
        ("", "", "1")
    }


def test_a_record_alone(tmp_path):
    rows = table(tmp_path, "etrecord/cnn_standalone_after_tobackend.etrecord")
    assert {row["standing"] for row in rows} == {"uncovered"}
    assert {row["dur_ns"] for row in rows} == {""}
    assert len(rows) == 7


def test_where_there_is_no_map_and_no_identifier_nothing_is_written(tmp_path):
    with pytest.raises(NothingToExport, match="No delegate logged an identifier"):
        table(tmp_path, "etdump/cnn_portable_x1.etdp")
    assert not (tmp_path / "maps.csv").exists()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_numbers_of_several_files_stay_whole(tmp_path, suffix):
    """One file has no instruction of some rows, and one has no rows."""
    workspace = Workspace()
    for name in ("attn_portable_x5.etdp", "attn_xnnpack_x5.etdp"):
        workspace.open(str(DATA / "etdump" / name))
    out = tmp_path / f"map.{suffix}"
    count = export(workspace, str(out), table="handle_map")
    if suffix == "csv":
        with out.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert all(row["instruction_id"].isdecimal() for row in rows)
    else:
        rows = parquet.read_table(out).to_pylist()
        assert all(isinstance(row["instruction_id"], int) for row in rows)
    assert len(rows) == count > 0
