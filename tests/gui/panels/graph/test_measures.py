"""What the graph is colored by: time, memory and size of a real program file."""

from itertools import pairwise

import numpy as np
import pytest

from tests.builders.nested_program import nested_program
from viewer.analysis.memory.plan import instruction_operators, known_plan
from viewer.analysis.numbers.compared import EDGES, OperatorErrors
from viewer.gui.panels.graph.measures import (
    NO_FILE,
    Measure,
    MeasureKind,
    amounts,
    error_measure,
    memory_measure,
    size_measure,
)
from viewer.program.executables import InstructionKind
from viewer.render.graph.model_tree import group_tree


@pytest.fixture
def workspace(opened, data):
    return opened(
        *(data / "pte" / f"part_x.{end}" for end in ("etdp", "etrecord", "pte"))
    ).workspace


def rows(measure):
    return {
        tuple(measure.operators[a:b].tolist()): int(value)
        for (a, b), value in zip(pairwise(measure.ptr), measure.values, strict=True)
    }


def test_memory_is_what_instructions_write(workspace):
    program = workspace.programs[0]
    found = rows(memory_measure(workspace, program))
    method = workspace.executables[0].methods[0]
    storages = known_plan(method).storages
    written = int(storages.size[storages.writer >= 0].sum())
    assert 0 < sum(found.values()) <= written
    calls = [o for one in method.instructions if one.kind is InstructionKind.DELEGATE_CALL
             for o in [instruction_operators(program, method)[one.number]]]  # fmt: skip
    assert set(calls) <= set(found)
    assert any(len(operators) > 1 for operators in calls)


def test_size_is_what_the_file_stores_for_operators(workspace):
    measure = size_measure(workspace, workspace.programs[0])
    assert 0 < sum(rows(measure).values()) <= measure.whole <= workspace.executables[0].size
    assert not measure.note


def test_without_a_program_file_a_note_says_so(sample):
    workspace = sample("attention_xnnpack").workspace
    for measure in (memory_measure, size_measure):
        found = measure(workspace, workspace.programs[0])
        assert found.note == NO_FILE
        assert not len(found.values)


def test_errors_are_on_a_scale_of_powers_of_ten():
    """Each step of the colors of errors elsewhere is as wide on it as every other."""
    measure = error_measure(OperatorErrors({4: 1e-3, 1: 0.0, 7: np.inf}))
    assert measure.operators.tolist() == [1, 4, 7]
    assert [measure.text(value) for value in measure.values.tolist()] == [
        "no error", "1.0e\N{MINUS SIGN}03", "not finite or no signal"
    ]  # fmt: skip
    assert measure.parts(measure.values, np.inf).tolist() == pytest.approx([0, 4 / 7, 1])
    steps = measure.parts(np.array(EDGES), 1.0) * (len(EDGES) + 1)
    assert steps.tolist() == pytest.approx(list(range(1, len(EDGES) + 1)))
    assert (measure.least, measure.most(0.5), measure.most(0)) == ("10⁻⁷", "1", "")


def test_of_two_files_of_a_model_only_one_counts(workspace, opened, data, tmp_path):
    """A second export of the same ETRecord must not double what the operators hold."""
    copy = tmp_path / "copy.pte"
    copy.write_bytes((data / "pte" / "part_x.pte").read_bytes())
    both = opened(*(data / "pte" / f"part_x.{end}" for end in ("etdp", "etrecord", "pte")), copy)
    assert len(both.workspace.executables) == 2
    for measure in (memory_measure, size_measure):
        one = measure(workspace, workspace.programs[0])
        two = measure(both.workspace, both.workspace.programs[0])
        assert rows(two) == rows(one)


PLACES = ["a.x", "a.x", "a.y", "a.y", "b", "b"]


def measure(sets, combine=np.add, dtype=np.int64):
    lengths = [len(own) for own, _ in sets]
    return Measure(
        MeasureKind.SIZE, "Bytes", np.array([o for own, _ in sets for o in own], np.int64),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([value for _, value in sets], dtype), lambda value: f"{value:g} B", "nothing",
        "calls", combine, 100,
    )  # fmt: skip


@pytest.fixture
def tree():
    return group_tree(nested_program(PLACES), ())


def of(tree, found, name):
    node = tree.names.index(name)
    return int(found.own[node]), int(found.shared[node]), int(found.sets[node])


def test_a_set_counts_for_the_innermost_group_that_has_all_of_it(tree):
    found = amounts(tree, measure([((0,), 5), ((0, 1), 7), ((1, 2), 20), ((3, 4, 5), 40)]))
    assert of(tree, found, "x") == (12, 20, 1)
    assert of(tree, found, "y") == (0, 60, 2)
    assert of(tree, found, "a") == (32, 40, 1)
    assert of(tree, found, "b") == (0, 40, 1)
    assert of(tree, found, "forward") == (72, 0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_of_every_set_looked_at_alone(tree, seed):
    dice = np.random.default_rng(seed)
    sets = [
        (tuple(sorted(dice.choice(6, dice.integers(1, 6), replace=False).tolist())), 3**n)
        for n in range(6)
    ]
    found = amounts(tree, measure(sets))
    for node in range(len(tree)):
        inside = set(tree.inside(node).tolist())
        own = [value for operators, value in sets if set(operators) <= inside]
        shared = [value for operators, value in sets
                  if inside & set(operators) and not set(operators) <= inside]  # fmt: skip
        assert (found.own[node], found.has[node]) == (sum(own), bool(own))
        assert (found.shared[node], found.sets[node]) == (sum(shared), len(shared))


def test_a_measure_may_take_the_largest_value_instead_of_the_sum(tree):
    found = amounts(tree, measure([((0,), 0.25), ((1,), 0.5), ((4,), 2.0)], np.maximum, np.float64))
    values = {name: float(found.own[tree.names.index(name)]) for name in ("x", "a", "b", "forward")}
    assert values == {"x": 0.5, "a": 0.5, "b": 2.0, "forward": 2.0}


def test_texts_tell_what_is_own_and_what_is_shared(tree):
    found = amounts(tree, measure([((0,), 5), ((0, 2), 7), ((2,), 0), ((3, 4), 1), ((3, 5), 1)]))
    texts = [found.text(int(leaf)) for leaf in tree.leaf]
    plain = [text.replace("\u202f", " ") for text in texts]
    assert plain == [
        "5 B · 5.0 % + shared", "", "7 B shared by 2", "2 B in 2 shared calls", "1 B shared by 2",
        "1 B shared by 2",
    ]  # fmt: skip


def test_without_sets_nothing_has_a_value(tree):
    found = amounts(tree, measure([]))
    assert not found.has.any()
    assert not found.sets.any()
