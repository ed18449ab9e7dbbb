"""The ruler with the time under the mouse, over pixels that it keeps while nothing else changes."""

import pytest

from tests.gui.events import canvas
from viewer.gui.session import navigation
from viewer.gui.timeline.ruler import RulerBar
from viewer.view.state import SliceRef


def fresh(shown):
    """A ruler that has painted nothing before, of the same scene, with the same mouse."""
    ruler = RulerBar(shown.timeline.scene, shown.theme)
    ruler.resize(shown.timeline.ruler.size())
    ruler.point(shown.timeline.ruler._pointed)
    return ruler


@pytest.mark.slow
def test_kept_pixels_are_those_of_a_new_ruler(harness, data):
    harness.open(data / "etdump" / "cnn_portable_x10.etdp")
    ruler, scene = harness.timeline.ruler, harness.timeline.scene
    xmap = scene.xmap(canvas(harness).width())

    def check():
        assert ruler.grab().toImage() == fresh(harness).grab().toImage()

    check()
    for x in (5, 90, 91, 300, canvas(harness).width() - 1):
        ruler.point(xmap.place_at(x))
        check()
    harness.session.select_slice(SliceRef(0, 7))
    check()
    navigation.zoom(harness.session, 0.5, harness.session.state.t0, now=0.0)
    check()
    kept = ruler._rest
    ruler.point(xmap.place_at(120))
    check()
    assert ruler._rest is kept
    harness.theme.changed.emit()
    check()
    ruler.point(None)
    check()
