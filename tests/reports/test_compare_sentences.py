"""What a comparison says in sentences."""

import itertools
from dataclasses import replace

import pytest

from tests.analysis.comparison.test_comparison import BASE, NOISE, sessions
from tests.analysis.comparison.test_rows import arms
from tests.builders.compare_sessions import arm, write_session, write_sessions
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.comparison import Compared, Comparison, Verdict, steps_of
from viewer.analysis.comparison.rows import DELEGATE_EVENT
from viewer.analysis.comparison.session_test import LEAST_SESSIONS
from viewer.cli.commands.compare import code_of, parse_rule
from viewer.reports.compare_text import (
    compare_text,
    explanation,
    headline,
    whole_and_rows,
    whole_inference,
    whole_name,
)
from viewer.workspace.comparison_arms import arm_of, of_numbers


@pytest.fixture
def a(tmp_path):
    return sessions(tmp_path, "a", BASE)


def test_changed_rows_are_counted_summed_and_named(a, tmp_path):
    slower = {**BASE, "add.out": 26_000, "conv.out": 80_000}
    comparison = Comparison(a, sessions(tmp_path, "b", slower))
    said = headline(comparison)
    assert said.startswith("2 of 4 calls changed; together they take 1")
    assert said.endswith("less per inference.")
    assert explanation(comparison) == "conv.out: 20.0 % faster; add.out: 30.0 % slower"


def test_that_nothing_is_proven_is_said_without_claiming_that_nothing_changed(a):
    assert headline(Comparison(a, a)) == "No call is proven to have changed."
    assert explanation(Comparison(a, a)) == ""


def test_one_session_each_proves_nothing(tmp_path):
    a = sessions(tmp_path, "a", BASE, NOISE[:1])
    b = sessions(tmp_path, "b", {**BASE, "conv.out": 200_000}, NOISE[:1])
    assert headline(Comparison(a, b)) == "Not enough sessions for a verdict (1 + 1; 3 + 3 needed)."


def test_an_arm_with_itself_has_too_few_sessions_too(tmp_path):
    a = sessions(tmp_path, "a", BASE, NOISE[:1])
    said = headline(Comparison(a, a))
    assert said == "Not enough sessions for a verdict (1 + 1; 3 + 3 needed)."


def test_parts_of_one_file_are_named(tmp_path):
    (path,) = write_sessions(tmp_path, "a", BASE)
    space = workspace_of(path)
    one, other, more = (arm_of(space, of_numbers(space, own)) for own in ((1,), (5,), range(2, 8)))
    said = headline(Comparison(one, other))
    assert said == "Inference 5 took as long as inference 1."
    said = headline(Comparison(one, more))
    assert said == "Parts of one file are not sessions, so there is no verdict (3 + 3 needed)."
    assert compare_text(Comparison(one, more)).startswith(
        "A: inference 1 of a0.etdp\nB: inferences 2 to 7 of a0.etdp\n"
    )


def why(comparison):
    steps = steps_of(comparison)
    return whole_and_rows(comparison, steps.rows_a, steps.rows_b)


def test_an_inference_much_longer_than_its_rows_says_why(a, tmp_path):
    """Every inference is interrupted in another call, so no median of a call shows it."""
    assert why(Comparison(a, a)) == ""
    times = {name: [100_000] * 12 for name in ("a.out", "b.out", "c.out", "d.out")}
    for n in range(12):
        times[list(times)[n % 4]][n] = 5_000_000
    hot = arm(write_session(tmp_path / "hot.etdp", times))
    said = why(Comparison(hot, hot))
    assert said.replace("\u202f", " ").startswith("The typical parts of A add up to 400.000 µs; ")
    assert said.endswith("single calls that ran long, or time between calls.")


def test_units_that_work_at_once_have_a_larger_sum():
    names = ("compile_c1_css_cdma", "compile_c3_taskid_mtu")
    comparison = Comparison(*(arm(DATA / "torq" / f"{name}.csv") for name in names))
    said = why(comparison)
    assert said.startswith("Shorter than the sum of its rows (240.581")
    assert said.endswith("in B): rows run at the same time.")


def test_estimates_of_a_profile_ask_for_no_sessions():
    names = ("compile_c1_css_cdma", "compile_c3_taskid_mtu")
    comparison = Comparison(*(arm(DATA / "torq" / f"{name}.csv") for name in names))
    assert headline(comparison) == (
        "The profile is estimated to take 42.324\u202fµs more in B (+25.6 %)."
    )
    assert whole_name(comparison) == "profile"


def test_rows_of_several_operators_are_not_counted_as_operators():
    repeated = []
    for one in arms("06_portable_vs_xnnpack"):
        (session,) = one.sessions
        rates = (session.ns_per_tick * (1 + 0.001 * i) for i in range(LEAST_SESSIONS))
        repeated.append(Arm(tuple(replace(session, ns_per_tick=rate) for rate in rates)))
    said = headline(Comparison(*repeated))
    assert " operator" not in said
    assert " rows changed; " in said


def test_the_whole_inference_has_a_verdict_and_a_reason(a, tmp_path):
    loud = sessions(tmp_path, "b", BASE, [0.0, 0.6, -0.4, 0.3])
    verdict, figures = whole_inference(Comparison(a, loud).inference)
    assert verdict == "inconclusive"
    assert figures.endswith("Why: noise.")


def test_different_clocks_are_the_answer():
    names = ("compile_c2_actionindex_callsite", "host_h4_latest")
    comparison = Comparison(*(arm(DATA / "torq" / f"{name}.csv") for name in names))
    assert headline(comparison).startswith("A and B have different clocks.")
    verdict, figures = whole_inference(comparison.inference)
    assert verdict == "inconclusive"
    assert ", ." not in figures
    assert "Why: different clocks." in figures


class Judged(Comparison):
    """A comparison with verdicts: of the inference, of its calls, and of events inside them."""

    def __init__(self, arms, inference, calls, events):
        super().__init__(*arms)
        call = Comparison(*arms).rows[0]
        event = replace(call, level=DELEGATE_EVENT)
        self.__dict__["rows"] = (call,) * len(calls) + (event,) * len(events)
        self._figures = [self.figures(verdict) for verdict in (*calls, *events, inference)]

    @staticmethod
    def figures(verdict):
        b = {Verdict.SLOWER: 130.0, Verdict.FASTER: 70.0}.get(verdict, 100.0)
        change = b / 100 - 1
        interval = (change - 0.01, change + 0.01)
        times = (100.0,) * LEAST_SESSIONS, (b,) * LEAST_SESSIONS
        return Compared(100.0, b, *times, change, interval, 0.01, 0.01, 0.02, verdict, None)

    @property
    def compared(self):
        return tuple(self._figures[:-1])

    @property
    def inference(self):
        return self._figures[-1]


VERDICTS = (Verdict.SLOWER, Verdict.FASTER, Verdict.NO_CHANGE)


@pytest.mark.parametrize("inference", VERDICTS)
def test_sentence_verdicts_and_exit_code_agree(a, inference):
    for verdicts in itertools.product(VERDICTS, repeat=4):
        comparison = Judged((a, a), inference, verdicts[:2], verdicts[2:])
        changed = [verdict is not Verdict.NO_CHANGE for verdict in verdicts]
        said = headline(comparison)
        rule = parse_rule("changed")
        fails = code_of(rule, [("", comparison)], unknown=False) != 0
        denies = said == "No call is proven to have changed."
        assert fails is not denies
        if any(changed[:2]):
            assert said.startswith(f"{sum(changed[:2])} of 2 calls changed; ")
        else:
            events = sum(changed[2:])
            assert (f", but {events} of 2 delegate events changed." in said) is (events > 0)
        assert bool(explanation(comparison)) is any(changed)
