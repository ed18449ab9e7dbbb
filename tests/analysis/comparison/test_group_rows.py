"""Rows by module, line, node, type and name."""

import pytest

from tests.analysis.comparison.test_rows import arms
from tests.builders.compare_sessions import arm
from tests.paths import DATA
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.operator_pairs import Grade
from viewer.analysis.comparison.rollups import LEVELS, LINE, MODULE, NAME, TYPE


def rows(edit, level):
    return {row.label: row for row in Comparison(*arms(edit), level).rows}


def test_renamed_modules_are_one_row_each():
    found = rows("02_module_renamed", MODULE)
    assert (found["blocks.0.dw"].grade, found["blocks.0.dw"].why) == (
        Grade.MOVED, "blocks.0.dw is stages.0.depthwise"
    )  # fmt: skip
    assert found["stem"].grade is Grade.SAME
    assert all(row.a and row.b for row in found.values())


def test_lines_are_paired_by_what_is_on_them_and_not_by_their_number():
    found = rows("11_file_moved", LINE)
    assert all(row.a and row.b for row in found.values())
    assert {row.grade for row in found.values()} == {Grade.MOVED}


def test_types_are_paired_by_name():
    found = rows("12_wrapped", TYPE)
    assert found["convolution"].grade is Grade.SAME
    assert {label for label, row in found.items() if row.grade is Grade.ONLY_B} == {
        "mul", "sub", "softmax"
    }  # fmt: skip


def test_types_that_share_their_time_on_one_side_are_one_row():
    found = rows("06_portable_vs_xnnpack", TYPE)
    assert all(row.a and row.b for row in found.values())
    assert found["layer_norm"].grade is Grade.SAME
    assert Grade.GROUP in {row.grade for row in found.values()}


def test_modules_that_a_delegate_joined_are_a_group():
    grades = {row.grade for row in rows("06_portable_vs_xnnpack", MODULE).values()}
    assert Grade.GROUP in grades


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("edit", ["06_portable_vs_xnnpack", "10_blocks_6_to_8", "20_bn_folded"])
def test_every_group_is_in_one_row_and_the_waterfall_adds_up(edit, level):
    comparison = Comparison(*arms(edit), level)
    for side, one in ((lambda r: r.a, comparison.a), (lambda r: r.b, comparison.b)):
        assert sorted(n for row in comparison.rows for n in side(row)) == list(
            range(len(one.parts))
        )
    fall = comparison.waterfall
    assert fall.a + fall.pairs + fall.only_a + fall.only_b + fall.rest == pytest.approx(fall.b)


def test_profiles_without_a_record_are_compared_by_the_names_of_slices():
    one = arm(DATA / "chrome_json/torch_training.json.gz")
    comparison = Comparison(one, one)
    assert {row.grade for row in comparison.rows} == {Grade.BY_NAME}
    csv = arm(DATA / "table_csv/two_threads.csv")
    assert {row.level for row in Comparison(csv, csv).rows} == {NAME}
