"""Which storages some instructions use, and how much memory groups of storages hold."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from viewer.analysis.memory.plan import MemoryPlan
from viewer.arrays import Ints


def written_by(plan: MemoryPlan, instructions: Collection[int]) -> Ints:
    """Return the storages that some instructions write first, ascending."""
    return np.flatnonzero(np.isin(plan.storages.writer, list(instructions)))


def used_by(plan: MemoryPlan, instructions: Collection[int]) -> Ints:
    """Return the storages that some instructions read or write, ascending."""
    method, count = plan.method, len(plan.method.instructions)
    values = {
        member
        for number in instructions
        if 0 <= number < count
        for value in method.instructions[number].values
        for member in method.lists.get(value, (value,))
    }
    of_tensor = plan.storages.of_tensor[np.isin(method.tensors.value, list(values))]
    return np.unique(of_tensor[of_tensor >= 0])


@dataclass(frozen=True, slots=True, eq=False)
class HeldBytes:
    """What groups of storages hold, as parallel arrays.

    count: of storages. at_peak: bytes at the peak of the plan. most: the most bytes that the group
    holds at one instruction. first, last: the instructions from which to which it holds any.
    """

    count: Ints
    at_peak: Ints
    most: Ints
    first: Ints
    last: Ints


def held_by_groups(plan: MemoryPlan, group: Ints, groups: int) -> HeldBytes:
    """Return what groups hold; group: per storage its group, each of which has a storage."""
    own = plan.storages
    at_peak = np.zeros(groups, np.int64)
    np.add.at(at_peak, group[plan.at_peak], own.size[plan.at_peak])
    # Every storage begins once and ends once, so that the sum is 0 after each group.
    at = np.concatenate((own.last + 1, own.first))
    change = np.concatenate((-own.size, own.size))
    both = np.concatenate((group, group))
    order = np.lexsort((change > 0, at, both))
    most = np.zeros(groups, np.int64)
    np.maximum.at(most, both[order], np.cumsum(change[order]))
    first = np.full(groups, len(plan.live))
    np.minimum.at(first, group, own.first)
    last = np.full(groups, -1)
    np.maximum.at(last, group, own.last)
    return HeldBytes(np.bincount(group, minlength=groups), at_peak, most, first, last)
