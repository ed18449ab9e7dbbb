"""Rules of --fail-if: what they mean, what they match and what they leave open."""

from dataclasses import replace

import pytest

from tests.analysis.comparison.test_comparison import BASE, sessions
from viewer.analysis.comparison.comparison import Comparison, Doubt, Verdict
from viewer.cli.commands.compare import failing, parse_rule, undecided


@pytest.mark.parametrize(
    ("text", "ratio", "ns", "verdicts"),
    [
        ("slower", 1, 0, 1),
        ("slower > 5%", 1.05, 0, 1),
        ("slower > 5% and > 20us", 1.05, 20_000, 1),
        ("faster>7.5% and >1 ms", 1.075, 1_000_000, 1),
        ("changed > 3µs", 1, 3_000, 2),
    ],
)
def test_rules(text, ratio, ns, verdicts):
    rule = parse_rule(text)
    assert (rule.ratio, rule.ns, len(rule.verdicts)) == (pytest.approx(ratio), ns, verdicts)


@pytest.mark.parametrize("text", ["", "slow", "slower > 5", "slower < 5%", "slower > nan%", "> 5%"])
def test_texts_that_are_no_rule(text):
    with pytest.raises(ValueError, match="is not a rule"):
        parse_rule(text)


@pytest.fixture
def slower(tmp_path):
    a = sessions(tmp_path, "a", BASE)
    return Comparison(a, sessions(tmp_path, "b", {**BASE, "add.out": 26_000}))


def test_a_proven_change_fails_only_beyond_both_limits(slower):
    assert failing(slower, parse_rule("slower > 5% and > 1us")) == ["add.out"]
    assert failing(slower, parse_rule("slower > 40%")) == []
    assert failing(slower, parse_rule("slower > 5% and > 1ms")) == []
    assert failing(slower, parse_rule("faster")) == []


def test_what_is_not_proven_is_left_open_if_it_may_be_as_large(tmp_path):
    few = Comparison(*(sessions(tmp_path, name, BASE, (0, 0.2)) for name in "ab"))
    assert failing(few, parse_rule("slower > 5%")) == []
    assert "conv.out" in undecided(few, parse_rule("slower > 5%"))
    assert "conv.out" not in undecided(few, parse_rule("slower > 9999%"))
    assert "tiny.out" not in undecided(few, parse_rule("slower > 5%"))  # below clock resolution


def test_a_limit_below_the_threshold_is_refused():
    with pytest.raises(ValueError, match="never proven"):
        parse_rule("slower > 2%")


def test_only_the_direction_of_the_rule_is_left_open(slower):
    one = replace(slower.inference, verdict=Verdict.CANNOT_TELL, doubt=Doubt.NOISE)
    assert not parse_rule("slower").may_fail(replace(one, interval=(-0.12, -0.01)))
    assert not parse_rule("faster").may_fail(replace(one, interval=(0.01, 0.12)))
    assert parse_rule("faster").may_fail(replace(one, interval=(-1.0, 1e20)))
    proven = replace(one, verdict=Verdict.SLOWER, doubt=None, change=0.15, interval=(0.08, 0.25))
    assert parse_rule("slower > 20%").may_fail(proven)
    assert not parse_rule("slower > 30%").may_fail(proven)


def test_a_large_speedup_is_measured_as_a_ratio_too(slower):
    rule = parse_rule("faster > 20%")
    one = replace(slower.inference, verdict=Verdict.FASTER, change=-0.19)  # 1 / 0.81 is 1.23
    assert rule.fails(one)
    assert not rule.fails(replace(one, change=-0.15))
    open_one = replace(one, verdict=Verdict.CANNOT_TELL, doubt=Doubt.NOISE, interval=(-0.5, 0.1))
    assert rule.may_fail(open_one)
    assert not rule.may_fail(replace(open_one, interval=(-0.1, 0.1)))
