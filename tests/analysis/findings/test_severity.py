"""The severity of a finding: its share at the thresholds, and just below them."""

import pytest

from viewer.analysis.findings.finding import Severity, severity_of


@pytest.mark.parametrize(
    ("ticks", "whole", "severity"),
    [
        (1000, 1000, Severity.HIGH), (250, 1000, Severity.HIGH), (249, 1000, Severity.MEDIUM),
        (100, 1000, Severity.MEDIUM), (99, 1000, Severity.LOW), (0, 1000, Severity.LOW),
        (5, 0, Severity.LOW),
    ],
)  # fmt: skip
def test_a_share_decides_the_severity(ticks, whole, severity):
    assert severity_of(ticks, whole) is severity


def test_each_severity_states_its_rule():
    assert [one.key for one in Severity] == ["high", "medium", "low"]
    assert Severity.HIGH.rule == "at least 25% could be gained"
    assert Severity.MEDIUM.rule == "at least 10% could be gained"
    assert Severity.LOW.rule.startswith("less than 10%")
