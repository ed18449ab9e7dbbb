"""Ribbons between two strips: their pixels, and where labels are."""

import numpy as np
import pytest
from PySide6.QtGui import QImage, QPainter

from tests.gui.dark_theme import dark_theme
from tests.gui.timeline.painting.pairs import scene_of_pairs, show
from viewer.gui.timeline.painting.ribbons import RibbonPainter, edges_of
from viewer.render.layout import Canvas
from viewer.view.open_comparison import PairedSpans

WIDTH, BAND = 400, 36


@pytest.fixture
def scene(qapp):
    return scene_of_pairs()


def band_of(scene, width=WIDTH):
    """The painted band as (lines, columns) pixels, and its painter."""
    image = QImage(width, BAND, QImage.Format.Format_RGB32)
    painter, ribbons = QPainter(image), RibbonPainter(scene, scene, dark_theme())
    ribbons.paint_band(painter, Canvas(width, BAND))
    painter.end()
    return np.array(image.constBits(), copy=True).view(np.uint32).reshape(BAND, width), ribbons


def test_a_ribbon_goes_from_the_slice_of_a_to_that_of_b(scene):
    show(scene, [(100, 200)], [(150, 300)])
    pixels, _ = band_of(scene)
    ground = dark_theme().color("canvas").rgb()
    covered = [np.flatnonzero(pixels[y] != ground) for y in (0, BAND - 1)]
    assert covered[0][[0, -1]].tolist() == pytest.approx([100, 200], abs=3)
    assert covered[1][[0, -1]].tolist() == pytest.approx([150, 300], abs=3)
    # The fill lets the ground through.
    inside = int(pixels[2, 150])
    assert inside not in (ground, dark_theme().color("slower").rgb())


def test_its_label_names_the_change_in_the_middle(scene):
    show(scene, [(100, 200)], [(150, 250)])
    _, ribbons = band_of(scene)
    (label,) = ribbons.labels
    assert label.room.center().x() == pytest.approx(175, abs=2)
    assert ribbons.row_at(label.room.center()) == 0
    assert ribbons.row_at(label.room.topLeft() - label.room.bottomRight()) == -1


def test_labels_do_not_overlap_and_the_first_row_has_the_first_choice(scene):
    show(scene, [(100, 120), (121, 140), (300, 320)], [(100, 130), (131, 150), (300, 330)])
    _, ribbons = band_of(scene)
    assert [label.row for label in ribbons.labels] == [0, 2]


def test_of_several_calls_of_a_row_the_longest_in_view_has_the_label(scene):
    show(
        scene, [(0, 20), (100, 160), (900, 990)], [(0, 20), (100, 160), (900, 990)],
        rows=[0, 0, 0], named=[False, False, True],
    )  # fmt: skip
    _, ribbons = band_of(scene)
    assert [label.room.center().x() for label in ribbons.labels] == pytest.approx([130], abs=2)


def test_where_ribbons_overlap_the_inside_is_not_darker_and_slower_ones_are_on_top(scene):
    both = [(100, 200), (150, 260)]
    show(scene, both, both, slower=[False, True])
    pixels, _ = band_of(scene)
    faster, overlap, slower = pixels[-1, [120, 180, 230]].tolist()
    assert overlap == slower != faster
    show(scene, both, both)
    assert len(set(band_of(scene)[0][-1, [120, 180, 230]].tolist())) == 1


def test_narrow_ribbons_are_left_out_unless_they_stand_for_their_row(scene):
    show(scene, [(50, 51), (350, 351)], [(50, 52), (350, 352)], named=[False, True])
    pixels, _ = band_of(scene)
    ground = dark_theme().color("canvas").rgb()
    assert (pixels[:, 45:55] == ground).all()
    assert (pixels[:, 348:354] != ground).any()


def test_a_band_without_pairs_is_empty(scene):
    pixels, ribbons = band_of(scene)
    assert (pixels == dark_theme().color("canvas").rgb()).all()
    assert ribbons.labels == []


def test_edges_far_out_of_view_stay_ordered(scene):
    far = PairedSpans(0, np.array([-(2**60)]), np.array([2**60]), np.array([0]))
    x0, x1 = edges_of(far, scene, Canvas(WIDTH, BAND))
    assert x0[0] < 0 < WIDTH < x1[0]
