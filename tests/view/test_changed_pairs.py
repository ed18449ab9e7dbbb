"""Which slices of two arms are connected, and which carry marks."""

from types import SimpleNamespace

import numpy as np

from tests.builders.call_traces import trace_of
from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.comparison.rows import outermost
from viewer.model.trace import Run, RunKind
from viewer.render.time_axis import Axis
from viewer.view.open_comparison import changed_pairs, changed_rows, rows_of_one_arm

SLOWER, FASTER, SAME = Verdict.SLOWER, Verdict.FASTER, Verdict.NO_CHANGE


class TwoTraces:
    """A comparison of two traces: a row for each name, with a verdict and a change in ns."""

    def __init__(self, a, b, verdicts):
        self.traces = dict(zip("ab", (trace_of(*a), trace_of(*b)), strict=True))
        self.names = list(verdicts)
        named = [{one[1] for one in arm} for arm in (a, b)]
        self.rows = [
            (
                SimpleNamespace(a=(0,) * (name in named[0]), b=(0,) * (name in named[1])),
                SimpleNamespace(verdict=verdict, change_ns=ns),
            )
            for name, (verdict, ns) in verdicts.items()
        ]
        self.open = {
            path: (number, SimpleNamespace(trace=trace, axis=Axis()))
            for number, (path, trace) in enumerate(self.traces.items())
        }

    def typical(self, side):
        trace = self.traces["ab"[side]]
        run = Run(RunKind.INFERENCE, 1, "run", 0, 0, trace.start, trace.end, all_tracks=True)
        return "ab"[side], run

    def rows_of_slices(self, path):
        trace = self.traces[path]
        names = [trace.name(i) for i in range(len(trace.slices))]
        return np.array([self.names.index(n) if n in self.names else -1 for n in names])


def spans_of(pairs, side):
    arm = pairs.arms[side]
    return list(zip(arm.start.tolist(), arm.end.tolist(), strict=True))


def test_changed_rows_are_paired_and_the_largest_change_is_first():
    a = [("t", "conv", 0, 10), ("t", "add", 10, 20), ("t", "mul", 20, 30)]
    b = [("t", "conv", 0, 12), ("t", "add", 12, 16), ("t", "mul", 16, 26)]
    found = TwoTraces(a, b, {"conv": (SLOWER, 2), "add": (FASTER, -6), "mul": (SAME, 0)})
    pairs = changed_pairs(found, found.open)
    assert pairs.row.tolist() == [1, 0]
    assert pairs.is_slower.tolist() == [False, True]
    assert spans_of(pairs, 0) == [(10, 20), (0, 10)]
    assert spans_of(pairs, 1) == [(12, 16), (0, 12)]
    assert pairs.longest_ns.tolist() == [10, 12]
    assert [arm.trace for arm in pairs.arms] == [0, 1]


def test_calls_of_a_row_are_paired_in_order_of_time_and_the_widest_is_named():
    a = [("t", "conv", 0, 10), ("u", "conv", 10, 40), ("t", "conv", 50, 55)]
    b = [("t", "conv", 0, 11), ("u", "conv", 11, 44), ("t", "conv", 50, 56)]
    found = TwoTraces(a, b, {"conv": (SLOWER, 5)})
    pairs = changed_pairs(found, found.open)
    assert spans_of(pairs, 0) == [(0, 10), (10, 40), (50, 55)]
    assert spans_of(pairs, 1) == [(0, 11), (11, 44), (50, 56)]
    assert pairs.is_named.tolist() == [False, True, False]


def test_unlike_numbers_of_calls_are_one_pair_from_the_first_to_the_last():
    a = [("t", "conv", 0, 10), ("t", "conv", 20, 40)]
    b = [("t", "conv", 5, 12)]
    found = TwoTraces(a, b, {"conv": (FASTER, -23)})
    pairs = changed_pairs(found, found.open)
    assert spans_of(pairs, 0) == [(0, 40)]
    assert spans_of(pairs, 1) == [(5, 12)]


def test_what_changed_inside_a_call_that_changed_is_a_pair_too():
    a = [("t", "call", 0, 100), ("t", "event", 10, 50), ("t", "call", 60, 80)]
    b = [("t", "call", 0, 120), ("t", "event", 10, 70), ("t", "call", 80, 100)]
    found = TwoTraces(a, b, {"call": (SLOWER, 20), "event": (SLOWER, 19)})
    pairs = changed_pairs(found, found.open)
    assert pairs.row.tolist() == [0, 1]
    assert spans_of(pairs, 0) == [(0, 100), (10, 50)]
    assert spans_of(pairs, 1) == [(0, 120), (10, 70)]


def test_there_are_only_so_many_pairs():
    a = [("t", f"op{i}", 10 * i, 10 * i + 5) for i in range(9)]
    found = TwoTraces(a, a, {f"op{i}": (SLOWER, i) for i in range(9)})
    pairs = changed_pairs(found, found.open, most=3)
    assert pairs.row.tolist() == [8, 7, 6]


def test_without_a_change_or_with_one_strip_there_are_no_pairs():
    a = [("t", "conv", 0, 10)]
    same = TwoTraces(a, a, {"conv": (SAME, 0)})
    assert changed_pairs(same, same.open) is None
    one = TwoTraces(a, a, {"conv": (SLOWER, 9)})
    assert changed_pairs(one, {path: (0, shown) for path, (_, shown) in one.open.items()}) is None
    assert changed_pairs(one, {"a": one.open["a"]}) is None


def test_rows_that_changed_and_rows_of_one_arm():
    a = [("t", "conv", 0, 10), ("t", "gone", 10, 12)]
    b = [("t", "conv", 0, 10), ("t", "new", 10, 12)]
    rows = {"conv": (SLOWER, 1), "gone": (SAME, 0), "new": (SAME, 0)}
    found = TwoTraces(a, b, rows)
    assert changed_rows(found) == (0,)
    assert rows_of_one_arm(found) == (1, 2)


def test_a_slice_inside_another_of_its_row_is_not_outermost():
    trace = trace_of(
        ("t", "conv", 0, 100), ("t", "pad", 10, 90), ("t", "conv", 20, 80), ("t", "conv", 100, 120)
    )
    rows = np.array([{"conv": 0, "pad": 1}[trace.name(i)] for i in range(len(trace.slices))])
    starts = trace.slices.start[outermost(trace, rows, (0,))]
    assert sorted(starts.tolist()) == [0, 100]
    assert len(outermost(trace, rows, ())) == 0
