"""Pivots: cells add up to the rows of one key, and equal loops over the slices one by one."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.statistics.test_grouping import PAIRS, linked
from viewer.analysis.links.linker import unlinked
from viewer.analysis.statistics.group_keys import PLACES
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.pivot import (
    cell_starts,
    group_starts,
    pivot,
    refused,
    slices_of_cell,
)
from viewer.model.building.builder import TraceBuilder
from viewer.model.queries import parent_of
from viewer.model.trace import Clock, Column, KeyKind, Rank, RunKind, Trace

SEEDS = range(12)
KEYS = ("name", "arg:a", "arg:b", "category")


def generated(seed: int) -> Trace:
    """A trace of nested slices on three threads of two processes, with arguments, in inferences."""
    dice = random.Random(seed)
    builder = TraceBuilder("generated", "test", "", Clock())

    def texts(names: str) -> Column:
        return Column.of_texts([dice.choice([*names, None])])

    def add(track: int, first: int, last: int, depth: int) -> None:
        """Add slices one after another in [first, last], each with slices inside."""
        at = first
        while last - at > 3 and dice.random() < 0.8:
            start = dice.randint(at, last - 2)
            end = dice.randint(start, last)
            name = dice.choice("stuvw")
            number = Column(np.array([dice.randint(-2, 3)]), np.array([dice.random() < 0.7]))
            builder.add(
                track=track, start=np.array([start]), end=np.array([end]),
                name=builder.intern(name), key=builder.key(KeyKind.PLAIN, name),
                columns={"a": number, "b": texts("xyz"), "category": texts("pq")},
            )  # fmt: skip
            if depth < 4:
                add(track, start + 1, end - 1, depth + 1)
            at = end + 1

    tracks = [builder.track(*place) for place in (("p", "one"), ("p", "two"), ("q", "one"))]
    for track in tracks:
        add(track, 0, 400, 0)
        builder.add(
            track=track, start=np.array([500]), end=np.array([dice.randint(501, 600)]),
            name=builder.intern("s"), key=builder.key(KeyKind.PLAIN, "s"),
        )  # fmt: skip
    scope = builder.scope("forward")
    for number in range(3):
        builder.run(
            RunKind.INFERENCE, number=number + 1, name="forward", track=tracks[0], scope=scope,
            start=200 * number, end=200 * number + 190,
        )  # fmt: skip
    return builder.build()


def value(trace: Trace, key: str, i: int) -> str | None:
    """The group of one slice, read from the trace."""
    slices, place = trace.slices, trace.tracks[trace.slices.track(i)]
    if key == "name":
        return trace.name(i)
    if key == "thread":
        return f"{place.process} > {place.thread}"
    if key == "process":
        return place.process
    found = slices.columns[key.removeprefix("arg:")].value(i)
    return None if found is None else str(found)


def around(trace: Trace, key: str, i: int) -> int:
    """The innermost slice that has a group, from slice i outwards; -1 if none has."""
    while i >= 0 and value(trace, key, i) is None:
        i = parent_of(trace.slices, i)
    return i


def cells_one_by_one(trace: Trace, key: str, then: str, first: int, last: int) -> tuple:
    """Self ticks, total ticks and counts by pair, slice by slice."""
    slices, own, total, count = trace.slices, Counter(), Counter(), Counter()
    for i in range(len(slices)):
        start, end = int(slices.start[i]), int(slices.end[i])
        ticks = max(min(end, last) - max(start, first), 0)
        above = parent_of(slices, i)
        for owner, sign in ((around(trace, key, i), 1), (around(trace, key, above), -1)):
            if owner >= 0:  # the time of a slice is taken from the one around it
                by = around(trace, then, owner)
                pair = value(trace, key, owner), None if by < 0 else value(trace, then, by)
                own[pair] += sign * ticks
        group, inside = value(trace, key, i), around(trace, key, above)
        if group is None:
            continue
        by = around(trace, then, i)
        pair = group, None if by < 0 else value(trace, then, by)
        nearest_is_same = inside >= 0 and value(trace, key, inside) == group
        is_outer = True
        while above >= 0:
            is_outer &= value(trace, key, above) != group
            above = parent_of(slices, above)
        total[pair] += ticks * is_outer
        starts = first <= start < last or (start == last and last >= trace.end)
        count[pair] += starts and (key == "name" or not nearest_is_same)
    return own, total, count


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_cells_equal_loops_over_slices(seed):
    trace = generated(seed)
    grouping = Grouping(unlinked(trace))
    first, last = (trace.start, trace.end) if seed % 2 else (50, 280)
    for key in KEYS:
        for then in (*KEYS, "thread", "process"):
            if then == key:
                continue
            found = pivot(grouping, trace.slices, (key, then), first, last)
            cells = {
                (row.group.label, cell.label if cell.number >= 0 else None): cell
                for row in found.rows
                for cell in row.cells
            }
            expected = cells_one_by_one(trace, key, then, first, last)
            figures = (
                lambda cell: cell.self_ticks,
                lambda cell: cell.total,
                lambda cell: cell.spread.count,
            )
            for figure, of_loop in zip(figures, expected, strict=True):
                assert {p: figure(c) for p, c in cells.items() if figure(c)} == {
                    p: n for p, n in of_loop.items() if n
                }


def expect_sums(grouping: Grouping, trace: Trace, keys: tuple[str, str], *span: int) -> None:
    key = keys[0]
    found, rows = pivot(grouping, trace.slices, keys, *span), grouping.by(key, *span).groups
    assert [row.group for row in found.rows] == list(rows)
    is_place = key in PLACES
    for row in found.rows:
        group, cells = row.group, row.cells
        assert sum(cell.self_ticks for cell in cells) == group.self_ticks, (keys, group.label)
        assert sum(cell.wall for cell in cells) == group.wall, (keys, group.label)
        if not is_place:
            assert sum(cell.total for cell in cells) == group.total, (keys, group.label)
            assert sum(c.spread.count for c in cells) == group.spread.count, (keys, group.label)


@pytest.mark.slow
@pytest.mark.parametrize("names", PAIRS, ids=[p.rpartition("/")[2] for p, _ in PAIRS])
def test_cells_add_up_to_the_rows_of_the_first_key(names):
    table = linked(*names)
    trace, grouping = table.trace, Grouping(table)
    lasts = trace.start + (trace.end - trace.start) * 2 // 3
    arguments = [f"arg:{name}" for name in list(trace.slices.columns)[:2]]
    keys = [*grouping.keys, *arguments]
    for key in keys:
        for then in keys:
            if not refused(grouping, (key, then)):
                expect_sums(grouping, trace, (key, then))
                expect_sums(grouping, trace, (key, then), trace.start + 1, lasts)


def test_what_cannot_be_a_pivot_says_why():
    trace = generated(1)
    grouping = Grouping(unlinked(trace))
    assert refused(grouping, ("name", "name")) == "The second key is the first one, name"
    assert "no rank" in refused(grouping, ("name", "rank"))
    assert refused(grouping, ("arg:categry", "name")).endswith("category is similar")
    with pytest.raises(ValueError, match="'thred' is not a key; thread is similar"):
        refused(grouping, ("name", "thred"))
    units = Grouping(linked("torq/compile_c3_taskid.csv", "torq/tiny_cnn.mlir"))
    assert "can only be the second key" in refused(units, ("unit", "name"))


def test_single_keys_of_slices_add_up_like_threads():
    trace = generated(3)
    grouping = Grouping(unlinked(trace))
    threads = grouping.by("thread")
    for key in ("process", "category", "arg:a", "arg:b"):
        found = grouping.by(key)
        assert found.whole == threads.whole
        assert sum(group.wall for group in found.groups) + found.ungrouped == found.whole
        for group in found.groups:
            index = grouping.slices(key, group.number)
            assert {value(trace, key, i) for i in index.tolist()} == {group.label}


def test_a_rank_is_one_group():
    trace = replace(generated(2), rank=Rank(1, 4))
    (group,) = Grouping(unlinked(trace)).by("rank").groups
    assert (group.label, group.wall) == ("rank 1 of 4", Grouping(unlinked(trace)).by("name").whole)


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_starts_are_those_of_the_counted_slices(seed):
    trace = generated(seed)
    grouping, start = Grouping(unlinked(trace)), trace.slices.start
    for key, then in (("name", "arg:b"), ("thread", "name"), ("category", "process")):
        for span in ((None, None), (50, 300)):
            starts = group_starts(grouping, key, *span)
            for number, ends in starts.items():
                of_group = start[grouping.slices(key, number, *span)]
                assert ends == (of_group.min(), of_group.max())
            cells = cell_starts(grouping, trace.slices, (key, then), *span)
            for cell, ends in cells.items():
                of_cell = start[slices_of_cell(grouping, trace.slices, (key, then), cell, *span)]
                assert ends == (of_cell.min(), of_cell.max())
            counts = (c for row in pivot(grouping, trace.slices, (key, then), *span).rows
                      for c in row.cells)  # fmt: skip
            assert len(cells) == sum(bool(c.spread and c.spread.count) for c in counts)
