"""The campaign itself: what counts as a finding, and what its table shows."""

import os
import time

import pytest

from tests.reliability import table
from tests.reliability.campaign import Finding, Job, Options, Outcome, run

pytestmark = pytest.mark.nightly


def fine(options: Options, number: int) -> Outcome:
    return Outcome(1000 * number + options.seed, figures="42 per s")


def wrong(options: Options) -> Outcome:
    return Outcome(5, (Finding("something", "how to repeat it"),))


def fails(options: Options) -> Outcome:
    raise ValueError("the job itself is wrong")


def dies(options: Options) -> Outcome:
    os._exit(3)


def hangs(options: Options) -> Outcome:
    time.sleep(600)
    return Outcome(0)


def rows(tmp_path, *jobs: Job):
    found = list(run(jobs, Options(False, 7, tmp_path), at_once=2))
    return {row.job.name: row for row in found}


def test_a_job_gets_its_options_and_arguments_and_is_one_row(tmp_path):
    found = rows(tmp_path, Job("a", "fine", fine, (3,)), Job("a", "wrong", wrong))
    assert found["fine"].outcome == Outcome(3007, figures="42 per s")
    assert "| a/fine " in table.line(found["fine"])
    assert "| 3,007 " in table.line(found["fine"])
    assert [finding.what for finding in found["wrong"].outcome.findings] == ["something"]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("is_forked", [False, True])
def test_a_job_that_fails_dies_or_hangs_is_a_finding(tmp_path, is_forked):
    found = rows(
        tmp_path,
        Job("a", "fails", fails, is_forked=is_forked),
        Job("a", "dies", dies, is_forked=is_forked),
        Job("a", "hangs", hangs, limit=3.0, is_forked=is_forked),
    )
    what = {name: row.outcome.findings[0].what for name, row in found.items()}
    assert "the job itself is wrong" in what["fails"]
    assert "exit code 3" in what["dies"]
    assert what["hangs"] == "no end after 3 s"
