"""Heat and clocks that differ between the arms, and what that does to verdicts."""

import json

import numpy as np
import pytest

from tests.builders.compare_sessions import arm, varied, write_sessions
from viewer.analysis.comparison.comparison import Comparison, Doubt, Verdict
from viewer.analysis.comparison.sessions import Conditions, differences
from viewer.model.times import plain_spaces
from viewer.recording.run_file import SCHEMA
from viewer.reports.compare_text import session_lines

BASE = {"add.out": 20_000, "mul.out": 30_000}
NOISE = (0.0, 0.01, -0.01, 0.005)


def at(*degrees, of="cpu"):
    return [Conditions(temperature_c=t, temperature_of=of) for t in degrees]


def clocks(*khz):
    return [Conditions(frequency_khz=f) for f in khz]


def test_heat_that_is_only_between_the_arms():
    (found,) = differences(at(40, 41, 40), at(46, 47, 46.2))
    assert found.text == "B ran 6.1 °C warmer than A (46.4 instead of 40.3 °C before a session)"
    assert found.is_inseparable
    (cooler,) = differences(at(46, 47, 46), at(40, 41, 40))
    assert "cooler" in cooler.text


def test_heat_that_also_differs_within_the_arms():
    (found,) = differences(at(40, 44, 48), at(46, 50, 54))
    assert not found.is_inseparable
    assert found.sentence.startswith("B ran 6.0 °C warmer")
    assert found.sentence.endswith("before a session).")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (at(40, 41, 40), at(42, 42, 42)),  # within what sensors are good for
        (at(40, 40, 40), at(40, 40, 40)),
        (at(40), at(50)),  # one session each
        (at(40, 40, None), at(None, None, 50)),
        (at(40, 41), at(50, 51, of="battery")),  # not of one kind
        (at(None, None), at(None, None)),
        (clocks(2e6, 2.01e6), clocks(1.96e6, 1.97e6)),
    ],
)
def test_what_is_not_known_or_small_says_nothing(a, b):
    assert differences(a, b) == ()


def test_clocks():
    (found,) = differences(clocks(2e6, 2e6, 2e6), clocks(1.5e6, 1.5e6, 1.6e6))
    assert found.text == (
        "the clock was 23 % lower in B than in A (1.53 instead of 2.00 GHz)"
    )  # fmt: skip
    assert found.is_inseparable


def test_sessions_in_turn_are_rarely_confounded_by_chance():
    """3 + 3 sessions of one temperature that varies by 3 °C: fewer than 3 % are confounded."""
    random = np.random.default_rng(0)
    draws = random.normal(40, 3, (2000, 6))
    count = sum(
        any(one.is_inseparable for one in differences(at(*row[:3]), at(*row[3:])))
        for row in draws.tolist()
    )
    assert count < 60


def recorded(tmp_path, degrees_a, degrees_b, slower=1.3):
    """The arms of sessions in turn, B slower, with the temperature of each."""
    faster = {**BASE, "add.out": round(BASE["add.out"] * slower)}
    arms = []
    for number, (name, base, degrees) in enumerate(
        (("a", BASE, degrees_a), ("b", faster, degrees_b))
    ):
        paths = write_sessions(tmp_path / name, name, *varied(base, NOISE))
        for i, (path, celsius) in enumerate(zip(paths, degrees, strict=True)):
            facts = {
                "schema": SCHEMA,
                "recording": "r",
                "order": 2 * i + number + 1,
                "before": {"temperature_c": celsius, "temperature_of": "cpu"},
            }
            path.with_suffix(".run.json").write_text(json.dumps(facts))
        arms.append(arm(*paths))
    return arms


WARM = (46, 47, 46, 47)
COOL = (40, 41, 40, 41)


@pytest.mark.slow
def test_a_confounded_comparison_has_no_verdict(tmp_path):
    comparison = Comparison(*recorded(tmp_path, COOL, WARM))
    assert comparison.is_confounded
    verdicts = {one.verdict for one in (*comparison.compared, comparison.inference)}
    assert verdicts == {Verdict.CANNOT_TELL}
    add = comparison.compared[0]
    assert add.doubt is Doubt.CONFOUNDED
    assert add.change > 0.2  # the figures stay
    assert any("B ran 6.0 °C warmer" in note for note in comparison.notes)


@pytest.mark.slow
def test_times_relative_to_the_inference_keep_the_verdicts_of_rows(tmp_path):
    arms = recorded(tmp_path, COOL, WARM)
    comparison = Comparison(*arms, relative=True)
    assert comparison.inference.doubt is Doubt.CONFOUNDED
    assert comparison.compared[0].verdict is Verdict.SLOWER


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [COOL, (46, 41, 40, 47), (None,) * 4])
def test_equal_or_unknown_conditions_change_nothing(tmp_path, degrees):
    comparison = Comparison(*recorded(tmp_path, degrees, degrees))
    assert comparison.differences == ()
    assert comparison.inference.verdict is Verdict.SLOWER


@pytest.mark.slow
def test_the_sessions_are_listed_in_their_order(tmp_path):
    comparison = Comparison(*recorded(tmp_path, COOL, (46, None, 46, 47)))
    lines = session_lines(comparison)[1:-1]
    assert lines[0].split() == ["order", "inference", "temperature", "clock", "arm", "session"]
    assert [line.split()[0] for line in lines[1:]] == list("12345678")
    assert [line.split()[-2] for line in lines[1:]] == list("ABABABAB")
    assert "46.0 °C" in plain_spaces(lines[2])
    assert "°C" not in lines[4]  # not known, and not 0
    for path in tmp_path.rglob("*.run.json"):
        path.unlink()
    unknown = [arm(*(one.table.trace.path for one in side.sessions)) for side in (
        comparison.a, comparison.b)]  # fmt: skip
    assert session_lines(Comparison(*unknown)) == []
