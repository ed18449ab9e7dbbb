"""What sessions of one program take: each counts once, by the median of its inferences."""

import random
from statistics import median

import pytest

from tests.builders.compare_sessions import INFERENCES, arm, write_session, write_sessions
from viewer.analysis.comparison.arms import Spread, inference_spread, operator_spread, set_text

WARM_UP = 3


@pytest.mark.parametrize("sessions", [2, 3, 4, 7])
def test_spreads_are_those_of_the_medians_of_random_sessions(tmp_path, sessions):
    chance = random.Random(sessions)
    names = ["add.out", "bmm.out", "linear.out"]
    times = [
        {name: [chance.randint(1_000, 90_000) for _ in range(INFERENCES)] for name in names}
        for _ in range(sessions)
    ]
    paths = [write_session(tmp_path / f"{i}.etdp", of) for i, of in enumerate(times)]
    of_one = arm(*paths)
    rows = {row.name: row for row in operator_spread(of_one)}
    for name in names:
        medians = [median(of[name][WARM_UP:]) for of in times]
        row = rows[f"native_call_{name}"]
        assert (row.median, row.least, row.most) == (median(medians), min(medians), max(medians))
        assert row.of_sessions == tuple(medians)
        assert row.share == (max(medians) - min(medians)) / median(medians)
    assert [row.median for row in rows.values()] == sorted(
        (row.median for row in rows.values()), reverse=True
    )
    (inference,) = inference_spread(of_one)
    whole = [median(run.end - run.start for run in session.runs) for session in of_one.sessions]
    assert (inference.median, inference.of_sessions) == (median(whole), tuple(whole))
    count = sessions * (INFERENCES - WARM_UP)
    assert set_text(of_one) == f"{sessions} sessions, {count} inferences"


def test_an_operator_that_some_sessions_did_not_run_has_the_times_of_the_others(tmp_path):
    both, only = {"add.out": 20_000, "mul.out": 9_000}, {"add.out": 22_000}
    paths = write_sessions(tmp_path, "s", both, only, both)
    rows = {row.name: row for row in operator_spread(arm(*paths))}
    assert rows["native_call_mul.out"].sessions == 2
    assert rows["native_call_mul.out"].range_text == "9.000\u202fµs to 9.000\u202fµs (0.0\u202f%)"
    assert rows["native_call_add.out"].sessions == 3


def test_a_time_of_zero_has_no_share():
    row = Spread("add", 0.0, 0.0, 0.0, (0.0, 0.0))
    assert row.share is None
    assert "%" not in row.range_text
