"""The overview: a click picks a run, the window in it can be moved and resized with the mouse."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint

from tests.gui.events import drag, move, press, release, wheel
from viewer.gui.session import navigation
from viewer.gui.session.choices import set_scheme
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.navigation import pick_run, run_span_ns
from viewer.gui.timeline.overview import BAND_HEIGHT
from viewer.model.inference_views import Inferences
from viewer.model.trace import RunKind

LANES = BAND_HEIGHT + 20


@pytest.fixture
def overview(attention):
    return attention.timeline.overview


@pytest.fixture
def session(attention):
    return attention.session


def column(overview, session, ns):
    """The column of a time: the whole axis with 2 % of air on both sides, by definition."""
    span = session.group.span_ns
    air = span // 50
    return (ns + air) * overview.width() // (span + 2 * air)


def one_pixel(overview, session):
    return session.group.span_ns * 1.04 / overview.width()


def test_a_click_on_a_run_picks_and_shows_it(overview, session):
    trace = session.traces[0].trace
    for number, run in enumerate(trace.runs):
        t0, t1 = run_span_ns(session, 0, run)
        at = QPoint(column(overview, session, (t0 + t1) // 2), BAND_HEIGHT // 2)
        before = session.state
        press(overview, at)
        release(overview, at)
        if run.kind is RunKind.INFERENCE:
            assert session.state.run == (0, number)
            assert session.state.t0 <= t0 < t1 <= session.state.t1
        else:
            assert session.state == before


def test_dragging_inside_the_window_moves_it(overview, session):
    before = session.state
    middle = column(overview, session, (before.t0 + before.t1) // 2)
    drag(overview, QPoint(middle, LANES), QPoint(middle - 200, LANES))
    span = before.t1 - before.t0
    assert session.state.t1 - session.state.t0 == span
    moved = before.t0 - session.state.t0
    assert abs(moved - 200 * one_pixel(overview, session)) <= 2 * one_pixel(overview, session)


def test_a_click_elsewhere_brings_the_window_there(overview, session):
    span = session.state.t1 - session.state.t0
    at = QPoint(150, LANES)
    press(overview, at)
    release(overview, at)
    middle = (session.state.t0 + session.state.t1) // 2
    assert abs(column(overview, session, middle) - 150) <= 1
    assert session.state.t1 - session.state.t0 == span


@pytest.mark.parametrize("edge", ["left", "right"])
def test_dragging_an_edge_resizes_the_window(overview, session, edge):
    session.set_range(300_000, 900_000)
    x = column(overview, session, 300_000 if edge == "left" else 900_000)
    drag(overview, QPoint(x, LANES), QPoint(x + 50, LANES))
    by = 50 * one_pixel(overview, session)
    state, slack = session.state, 6 * one_pixel(overview, session)
    if edge == "left":
        assert state.t1 == 900_000
        assert abs(state.t0 - 300_000 - by) <= slack
    else:
        assert state.t0 == 300_000
        assert abs(state.t1 - 900_000 - by) <= slack


def test_an_edge_that_crosses_the_other_leaves_a_range(overview, session):
    session.set_range(300_000, 900_000)
    x = column(overview, session, 300_000)
    drag(overview, QPoint(x, LANES), QPoint(overview.width() + 500, LANES))
    assert session.state.t0 < session.state.t1 == 900_000
    session.set_range(300_000, 900_000)
    x = column(overview, session, 900_000)
    drag(overview, QPoint(x, LANES), QPoint(-500, LANES))
    assert session.state.t0 == 300_000 < session.state.t1


def test_one_drag_is_one_step_of_undo(overview, session):
    before = session.state
    middle = column(overview, session, (before.t0 + before.t1) // 2)
    drag(overview, QPoint(middle, LANES), QPoint(middle - 200, LANES))
    session.undo()
    assert session.state == before


def test_the_wheel_zooms_around_the_time_under_the_mouse(overview, session):
    navigation.fit_all(session)
    before = session.state
    wheel(overview, QPoint(400, LANES), 1)
    span = session.state.t1 - session.state.t0
    assert span == pytest.approx((before.t1 - before.t0) / 1.25, rel=1e-3)
    at = 400 * one_pixel(overview, session) - session.group.span_ns // 50
    share = (at - session.state.t0) / span
    assert share == pytest.approx(400 / overview.width(), abs=0.002)


def test_the_cursor_says_where_an_edge_can_be_grabbed(overview, session):
    session.set_range(300_000, 900_000)
    shapes = []
    for x in (column(overview, session, 300_000), column(overview, session, 600_000)):
        move(overview, QPoint(x, LANES))
        shapes.append(overview.cursor().shape().name)
    assert shapes == ["SizeHorCursor", "ArrowCursor"]


def test_it_draws_the_window_where_it_is(overview, session, attention):
    session.set_range(300_000, 600_000)
    accent = attention.theme.color("accent")
    image = overview.grab().toImage()
    y = BAND_HEIGHT + 18
    x = column(overview, session, 300_000)
    near = [image.pixelColor(x + dx, y) for dx in (-1, 0, 1, 2)]
    assert any(abs(c.red() - accent.red()) + abs(c.blue() - accent.blue()) < 40 for c in near)
    session.set_range(700_000, 900_000)
    assert overview.grab().toImage() != image


def test_thousands_of_runs_are_drawn_at_once_and_the_picked_one_is_seen(
    attention, overview, session, benchmark
):
    from viewer.model.building.builder import TraceBuilder
    from viewer.model.trace import Clock, KeyKind, Run

    count = 20_000
    builder = TraceBuilder("/many.csv", "test", "", Clock())
    start = np.arange(count, dtype=np.int64) * 100
    track = builder.track("p", "t", flat=True)
    builder.add(
        track=track, start=start, end=start + 70, name=builder.intern("a"),
        key=builder.key(KeyKind.PLAIN, "a"),
    )  # fmt: skip
    runs = tuple(
        Run(RunKind.INFERENCE, i + 1, "run", track, 0, t, t + 70)
        for i, t in enumerate(start.tolist())
    )
    session.close_all()
    session.add([replace(builder.build(), runs=runs)])
    pick_run(session, (0, 4))
    image = benchmark(overview.grab).toImage()
    accent = attention.theme.color("accent_fill")
    drawn = [x for x in range(image.width()) if image.pixelColor(x, BAND_HEIGHT // 2) == accent]
    assert drawn
    assert abs(drawn[0] - column(overview, session, 400)) <= 1


def test_nothing_open_is_drawn_and_clicked_without_harm(overview, session):
    session.close_all()
    assert not overview.grab().isNull()
    for y in (5, LANES):
        drag(overview, QPoint(100, y), QPoint(300, y))
    assert session.is_empty


def test_the_lanes_are_made_once_while_only_the_window_moves(overview, session, monkeypatch):
    made = []
    draw = type(overview)._lane_pixels
    monkeypatch.setattr(
        type(overview), "_lane_pixels", lambda *asked: made.append(1) or draw(*asked)
    )
    overview.grab()
    before = len(made)
    session.set_range(session.state.t0 + 10, session.state.t1 - 10)
    overview.grab()
    navigation.fit_all(session)
    overview.grab()
    assert len(made) == before


CHANGES = {
    "colours": lambda harness: set_scheme(harness.session, "duration"),
    "highlight": lambda harness: harness.session.select_operators(0, (0,)),
    "only hits": lambda harness: (
        Search.of(harness.session).set_query("linear"),
        Search.of(harness.session).show_only_hits(True),
    ),
    "theme": lambda harness: harness.theme.set_choice("light"),
    "size": lambda harness: harness.window.resize(1200, 800),
    "another file": lambda harness: harness.session.close_all(),
    "inferences": lambda harness: harness.session.show_inferences(Inferences.ALIGNED),
}


@pytest.mark.parametrize("change", CHANGES)
def test_lanes_that_are_kept_are_what_they_would_be_if_made_anew(overview, attention, change):
    overview.grab()
    CHANGES[change](attention)
    attention.settle()
    kept = overview.grab().toImage()
    overview._painted = None
    assert overview.grab().toImage() == kept
