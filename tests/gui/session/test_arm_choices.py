"""Arms of parts of one file, against loops over its inferences."""

import random

import pytest

from tests.builders.stepped_traces import stepped
from viewer.gui.session.arm_choices import (
    arm_files,
    at_bookmark,
    by_numbers,
    by_phase,
    of_files,
    runs_by_phase,
    verdict_text,
)
from viewer.gui.session.session import Session
from viewer.view.state import Bookmark


@pytest.fixture
def with_trace(qapp):
    """A session with a generated trace."""

    def opened(seed, phases=1):
        session = Session()
        session.add([stepped(seed, phases=phases).trace])
        return session, session.workspace.traces[0]

    return opened


def numbers(arm):
    return set(arm.numbers)


@pytest.mark.parametrize("seed", range(12))
def test_a_bookmark_splits_the_inferences_that_count(with_trace, seed):
    session, trace = with_trace(seed)
    chance = random.Random(seed)
    start = session.traces[0].axis.to_ns(0)
    runs = [run for run in trace.inferences() if not run.warms_up]
    for _ in range(10):
        t0 = chance.randrange(trace.start, trace.end)
        t1 = chance.choice([t0, chance.randrange(t0, trace.end + 1)])
        a, b = set(), set()
        for run in runs:
            if (t0 == t1 and run.end <= t0) or (t1 > t0 and run.start >= t0 and run.end <= t1):
                a.add(run.number)
            elif run.end <= t0 or run.start >= t1:
                b.add(run.number)
        mark = Bookmark(start + t0, start + t1)
        if a and b:
            arms = at_bookmark(session, trace.path, mark)
            assert (numbers(arms.a), numbers(arms.b)) == (a, b)
        else:
            with pytest.raises(ValueError, match="has no inference"):
                at_bookmark(session, trace.path, mark)


@pytest.mark.parametrize("seed", range(6))
def test_phases_are_the_arms_of_their_inferences(with_trace, seed):
    session, trace = with_trace(seed, 2)
    phases = runs_by_phase(session, trace.path)
    if len(phases) < 2:
        return
    a, b = list(phases)[:2]
    arms = by_phase(session, trace.path, a, b)
    for arm, name in ((arms.a, a), (arms.b, b)):
        assert numbers(arm) == {run.number for run in phases[name]}
    (file,) = arm_files(session)
    assert a in file.phases
    with pytest.raises(ValueError, match="two different"):
        by_phase(session, trace.path, a, a)


def test_numbers_are_arms_and_parts_of_one_file_have_no_verdict(with_trace):
    session, trace = with_trace(5)
    count = sum(1 for _ in trace.inferences())
    arms = by_numbers(session, trace.path, "1", f"2-{count}")
    assert (numbers(arms.a), numbers(arms.b)) == ({1}, set(range(2, count + 1)))
    assert verdict_text(session, arms) == "Parts of one file: no verdict, needs 3 + 3 sessions"
    for wrong in ("", "x", "0-", str(count + 1), "2-1"):
        with pytest.raises(ValueError, match=r"number|inference|range"):
            by_numbers(session, trace.path, "1", wrong)
    for a, b, text in (
        ([trace.path] * 7, [], r"7 \+ 0: add files to B, needs 3 \+ 3"),
        ([], [trace.path], r"0 \+ 1: add files to A, needs"),
        ([], [], r"0 \+ 0: add files to A and B, needs"),
    ):
        with pytest.raises(ValueError, match=text):
            of_files(a, b)
