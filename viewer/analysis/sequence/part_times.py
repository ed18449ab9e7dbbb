"""The time of each group of events in each inference, as a matrix."""

from __future__ import annotations

import numpy as np

from viewer.arrays import Ints
from viewer.model.queries import run_of_slices, self_times
from viewer.model.trace import Trace

MOST_GROUPS = 64  # the groups with most time; the others change no decision


def part_times(trace: Trace, group_of_key: Ints, runs: Ints) -> tuple[Ints, Ints]:
    """Return the self ticks of the groups with most time in some runs, and which groups they are.

    group_of_key: -1 for keys that do not count. runs: positions in `Trace.runs`. The result has a
    row per run and a column per group, the one with most time first.
    """
    place = np.full(len(trace.runs) + 1, -1)  # the last entry is for slices outside all runs
    place[runs] = np.arange(len(runs))
    row = place[run_of_slices(trace)]
    group = group_of_key[trace.slices.key]
    index = np.flatnonzero((row >= 0) & (group >= 0))
    ticks = self_times(trace)[index]
    groups = int(group_of_key.max(initial=-1)) + 1
    total = np.zeros(groups, np.int64)
    np.add.at(total, group[index], ticks)
    order = np.argsort(-total, kind="stable")[:MOST_GROUPS]
    order = order[total[order] > 0]
    column = np.full(groups, -1)
    column[order] = np.arange(len(order))
    of = column[group[index]]
    listed = of >= 0
    times = np.zeros((len(runs), len(order)), np.int64)
    np.add.at(times, (row[index][listed], of[listed]), ticks[listed])
    return times, order
