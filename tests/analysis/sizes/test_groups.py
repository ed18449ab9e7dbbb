"""Parts added up: every group of a key together is the file, and nothing is divided."""

import pytest

from tests.builders.pte_writer import DELEGATE, Method, write_program, xnnpack_graph
from tests.paths import DATA
from viewer.analysis.sizes.file_parts import file_parts
from viewer.analysis.sizes.groups import GroupKey, duplicates, groups
from viewer.formats import open_file

FILES = DATA / "pte"


def found(name, *, record=True):
    program = open_file(str(FILES / f"{name}.etrecord")) if record else None
    return file_parts(open_file(str(FILES / f"{name}.pte")), program)


def sizes(name, by, **given):
    return {group.label: group.size for group in groups(found(name, **given), by)}


@pytest.mark.parametrize("by", GroupKey)
@pytest.mark.parametrize("name", ["multi3", "part_x", "quant_p", "cond"])
def test_groups_add_up_to_the_file(name, by):
    made = found(name)
    total = groups(made, by)
    assert sum(group.size for group in total) == made.size
    assert sorted(i for group in total for i in group.parts) == list(range(len(made.parts)))


def test_by_kind():
    assert sizes("part_x", GroupKey.KIND) == {
        "delegate": 4048, "program": 4024, "named data": 1568, "padding": 992, "constant": 8
    }  # fmt: skip


def test_a_delegate_is_in_the_group_of_all_its_operators():
    found_sizes = sizes("part_x", GroupKey.OPERATOR)
    assert found_sizes["c1 · convolution"] == 288 + 16
    assert found_sizes["c1 · convolution + relu"] == 1136


def test_without_an_etrecord_operators_are_kernels_and_nodes():
    assert sizes("llama", GroupKey.OPERATOR, record=False)["aten::permute_copy.out"] == 2048


def test_modules_have_their_own_bytes_and_those_of_the_modules_inside():
    of_label = {group.label: group for group in groups(found("multi3"), GroupKey.MODULE)}
    model = of_label["(Model)"]
    inside = sum(group.size for group in of_label.values() if group.module > model.module)
    assert (model.size, model.total) == (80, 80 + inside)
    assert of_label["(program)"].total == of_label["(program)"].size


def test_by_dtype_and_by_method():
    assert sizes("llama", GroupKey.DTYPE)["f32"] == 2 * (1024 + 64)
    assert sizes("multi3", GroupKey.METHOD)["decode + forward + prefill"] == 80


A, B = bytes(range(100)), bytes(reversed(range(100)))


def named(tmp_path, *blobs):
    names = [(f"n{i}", i) for i in range(len(blobs))]
    path = write_program(tmp_path / "a.pte", Method(), segments=blobs, named=names)
    return file_parts(open_file(str(path)))


def names_of(found, groups):
    return [[found.parts[i].name for i in group.parts] for group in groups]


def test_equal_bytes_under_other_names_are_found(tmp_path):
    found = named(tmp_path, A, B, A, B[:99], A)
    same = duplicates(found)
    assert names_of(found, same.groups) == [["n0", "n2", "n4"]]
    assert (same.groups[0].size, same.saved, same.unread) == (100, 200, 0)


def test_small_parts_are_not_compared(tmp_path):
    assert duplicates(named(tmp_path, A[:63], A[:63])).groups == ()
    assert len(duplicates(named(tmp_path, A[:64], A[:64])).groups) == 1


def test_the_most_bytes_come_first(tmp_path):
    found = named(tmp_path, A, A, B * 3, B * 3)
    assert [group.saved for group in duplicates(found).groups] == [300, 100]


def test_equal_delegates_count_with_their_constants_once(tmp_path):
    graph = xnnpack_graph(
        [(2, 3, {0: 0, 1: 1})], constants=[(0, 64)], values=[(1, 0, [4], 0), (1, 1, [4, 4], 0)]
    )
    method = Method(
        instructions=[(DELEGATE, 0, []), (DELEGATE, 1, [])],
        delegates=[("XnnpackBackend", True, 0), ("XnnpackBackend", True, 1)],
    )
    path = write_program(tmp_path / "a.pte", method, segments=[graph, graph])
    found = file_parts(open_file(str(path)))
    assert len([part for part in found.parts if part.role == "weight"]) == 2
    same = duplicates(found)
    assert [group.size for group in same.groups] == [len(graph)]
    assert same.saved == len(graph)


def test_a_file_that_is_gone_or_shorter_is_not_compared(tmp_path):
    found = named(tmp_path, A, A)
    path = tmp_path / "a.pte"
    path.write_bytes(path.read_bytes()[:-60])
    same = duplicates(found)
    assert (same.groups, same.unread) == ((), 1)
    assert same.why == "the file has changed, or its parts overlap"
    path.unlink()
    assert duplicates(found).unread == 2
