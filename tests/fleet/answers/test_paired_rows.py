"""Which rows of two arms belong together."""

import pytest

from viewer.analysis.comparison.operator_pairs import Grade
from viewer.fleet.answers.arms import LakePart, ListedOperator
from viewer.fleet.answers.comparison import LINE, MODULE, TYPE, paired_methods, paired_rows

NONE = ({}, {})


def part(id, label="", method="forward", level="operators", **more):
    values = {"type": "linear", "module": "m", "source": "net.py:3", "backend": ""} | more
    return LakePart(method, level, id, label or f"op {id}", grain_ns=1.0, measured=True, **values)


def listed(*names, first=1):
    """The operators of a record, by method: each of another call."""
    found = [ListedOperator(i, name, "m", "", "") for i, name in enumerate(names, first)]
    return {"forward": found}


def sides(rows, a, b):
    return [([a[i].id for i in row.a], [b[i].id for i in row.b], row.grade) for row in rows]


def test_operators_of_the_same_record_are_paired_by_handle():
    a, b = [part("1"), part("2")], [part("1"), part("2")]
    operators = listed("conv", "relu"), listed("conv", "relu")
    assert sides(paired_rows(a, b, operators, "operator"), a, b) == [
        (["1"], ["1"], Grade.SAME), (["2"], ["2"], Grade.SAME),
    ]  # fmt: skip


def test_after_an_inserted_operator_the_rest_is_paired_by_what_it_is():
    a, b = [part("1"), part("2")], [part("1"), part("2"), part("3")]
    operators = listed("conv", "relu"), listed("conv", "norm", "relu")
    assert sides(paired_rows(a, b, operators, "operator"), a, b) == [
        (["1"], ["1"], Grade.BY_NAME), (["2"], ["3"], Grade.BY_NAME), ([], ["2"], Grade.ONLY_B),
    ]  # fmt: skip


def test_a_delegate_that_took_operators_over_is_one_row_with_their_kernels():
    a = [part("1"), part("2"), part("3")]
    b = [part("1+2", backend="XnnpackBackend"), part("3")]
    operators = listed("conv", "relu", "add"), listed("conv", "relu", "add")
    rows = paired_rows(a, b, operators, "operator")
    assert sides(rows, a, b) == [
        (["1", "2"], ["1+2"], Grade.GROUP), (["3"], ["3"], Grade.SAME),
    ]  # fmt: skip
    assert [row.label for row in rows] == ["op 1 and 1 more (kernels → XnnpackBackend)", "op 3"]


def test_without_records_equal_names_are_paired_in_their_order():
    a = [part(f"instruction {i}", name, level="calls") for i, name in ((2, "add"), (10, "mul"))]
    b = [part(f"instruction {i}", name, level="calls") for i, name in ((0, "mul"), (7, "sub"))]
    assert sides(paired_rows(a, b, NONE, "operator"), a, b) == [
        (["instruction 2"], [], Grade.ONLY_A),
        (["instruction 10"], ["instruction 0"], Grade.BY_NAME),
        ([], ["instruction 7"], Grade.ONLY_B),
    ]


def test_without_a_list_of_operators_equal_handles_are_only_equal_names():
    a, b = [part("1"), part("2", "other")], [part("1"), part("2", "relu")]
    assert sides(paired_rows(a, b, NONE, "operator"), a, b) == [
        (["1"], ["1"], Grade.BY_NAME), (["2"], [], Grade.ONLY_A), ([], ["2"], Grade.ONLY_B),
    ]  # fmt: skip


def test_a_plus_in_a_name_is_no_set_of_operators():
    a, b = [part("a+b", "a+b"), part("b", "b")], [part("a+b", "a+b")]
    rows = paired_rows(a, b, NONE, "operator")
    assert sides(rows, a, b) == [(["a+b"], ["a+b"], Grade.BY_NAME), (["b"], [], Grade.ONLY_A)]


@pytest.mark.parametrize(("level", "labels"), [
    (TYPE, ["conv", "relu"]), (MODULE, ["m"]), (LINE, ["(not known)", "net.py:3"]),
])  # fmt: skip
def test_rows_may_be_types_modules_or_lines(level, labels):
    a = [part("1", type="conv", source=""), part("2", type="relu")]
    assert [row.label for row in paired_rows(a, a, NONE, level)] == labels


def test_time_that_modules_or_lines_share_is_a_row_of_its_own():
    a = [part("1+2", module="v", source="net.py:3"), part("2", module="v")]
    operators = {
        "forward": [
            ListedOperator(1, "softmax", "", "", ""),
            ListedOperator(2, "linear", "v", "", "/home/net.py:3"),
        ]
    }
    both = operators, operators
    labels = [row.label for row in paired_rows(a, a, both, MODULE)]
    assert labels == ["(outermost module) + v", "v"]
    assert [row.label for row in paired_rows(a, a, both, LINE)] == [
        "(no line) + net.py:3", "net.py:3",
    ]  # fmt: skip
    assert [row.label for row in paired_rows(a, a, both, TYPE)] == ["linear + softmax", "linear"]


def test_methods_are_paired_by_name_or_if_they_are_the_only_ones():
    assert paired_methods(["f", "f"], ["g"]) == [("f", "g")]
    assert paired_methods(["prefill", "decode"], ["decode", "other"]) == [("decode", "decode")]
    a = [part("1", method="prefill"), part("1", method="decode")]
    rows = paired_rows(a, a, NONE, TYPE)
    assert [row.label for row in rows] == ["prefill: linear", "decode: linear"]
    assert paired_rows(a, a, NONE, "inference") == []
