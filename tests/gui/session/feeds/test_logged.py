"""Rows of logged values with those of a reference, and their figures."""

import numpy as np
import pytest

from tests.builders.logged_runs import LoggedRun, floats
from viewer.gui.session.feeds.logged_numbers import (
    MeasuredNumbers,
    NumbersQuestion,
    logged_numbers,
    measure,
)
from viewer.gui.session.feeds.references import Reference
from viewer.workspace.workspace import Workspace


def linked(*paths):
    """The links of the profiles among some files."""
    workspace = Workspace()
    for path in paths:
        workspace.open(str(path))
    return [workspace.links(trace) for trace in workspace.traces]


def measured(numbers):
    found = MeasuredNumbers(numbers)
    while not found.is_complete:
        found = measure(found)
    return found


@pytest.fixture
def pair(data):
    """The recorded runs: XNNPACK, and portable kernels as the reference."""
    folder = data / "numbers"
    names = "xnnpack.etdp", "xnnpack.etrecord", "portable.etdp", "portable.etrecord"
    return linked(*(folder / name for name in names))


def two_runs(folder, *pairs, name="relu.out"):
    """A run and a reference of it; pairs: the values of each call in both."""
    paths = []
    for side, file in enumerate(("a", "b")):
        run = LoggedRun()
        run.inference(*((name, [values[side]]) for values in pairs))
        paths.append(run.write(folder, file)[0])
    return linked(*paths)


def test_without_a_reference_there_is_a_row_for_every_value(pair):
    numbers = logged_numbers(NumbersQuestion(pair[0]))
    assert numbers.problem == ""
    assert len(numbers.rows) == 15
    first, second = numbers.rows[:2]
    assert (first.label, first.is_result, first.number) == ("XnnpackBackend · 4 ops", False, None)
    assert (second.is_result, second.number) == (True, None)
    assert [row.number for row in numbers.rows[2:5]] == [0, 1, 2]
    assert numbers.compared == ()
    assert numbers.of_operator[numbers.rows[2].operators[0]] == (2, 3, 4)


def test_another_profile_is_paired_as_in_compare(pair):
    reference = Reference(pair[1].trace.path)
    found = measured(logged_numbers(NumbersQuestion(pair[0], None, reference, pair[1])))
    numbers = found.numbers
    assert numbers.reference == "portable.etdp · forward · run 1"
    assert len(numbers.compared) == 11
    assert numbers.rows[found.most].label == "XnnpackBackend · 4 ops"
    assert found.figures[found.most].gap.snr == pytest.approx(139.8, abs=0.1)
    # All operators of the delegate call have the error of its result.
    call = numbers.rows[1]
    assert len(call.operators) == 4
    assert {found.errors.of[i] for i in call.operators} == {found.figures[1].gap.error}


def test_figures_come_some_rows_at_a_time(pair, monkeypatch):
    monkeypatch.setattr("viewer.gui.session.feeds.logged_numbers._AT_A_TIME", -1.0)
    found = measure(MeasuredNumbers(logged_numbers(NumbersQuestion(pair[0]))))
    assert len(found.figures) == 1
    assert not found.is_complete
    assert len(measure(found).figures) == 2


def test_the_arrays_of_an_npz_are_paired_by_debug_handle(pair, data):
    reference = Reference(str(data / "numbers/reference.npz"))
    numbers = logged_numbers(NumbersQuestion(pair[0], None, reference))
    assert numbers.reference == "reference.npz"
    assert len(numbers.compared) == 5
    assert numbers.unused


def test_a_bundled_program_has_the_expected_outputs(pair, data):
    reference = Reference(str(data / "numbers/mixed.bpte"), 0)
    numbers = logged_numbers(NumbersQuestion(pair[0], None, reference))
    assert numbers.reference == "mixed.bpte · test case 0"
    assert {numbers.rows[i].label for i in numbers.compared} == {"outputs"}


def test_if_the_test_case_is_not_known_all_are_offered(pair, data):
    reference = Reference(str(data / "numbers/mixed.bpte"))
    numbers = logged_numbers(NumbersQuestion(pair[0], None, reference))
    assert "does not state which of 2 test cases it ran" in numbers.reference_problem
    assert numbers.cases == (0, 1)
    assert len(numbers.rows) == 15, "the values are there without a reference"


def test_a_reference_that_is_not_open_is_said(pair, data):
    reference = Reference(str(data / "pte/llama.etdp"))
    numbers = logged_numbers(NumbersQuestion(pair[0], None, reference))
    assert "llama.etdp" in numbers.reference_problem
    assert numbers.reference == ""


def test_without_its_buffer_it_says_what_is_missing(data, tmp_path):
    path = tmp_path / "alone.etdp"
    path.write_bytes((data / "numbers/portable.etdp").read_bytes())
    numbers = logged_numbers(NumbersQuestion(linked(path)[0]))
    assert numbers.wants_buffer
    assert "debug buffer of at least" in numbers.problem
    buffer = str(data / "numbers/portable.bin")
    found = logged_numbers(NumbersQuestion(linked(path)[0], buffers=(buffer,)))
    assert (found.problem, len(found.rows)) == ("", 18)


def test_another_shape_is_a_fault_of_the_row(tmp_path):
    a, b = two_runs(tmp_path, (floats(1, 2), floats(1, 2, 3)))
    reference = Reference(b.trace.path)
    found = measured(logged_numbers(NumbersQuestion(a, None, reference, b)))
    assert found.figures[0].fault == "the shapes differ"
    assert found.figures[0].summary is not None, "its own values are read"


def test_what_only_the_reference_has_comes_last(tmp_path):
    paths = []
    for name, kernels in (("a", ["relu.out"]), ("b", ["relu.out", "gelu.out"])):
        run = LoggedRun()
        run.inference(*((kernel, [floats(1)]) for kernel in kernels))
        paths.append(run.write(tmp_path, name)[0])
    a, b = linked(*paths)
    numbers = logged_numbers(NumbersQuestion(a, None, Reference(b.trace.path), b))
    last = numbers.rows[-1]
    assert (last.value, last.label) == (None, "gelu.out")
    assert numbers.compared == (0,)


def test_nan_is_counted_and_compared_as_0(tmp_path):
    a, b = two_runs(tmp_path, (floats(np.nan, 2), floats(1, 2)))
    found = measured(logged_numbers(NumbersQuestion(a, None, Reference(b.trace.path), b)))
    assert found.figures[0].summary.nan == 1
    assert found.figures[0].gap.nan == (1, 0)
    assert found.figures[0].gap.max_abs == 1.0
