"""Self times of paths per inference: medians, and slices around an inference."""

import numpy as np

from tests.builders.path_arms import arm_of_traces, steps
from viewer.analysis.comparison.changes.paths.joined_paths import joined_paths
from viewer.analysis.comparison.changes.paths.path_names import PathNames
from viewer.analysis.comparison.changes.paths.path_times import times_of_paths
from viewer.analysis.comparison.comparison import Comparison


def times_of(trace):
    """The self time of every path of a trace, by its name."""
    arm = arm_of_traces(trace)
    names = PathNames(Comparison(arm, arm), None)
    paths = joined_paths([(arm.sessions[0], 0)], names)
    times = times_of_paths(arm.sessions[0], paths, paths.of_slice[0])
    return {paths.labels[n]: ns for n, ns in zip(paths.name.tolist(), times.own, strict=True)}


def test_the_time_of_a_step_is_the_median_over_steps():
    assert times_of(steps("a", [700, 300, 500])) == {"main": 0, "step": 10, "work": 500}


def test_an_even_number_of_steps_has_the_mean_of_the_two_in_the_middle():
    assert times_of(steps("a", [700, 300, 500, 400]))["work"] == 450


def test_the_call_around_all_steps_counts_with_its_part_in_each():
    found = times_of(steps("a", [100, 100], rest=60))
    assert found["main"] == 0
    assert found["step"] == 60


def test_paths_outside_of_inferences_have_no_time():
    arm = arm_of_traces(steps("a", [100, 100]))
    names = PathNames(Comparison(arm, arm), None)
    paths = joined_paths([(arm.sessions[0], 0)], names)
    times = times_of_paths(arm.sessions[0], paths, np.full_like(paths.of_slice[0], len(paths)))
    assert np.isnan(times.own).all()
