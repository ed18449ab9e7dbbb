"""What Torq profiles state about their slices."""

import numpy as np
import pytest

from tests.builders.torq_host_trace import EXECUTION, host_trace
from tests.paths import DATA
from viewer.analysis.torq.measured_actions import identified_slices, states
from viewer.formats import open_file
from viewer.model.recorded_names import ACTION, JOB, LOCATION, TASK


def groups(trace, level):
    """The names of the groups, and how many slices each has."""
    names, group = identified_slices(trace, level)
    return {" + ".join(name): int((group == i).sum()) for i, name in enumerate(names)}


def sample(name):
    return open_file(str(DATA / "torq" / name))


def test_a_compile_profile_states_locations_and_tasks_or_actions():
    trace = sample("compile_c3_taskid.csv")
    assert [states(trace, level) for level in (LOCATION, TASK, ACTION, JOB)] == [
        True, True, False, False
    ]  # fmt: skip
    assert groups(trace, ACTION) == {}
    assert set(groups(trace, TASK)) > {"task 0", "task 1"}
    found = groups(trace, LOCATION)
    assert "tiny_cnn.mlir:11:10 + tiny_cnn.mlir:13:10" in found  # fused, without the caller
    assert sum(found.values()) == len(trace.slices)
    assert set(groups(sample("compile_c2_actionindex_callsite.csv"), ACTION)) == {
        "action 4", "action 6", "action 8", "action 10"
    }  # fmt: skip


def test_an_action_that_waits_for_a_job_has_the_slice_of_the_job():
    trace = host_trace()
    names, group = identified_slices(trace, ACTION)
    (job,) = np.flatnonzero(group == names.index(("action 4",))).tolist()
    assert trace.name(job) == "job 0"
    assert ("action 3",) not in names  # it starts the job
    assert ("action 2",) in names
    assert groups(trace, JOB) == {f"job {number}": 1 for number in range(4)}


def test_actions_of_several_dispatches_have_their_names():
    trace = host_trace((EXECUTION, EXECUTION), ("first", "second"))
    assert {"first · action 2", "second · action 2"} <= groups(trace, ACTION).keys()


@pytest.mark.parametrize("level", [LOCATION, ACTION, JOB, TASK])
def test_other_profiles_state_nothing(level):
    trace = open_file(str(DATA / "chrome_json/torch_training.json.gz"))
    names, group = identified_slices(trace, level)
    assert names == []
    assert (group == -1).all()
