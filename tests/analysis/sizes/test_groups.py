"""Parts added up: every group of a key together is the file, and nothing is divided."""

import pytest

from tests.paths import DATA
from viewer.analysis.sizes.file_parts import file_parts
from viewer.analysis.sizes.groups import GroupKey, groups
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
