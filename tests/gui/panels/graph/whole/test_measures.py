"""What the whole model is colored by: time, memory and size of a real program file."""

from itertools import pairwise

import numpy as np
import pytest

from viewer.analysis.memory.instruction_operators import instruction_operators
from viewer.analysis.memory.plan import known_plan
from viewer.analysis.numeric.operator_errors import EDGES, OperatorErrors
from viewer.gui.panels.graph.whole.measures import (
    NO_FILE,
    error_measure,
    memory_measure,
    size_measure,
)
from viewer.program.executable.executable import InstructionKind


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
