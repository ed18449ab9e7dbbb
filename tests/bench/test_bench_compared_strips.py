"""Frames of a comparison: two strips with dimmed slices, bars and ribbons, beside one trace alone.

OPSCOPE_BENCH_SLICES=1000000 python -m pytest \
    tests/bench/test_bench_compared_strips.py --benchmark-enable -s

Each arm has one large profile with that many slices, and two small ones, without which nothing
would be proven. A fifth of the operators of B are slower or faster, so that there are more pairs
than ribbons. Both windows have the same size. No range comes twice in a row. A frame ends when all
parts are painted.

The table is printed and written to OPSCOPE_BENCH_TABLE (a temporary file unless set). CPU ms of the
process, medians; a ratio is to the one trace. Nothing is asserted about time.
"""

import statistics
import time

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from tests.bench.test_bench_strips import HEIGHT, WIDTH, Shown, table, theme  # noqa: F401
from tests.builders import many_slices
from tests.builders.bench_sizes import rounds
from viewer.gui.qt.background import Latest
from viewer.gui.session.comparison import ComparisonFeed, compare, joined_clocks
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, RunKind, Trace
from viewer.view.state import ChosenArm, ComparedArms

pytestmark = pytest.mark.nightly

NAMES, CALLS = 250, 10  # operators of an inference, and calls of each
FEW = 8  # inferences of a small profile
AWAY = 0, -0.02, 0.02
# How many inferences are in view, 0 for all.
VIEWS = {
    "everything": 0,
    "10 inferences": 10,
    "inference": 1,
    "tenth of it": 0.1,
    "10 calls": 0.004,
}
BLOCKS, FRAMES = 6, 40


def profile(path: str, inferences: int, threads: int, *, is_b: bool, away: float) -> Trace:
    """Inferences of operators in a random order, each with a kernel inside; 2 slices a call.

    Each thread runs a part of them, one after another.

    away: how far its times are from the medians of its arm; 0 makes it the typical one.
    """
    each = NAMES * CALLS // threads
    name = np.random.default_rng(1).permutation(np.tile(np.arange(NAMES), CALLS))
    factor = np.ones(NAMES)
    if is_b:
        factor[::10], factor[5::10] = 1.3, 0.7
    factor *= 1 + away * np.random.default_rng(2).random(NAMES)
    ns = np.rint((2_000 + np.arange(NAMES) * 37 % 9_000) * factor).astype(np.int64)
    name = name[: each * threads].reshape(threads, each)
    length = int(ns[name].sum())
    begins = np.arange(inferences) * (length + 50_000)
    builder = TraceBuilder(path, "Profile CSV", "", Clock("ns", domain=path))
    scope = builder.scope("forward")
    for thread, own in enumerate(name):
        track = builder.track("model", f"thread {thread:02}")
        before = ns[name[:thread]].sum()
        end = (begins[:, None] + before + np.cumsum(ns[own])).reshape(-1)
        names = np.tile(own, inferences)
        start = end - ns[names]
        for inset, prefix in ((0, "op"), (200, "kernel")):
            texts = [f"{prefix}{i}" for i in range(NAMES)]
            keys = np.array([builder.key(KeyKind.PLAIN, text) for text in texts], np.uint32)
            builder.add(
                track=track, start=start + inset, end=end - inset,
                name=builder.intern_all(texts)[names], key=keys[names],
            )  # fmt: skip
    for at in begins.tolist():
        builder.run(RunKind.INFERENCE, "forward", 0, scope, at, at + length, all_tracks=threads > 1)
    return builder.build()


def arms(slices: int, threads: int) -> list[list[Trace]]:
    """The profiles of A and B, the large one first."""
    many = max(slices // (2 * NAMES * CALLS), FEW)
    return [
        [
            profile(f"{'ab'[is_b]}{n}.csv", FEW if away else many, threads, is_b=is_b, away=away)
            for n, away in enumerate(AWAY)
        ]
        for is_b in (False, True)
    ]


class Frames:
    """Frames around one inference of a timeline."""

    def __init__(self, shown: Shown, middle: int, length: int) -> None:
        self._session, self._middle, self._length, self._turn = shown.session, middle, length, 0

    def frame_ms(self, inferences: float) -> float:
        """What a frame of a range that is new costs; inferences: how many it shows, 0 for all."""
        session, self._turn = self._session, self._turn + 1
        span = round(inferences * self._length) or session.group.span_ns
        middle = self._middle if inferences else span // 2
        t0 = middle - span // 2 + (self._turn % 97 - 48) * max(span // 5000, 1)
        began = time.process_time_ns()
        session.set_range(t0, t0 + span - self._turn % 2 * (span // 99))
        QApplication.processEvents()
        return (time.process_time_ns() - began) / 1e6

    def block_ms(self, inferences: float) -> float:
        """The median of some frames, after some that warm up."""
        times = [self.frame_ms(inferences) for _ in range(rounds(FRAMES) + 1)]
        return statistics.median(times[len(times) // 6 :])


@pytest.mark.parametrize("threads", [1, 10])
def test_frames_of_a_comparison_beside_one_trace(qtbot, theme, table, threads):  # noqa: F811
    a, b = arms(many_slices.SLICES, threads)
    one, two = Shown(qtbot, theme, [a[0]]), Shown(qtbot, theme, [*a, *b])
    paths = [tuple(trace.path for trace in arm) for arm in (a, b)]
    compare(two.session, ComparedArms(*map(ChosenArm, paths)))
    tasks = two.harness.window.findChildren(Latest)
    qtbot.waitUntil(lambda: not any(task.pending for task in tasks), timeout=300_000)
    QApplication.processEvents()
    assert joined_clocks(two.session) == (paths[0][0], paths[1][0])
    drawings = two.harness.timeline.drawings
    assert len(drawings.compared_marks.answer.pairs) == 200
    run = ComparisonFeed.of(two.session).answer.typical(0)[1]
    frames = [
        Frames(shown, (run.start + run.end) // 2, run.end - run.start) for shown in (one, two)
    ]
    count, rows = len(a[0].slices), 2 * threads
    table += [f"{count:,} slices on {rows} rows each, window {WIDTH} x {HEIGHT}; CPU ms", ""]
    table += [f"{'in view':>14}{'one':>8}{'compared':>10}{'x':>6}"]
    ratios = []
    for name, inferences in VIEWS.items():
        blocks = [[f.block_ms(inferences) for f in frames] for _ in range(rounds(BLOCKS))]
        alone, compared = (min(ms) for ms in zip(*blocks, strict=True))
        ratios.append(compared / alone)
        table.append(f"{name:>14}{alone:8.2f}{compared:10.2f}{ratios[-1]:6.2f}")
    table.append(f"mean x: {statistics.mean(ratios):.2f}")
    for shown in (one, two):
        shown.harness.put_away()
