"""What pytest says of the properties, as an outcome."""

import pytest
from hypothesis import settings

from tests.reliability.campaign import Options
from tests.reliability.properties import PROFILE, check, outcome_of

pytestmark = pytest.mark.nightly

FAILED = """\
..F.                                                                     [100%]
PASSED tests/model/test_intervals.py::test_a_sum
PASSED tests/model/test_intervals.py::test_a_difference
FAILED tests/view/test_ties.py::test_groups - assert 1 == 2
1 failed, 2 passed in 3.00s
"""


def test_each_property_that_is_false_is_a_finding_with_its_seed():
    outcome = outcome_of(FAILED, 1, 7)
    assert outcome.count == 3
    (finding,) = outcome.findings
    assert finding.what == "tests/view/test_ties.py::test_groups - assert 1 == 2"
    assert finding.repeat.endswith(
        f"-m pytest --hypothesis-profile={PROFILE} --hypothesis-seed=7 "
        "tests/view/test_ties.py::test_groups"
    )


def test_a_run_that_does_not_end_well_is_a_finding():
    assert outcome_of("", 0, 0).findings == ()
    assert [one.what for one in outcome_of("", 2, 0).findings] == ["pytest ended with 2"]


def test_a_short_run_leaves_them_to_the_tests(tmp_path):
    assert check(Options(is_long=False, seed=0, findings=tmp_path)).count == 0


@pytest.mark.parametrize(("name", "is_fixed"), [("opscope", True), (PROFILE, False)])
def test_examples_are_new_only_where_they_are_looked_for(name, is_fixed):
    assert settings.get_profile(name).derandomize is is_fixed
