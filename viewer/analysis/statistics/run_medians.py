"""The median of the self time that a group has per inference, next to the mean.

Each counted inference has the slices that start in it, on any thread; one without slices of a group
has 0 of it. So the times of which this is the median add up to the sum that the mean divides.
"""

from __future__ import annotations

import numpy as np

from viewer.analysis.statistics.grouping import Grouping
from viewer.arrays import Ints
from viewer.model.queries import run_of_slices
from viewer.model.trace import Trace
from viewer.model.warm_up import counted_inferences


def inference_of_slices(trace: Trace, *, warm_up: bool) -> tuple[Ints, int]:
    """Return which counted inference each slice starts in, and how many there are.

    That of no inference has the last number. On tracks without inferences, time decides; of
    inferences that overlap, it is the one that started last.
    """
    runs = trace.runs
    counted = set(map(id, counted_inferences(trace, warm_up=warm_up)))
    numbers = [i for i, run in enumerate(runs) if id(run) in counted]
    count = len(numbers)
    of_run = np.full(len(runs) + 1, count)
    of_run[numbers] = np.arange(count)
    run = run_of_slices(trace)
    elsewhere = np.flatnonzero(run < 0)
    run[elsewhere] = trace.runs_at(trace.slices.start[elsewhere], numbers)
    return of_run[run], count


def medians_per_inference(grouping: Grouping, key: str) -> dict[int, float]:
    """Return the median self time of every group per counted inference, in ticks.

    Empty for a key that has no mean.
    """
    if grouping.why_no_mean(key):
        return {}
    medians = medians_of_parts(grouping, key, np.zeros(len(grouping.trace.slices), np.int64))
    return {group: median for (group, _), median in medians.items()}


def medians_of_parts(grouping: Grouping, key: str, part: Ints) -> dict[tuple[int, int], float]:
    """Return the median self time per counted inference of the parts of groups.

    part: as for `Grouping.parted`. By group and part, in ticks.
    """
    inference, count = inference_of_slices(grouping.trace, warm_up=grouping.warm_up)
    many = count + 1
    group, both, ticks = grouping.self_ticks_by(key, part * many + inference)
    of_part, of_inference = np.divmod(both, many)
    parts = int(of_part.max(initial=0)) + 1
    counts = of_inference < count
    medians = _medians_with_zeros((group * parts + of_part)[counts], ticks[counts], count)
    return {divmod(cell, parts): median for cell, median in medians.items()}


def _medians_with_zeros(group: Ints, ticks: Ints, count: int) -> dict[int, float]:
    """Return the median of the values of each group, with 0 for those that are not listed.

    group, ticks: a value of a group each. count: how many values each group has.
    """
    order = np.lexsort((ticks, group))
    groups, first, listed = np.unique(group[order], return_index=True, return_counts=True)
    ordered = ticks[order]

    def at_place(place: int) -> Ints:
        after = place - (count - listed)
        return np.where(after < 0, 0, ordered[first + np.maximum(after, 0)])

    middle = (at_place((count - 1) // 2) + at_place(count // 2)) / 2
    return dict(zip(groups.tolist(), middle.tolist(), strict=True))
