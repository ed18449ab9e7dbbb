"""Processes on this machine: every task has one answer, whatever crashes."""

import os
import signal

import pytest

from viewer.fleet.engine import InProcess, LocalProcesses, undivided

pytestmark = pytest.mark.slow


def doubled(task):
    """Twice the sum of the numbers of a task; 13 ends the process."""
    if 13 in task:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * sum(task)


def one_by_one(task):
    return [(number,) for number in task] if len(task) > 1 else ()


def answers(engine, tasks, divided=undivided):
    try:
        return sorted(engine.run(tasks, doubled, divided), key=lambda answer: answer[0])
    finally:
        engine.close()


def test_results_of_all_tasks():
    tasks = [(i,) for i in range(20)]
    without = [task for task in tasks if task != (13,)]
    assert answers(LocalProcesses(2), without) == [(t, 2 * t[0]) for t in without]
    assert answers(InProcess(), without) == [(t, 2 * t[0]) for t in without]


def test_a_task_that_crashes_its_process_costs_no_other():
    engine = LocalProcesses(2)
    found = answers(engine, [(i,) for i in range(20)])
    assert [task for task, result in found if result is None] == [(13,)]
    assert len(found) == 20
    assert engine.crashes == 2


def test_a_task_that_crashes_twice_is_divided():
    found = answers(LocalProcesses(2), [(1, 2), (12, 13, 14), (3,)], one_by_one)
    assert found == [((1, 2), 6), ((3,), 6), ((12,), 24), ((13,), None), ((14,), 28)]
