"""Ribbons between two strips: their pixels, and where labels are."""

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtGui import QImage, QPainter

from tests.builders.call_traces import trace_of
from tests.gui.dark_theme import dark_theme
from viewer.analysis.comparison.comparison import Verdict
from viewer.gui.session.session import Session
from viewer.gui.timeline.painting.ribbons import RibbonPainter, edges_of, paint_tails
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.canvas import Canvas
from viewer.view.compared.changed_pairs import ChangedPairs, PairedSpans

WIDTH, BAND = 400, 36


@pytest.fixture
def scene(qapp):
    """1 px per ns of a trace of 400 ns; both arms are on this clock, which is enough to paint."""
    session = Session()
    scene = Scene(Drawings(session))
    session.add([trace_of(("t", "run", 0, 400), ("t", "conv", 100, 200), ("t", "add", 300, 301))])
    session.set_range(0, 400)
    return scene


def show(scene, a, b, *, rows=None, slower=None, named=None, at_row=1):
    """Let spans of A be connected with spans of B; every row takes 5 µs longer."""
    count = len(a)
    arms = [
        PairedSpans(0, *np.array(arm).T.copy(), np.full(count, at_row)) for arm in (a, b)
    ]  # fmt: skip
    rows = np.arange(count) if rows is None else np.array(rows)
    longest = np.maximum(*(arm.end - arm.start for arm in arms)).astype(float)
    pairs = ChangedPairs(
        rows,
        np.array([True] * count if slower is None else slower),
        np.array([True] * count if named is None else named),
        longest,
        tuple(arms),
    )
    one = SimpleNamespace(verdict=Verdict.SLOWER, change_ns=5_000.0)
    comparison = SimpleNamespace(rows=[(None, one)] * (int(rows.max()) + 1))
    scene.drawings.compared_marks = SimpleNamespace(
        found=SimpleNamespace(pairs=pairs, of={}), comparison=comparison
    )


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


def tails(scene, *, is_b, top=0, height=100):
    image = QImage(WIDTH, height, QImage.Format.Format_RGB32)
    image.fill(0xFF000000)
    painter = QPainter(image)
    paint_tails(painter, scene, Canvas(WIDTH, height), dark_theme(), is_b=is_b, top=top)
    painter.end()
    return np.array(image.constBits(), copy=True).view(np.uint32).reshape(height, WIDTH)


def test_tails_go_from_the_slice_to_the_edge_and_mix_with_what_is_there(scene):
    show(scene, [(100, 200)], [(100, 200)])
    band = scene.layout.band_of(0, 1)
    y, tall = int(scene.layout.y[band]), int(scene.layout.height[band])
    color = dark_theme().color("slower").rgb()
    for is_b, lines in ((True, range(y)), (False, range(y + tall, 100))):
        image = tails(scene, is_b=is_b)
        assert np.unique(np.nonzero(image != 0xFF000000)[0]).tolist() == list(lines)
        line = image[lines[0]]
        assert np.flatnonzero(line == color).tolist() == [100, 199]
        inside = {int(pixel) for pixel in line[101:199]}
        assert len(inside) == 1
        for shift in (0, 8, 16):
            fifth = (color >> shift & 255) * 0.2
            assert inside.copy().pop() >> shift & 255 == pytest.approx(fifth, abs=2)


def test_below_the_canvas_the_tails_go_on(scene):
    show(scene, [(100, 200)], [(100, 200)])
    image = tails(scene, is_b=False, top=-200, height=5)
    assert (image[:, 100] == dark_theme().color("slower").rgb()).all()


def test_tails_of_rows_that_are_not_shown_are_left_out(scene):
    show(scene, [(100, 200)], [(100, 200)], at_row=99)
    assert (tails(scene, is_b=False) == 0xFF000000).all()


def test_edges_far_out_of_view_stay_ordered(scene):
    far = PairedSpans(0, np.array([-(2**60)]), np.array([2**60]), np.array([0]))
    x0, x1 = edges_of(far, scene, Canvas(WIDTH, BAND))
    assert x0[0] < 0 < WIDTH < x1[0]
