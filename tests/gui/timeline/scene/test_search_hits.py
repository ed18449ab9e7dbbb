"""Bars and ticks of hits have the pixels of one bar for each hit and one tick for each column."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from viewer.gui.session import navigation
from viewer.gui.session.feeds.search import Search
from viewer.gui.timeline.painting import frame
from viewer.gui.timeline.painting.frame import FramePainter
from viewer.gui.timeline.scene import trace_rasters
from viewer.gui.timeline.scene.trace_rasters import (
    BAR,
    DIAMOND,
    TICK,
    TICK_WIDTH,
    HitTicks,
    hit_columns,
    stamp_hits,
)
from viewer.render.frame import stamp_diamonds
from viewer.render.layout import SLICE_TOP, BandKind, Canvas
from viewer.render.palette import canvas_rgb

WIDTH, HEIGHT = 300, 200
GRAY = 0xFF808080


def bars_one_by_one(image, scene, canvas, color, ground):
    """Mark the columns of each row that the raster of hits shows, from top to bottom; diamonds."""
    layout, drawn = scene.layout, scene.rasters[0]
    xmap = scene.xmap(canvas.columns).on(drawn.open_trace.axis)
    for band in range(len(layout.kind)):
        if layout.kind[band] == BandKind.STRIP:
            middle = int(layout.y[band]) - scene.scroll + int(layout.height[band]) // 2
            marks = drawn.search_hits.zero_marks(int(layout.row[band]), xmap)
            stamp_diamonds(image, marks.x, canvas.device(middle), canvas.device(DIAMOND), color)
        if layout.kind[band] != BandKind.ROW:
            continue
        cells = drawn.search_hits.draw([int(layout.row[band])], xmap)[0]
        columns = np.flatnonzero(cells).tolist()
        alone = [x for x in columns if x - 1 not in columns and x + 1 not in columns]
        wide = {x + by for x in alone for by in (-1, 0, 1)} | set(columns)
        top = canvas.device(int(layout.y[band]) - scene.scroll + SLICE_TOP)
        end = top + canvas.device(BAR)
        for x in sorted(x for x in wide if 0 <= x < canvas.columns):
            image[max(top, 0) : max(end, 0), x] = color
            image[max(end, 0) : max(end + canvas.device(1), 0), x] = ground


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1.0, 2.0, 1.5])
@settings(
    deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    query=st.sampled_from(["a", "conv", "linear", "dur > 1us"]),
    start=st.integers(0, 95),
    length=st.integers(1, 100),
    scroll=st.integers(0, 60),
    as_drawn=st.booleans(),
)
def test_bars_are_on_the_columns_of_hits(attention, ratio, query, start, length, scroll, as_drawn):
    scene, session = attention.timeline.scene, attention.session
    Search.of(session).set_query(query)
    attention.settle()
    span = session.group.span_ns
    session.set_range(span * start // 100, span * start // 100 + span * length // 100)
    scene.scroll_to(scroll)
    canvas, theme = Canvas(WIDTH, HEIGHT, ratio), attention.theme
    if as_drawn:
        images = [frame_of(attention, canvas, marked) for marked in (True, False)]
    else:
        images = [np.full((canvas.lines, canvas.columns), GRAY, np.uint32) for _ in range(2)]
        lines = scene.scroll, scene.scroll + HEIGHT
        stamp_hits(
            images[0], scene.layout, lines, scene.rasters, canvas, scene.xmap(canvas.columns),
            theme, {}, bars=True,
        )  # fmt: skip
    ground = canvas_rgb(theme.dark) | 0xFF000000
    bars_one_by_one(images[1], scene, canvas, theme.pixel("hit"), ground)
    assert (images[0] == images[1]).all()


def frame_of(shown, canvas, marked):
    """The rows of a frame, with the bars as the frame stamps them or without any."""
    frames = FramePainter(shown.timeline.scene, shown.theme)
    image = np.zeros((canvas.lines, canvas.columns), np.uint32)
    frames._canvas = canvas
    with pytest.MonkeyPatch.context() as patch:
        # What is stamped over bars is left out.
        for name in ("stamp_allocations", *(() if marked else ("stamp_hits",))):
            patch.setattr(frame, name, lambda *_, **__: None)
        xmap = shown.timeline.scene.xmap(canvas.columns)
        frames._fill(image, canvas, xmap, shown.timeline.scene.sections(canvas.height))
    return image


@pytest.mark.parametrize("ratio", [1.0, 2.0, 1.5])
@pytest.mark.parametrize("query", ["a", "linear", "dur > 1us", "nothing has this name"])
def test_ticks_are_on_the_columns_in_which_hits_start(attention, ratio, query):
    session, theme = attention.session, attention.theme
    search = Search.of(session)
    search.set_query(query)
    attention.settle()
    canvas = Canvas(WIDTH, 20, ratio)
    xmap = attention.timeline.scene.xmap(WIDTH)
    images = []
    for joined in (True, False):
        image = QImage(canvas.columns, canvas.lines, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(ratio)
        image.fill(GRAY)
        painter = QPainter(image)
        if joined:
            HitTicks(search).paint(painter, [0], xmap, 5, theme)
        else:
            for x in hit_columns(search.hits.starts_in([0]), xmap).tolist():
                painter.fillRect(QRectF(x, 5, TICK_WIDTH, TICK), theme.color("hit"))
        painter.end()
        images.append(bytes(image.constBits()))
    assert images[0] == images[1]


def test_many_ticks_are_few_rectangles(attention, monkeypatch):
    """A tick for each column of an overview took longer than the rest of a frame."""
    search = Search.of(attention.session)
    search.set_query("a")
    attention.settle()
    xmap = attention.timeline.scene.xmap(WIDTH)
    columns = hit_columns(search.hits.starts_in([0]), xmap)
    rooms = []

    class Counting:
        def fillRect(self, room, color):
            rooms.append(room)

    HitTicks(search).paint(Counting(), [0], xmap, 5, attention.theme)
    assert 0 < len(rooms) < len(columns)
    assert all(a.right() < b.left() for a, b in pairwise(rooms))


def test_ticks_are_looked_for_once_for_the_same_hits_and_columns(attention, monkeypatch):
    session, search = attention.session, Search.of(attention.session)
    asked = []
    monkeypatch.setattr(
        trace_rasters, "hit_columns", lambda *args: asked.append(args) or hit_columns(*args)
    )
    overview = attention.timeline.overview
    for query, count in (("a", 1), ("linear", 2), ("", 2), ("linear", 3)):
        search.set_query(query)
        attention.settle()
        for _ in range(2):
            overview.grab()
        navigation.zoom(session, 0.9, session.state.t0, now=0.0)  # moves only its window
        overview.grab()
        assert len(asked) == count
    attention.window.resize(attention.window.width() - 50, 400)
    attention.settle()
    overview.grab()
    assert len(asked) == 4
