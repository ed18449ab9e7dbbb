"""Names of modules in another program: by what is paired, and by the contents of lists."""

import numpy as np

from tests.builders.nested_program import nested_program
from viewer.analysis.comparison.evidence import (
    ModuleNames,
    NamedCalls,
    PairedOperator,
    equal_elements,
    outer_paths,
)


def operators(*places):
    ops = [place.rpartition(":")[2] if ":" in place else "op" for place in places]
    program = nested_program([place.partition(":")[0] for place in places], ops=ops)
    return [PairedOperator.of(op, {}) for op in program.operators]


def names(a, b, pairs, elements=None):
    return ModuleNames(a, NamedCalls(b, [one.path for one in b]), pairs, elements or {})


def test_a_pair_names_the_modules_around_it():
    a = operators("blocks.0.conv", "blocks.0", "blocks.1.conv", "blocks.1")
    b = operators("stages.4.conv", "stages.4", "stages.5.conv", "stages.5")
    found = names(a, b, {0: 0})
    assert found.of("blocks.0") == "stages.4"
    assert found.partner == [0, 1, -1, -1]
    assert found.is_sure[1]
    assert not found.is_sure[3]


def test_a_module_that_another_one_became_is_no_namesake():
    a, b = operators("first", "second"), operators("second", "new")
    assert names(a, b, {0: 0}).partner == [0, -1]
    assert names(a, b, {}).partner == [-1, 0]


def test_the_nth_call_of_a_line_is_the_nth():
    a, b = operators("cell", "cell", "cell"), operators("cell", "cell")
    assert names(a, b, {}).partner == [0, 1, -1]


def kinds(*contents):
    codes = np.array(contents, np.int64)
    return codes


def test_elements_of_lists_are_known_by_their_contents():
    a, b = operators("l.0", "l.1", "l.2"), operators("l.0", "l.1", "l.2", "l.3")
    found, doubtful = equal_elements(a, b, (kinds(1, 2, 3), kinds(9, 1, 2, 3)))
    assert found == {"l.0": "l.1", "l.1": "l.2", "l.2": "l.3"}
    assert not doubtful


def test_elements_that_run_in_another_order_keep_their_numbers():
    a, b = operators("l.0", "l.1"), operators("l.1", "l.0")
    found, doubtful = equal_elements(a, b, (kinds(1, 1), kinds(1, 1)))
    assert found == {"l.0": "l.0", "l.1": "l.1"}
    assert not doubtful


def test_equal_elements_of_which_one_is_new_are_doubtful():
    a, b = operators("l.0", "l.1"), operators("l.0", "l.1", "l.2")
    _, doubtful = equal_elements(a, b, (kinds(1, 1), kinds(1, 1, 1)))
    assert doubtful == {"l.0", "l.1"}


def test_modules_around_a_module():
    assert outer_paths("a.0.b") == ["a", "a.0", "a.0.b"]
