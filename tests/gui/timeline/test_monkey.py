"""Random but repeatable sequences of what a user does with the strips of several clocks."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from PySide6.QtCore import QPoint

from tests.builders.clocked_traces import HOST, NS, profile
from tests.gui.events import CTRL, SAMPLE, SHIFT, drag, press, release, wheel
from viewer.formats import open_file
from viewer.gui.session import bookmarks, navigation
from viewer.gui.session.clocks import set_clock
from viewer.gui.session.feeds.search import Search
from viewer.model.inference_views import Inferences
from viewer.model.trace import Clock
from viewer.view.clock_groups import Tie, bounds
from viewer.view.state import SliceRef
from viewer.view.visible_ranges import limited_range

STEPS = 150
CYCLES = Clock("cycle", Fraction(5, 4), assumed=True)
# Three clocks; the two files of the host share one.
FILES = [
    profile("/a.csv", 3, 1000),
    profile("/host1.csv", 2, 400, HOST),
    profile("/npu.csv", 30, 90_000, CYCLES),
    profile("/host2.csv", 1, 150, HOST),
    profile("/b.csv", 1, 5, NS),
    open_file(SAMPLE["attention_xnnpack"].paths()[0]),
]


class Monkey:
    """Acts on a timeline at random."""

    def __init__(self, harness, seed):
        self.harness, self.session, self.random = harness, harness.session, random.Random(seed)

    @property
    def strip(self):
        return self.random.choice(self.harness.timeline.strips)

    def act(self):
        """Do one thing, and say what it was."""
        name = self.random.choice([name for name in dir(self) if name.startswith("do_")])
        getattr(self, name)()
        return name

    def any_slice(self):
        traces = self.session.traces
        if not traces:
            return None
        trace = self.random.randrange(len(traces))
        return SliceRef(trace, self.random.randrange(len(traces[trace].trace.slices)))

    def point_on(self, part):
        return QPoint(
            self.random.randrange(max(part.width(), 1)),
            self.random.randrange(max(part.height(), 1)),
        )

    def do_open(self):
        new = [one for one in FILES if one.path not in self.session.workspace.paths]
        if new:
            self.session.add([self.random.choice(new)])

    def do_close(self):
        if self.random.random() < 0.15:
            self.session.close_all()
            self.session.add(self.random.sample(FILES, 2))

    def do_wheel(self):
        port = self.strip.view.viewport()
        held = self.random.choice([CTRL, SHIFT])
        wheel(port, self.point_on(port), self.random.choice([-3, -1, 1, 2]), held=held)

    do_wheel_again = do_more_wheel = do_wheel

    def do_overview(self):
        part = self.strip.overview
        drag(part, self.point_on(part), self.point_on(part))

    def do_ruler(self):
        part = self.strip.ruler
        drag(part, self.point_on(part), self.point_on(part))

    def do_click(self):
        port, at = self.strip.view.viewport(), QPoint(200, 30)
        press(port, at)
        release(port, at)

    def do_drag(self):
        port = self.strip.view.viewport()
        drag(port, self.point_on(port), self.point_on(port), held=self.random.choice([CTRL, SHIFT]))

    def do_keys(self):
        way = self.random.choice([
            navigation.fit_all, navigation.fit_file, navigation.fit_selection,
            lambda session: navigation.step_run(session, 1),
            lambda session: navigation.step_slice(session, -1),
            lambda session: navigation.pan(session, self.random.randrange(-500, 500)),
        ])  # fmt: skip
        if self.session.traces:
            way(self.session)

    def do_select(self):
        ref = self.any_slice()
        if ref is not None:
            self.session.select_slice(ref, reveal=self.random.random() < 0.7)

    def do_search(self):
        search = Search.of(self.session)
        search.set_query(self.random.choice(["a", "c", "", "dur>10ns"]))
        self.harness.settle()
        search.step(self.random.choice([-1, 1]))

    def do_collapse(self):
        self.strip.header.toggle()

    def do_reorder(self):
        header = self.strip.header
        drag(header, QPoint(300, 8), QPoint(300, self.random.randrange(-300, 300)))

    def do_resize(self):
        edge = self.strip.edge
        drag(edge, QPoint(300, 2), QPoint(300, self.random.randrange(-200, 200)))

    def do_tie(self):
        groups = [group for group in self.session.groups if group.key]
        tied = self.random.sample(groups, self.random.randrange(len(groups) + 1))
        if len(tied) < 2:
            self.session.change(replace(self.session.state, ties={}))
            return
        anchored = self.random.random() < 0.5
        state, scales = self.session.state, (Fraction(1), Fraction(3), Fraction(1, 7))
        ties = {
            group.key: Tie(
                self.random.choice(scales),
                self.random.randrange(group.span_ns) if anchored else None,
                "here" if anchored else "",
            )
            for group in tied
        }
        self.session.change(tied_at(state.on(tied[0].key), ties))

    def do_history(self):
        self.random.choice([
            self.session.undo, self.session.undo, self.session.redo, self.session.go_back,
            self.session.go_forward,
        ])()  # fmt: skip

    do_more_history = do_history

    def do_inferences(self):
        self.session.show_inferences(self.random.choice(list(Inferences)))

    def do_rate(self):
        counting = [n for n, t in enumerate(self.session.traces) if t.file.clock.assumed]
        if counting:
            set_clock(self.session, counting[0], self.random.choice([Fraction(10), None]))

    def do_bookmark(self):
        if self.session.traces:
            at = self.random.randrange(self.session.group.span_ns)
            bookmarks.measure(self.session, at)
            bookmarks.keep(self.session, at)

    def do_go_to_bookmark(self):
        marks = self.session.state.bookmarks
        if marks:
            bookmarks.go_to(self.session, self.random.randrange(len(marks)))


def tied_at(state, ties):
    """A state in which all groups of some ties follow the active one."""
    own, (t0, t1) = ties[state.clock], (state.t0, state.t1)
    ranges = dict(state.ranges)
    for key, tie in ties.items():
        if key == state.clock:
            continue
        factor = tie.scale / own.scale
        span = max(round((t1 - t0) * factor), 1)
        first = ranges[key][0]
        if tie.anchor is not None:
            first = round(tie.anchor + (t0 - own.anchor) * factor)
        ranges[key] = first, first + span
    return replace(state, ties=ties, ranges=ranges)


def check(session, timeline):
    """What is true of every view."""
    state, keys = session.state, [group.key for group in session.groups]
    assert state.clock in keys
    assert set(state.ranges) == set(keys) - {state.clock}
    assert sorted(strip.scene.clock for strip in timeline.strips) == sorted(keys)
    for key, (t0, t1) in state.all_ranges.items():
        assert type(t0) is int
        assert type(t1) is int
        assert t0 < t1, key
    spans = {group.key: group.span_ns for group in session.groups}
    for group in session.groups:
        t0, t1 = state.range_of(group.key)
        low, high = bounds(state.ties, spans, group.key)
        tolerance = (high - low) // 10 + 2
        assert low - tolerance <= t0 < t1 <= high + tolerance, (group.key, t0, t1, low, high)
        assert limited_range(state, session.groups, group.key, (t0, t1))[0] < t1
    check_ties(state)


def check_ties(state):
    """Tied groups have spans in proportion, and anchors at the same place, up to rounding."""
    tied = {key: tie for key, tie in state.ties.items() if key in state.all_ranges}
    for key, tie in tied.items():
        for other, its in tied.items():
            (t0, t1), (s0, s1) = state.range_of(key), state.range_of(other)
            factor = its.scale / tie.scale
            # Both are rounded, and so are the extent and the two margins that limit them.
            rounding = 3 * (1 + factor)
            assert abs((s1 - s0) - (t1 - t0) * factor) <= rounding, (key, other)
            if tie.anchor is not None and its.anchor is not None:
                assert abs(s0 - its.anchor - (t0 - tie.anchor) * factor) <= rounding, (key, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 20))]
)
def test_no_sequence_of_acts_breaks_a_strip(harness, qtlog, seed):
    monkey, done = Monkey(harness, seed), []
    harness.session.add(FILES[:3])
    for step in range(STEPS):
        done.append(monkey.act())
        check(harness.session, harness.timeline)
        if step % 10 == 0:
            harness.settle()
            for strip in harness.timeline.strips:
                assert not strip.grab().isNull()
    told = [record.message for record in qtlog.records]
    assert [text for text in told if "propagateSizeHints" not in text] == [], done
