"""What `opscope sizes` says, as data and as text."""

import pytest

from tests.builders.pte_writer import Method, write_program
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.sizes.groups import GroupKey
from viewer.reports.program_files import NO_SIZES, sizes_facts, sizes_text

FILES = DATA / "pte"


def both(name):
    return workspace_of(FILES / f"{name}.pte", FILES / f"{name}.etrecord")


def test_parts_are_sorted_by_size_and_add_up_to_the_file():
    facts = sizes_facts(both("part_x"))
    (file,) = facts["files"]
    sizes = [part["bytes"] for part in facts["parts"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == file["bytes"] == sum(file["kinds"].values()) == 10640
    assert file["part_count"] == len(sizes)


def test_a_part_has_its_operator_module_dtype_and_shape():
    facts = sizes_facts(both("part_x"))
    (weight,) = [part for part in facts["parts"] if part["name"] == "c2.weight"]
    assert weight | {"file": None, "offset": None} == {
        "file": None, "kind": "named_data", "name": "c2.weight", "bytes": 576,
        "operator": "c2 · convolution", "operators": ["c2 · convolution"], "module": "c2",
        "kernels": ["XNNConv2d"], "methods": ["forward"], "dtype": "f32", "shape": [4, 3, 3, 4],
        "parameters": ["c2.weight"], "role": "weight", "offset": None, "delegate": None,
    }  # fmt: skip


def test_parts_of_several_files_are_in_one_list():
    facts = sizes_facts(workspace_of(FILES / "part_x.pte", FILES / "llama.pte"))
    counts = [file["part_count"] for file in facts["files"]]
    assert sum(counts) == len(facts["parts"])
    assert sizes_text(facts).count("share") == 2
    assert [len({part["file"] for part in some}) for some in (
        facts["parts"][: counts[0]], facts["parts"][counts[0] :]
    )] == [1, 1]  # fmt: skip


def test_groups_are_added_if_asked_for():
    facts = sizes_facts(both("multi3"), GroupKey.MODULE)
    (file,) = facts["files"]
    (model,) = [group for group in file["groups"] if group["label"] == "(Model)"]
    assert (model["bytes"], model["total_bytes"]) == (80, 112)
    assert {facts["parts"][i]["name"] for i in model["parts"]} == {"fc.weight", "fc.bias"}
    lines = sizes_text(facts).splitlines()
    assert lines[3].split() == ["module", "parts", "total", "self", "share"]


def test_the_text_is_for_people():
    lines = sizes_text(sizes_facts(both("part_x"))).splitlines()
    assert lines[0] == "part_x.pte: 11 kB (10 640 B)"
    assert lines[1].startswith("  delegate 4.0 kB, program 4.0 kB, named data 1.6 kB")
    assert lines[4].split() == ["program", "4", "024", "37.8", "%"]
    assert lines[9].split()[:6] == ["named", "data", "c2.weight", "c2", "·", "convolution"]


def test_hashes_of_named_data_are_short_and_have_their_role():
    text = sizes_text(sizes_facts(workspace_of(FILES / "part_x.pte")))
    assert "weight · 97367de1a9927b1…" in text


def test_equal_parts_are_listed_at_the_end(tmp_path):
    path = write_program(
        tmp_path / "a.pte", Method(), segments=[b"x" * 100, b"x" * 100], named=[("a", 0), ("b", 1)]
    )
    facts = sizes_facts(workspace_of(path))
    (group,) = facts["files"][0]["duplicates"]["groups"]
    assert [facts["parts"][i]["name"] for i in group["parts"]] == ["a", "b"]
    assert sizes_text(facts).splitlines()[-2:] == [
        "  equal parts: 100 B for copies", "    2 × 100 B: a, b"
    ]  # fmt: skip


def test_long_lists_are_cut_in_the_text_only(tmp_path):
    names = [(f"n{i}", i) for i in range(40)]
    path = write_program(tmp_path / "a.pte", Method(), segments=[b"x"] * 40, named=names)
    facts = sizes_facts(workspace_of(path))
    assert len(facts["parts"]) == 42
    assert "  and 12 more: smaller parts (--json lists all)" in sizes_text(facts)


@pytest.mark.parametrize("paths", [[], [FILES / "part_x.etrecord"]])
def test_nothing_to_report_is_one_sentence(paths):
    assert sizes_text(sizes_facts(workspace_of(*paths))) == NO_SIZES
