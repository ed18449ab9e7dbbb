"""What instructions read and write, and what groups of tensors hold."""

import numpy as np

from tests.builders.planned_methods import kernel, planned_method
from viewer.analysis.memory.plan import memory_plan
from viewer.analysis.memory.usage import held_by_groups, used_by, written_by

METHOD = planned_method(
    [(0, 8), (8, 16), (24, 4), (0, 8)],
    kernel(0, 1), kernel(1, 2), kernel(4, 3),
    inputs=[0], lists={4: (2, -1)}, outputs=[3],
)  # fmt: skip
PLAN = memory_plan(METHOD)


def test_an_instruction_writes_its_result_and_reads_the_rest():
    assert PLAN.storages.tensor[written_by(PLAN, [1])].tolist() == [2]
    assert PLAN.storages.tensor[used_by(PLAN, [1])].tolist() == [1, 2]
    assert PLAN.storages.tensor[used_by(PLAN, [0, 1])].tolist() == [0, 1, 2]


def test_members_of_lists_are_read():
    assert sorted(PLAN.storages.tensor[used_by(PLAN, [2])].tolist()) == [2, 3]


def test_no_or_unknown_instructions_use_nothing():
    assert len(used_by(PLAN, [])) == len(used_by(PLAN, [9])) == len(written_by(PLAN, [])) == 0


def test_groups_hold_bytes_at_the_peak_and_at_most():
    # 8 and 16 bytes at instruction 0, 16 and 4 at 1, 4 and 8 at 2.
    group = np.array([0, 1, 1, 0])[np.argsort(np.argsort(PLAN.storages.tensor))]
    held = held_by_groups(PLAN, group, 2)
    assert held.count.tolist() == [2, 2]
    assert held.at_peak.tolist() == [8, 16]
    assert held.most.tolist() == [8, 20]
    assert (held.first.tolist(), held.last.tolist()) == ([0, 0], [2, 2])


def test_a_group_that_ends_as_it_begins_again_holds_one_at_a_time():
    method = planned_method([(0, 8), (8, 8)], kernel(0), kernel(1))
    held = held_by_groups(memory_plan(method), np.array([0, 0]), 1)
    assert held.most.tolist() == [8]
