"""The report of an audit as an outcome."""

import json

import pytest

from tests.reliability.security.dependencies import outcome_of

pytestmark = pytest.mark.nightly


def test_each_vulnerability_is_a_finding():
    flaw = {"id": "PYSEC-1", "fix_versions": ["2.0"]}
    packages = [
        {"name": "numpy", "version": "1.0", "vulns": [flaw]},
        {"name": "pandas", "version": "2.0", "vulns": []},
        {"name": "local", "skip_reason": "not on PyPI"},
    ]
    outcome = outcome_of(json.dumps({"dependencies": packages}))
    assert (outcome.count, outcome.figures) == (2, "1 without data")
    assert [one.what for one in outcome.findings] == ["numpy 1.0: PYSEC-1, fixed in ['2.0']"]


@pytest.mark.parametrize(
    "report", ["", '{"dependencies": [{"name": "numpy", "skip_reason": "not found on PyPI"}]}']
)
def test_without_data_there_is_no_finding(report):
    outcome = outcome_of(report)
    assert (outcome.findings, outcome.figures) == ((), "skipped: no vulnerability data")
