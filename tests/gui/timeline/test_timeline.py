"""The parts of the timeline together: what is painted when something changes, and that it is."""

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QImage, QRegion
from PySide6.QtWidgets import QWidget

from tests.builders import many_slices
from tests.gui.events import CTRL, canvas, move, wheel
from viewer.gui.qt.crash_report import guard
from viewer.gui.session.bookmarks import set_bookmarks
from viewer.gui.session.clocks import set_ruler
from viewer.view.state import Bookmark, RulerUnit

MIDDLE = QPoint(300, 60)
BARE = 0xFFFF00FF


@pytest.fixture
def many(harness):
    """192 tracks, with a mark."""
    session = harness.session
    session.add([many_slices.trace(20_000)])
    harness.settle()
    at = session.state.t0 + 5
    set_bookmarks(session, (Bookmark(at, at, "here", "", session.state.clock),), None, None)
    harness.settle()
    return harness


def parts_of(harness):
    timeline = harness.timeline
    return {
        "canvas": canvas(harness), "headers": timeline.headers, "ruler": timeline.ruler,
        "marks": timeline.bookmarks_bar, "overview": timeline.overview, "corner": timeline.corner,
        "legend": timeline.legend,
    }  # fmt: skip


class Painted(QObject):
    """Notes which of some widgets are painted."""

    def __init__(self, parts):
        super().__init__()
        self._parts, self.names = parts, set()
        for part in parts.values():
            part.installEventFilter(self)

    @guard(False)
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint:
            self.names |= {name for name, part in self._parts.items() if part is watched}
        return False


def painted_by(harness, act):
    """The parts that are painted because of something."""
    QCoreApplication.processEvents()
    seen = Painted(parts_of(harness))
    act()
    QCoreApplication.processEvents()
    return seen.names


def test_a_zoom_paints_what_shows_times(many):
    zoomed = painted_by(many, lambda: wheel(canvas(many), MIDDLE, 1, held=CTRL))
    assert zoomed == {"canvas", "ruler", "marks", "overview"}


def test_another_unit_of_the_ruler_is_said_above_the_headers(many):
    session, ruler = many.session, many.timeline.ruler
    before = ruler.caption
    middle = (session.state.t0 + session.state.t1) // 2
    assert "corner" in painted_by(many, lambda: session.set_range(middle, middle + 500))
    assert ruler.caption != before
    assert "corner" not in painted_by(many, lambda: session.set_range(middle + 9, middle + 509))
    assert "corner" in painted_by(many, lambda: set_ruler(session, RulerUnit.ABSOLUTE))


def test_scrolling_paints_what_shows_rows(many):
    assert painted_by(many, lambda: wheel(canvas(many), MIDDLE, -1)) == {"canvas", "headers"}
    move(canvas(many), MIDDLE)
    assert painted_by(many, lambda: wheel(canvas(many), MIDDLE, -1)) == {"canvas", "headers"}


def test_the_ruler_follows_the_mouse(many):
    move(canvas(many), MIDDLE)
    assert "ruler" in painted_by(many, lambda: move(canvas(many), MIDDLE + QPoint(1, 0)))
    assert "ruler" in painted_by(
        many, lambda: QCoreApplication.sendEvent(many.timeline.view, QEvent(QEvent.Type.Leave))
    )


def test_other_colors_paint_everything(many):
    assert painted_by(many, lambda: many.theme.set_choice("light")) == set(parts_of(many))


def test_parts_that_need_no_ground_paint_all_of_themselves(many):
    for name, part in parts_of(many).items():
        assert part.testAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent), name
        image = QImage(part.size(), QImage.Format.Format_RGB32)
        image.fill(BARE)
        part.render(image, QPoint(), QRegion(), QWidget.RenderFlag(0))
        assert not (np.frombuffer(image.constBits(), np.uint32) == BARE).any(), name


def test_where_pixels_of_the_layout_are_no_whole_ones_what_is_behind_is_painted(many, monkeypatch):
    """An edge lies within a pixel of the screen there."""
    monkeypatch.setattr(type(many.timeline), "devicePixelRatioF", lambda self: ratio)
    for ratio in (1.25, 2.0, 1.5, 1.0):
        QCoreApplication.sendEvent(many.timeline, QEvent(QEvent.Type.DevicePixelRatioChange))
        for part in parts_of(many).values():
            covers = part.testAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
            assert covers == ratio.is_integer()
