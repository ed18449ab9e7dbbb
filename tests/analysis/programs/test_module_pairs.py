"""Which modules of two ETRecords belong together."""

from dataclasses import replace

import pytest

from tests.paths import DATA
from viewer.analysis.comparison.operator_pairs import OperatorPairs, pair_operators
from viewer.analysis.programs.module_pairs import paired_modules
from viewer.formats import open_file
from viewer.program.module_tree import module_tree

FILES = DATA / "pte"


@pytest.mark.parametrize("name", ["mobile_x", "multi3", "part_x"])
def test_the_modules_of_one_record_are_paired_with_themselves(name):
    program = open_file(str(FILES / f"{name}.etrecord"))
    tree = module_tree(program)
    found = paired_modules(tree, tree, pair_operators(program, program))
    assert all(i == j for i, j in found.items())
    assert {i for i, one in enumerate(tree.modules) if one.operators} <= set(found)


def test_modules_follow_their_operators_into_another_path():
    program = open_file(str(FILES / "mobile_x.etrecord"))
    tree = module_tree(program)
    renamed = replace(
        tree,
        modules=tuple(replace(one, path=one.path.replace("stem", "first")) for one in tree.modules),
    )
    found = paired_modules(tree, renamed, pair_operators(program, program))
    (stem,) = [i for i, one in enumerate(tree.modules) if one.path == "stem"]
    assert renamed.modules[found[stem]].path == "first"


def test_without_pairs_the_path_decides():
    tree = module_tree(open_file(str(FILES / "mobile_x.etrecord")))
    found = paired_modules(tree, tree, OperatorPairs((), (), same_program=False))
    assert all(i == j for i, j in found.items())
    assert len(found) == len(tree.modules)
