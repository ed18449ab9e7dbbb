"""Verdicts: what is proven, what is not, and why; and where the time went."""

from dataclasses import replace

import pytest

from tests.analysis.comparison.test_rows import arms
from tests.builders.compare_sessions import arm, varied, write_session, write_sessions
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.comparison.arms import Arm, drift_exceeds
from viewer.analysis.comparison.comparison import Comparison, Doubt, Verdict
from viewer.workspace.comparison_arms import arm_of, of_numbers

BASE = {"conv.out": 100_000, "add.out": 20_000, "mul.out": 30_000, "tiny.out": 1}
NOISE = [0.0, 0.01, -0.01, 0.02]


def sessions(folder, name, base, shares=NOISE):
    return arm(*write_sessions(folder, name, *varied(base, shares)))


def by_label(comparison):
    return {
        row.label: one for row, one in zip(comparison.rows, comparison.compared, strict=True)
    }  # fmt: skip


@pytest.fixture
def a(tmp_path):
    return sessions(tmp_path, "a", BASE)


def test_an_operator_that_takes_longer_is_slower_and_the_others_are_not(a, tmp_path):
    comparison = Comparison(a, sessions(tmp_path, "b", {**BASE, "add.out": 26_000}))
    found = by_label(comparison)
    assert found["add.out"].verdict is Verdict.SLOWER
    assert found["add.out"].change == pytest.approx(0.3, abs=0.001)
    low, high = found["add.out"].interval
    assert low < 0.3 < high
    assert found["conv.out"].verdict is Verdict.NO_CHANGE
    assert found["mul.out"].verdict is Verdict.NO_CHANGE


def test_swapped_arms_say_faster(a, tmp_path):
    b = sessions(tmp_path, "b", {**BASE, "add.out": 26_000})
    there, back = by_label(Comparison(a, b)), by_label(Comparison(b, a))
    assert back["add.out"].verdict is Verdict.FASTER
    assert back["add.out"].change == pytest.approx(1 / (1 + there["add.out"].change) - 1)
    assert {label for label, one in back.items() if one.verdict is Verdict.NO_CHANGE} == {
        label for label, one in there.items() if one.verdict is Verdict.NO_CHANGE
    }


def test_a_row_that_changes_more_within_sessions_than_from_a_to_b_drifts(tmp_path):
    def warming(name, last):
        times = {"add.out": [20_000] * 8 + [last] * 4, "mul.out": [30_000] * 12}
        return arm(write_session(tmp_path / f"{name}.etdp", times))

    steady = Comparison(warming("a", 20_000), warming("b", 20_900))
    add, mul = steady.drifts
    assert (add, mul) == (pytest.approx(0.045), 0)
    assert not drift_exceeds(add, steady.compared[0].change)  # not by more than the threshold
    hot = Comparison(warming("c", 20_000), warming("d", 24_000))
    assert hot.drifts[0] == pytest.approx(0.2)
    assert drift_exceeds(hot.drifts[0], hot.compared[0].change)
    assert not drift_exceeds(hot.drifts[1], hot.compared[1].change)
    assert hot.inference_drift == pytest.approx(4000 / 54_000)
    back = Comparison(hot.b, hot.a)
    assert back.drifts == hot.drifts


def test_a_change_larger_than_the_drift_hides_it():
    assert drift_exceeds(-0.3, 0.2)
    assert not drift_exceeds(0.3, 0.4)
    assert not drift_exceeds(None, 0.4)
    assert not drift_exceeds(0.4, None)


def test_a_drift_of_a_step_of_the_clock_is_none(tmp_path):
    dump = write_session(tmp_path / "a.etdp", {"tiny.out": [10] * 8 + [12] * 4})
    assert Comparison(arm(dump), arm(dump)).drifts == (0,)


def test_an_arm_with_itself_has_not_changed(a):
    comparison = Comparison(a, a)
    assert comparison.inference.verdict is Verdict.NO_CHANGE
    assert {one.change for one in comparison.compared} == {0}
    assert comparison.waterfall.rest == 0


def test_a_time_of_one_tick_is_below_the_clock(a, tmp_path):
    found = by_label(Comparison(a, sessions(tmp_path, "b", BASE)))["tiny.out"]
    assert (found.verdict, found.doubt) == (Verdict.CANNOT_TELL, Doubt.BELOW_CLOCK)


def test_a_median_of_0_has_no_ratio(a, tmp_path):
    b = sessions(tmp_path, "b", {**BASE, "add.out": 0})
    found = by_label(Comparison(a, b))["add.out"]
    assert (found.b_ns, found.change, found.interval) == (0, None, None)
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.change_ns < -19_000


def test_what_varies_more_than_it_changed_cannot_be_told(tmp_path):
    loud = [0.0, 0.4, -0.3, 0.2]
    a, b = (sessions(tmp_path, name, BASE, loud) for name in "ab")
    found = by_label(Comparison(a, b))["conv.out"]
    assert (found.verdict, found.doubt) == (Verdict.CANNOT_TELL, Doubt.NOISE)


def test_one_bad_session_of_five_raises_no_alarm(a, tmp_path):
    b = sessions(tmp_path, "b", BASE, [*NOISE, 1.5])
    verdicts = {one.verdict for one in (*Comparison(a, b).compared, Comparison(a, b).inference)}
    assert not verdicts & {Verdict.SLOWER, Verdict.FASTER}


@pytest.mark.parametrize(
    ("count", "doubt"), [(1, Doubt.ONE_SESSION), (2, Doubt.FEW_SESSIONS)]
)  # fmt: skip
def test_too_few_sessions_show_a_change_and_no_verdict(tmp_path, count, doubt):
    a = sessions(tmp_path, "a", BASE, NOISE[:count])
    b = sessions(tmp_path, "b", {**BASE, "conv.out": 300_000}, NOISE[:count])
    found = by_label(Comparison(a, b))["conv.out"]
    assert found.change == pytest.approx(2, abs=0.05)
    assert (found.verdict, found.doubt) == (Verdict.CANNOT_TELL, doubt)
    assert (found.interval is None) == (count == 1)


def test_an_operator_only_in_b_is_told_as_such(a, tmp_path):
    b = sessions(tmp_path, "b", {**BASE, "new.out": 5_000})
    found = by_label(Comparison(a, b))["new.out"]
    assert (found.a_ns, found.change, found.doubt) == (None, None, Doubt.ONLY_IN_ONE)
    assert found.verdict is Verdict.CANNOT_TELL


@pytest.mark.parametrize("edit", ["06_portable_vs_xnnpack", "12_wrapped", "20_bn_folded"])
def test_the_waterfall_adds_up(edit):
    a, b = arms(edit)
    fall = Comparison(a, b).waterfall
    assert fall.a + fall.pairs + fall.only_a + fall.only_b + fall.rest == pytest.approx(fall.b)
    assert (fall.only_b > 0) == (edit == "12_wrapped")


def test_a_change_of_the_whole_inference_is_one_verdict(a, tmp_path):
    slower = {name: round(1.2 * ns) for name, ns in BASE.items()}
    inference = Comparison(a, sessions(tmp_path, "b", slower)).inference
    assert inference.verdict is Verdict.SLOWER
    assert inference.change_ns == pytest.approx(inference.b_ns - inference.a_ns)


def test_the_detectable_change_of_the_median_row_is_stated(a):
    detectable = Comparison(a, a).detectable
    assert 0.05 < detectable < 0.2


def test_nothing_against_nothing_has_no_verdict():
    empty = arm()
    comparison = Comparison(empty, empty)
    assert comparison.compared == ()
    assert comparison.inference.verdict is Verdict.CANNOT_TELL
    assert comparison.waterfall is None


def test_inferences_in_both_arms_are_reported(tmp_path):
    (path,) = write_sessions(tmp_path, "a", BASE)
    space = workspace_of(path)
    first, second, third = (
        arm_of(space, of_numbers(space, numbers)) for numbers in ((1, 2, 3), (3, 4), (5,))
    )
    assert Comparison(first, second).notes == ("A and B share 1 inference.",)
    assert Comparison(first, third).notes == ()


def hotter(folder, name, factor, shares=NOISE):
    """Sessions of BASE in which everything, gaps included, takes longer by a factor."""
    found = sessions(folder, name, BASE, shares)
    return Arm(tuple(replace(one, ns_per_tick=one.ns_per_tick * factor) for one in found.sessions))


def test_relative_times_leave_out_the_common_factor(a, tmp_path):
    b = hotter(tmp_path, "b", 1.2)
    absolute, relative = Comparison(a, b), Comparison(a, b, relative=True)
    assert absolute.common_factor == relative.common_factor == pytest.approx(1.2)
    assert by_label(absolute)["conv.out"].verdict is Verdict.SLOWER
    assert by_label(relative)["conv.out"].verdict is Verdict.NO_CHANGE
    assert by_label(relative)["conv.out"].change == pytest.approx(0)
    assert relative.inference.verdict is Verdict.SLOWER
    fall = relative.waterfall
    assert fall.common == pytest.approx(fall.b - fall.a)
    assert fall.a + fall.common + fall.pairs + fall.only_a + fall.only_b + fall.rest == (
        pytest.approx(fall.b)
    )
    assert absolute.waterfall.common == 0


def test_what_changed_beside_the_common_factor_is_found(a, tmp_path):
    changed = sessions(tmp_path, "b", {**BASE, "add.out": 30_000})
    b = Arm(tuple(replace(one, ns_per_tick=one.ns_per_tick / 1.5) for one in changed.sessions))
    assert by_label(Comparison(a, b))["add.out"].verdict is Verdict.NO_CHANGE
    found = by_label(Comparison(a, b, relative=True))["add.out"]
    assert found.verdict is Verdict.SLOWER
    back = by_label(Comparison(b, a, relative=True))["add.out"]
    assert back.verdict is Verdict.FASTER
    assert back.change == pytest.approx(1 / (1 + found.change) - 1)


def test_a_drift_of_all_rows_is_none_relative_to_the_inference(tmp_path):
    last = {"add.out": 22_000, "mul.out": 33_000}
    times = {name: [ns * 10 // 11] * 8 + [ns] * 4 for name, ns in last.items()}
    one = arm(write_session(tmp_path / "a.etdp", times))
    assert Comparison(one, one).drifts == (pytest.approx(0.1), pytest.approx(0.1))
    relative = Comparison(one, one, relative=True)
    assert max(map(abs, relative.drifts)) < 0.01  # the gaps do not drift
    assert relative.inference_drift == pytest.approx(5 / 54)


def test_profiles_without_inferences_are_not_relative_to_them():
    whole = arm(DATA / "torq/compile_c3_taskid.csv")
    comparison = Comparison(whole, whole, relative=True)
    assert not comparison.can_be_relative
    assert not comparison.is_relative
    assert not Comparison(arm(), arm(), relative=True).is_relative


def test_an_etdump_and_a_profile_of_another_tool_are_compared_by_name():
    """Neither has a call of the other, so both have the times of their names."""
    arms = []
    for path in ("etdump/cnn_portable_x10.etdp", "chrome_json/onnxruntime_runs.json"):
        workspace = workspace_of(DATA / path)
        arms.append(arm_of(workspace))
    found = Comparison(*arms)
    assert {row.level for row in found.rows} == {"name"}
    for side in ("a_ns", "b_ns"):
        assert sum(getattr(one, side) or 0 for one in found.compared) > 0
