"""The medians of groups of parts over the sessions of an arm."""

import numpy as np

from tests.builders.compare_sessions import arm, write_session, write_sessions
from viewer.analysis.comparison.arms import Arm


def test_a_group_is_summed_in_each_inference_before_the_median(tmp_path):
    swinging = {"a.out": [1000, 5000] * 6, "b.out": [5000, 1000] * 6}
    found = arm(write_session(tmp_path / "s.etdp", swinging))
    assert found.medians([[0, 1]]).tolist() == [[6000]]
    apart = found.medians([[0], [1]])
    assert sorted(apart[0].tolist()) == [1000, 5000]


def test_sessions_are_rows_and_what_a_session_lacks_is_unknown(tmp_path):
    paths = write_sessions(
        tmp_path, "s", {"a.out": 100, "b.out": 20}, {"a.out": 300}, {"a.out": 200, "b.out": 40}
    )
    found = arm(*paths)
    np.testing.assert_array_equal(found.medians([[0], [1]]), [[100, 20], [300, np.nan], [200, 40]])


def test_an_inference_is_the_time_of_its_execution(tmp_path):
    found = arm(*write_sessions(tmp_path, "s", {"a.out": 100, "b.out": 20}))
    assert found.inference.tolist() == [100 + 20 + 4 * 1000]


def test_an_arm_without_sessions_is_empty():
    found = Arm(())
    assert found.parts == ()
    assert found.program is None
    assert found.medians([]).shape == (0, 0)
