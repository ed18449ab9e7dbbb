"""Files, frames after a change of place or theme, and names that do not overlap."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QGuiApplication
from PySide6.QtSvg import QSvgRenderer

from tests.gui.panels.graph.picture import QKV
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.panels.graph import painting


def test_the_svg_has_every_box(whole, tmp_path):
    path = tmp_path / "graph.svg"
    assert whole.job_of(str(path))(no_progress, never_cancelled) == 38
    text = path.read_text(encoding="utf-8")
    assert QSvgRenderer(str(path)).isValid()
    assert text.count(">scaled_dot_pro") == 2
    assert "Xnnpack 17" not in text  # no instruction as a name
    assert ">Xnnpack<" in text


def test_the_png_is_sharp(whole, tmp_path):
    path = tmp_path / "a.png"
    whole.job_of(str(path))(no_progress, never_cancelled)
    assert path.read_bytes().startswith(b"\x89PNG")
    whole.copy()
    image = QGuiApplication.clipboard().image()
    assert image.width() >= 2 * whole.answer.layout.width


@pytest.fixture
def painted(monkeypatch):
    """The names and figures that are painted: text, place, and whether it is cut."""
    texts, write = [], painting._Frame._write

    def watched(frame, room, text, role, size, color, *side, **cut):
        width = write(frame, room, text, role, size, color, *side, **cut)
        if role != "zero_length":  # a number at an edge
            left = room.right() - width if painting._RIGHT in side else room.left()
            place = QRectF(left, room.top(), width, room.height())
            texts.append((text, place, width < frame._cache.cut(text, role, size, 9999)[1]))
        return width

    monkeypatch.setattr(painting._Frame, "_write", watched)
    return texts


@pytest.mark.parametrize("scale", [0.15, 0.25, 0.29, 0.33, 0.36, 0.5, 1.0])
def test_names_of_groups_overlap_nothing_and_are_cut_for_no_figure(whole, painted, scale):
    size = whole.view.picture.size
    whole.resize(round(size.width()), round(size.height()) + 300)  # all of it is in view
    painted.clear()
    whole.view.center_on(QPointF(size.width() / 2, size.height() / 2), scale)
    whole.view.grab()
    picture = whole.view.picture
    groups = {picture.looks[node].name for node in picture.frames.tolist()}
    assert groups & {text for text, _, _ in painted}
    assert not [text for text, _, is_cut in painted if is_cut and text in groups]
    for number, (text, place, _) in enumerate(painted):
        assert not [other for other, room, _ in painted[:number] if room.intersects(place)], text


def test_a_theme_paints_again(whole, theme):
    dark = whole.view.grab().toImage()
    theme.set_choice("light")
    assert whole.view.grab().toImage() != dark
    theme.set_choice("dark")


def test_a_panned_frame_is_that_of_a_new_paint(whole):
    view = whole.view
    view.zoom(2.5)
    view.grab()
    for _ in range(3):
        view.move_drawing(QPointF(-21, 13))
        panned = view.grab().toImage()
    view.retheme()
    again = view.grab().toImage()
    spots = [(x, y) for x in range(panned.width()) for y in range(panned.height())]
    differing = sum(panned.pixel(*spot) != again.pixel(*spot) for spot in spots)
    # Lines that lie exactly between two rows of pixels may be on either of them.
    assert differing < len(spots) / 200


def test_selected_edges_are_those_of_the_operator(whole):
    view = whole.view
    box = int(view.picture.tree.leaf[QKV])
    strong = np.flatnonzero(view.picture.edges_of({box})).tolist()
    edges = view.picture.answer.layout.edges
    assert strong
    for edge in range(len(edges)):
        if edges.source[edge] == box or edges.target[edge] == box:
            assert edge in strong
