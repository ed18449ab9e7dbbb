"""A comparison of open profiles: its rows, the slices of a row, and a typical inference."""

from dataclasses import replace
from shutil import copyfile

import numpy as np
import pytest

from tests.builders.compare_sessions import INFERENCES, write_session
from tests.builders.compared_windows import arms_of, write_arms
from tests.builders.workspaces import workspace_of
from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.comparison.levels import CALLS
from viewer.model.queries import parent_of
from viewer.view.open_comparison import OpenComparison
from viewer.view.state import ChosenArm, ComparedArms


@pytest.fixture
def paths(tmp_path):
    return write_arms(tmp_path)


@pytest.fixture
def found(paths):
    return OpenComparison(workspace_of(*paths[0], *paths[1]), arms_of(*paths))


def row_of(found, label):
    return next(i for i, (row, _) in enumerate(found.rows) if row.label == label)


def test_the_changed_row_is_slower(found):
    assert found.problem == ""
    assert found.rows[row_of(found, "add.out")][1].verdict is Verdict.SLOWER


def test_all_levels_follow_relative_times_and_the_typical_inference_does_not(found, paths):
    chosen = replace(arms_of(*paths), relative=True)
    relative = OpenComparison(workspace_of(*paths[0], *paths[1]), chosen)
    assert all(relative.at(level).is_relative for level in ("operator", "name"))
    assert relative.subtitle == "medians of 4 + 4 sessions, relative to the inference"
    assert found.subtitle == "medians of 4 + 4 sessions"
    for side in (0, 1):
        assert relative.typical(side)[1].start == found.typical(side)[1].start
    row = row_of(found, "conv.out")
    assert relative.rows[row][1].change < found.rows[row][1].change


def test_each_profile_is_in_its_arm(found, paths):
    assert [found.side_of(path) for path in (paths[0][0], paths[1][0], "other")] == [0, 1, None]


def test_every_call_and_its_kernel_has_the_row_of_the_call(found, paths):
    row = row_of(found, "add.out")
    rows = found.rows_of_slices(paths[1][0])
    # A call and its kernel in each of the inferences, also in those that warm up.
    assert (rows == row).sum() == 2 * INFERENCES
    assert found.rows_of_slices("other") is None


def test_the_slices_of_a_row_in_an_inference_are_the_outermost(found):
    path, run = found.typical(1)
    slices = found.slices_of_rows(path, (row_of(found, "add.out"),), run, CALLS)
    assert len(slices) == 1


def test_slices_of_several_rows_do_not_contain_one_another(found):
    path, run = found.typical(1)
    rows = [row_of(found, name) for name in ("add.out", "mul.out")]
    apart = [found.slices_of_rows(path, (row,), run, CALLS) for row in rows]
    both = found.slices_of_rows(path, rows, run, "operator")
    assert both.tolist() == sorted(np.concatenate(apart).tolist())


def test_no_rows_have_no_slices(found):
    path, run = found.typical(0)
    assert len(found.slices_of_rows(path, (), run, CALLS)) == 0


def test_of_nested_slices_only_the_outermost_are_those_of_a_row(data):
    path = str(data / "chrome_json/kineto_cpu.json")
    arms = ComparedArms(ChosenArm((path,)), ChosenArm((path,)))
    found = OpenComparison(workspace_of(path), arms)
    session = found.arms[0].sessions[0]
    trace = session.table.trace
    every = range(len(found.at("name").rows))
    slices = found.slices_of_rows(path, every, session.runs[0], "name")
    assert {parent_of(trace.slices, int(i)) for i in slices} == {-1}


def test_the_typical_inference_has_no_interrupted_call(tmp_path):
    """Every other inference is interrupted in another call, so all but a few have one such call."""
    times = {name: [100_000] * INFERENCES for name in ("a.out", "b.out", "c.out")}
    for n in range(3, INFERENCES - 1):
        times[list(times)[n % 3]][n] = 5_000_000
    path = str(write_session(tmp_path / "run.etdp", times))
    arms = ComparedArms(ChosenArm((path,)), ChosenArm((path,), (4, 5)))
    _, run = OpenComparison(workspace_of(path), arms).typical(0)
    assert run.end - run.start < 1_000_000


def test_an_arm_of_one_recording_twice_is_a_problem(paths, tmp_path):
    copy = copyfile(paths[0][0], tmp_path / "copy.etdp")
    arms = arms_of([paths[0][0], str(copy)], paths[1])
    found = OpenComparison(workspace_of(*paths[0], *paths[1], copy), arms)
    assert found.problem == "A: a0.etdp and copy.etdp are the same recording"


def test_inferences_of_one_file_are_compared_by_number(paths):
    arms = ComparedArms(ChosenArm((paths[0][0],), (1,)), ChosenArm((paths[0][0],), (5, 6, 7)))
    found = OpenComparison(workspace_of(paths[0][0]), arms)
    assert [len(arm.sessions[0].runs) for arm in found.arms] == [1, 3]
    assert {one.verdict for _, one in found.rows} == {Verdict.CANNOT_TELL}
    assert found.subtitle == "inference 1 → median of inferences 5 to 7"
    assert np.count_nonzero(found.rows_of_slices(paths[0][0]) >= 0) > 0


def test_levels_are_computed_once(found):
    assert found.at("name") is found.at("name")
    assert {row.label for row in found.at("name").rows} >= {"native_call_add.out"}
