"""What the Sizes panel shows of a file and of two files, and its texts."""

from dataclasses import replace

import numpy as np
import pytest

from tests.builders.sized_programs import write_constants
from viewer.gui.panels.sizes.answer import Grouping, SizesQuestion, find_copies, size_tree, work_out
from viewer.gui.panels.sizes.table import (
    BIGGER,
    EQUAL,
    SMALLER,
    beside_text,
    box_name,
    copies_text,
    figures,
    kind_of,
    name_text,
    ratio_text,
    shape_text,
    signed_bytes,
    tip_lines,
    verdict_of,
)
from viewer.model.times import plain_spaces
from viewer.render.box_pictures import NONE, Rest
from viewer.render.palette import OPERATORS, PLAIN, SLAB
from viewer.workspace.workspace import Workspace


@pytest.fixture
def two(tmp_path):
    """A file with parts of 64, 128 and 256 bytes, and one with 128, 128 and 512."""
    space = Workspace()
    space.open(str(write_constants(tmp_path / "a.pte", [64, 128, 256])))
    space.open(str(write_constants(tmp_path / "b.pte", [128, 128, 512])))
    return work_out(SizesQuestion(space, *space.executables))


@pytest.fixture
def copied(tmp_path):
    """Six constants, of which the last two equal the first one."""
    space = Workspace()
    path = write_constants(tmp_path / "a.pte", [128, 64, 256, 512, 128, 128], copies=2)
    space.open(str(path))
    return work_out(SizesQuestion(space, space.executables[0]))


def row_named(answer, name):
    return next(i for i in range(len(answer)) if name_text(answer.part(i)) == name)


def lines(answer, name, copies=None):
    tree = size_tree(answer, Grouping.KIND)
    box = Rest(int(tree.node[row_named(answer, name)]), NONE)
    return [plain_spaces(line) for line in tip_lines(answer, tree, box, copies)]


def test_a_part_has_its_size_tensor_users_and_place(answer_of):
    answer = answer_of("multi3.pte", "multi3.etrecord")
    name = next(n for n in (name_text(answer.part(i)) for i in range(len(answer))) if "weight" in n)
    found = lines(answer, name)
    assert found[0] == name
    assert found[1].endswith("%")
    assert found[2].startswith("constant · f32 ")
    assert found[3].startswith("used by ")
    assert found[-1].startswith("offset ")


def test_named_data_of_xnnpack_has_its_role(answer_of):
    answer = answer_of("mobile_x.pte")
    names = [name_text(answer.part(i)) for i in range(len(answer))]
    hashes = [name for name in names if name.startswith("weight · ")]
    assert hashes
    assert all(len(name) == len("weight · ") + 17 for name in hashes)


def test_shapes(answer_of):
    part = answer_of("mobile_x.pte").part(0)
    assert shape_text(replace(part, dtype="f32", shape=(8, 3))) == "8 × 3"
    assert shape_text(replace(part, dtype="f32", shape=())) == "scalar"
    assert shape_text(replace(part, dtype="", shape=None)) == ""


def test_colors_are_those_of_operators(answer_of):
    answer = answer_of("multi3.pte", "multi3.etrecord")
    own = answer.colors(None, None)
    for row in range(len(answer)):
        alone = [operator % OPERATORS for operator in answer.part(row).operators]
        assert own[row] == (PLAIN if not alone else SLAB if len(alone) > 1 else alone[0])
    count = len(answer.a.program.operators)
    assert set(answer.colors(np.full(count, 3, np.uint8), None).tolist()) <= {3, PLAIN, SLAB}


def test_without_an_etrecord_parts_of_one_kernel_have_one_color(two):
    colors = two.colors(None, None)
    first, other = row_named(two, "constant 1"), row_named(two, "constant 3")
    assert colors[first] == colors[other] != PLAIN
    assert colors[row_named(two, "program")] == PLAIN


def test_changes_have_a_sign_a_ratio_and_a_mark():
    assert plain_spaces(signed_bytes(1200)) == "+1.2 kB"
    assert plain_spaces(signed_bytes(-64)) == "−64 B"
    assert plain_spaces(ratio_text(100, 150)) == "+50.0 %"
    assert plain_spaces(ratio_text(100, 75)) == "−25.0 %"
    assert (ratio_text(0, 5), ratio_text(5, 0)) == ("only in B", "only in A")
    assert [verdict_of(change) for change in (5, -5, 0)] == [BIGGER, SMALLER, EQUAL]


def test_two_files_are_side_by_side(two):
    assert two.is_compared
    row = row_named(two, "constant 1")
    assert (two.bytes_a[row], two.bytes_b[row], two.change[row]) == (64, 128, 64)
    assert lines(two, "constant 1")[1:3] == ["A 64 B · B 128 B", "+64 B, +100.0 %"]
    assert lines(two, "constant 2")[2] == "no change"
    assert int(two.bytes_a.sum()) == two.a.size
    assert int(two.bytes_b.sum()) == two.b.size
    assert beside_text(two) == (
        "Open the matching ETRecord of A and B to see parameters, operators and modules · "
        "Parts are paired by the order of calls"
    )
    assert [plain_spaces(number) for number, _ in figures(two)] == [
        plain_spaces(signed_bytes(two.b.size - two.a.size))
    ]


def test_a_kind_that_differs_shows_both(answer_of):
    answer = answer_of("multi3.pte", "multi3.etrecord")
    row = next(i for i in range(len(answer)) if answer.part(i).names)
    assert kind_of(answer, row) == "constant"


def test_copies_are_found_by_content(copied):
    copies = find_copies(copied)
    assert copies is not None
    rows = [row_named(copied, f"constant {i}") for i in (1, 5, 6)]
    assert copies.count[rows].tolist() == [3, 3, 3]
    assert int((copies.count > 0).sum()) == 3
    assert (copies.groups, copies.extra, copies.saved) == (1, 2, 256)
    assert plain_spaces(copies_text(copied, copies)).startswith(
        "2 parts are copies of other parts: 256 B ("
    )
    assert lines(copied, "constant 5", copies)[-1] == "same bytes as constant 1, constant 6"


def test_looking_for_copies_can_be_stopped(copied):
    assert find_copies(copied, lambda: True) is None
    assert copies_text(copied, None) == "Looking for duplicate weights…"


def test_a_file_that_is_gone_says_so(copied, tmp_path):
    (tmp_path / "a.pte").unlink()
    copies = find_copies(copied)
    assert copies is not None
    assert copies.unread > 0
    assert "not compared: No such file" in copies_text(copied, copies)


def test_a_group_and_the_rest_of_its_members_say_how_many_parts_they_have(copied):
    tree = size_tree(copied, Grouping.KIND)
    group = next(i for i, label in enumerate(tree.label) if label == "constant")
    assert tip_lines(copied, tree, Rest(group, 0), None)[-1].startswith("6 parts · ")
    rest = Rest(group, 2)
    assert box_name(copied, tree, rest) == "4 smaller"
    assert tip_lines(copied, tree, rest, None)[-1].startswith("4 parts · ")
