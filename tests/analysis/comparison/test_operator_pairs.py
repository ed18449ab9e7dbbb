"""Pairs of operators, compared with labeled edits: no wrong pair, and none is missing."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from tests.paths import DATA
from viewer.analysis.comparison.operator_pairs import Grade, pair_operators
from viewer.formats import open_file
from viewer.program.program import Method, Program

EDITS = sorted(path.name for path in (DATA / "compare").iterdir() if path.is_dir())


def programs(edit):
    return [open_file(str(DATA / f"compare/{edit}/{side}.etrecord")) for side in "ab"]


def handle(program, index):
    operator = program.operators[index]
    return f"{operator.method}:{operator.debug_handle}"


def handles(a, b, pairs):
    return {(handle(a, pair.a), handle(b, pair.b)) for pair in pairs.pairs}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_pairs_exactly_what_belongs_together(edit):
    a, b = programs(edit)
    truth = json.loads((DATA / f"compare/{edit}/truth.json").read_text())
    expected = {tuple(pair) for pair in truth["pairs"]}
    expected |= {
        (x, y) for group in truth["groups"] for x in group["a"] for y in group["b"]
    }  # fmt: skip
    assert handles(a, b, pair_operators(a, b)) == expected


@pytest.mark.parametrize("edit", EDITS)
def test_swapped_arms_have_the_same_pairs(edit):
    a, b = programs(edit)
    back = {(y, x) for x, y in handles(b, a, pair_operators(b, a))}
    assert handles(a, b, pair_operators(a, b)) == back


def grades(edit):
    return Counter(pair.grade for pair in pair_operators(*programs(edit)).pairs)


def test_grades_say_how_sure_a_pair_is():
    assert set(grades("01_reexport")) == {Grade.SAME}
    assert set(grades("06_portable_vs_xnnpack")) <= {Grade.SAME, Grade.MOVED}
    assert grades("20_bn_folded")[Grade.GROUP] == 3
    assert grades("02_module_renamed")[Grade.MOVED] == 12  # all below blocks


def test_a_pair_says_what_differs():
    whys = {pair.why for pair in pair_operators(*programs("02_module_renamed")).pairs}
    assert "module blocks.0.dw is stages.0.depthwise, another source line" in whys
    assert "same module, operator, shapes and source line" in whys


def test_the_same_record_is_decided_by_debug_handles():
    a, b = programs("01_reexport")
    assert pair_operators(a, a).same_program
    assert pair_operators(a, b).same_program
    assert not pair_operators(*programs("09_wider")).same_program


def renamed_method(program: Program, name: str) -> Program:
    (method,) = program.methods
    operators = tuple(replace(op, method=name) for op in method.operators)
    return replace(program, methods=(replace(method, name=name, operators=operators),))


def test_a_single_method_of_another_name_is_the_same():
    a, b = programs("01_reexport")
    found = pair_operators(a, renamed_method(b, "encode"))
    assert found.methods == (("forward", "encode"),)
    assert len(found.pairs) == len(a.operators)


def test_equal_modules_of_which_one_is_gone_stay_unpaired():
    """Three equal convolutions under new names, and four before: none can be told from another."""
    a, b = programs("05_swapped")
    names = {op.module_path for op in a.operators}
    assert {"first", "second"} <= names

    def renamed(program: Program, left: set[str]) -> Program:
        (method,) = program.methods
        operators = []
        for op in method.operators:
            if op.module_path in left:
                continue
            path = {"first": "one", "second": "two"}.get(op.module_path, op.module_path)
            nodes = tuple(
                replace(n, modules=(*n.modules[:-1], (path, n.modules[-1][1]))) for n in op.nodes
            )
            operators.append(replace(op, index=len(operators), nodes=nodes))
        made = Method(method.name, tuple(operators))
        return replace(program, methods=(made,))

    found = pair_operators(a, renamed(b, {"second"}))
    kept = renamed(b, {"second"})
    assert "one" not in {kept.operators[pair.b].module_path for pair in found.pairs}
