"""Slices without an end: drawn as far as they are known to last, and in no mean and no total."""

import random
from dataclasses import replace

import numpy as np
import pytest

from tests.builders.chrome_cases import event, read, slice_event
from tests.builders.inference_trace import inference_trace
from tests.formats.perfetto.test_reader import Writer
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.comparison.sessions import Session
from viewer.analysis.links.labels import slice_labels
from viewer.analysis.links.linker import unlinked
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.selection import (
    SelectedSlices,
    chosen_within,
    selection_statistics,
)
from viewer.formats import open_file
from viewer.model.figures import left_out
from viewer.model.timing import UNMEASURED, Timing, timings

BEGIN, END = 1, 2


def made(seed):
    """Steps of one thread (kind, name, time in µs): some of its slices never end."""
    dice = random.Random(seed)
    steps, open_, time, closed = [], [], 0, []
    for _ in range(80):
        time += dice.randint(1, 9)
        if open_ and dice.random() < 0.5:
            name, begin = open_.pop()
            closed.append((name, begin, time))
            steps.append((END, name, time))
        else:
            name = dice.choice("abc")
            open_.append((name, time))
            steps.append((BEGIN, name, time))
    return steps, sorted(closed), sorted((name, begin, time) for name, begin in open_)


def as_chrome(folder, steps):
    return read(folder, *(event("B" if kind == BEGIN else "E", n, t) for kind, n, t in steps))


def as_perfetto(folder, steps):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    for kind, name, time in steps:
        w.event(1000 * time, kind, 11, *([name] if kind == BEGIN else []))
    return open_file(str(w.save(folder)))


@pytest.mark.parametrize("form", [as_chrome, as_perfetto])
@pytest.mark.parametrize("seed", range(10))
def test_they_are_bars_to_the_end_and_in_no_figure(tmp_path, form, seed):
    steps, closed, unfinished = made(seed)
    trace = form(tmp_path, steps)
    slices = trace.slices
    is_open = timings(slices) == Timing.UNFINISHED
    found = [
        (trace.name(i), int(slices.start[i]) // 1000, int(slices.end[i]) // 1000)
        for i in range(len(slices))
    ]
    assert sorted(row for row, one in zip(found, is_open, strict=True) if not one) == closed
    assert sorted(row for row, one in zip(found, is_open, strict=True) if one) == unfinished
    assert left_out(trace).open_slices == len(unfinished)
    grouping = Grouping(unlinked(trace))
    for first, last in ((None, None), (trace.start, trace.end)):
        table = grouping.by("name", first, last)
        for group in table.groups:
            lengths = [1000 * (end - begin) for name, begin, end in closed if name == group.label]
            assert group.spread.count == len(lengths)
            if lengths:
                assert group.spread.mean == pytest.approx(np.mean(lengths))
    chosen = selection_statistics(selected(trace), "name")
    assert chosen.unfinished == len(unfinished)
    for number, label in enumerate(chosen.labels):
        lengths = [1000 * (end - begin) for name, begin, end in closed if name == label]
        assert chosen.figures.statistics.max[number] == max(lengths)
    tree = CallTree(unlinked(trace))
    table = tree.table()
    assert int(table.count.sum()) == len(closed)


def selected(trace, first=None, last=None):
    """All slices, or those that touch a range."""
    table = unlinked(trace)
    labels, strings = slice_labels(table)
    if first is not None:
        return chosen_within(table, labels, strings, range(len(trace.tracks)), first, last)
    return SelectedSlices(table, labels, strings, np.arange(len(trace.slices)))


def test_a_range_that_cuts_one_has_it_in_no_mean(tmp_path):
    trace = read(tmp_path, slice_event("f", 0, 10), event("B", "f", 20), slice_event("g", 90, 1))
    found = selection_statistics(selected(trace, 0, 40_000), "name")
    assert (found.labels, found.slices, found.unfinished) == (("f",), 2, 1)
    assert found.figures.statistics.avg.tolist() == [10_000]
    assert found.whole.statistics.total.tolist() == [10_000]


@pytest.mark.parametrize("timing", [Timing.UNFINISHED, Timing.SAMPLED, Timing.ESTIMATED])
def test_times_that_are_not_measured_prove_no_difference(timing):
    """In comparisons; with these, in fleets too."""
    trace = inference_trace("p", [(at, [("f", 10), ("g", 10)]) for at in (0, 100, 200)])
    kinds = np.zeros(len(trace.slices), np.uint8)
    kinds[3] = timing
    trace = replace(trace, slices=replace(trace.slices, timing=kinds))
    session = Session(unlinked(trace), tuple(trace.inferences()), 1.0)
    assert session._is_measured.tolist() == [at != 3 for at in range(6)]
    assert timing & UNMEASURED
    assert not (Timing.PLACED | Timing.ROUNDED) & UNMEASURED


def test_the_time_inside_one_is_all_that_its_call_has(tmp_path):
    trace = read(tmp_path, event("B", "main", 0), slice_event("f", 5, 10), slice_event("g", 90, 1))
    table = CallTree(unlinked(trace)).table()
    main = table.find(["process 1", "thread 2", "main"])
    assert (int(table.total[main]), int(table.self_ticks[main])) == (11_000, 0)
    assert int(table.count[main]) == 0
