"""The cost of arranging a million lanes, and of scrolling over 2,000 tracks next to 40.

python -m pytest tests/bench/test_bench_tracks.py --benchmark-enable -s
Prints CPU times, and asserts how they compare in the same run.
"""

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.builders.bench_sizes import rounds, size
from viewer.gui.session.choices import arrange_tracks
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, Slices, Trace
from viewer.render.arrangement import (
    TrackOrder,
    TrackView,
    arrange,
    busy_of_tracks,
    table_of,
    track_list,
)
from viewer.render.stacking import stack

pytestmark = pytest.mark.nightly

LANES = size(1_000_000, 100_000)
MOST_TIMES = 2.0  # a scrolled frame of 2,000 tracks next to one of 40; measured: at most 1.3
MOST_SORTS = 5  # a layout next to a sort of as many numbers; measured: at most 2


def cpu(run, times=5):
    """The median CPU seconds of a call."""
    took = []
    for _ in range(rounds(times)):
        began = time.process_time()
        run()
        took.append(time.process_time() - began)
    return statistics.median(took)


def sort_seconds() -> float:
    """The floor of a layout: the CPU seconds of a stable sort of as many numbers.

    A plain sort takes 0.7 ms on processors with AVX-512 and 5 ms on others.
    """
    numbers = np.random.default_rng(1).integers(0, 1 << 60, LANES)
    return cpu(lambda: np.argsort(numbers, kind="stable"))


def lanes(tracks: int) -> Trace:
    """A million rows of one slice each, on some tracks: nothing nests, all overlap."""
    builder = TraceBuilder("lanes.csv", "test", "", Clock("ns"))
    for number in range(tracks):
        builder.track("lanes.csv", f"track {number}")
    builder.key(KeyKind.PLAIN, "")
    empty = builder.build()
    number = np.arange(LANES)
    zeros = np.zeros(LANES, np.uint32)
    slices = Slices(
        start=number, end=number + LANES, name=zeros, key=zeros,
        source_row=number.astype(np.uint32), order=None,
        row_ptr=np.arange(LANES + 1), row_track=(number * tracks // LANES).astype(np.uint32),
        row_lane=(number % (LANES // tracks)).astype(np.uint32), row_depth=zeros,
    )  # fmt: skip
    return replace(empty, strings=("a",), slices=slices)


@pytest.mark.parametrize("tracks", [1, 2_000])
def test_a_million_lanes_are_laid_out(tracks):
    trace = lanes(tracks)
    names = [f"track {number}" for number in range(tracks)]
    began = time.process_time()
    table = table_of(trace, names)
    stock = track_list([table])
    print(
        f"\n{LANES} lanes on {tracks} tracks: columns {time.process_time() - began:.3f} s", end=""
    )
    busy = busy_of_tracks(trace)
    part = frozenset({(0, 0), (0, tracks - 1)})
    views = {
        "as in the file": TrackView(),
        "two folded": TrackView(collapsed=part),
        "two pinned": TrackView(pinned=tuple(part)),
        "two hidden": TrackView(hidden=part),
        "filtered": TrackView(filter="track 1"),
        "by name": TrackView(order=TrackOrder.NAME),
        "busiest first": TrackView(order=TrackOrder.BUSY),
    }
    floor = sort_seconds()
    print(f", floor {floor:.4f} s", end="")
    for title, view in views.items():
        seconds = cpu(lambda view=view: stack(stock, view, arrange(stock, view, busy)))
        print(f", {title} {seconds:.3f} s", end="")
        assert seconds < MOST_SORTS * floor
    layout = stack(stock, TrackView())
    band = cpu(lambda: layout.band_of(0, LANES // 2), 1)
    again = cpu(lambda: layout.band_of(0, LANES // 2))
    print(f"; the band of a row {band * 1e3:.1f} ms, then {again * 1e6:.1f} µs")
    assert again < band
    assert layout.row[layout.band_of(0, LANES // 2)] == LANES // 2


def timeline(session: Session, theme, qtbot) -> Timeline:
    """The whole timeline of a session, 1920x1080, shown."""
    made = Timeline(session, theme)
    qtbot.addWidget(made)
    made.resize(1920, 1080)
    with qtbot.waitExposed(made):
        made.show()
    return made


def tracks_of(count: int) -> Trace:
    """So many tracks with 100 slices each."""
    builder = TraceBuilder("tracks.csv", "test", "", Clock("ns"))
    rng = np.random.default_rng(1)
    key = builder.key(KeyKind.PLAIN, "")
    for number in range(count):
        start = np.cumsum(rng.integers(20, 2000, 100))
        builder.add(
            track=builder.track("tracks.csv", f"track {number}"), start=start,
            end=start + rng.integers(1, 20, 100), name=builder.intern(f"op {number % 40}"), key=key,
        )  # fmt: skip
    return builder.build()


def frames_ms(timelines: Sequence[Timeline]) -> list[float]:
    """The CPU ms of a scrolled frame of canvas and headers of each timeline, drawn in turns."""
    times: list[list[float]] = [[] for _ in timelines]
    for i in range(40):
        for made, own in zip(timelines, times, strict=True):
            began = time.process_time()
            made.scene.scroll_to(i * 7919 % max(made.scene.scroll_limit, 1))
            made.view.viewport().repaint()
            made.headers.repaint()
            own.append((time.process_time() - began) * 1e3)
    return [statistics.median(own) for own in times]


def test_many_tracks_scroll_as_lightly_as_few(qapp, qtbot):
    from tests.gui.dark_theme import dark_theme

    theme = dark_theme()
    cases = (40, 0), (2_000, 0), (2_000, 4)
    timelines = []
    for count, pinned in cases:
        session = Session()
        timelines.append(timeline(session, theme, qtbot))
        session.add([tracks_of(count)])
        qtbot.waitUntil(lambda session=session: bool(session.traces))
        arrange_tracks(session, TrackView(pinned=tuple((0, t) for t in range(pinned))))
    few, *many = frames_ms(timelines)
    for (count, pinned), made, frame in zip(cases, timelines, (few, *many), strict=True):
        arranging = cpu(lambda made=made: made.scene._arrange())
        print(f"\n{count} tracks, {pinned} pinned: a scrolled frame {frame:.2f} ms, "
              f"arranging {arranging * 1e3:.2f} ms", end="")  # fmt: skip
    print()
    assert max(many) < MOST_TIMES * few


def test_a_million_lanes_scroll(qapp, qtbot):
    from tests.gui.dark_theme import dark_theme

    session = Session()
    made = timeline(session, dark_theme(), qtbot)
    session.add([lanes(2_000)])
    qtbot.waitUntil(lambda: bool(session.traces), timeout=60_000)
    overview = cpu(made.overview.repaint)
    arranging = cpu(made.scene._arrange)
    print(f"\na scrolled frame {frames_ms([made])[0]:.2f} ms, overview {overview * 1e3:.2f} ms, "
          f"arranging {arranging * 1e3:.1f} ms")  # fmt: skip
    assert arranging < MOST_SORTS * sort_seconds()
    assert made.scene.layout.total_height > LANES
