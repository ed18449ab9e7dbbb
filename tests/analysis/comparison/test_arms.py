"""The medians of groups of parts over the sessions of an arm."""

from dataclasses import replace

import numpy as np

from tests.builders.compare_sessions import arm, write_session, write_sessions
from tests.paths import DATA
from viewer.analysis.comparison.arms import Arm
from viewer.view.sessions.opened_files import opened_files
from viewer.workspace.comparison_arms import arm_of


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


def test_halves_are_those_of_the_inferences_that_count(tmp_path):
    # Of 12 inferences, 3 warm up; of the 9 others, the one in the middle is in no half.
    warming = {"a.out": [999] * 3 + [100] * 4 + [999] + [150] * 4, "b.out": [20] * 12}
    found = arm(write_session(tmp_path / "s.etdp", warming))
    for level in ("operator", "name"):
        first, second = found.by(level).half_medians([[0], [1]])
        assert (first.tolist(), second.tolist()) == ([[100, 20]], [[150, 20]])
    whole = found.half_inferences_of(None)
    assert [half.tolist() for half in whole] == [[100 + 20 + 4000], [150 + 20 + 4000]]


def test_too_few_inferences_have_no_halves(tmp_path):
    found = arm(write_session(tmp_path / "s.etdp", {"a.out": [100] * 12}))
    few = Arm((replace(found.sessions[0], runs=found.sessions[0].runs[:3]),))
    for level in ("operator", "name"):
        assert all(np.isnan(half).all() for half in few.by(level).half_medians([[0]]))
    assert all(np.isnan(half).all() for half in few.half_inferences_of(None))


def test_parts_of_several_methods_are_the_sum_of_their_medians():
    path = str(DATA / "etdump" / "multi_encode_decode_portable_x3.etdp")
    of_methods = arm_of(opened_files([path]).workspace)
    parts = range(len(of_methods.parts))
    methods = {
        name: [n for n in parts if of_methods.parts[n].id.method == name]
        for name in (part.id.method for part in of_methods.parts)
    }
    assert len(methods) == 2
    together = of_methods.medians([parts])[0, 0]
    assert together == of_methods.medians(list(methods.values())).sum()
    assert together <= of_methods.inference[0]
