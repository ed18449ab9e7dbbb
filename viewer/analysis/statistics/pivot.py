"""Pivots: the groups of one key, each divided by a second key; and medians per inference.

The cells of a group add up to its row in `Grouping.by`. A cell takes what a slice of the group
does: its time, if it is charged to the slice; its length, if it is an outermost one; its duration,
if it counts. The second key is that of the innermost slice around it that has one.

Where the first key is a place (thread, process, rank, inference) and the second is none, a cell is
what `Grouping.by` charges to the second key there. The rest of the place is negative where threads
ran at the same time, which the length of an inference counts once. The slices of cells are then
those of the second key, and their totals include one another.

*Medians* are of the self time that a group has per inference, next to the mean. An inference
without slices of a group has 0 of it, so the times add up to the sum that the mean divides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.analysis.statistics.group_keys import ARGUMENT, PLACES
from viewer.analysis.statistics.group_table import Group, GroupTable, PartedGroups
from viewer.analysis.statistics.grouping import Grouping
from viewer.arrays import Codes, Ints, counts_of, numbers_at, parts_of
from viewer.dataclasses import dataclass
from viewer.model.queries import innermost_around, run_of_slices
from viewer.model.trace import Slices, Trace
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
    of_run = numbers_at(len(runs) + 1, numbers, np.arange(count), count)
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


@dataclass(frozen=True, slots=True)
class PivotRow:
    """A group of the first key, and its cells: groups of the second key, largest wall time first.

    Inferences are in their order. A cell with the number -1 is in no group of the second key.
    """

    group: Group
    cells: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class PivotTable:
    """The groups of a first key, as `Grouping.by` has them, divided by the key `then`."""

    table: GroupTable
    then: str
    rows: tuple[PivotRow, ...]


def refused(grouping: Grouping, keys: tuple[str, str]) -> str:
    """Return why a trace has no pivot by two keys, as a sentence, or "". ValueError if unknown."""
    key, then = keys
    if why := grouping.missing(key) or grouping.missing(then):
        return why
    if key == then:
        return f"The second key is the first one, {key}"
    if key == "unit" and not grouping.is_stated(key):
        return "The rows of units overlap: unit can only be the second key"
    return ""


def pivot(
    grouping: Grouping,
    slices: Slices,
    keys: tuple[str, str],
    first: int | None = None,
    last: int | None = None,
) -> PivotTable:
    """Return the groups of a trace by two keys in the ticks [first, last], or in all of it.

    slices: those of the trace. Raises ValueError with the text of `refused`.
    """
    if why := refused(grouping, keys):
        raise ValueError(why)
    key, then = keys
    table = grouping.by(key, first, last)
    owner, part, part_labels, by_place = _divided(grouping, slices, keys)
    cells = grouping.parted(owner, part, first, last)
    labels = part_labels
    group, within = cells.group, np.where(cells.part < len(labels), cells.part, -1)
    if by_place:
        labels, group, within = grouping.groups_of_slices(then)[0], within, group
    name = f"(no {then.removeprefix(ARGUMENT)})"
    sizes = (within,) if then == "inference" else (-cells.self_ticks, -cells.total, -cells.wall)
    order = np.lexsort((*sizes, within < 0, group))
    ordered = group[order]
    rows, whole = list[PivotRow](), table.whole or 1
    for row in table.groups:
        mine = order[slice(*np.searchsorted(ordered, [row.number, row.number + 1]))]
        listed = [
            _cell(cells, i, labels[within[i]] if within[i] >= 0 else name, int(within[i]), whole)
            for i in mine.tolist()
        ]
        if is_place(grouping, key):
            listed.append(_rest(row, listed, name, whole))
        rows.append(PivotRow(row, tuple(filter(_has_any, listed))))
    return PivotTable(table, then, tuple(rows))


def cell_medians(
    grouping: Grouping, slices: Slices, keys: tuple[str, str]
) -> dict[tuple[int, int], float]:
    """Return the median self time per counted inference of cells, by the numbers of both groups.

    The rest of a place has none. In ticks.
    """
    owner, part, labels, by_place = _divided(grouping, slices, keys)
    of_cells = medians_of_parts(grouping, owner, part)
    cells = ((group, of if of < len(labels) else -1) for group, of in of_cells)
    numbers = (cell[::-1] if by_place else cell for cell in cells)
    return dict(zip(numbers, of_cells.values(), strict=True))


def _divided(
    grouping: Grouping, slices: Slices, keys: tuple[str, str]
) -> tuple[str, Ints, Sequence[str], bool]:
    """Return the key whose groups are divided, the part of each slice, and the labels of parts.

    Slices of no part have the number after the last one. Last, whether the keys are exchanged,
    because the first one is a place.
    """
    key, then = keys
    by_place = is_place(grouping, key) and not is_place(grouping, then)
    owner, other = (then, key) if by_place else keys
    labels, part = groups_around(grouping, slices, other)
    return owner, np.where(part < 0, len(labels), part), labels, by_place


def groups_around(grouping: Grouping, slices: Slices, key: str) -> tuple[Sequence[str], Ints]:
    """Return the labels of a key, and per slice its group or that of the innermost one around it.

    -1 without any. A slice on another clock is in no place, whatever is around it.
    """
    labels, group = grouping.groups_of_slices(key)
    if not is_place(grouping, key):
        around = innermost_around(slices, group >= 0)
        group = np.where(around >= 0, group[around], -1)
    return labels, group


def group_starts(
    grouping: Grouping, key: str, first: int | None = None, last: int | None = None
) -> dict[int, tuple[int, int]]:
    """Return when the first and the last slice of each group starts, in ticks, by its number."""
    trace = grouping.trace
    if key == "inference" and not grouping.is_stated(key):
        return {i: (run.start, run.start) for i, run in enumerate(trace.inferences())}
    if key == "unit" and not grouping.is_stated(key):
        return {}
    return _ends(trace.slices.start, *grouping.counted(key, first, last))


def cell_starts(
    grouping: Grouping,
    slices: Slices,
    keys: tuple[str, str],
    first: int | None = None,
    last: int | None = None,
) -> dict[tuple[int, int], tuple[int, int]]:
    """Return when the first and the last slice of each cell starts, by the numbers of both groups.

    The rest of a place has no slices. In ticks.
    """
    owner, part, labels, by_place = _divided(grouping, slices, keys)
    index, group = grouping.counted(owner, first, last)
    many = len(labels) + 1
    starts = dict[tuple[int, int], tuple[int, int]]()
    for code, ends in _ends(
        slices.start, index, group.astype(np.int64) * many + part[index]
    ).items():
        number, of = divmod(code, many)
        cell = number, of if of < len(labels) else -1
        starts[cell[::-1] if by_place else cell] = ends
    return starts


def _ends(start: Ints, index: Ints | Codes, group: Ints | Codes) -> dict[int, tuple[int, int]]:
    """Return the least and the greatest start of each group. group: of each slice in the index."""
    most_groups = int(group.max(initial=0)) + 1
    if most_groups <= len(group) + 1:  # without sorting millions
        numbers = np.flatnonzero(counts_of(group, most_groups))
        place = group
    else:
        numbers, place = np.unique(group, return_inverse=True)
        most_groups = len(numbers)
    least = np.full(most_groups, np.iinfo(np.int64).max)
    most = np.full(most_groups, np.iinfo(np.int64).min)
    for part in parts_of(len(index)):
        starts = start[index[part]]
        np.minimum.at(least, place[part], starts)
        np.maximum.at(most, place[part], starts)
    if place is group:
        least, most = least[numbers], most[numbers]
    pairs = zip(least.tolist(), most.tolist(), strict=True)
    return dict(zip(numbers.tolist(), pairs, strict=True))


def slices_of_cell(
    grouping: Grouping,
    slices: Slices,
    keys: tuple[str, str],
    cell: tuple[int, int],
    first: int | None = None,
    last: int | None = None,
) -> Ints:
    """Return the slices that a cell counts, ascending. cell: its group and its number, or -1."""
    key, then = keys
    group, number = cell
    if is_place(grouping, key) and not is_place(grouping, then):
        if number < 0:
            return np.empty(0, np.int64)
        index = grouping.slices(then, number, first, last)
        return np.asarray(index[grouping.groups_of_slices(key)[1][index] == group])
    index = grouping.slices(key, group, first, last)
    _, part = groups_around(grouping, slices, then)
    return np.asarray(index[part[index] == number])


def is_place(grouping: Grouping, key: str) -> bool:
    """Return whether each instant is in one group of a key, whatever else it is a part of."""
    return key in PLACES and not grouping.is_stated(key)


def _cell(cells: PartedGroups, i: int, label: str, number: int, whole: int) -> Group:
    wall = int(cells.wall[i])
    return Group(
        label,
        int(cells.total[i]),
        wall / whole,
        int(cells.self_ticks[i]),
        wall,
        cells.spreads.of(i),
        number=number,
        delegate_ns=cells.spreads.delegate_ns.get(i),
        clock=cells.spreads.clocks.get(i),
    )


def _rest(group: Group, cells: Sequence[Group], label: str, whole: int) -> Group:
    """Return what the cells of a place lack of its time."""
    self_ticks = (group.self_ticks or 0) - sum(cell.self_ticks or 0 for cell in cells)
    wall = (group.wall or 0) - sum(cell.wall or 0 for cell in cells)
    total = group.total - sum(cell.total for cell in cells)
    return Group(label, max(total, 0), wall / whole, self_ticks, wall)


def _has_any(cell: Group) -> bool:
    has_slices = cell.spread is not None and cell.spread.count > 0
    return bool(has_slices or cell.total or cell.self_ticks or cell.wall)
