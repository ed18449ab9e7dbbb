"""Jumps as motions: where they pass, when they end, and what cuts them short."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QTimer

from tests.gui.events import CTRL, canvas, wheel
from viewer.gui.session import navigation
from viewer.gui.timeline.scene import animation as glide
from viewer.gui.timeline.scene.animation import RangeAnimation, between

times = st.integers(-(10**18), 10**18)
lengths = st.integers(1, 10**17)


@given(times, lengths, times, lengths)
def test_it_begins_where_it_was_and_ends_where_it_goes(t0, span, u0, other):
    begin, end = (t0, t0 + span), (u0, u0 + other)
    assert between(begin, end, 0) == begin
    last = between(begin, end, 1)
    # The way is a float; what is drawn at its end is the range itself, see `RangeAnimation.now`.
    reach = max(abs(u0 - t0), span, other)
    assert all(abs(a - b) <= 1 + reach // 10**14 for a, b in zip(last, end, strict=True))


@given(times, lengths, lengths, st.floats(0, 1))
def test_every_range_on_the_way_has_a_length_between_both(t0, span, other, share):
    a, b = between((t0, t0 + span), (t0, t0 + other), share)
    assert min(span, other) - 2 <= b - a <= max(span, other) + 2
    assert b > a


def test_a_zoom_rests_at_the_time_that_keeps_its_place():
    # The time 500 is in the middle of both, so it stays there.
    for share in (0.1, 0.5, 0.9):
        a, b = between((0, 1000), (450, 550), share)
        assert abs((a + b) / 2 - 500) <= 1


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands until it is moved."""
    now = [100.0]
    monkeypatch.setattr(glide.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def moving(qapp, clock):
    motion = RangeAnimation()
    motion.enabled = True
    return motion


def test_it_is_over_after_its_time(moving, clock):
    moving.start((0, 1000), (500, 700))
    assert moving.now() == (0, 1000)
    clock[0] += glide.DURATION_MS / 2000
    t0, t1 = moving.now()
    assert 0 < t0 < 500
    assert 700 < t1 < 1000
    clock[0] += glide.DURATION_MS / 1000
    assert moving.now() == (500, 700)
    moving.findChild(QTimer).timeout.emit()
    assert not moving.is_moving
    assert moving.now() is None


def test_a_range_far_away_is_a_cut(moving):
    moving.start((0, 10), (1_000_000, 1_000_010))
    assert not moving.is_moving


def test_it_does_nothing_unless_enabled(moving):
    moving.enabled = False
    moving.start((0, 1000), (500, 700))
    assert not moving.is_moving


@pytest.fixture
def smooth(attention, clock):
    attention.timeline.scene.animation.enabled = True
    return attention


def test_what_is_drawn_moves_while_the_view_has_arrived(smooth, clock):
    scene, state = smooth.timeline.scene, smooth.session.state
    before = (state.t0, state.t1)
    navigation.fit_all(smooth.session)
    assert scene.visible == before
    clock[0] += glide.DURATION_MS / 2000
    after = (smooth.session.state.t0, smooth.session.state.t1)
    assert after[0] <= scene.visible[0] < before[0]
    clock[0] += 1
    assert scene.visible == after


def test_the_wheel_cuts_a_motion_short_and_zooms_from_where_it_went(smooth, clock):
    navigation.fit_all(smooth.session)
    t0, t1 = smooth.session.state.t0, smooth.session.state.t1
    wheel(canvas(smooth), canvas(smooth).rect().center(), 1, held=CTRL)
    scene = smooth.timeline.scene
    assert not scene.animation.is_moving
    assert scene.visible == (smooth.session.state.t0, smooth.session.state.t1)
    assert t1 - t0 > scene.visible[1] - scene.visible[0] > (t1 - t0) // 2


def test_a_jump_in_a_motion_goes_on_from_what_is_drawn(smooth, clock):
    scene = smooth.timeline.scene
    navigation.fit_all(smooth.session)
    clock[0] += glide.DURATION_MS / 2000
    drawn = scene.visible
    smooth.session.go_back()
    assert scene.visible == drawn
