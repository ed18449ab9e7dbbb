"""A frame that follows others looks as one that is painted first."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage, QPainter

from viewer.gui.session.choices import arrange_tracks
from viewer.gui.session.feeds.search import Search
from viewer.gui.timeline.painting.frame import FramePainter, Overlay
from viewer.render.layout import Canvas
from viewer.view.state import SliceRef

WIDTH, HEIGHT = 700, 260


def painted(frames, mouse=None):
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    frames.paint(painter, Canvas(WIDTH, HEIGHT), Overlay(mouse=mouse))
    painter.end()
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(HEIGHT, -1)
    return rows[:, : 4 * WIDTH].copy()


def scrolled(harness, y):
    harness.timeline.scene.scroll_to(y)


def zoomed(harness, part):
    first, last = harness.session.traces[0].whole_span_ns
    start, length = part
    span = max((last - first) * length // 100, 10)
    harness.session.set_range(first + (last - first) * start // 100, first + span * 2)


def pinned(harness, track):
    arrange_tracks(harness.session, harness.session.state.tracks.pinned_or_not((0, track)))


def selected(harness, index):
    harness.session.select_slice(None if index is None else SliceRef(0, index))


def themed(harness, choice):
    harness.theme.set_choice(choice)


def searched(harness, text):
    Search.of(harness.session).set_query(text)


STEPS = st.one_of(
    st.tuples(st.just(scrolled), st.integers(0, 200)),
    st.tuples(st.just(zoomed), st.tuples(st.integers(0, 80), st.integers(30, 100))),
    st.tuples(st.just(pinned), st.integers(0, 3)),
    st.tuples(st.just(selected), st.one_of(st.none(), st.integers(0, 60))),
    st.tuples(st.just(themed), st.sampled_from(["dark", "light"])),
    st.tuples(st.just(searched), st.sampled_from(["", "add", "conv", "Method"])),
)


@pytest.mark.slow
@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(STEPS, max_size=8), st.integers(0, WIDTH - 1))
def test_any_sequence_of_changes_looks_as_a_first_frame(attention, steps, x):
    scene, theme = attention.timeline.scene, attention.theme
    frames = FramePainter(scene, theme)
    theme.changed.connect(frames.retheme)
    mouse = QPoint(x, 50)
    for change, value in steps:
        change(attention, value)
        attention.settle()
        for at in (None, mouse):
            wanted = painted(FramePainter(scene, theme), at)
            assert (painted(frames, at) == wanted).all(), (change, value)
