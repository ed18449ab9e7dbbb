"""Chips in blank rows: what they say and where, what a click and the mouse over them do."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage, QPainter

from tests.gui.events import LEFT, canvas, move, press, release
from viewer.gui.session.choices import arrange_tracks, toggle_part
from viewer.gui.session.clocks import set_ruler
from viewer.model.times import plain_spaces
from viewer.render.arrangement import TrackView
from viewer.render.stacking import Density
from viewer.view.state import RulerUnit, SliceRef

FORMAT = QImage.Format.Format_RGB32
# Process, track, name, start and duration in ns.
ROWS = [
    ("p", "work", "run", 0, 2_000_000),
    ("p", "early", "conv", 0, 100_000),
    ("p", "early", "add", 120_000, 80_000),
    ("p", "late", "conv", 1_500_000, 100_000),
    ("q", "both", "init", 0, 349_000),
    ("q", "both", "step", 1_500_000, 50_000),
    ("q", "both", "step", 1_600_000, 100_000),
]


@pytest.fixture
def shown(harness, tmp_path):
    """Two processes, of which some tracks are blank from 1.0 to 1.1 ms."""
    path = tmp_path / "t.csv"
    lines = ["process,thread,name,start_ns,dur_ns", *(",".join(map(str, row)) for row in ROWS)]
    path.write_text("\n".join(lines) + "\n")
    harness.open(path)
    show(harness, 1_000_000, 1_100_000)
    return harness


def show(harness, t0, t1):
    harness.session.set_range(t0, t1)
    paint(harness)


def paint(harness):
    harness.timeline.view.viewport().repaint()
    harness.settle()


def chips(harness):
    return harness.timeline.view.frames.edge_chips.chips()


def texts(harness):
    return [plain_spaces(chip.text) for chip in chips(harness)]


def middle(chip):
    return chip.room.center().toPoint()


def click(harness, chip):
    press(canvas(harness), middle(chip), LEFT)
    release(canvas(harness), middle(chip), LEFT)


def hover(harness, at):
    move(canvas(harness), at)
    harness.settle()


def test_a_chip_says_how_many_slices_are_out_of_view_and_when(shown):
    """In each process only the topmost blank track has them, here "early" and "both"."""
    assert texts(shown) == [
        "‹ 2 slices, 0 to 200 µs",
        "‹ init, 0 to 349 µs",
        "2 slices: step, 1.5 to 1.7 ms ›",
    ]


def test_chips_lie_in_their_row_at_the_edges_of_the_canvas(shown):
    scene, width = shown.timeline.scene, canvas(shown).width()
    early, before, after = chips(shown)
    assert (early.room.left(), before.room.left()) == (4, 4)
    assert after.room.right() == width - 4
    for chip in (early, before, after):
        band = scene.layout.band_at(int(chip.room.center().y()) + scene.scroll)
        assert (scene.layout.trace[band], scene.layout.track[band]) == (0, chip.track)
        top = int(scene.layout.y[band]) - scene.scroll
        assert top <= chip.room.top()
        assert chip.room.bottom() <= top + scene.layout.height[band]
        assert chip.room.height() == 20


def test_there_is_none_where_every_track_shows_something(shown):
    show(shown, 0, 2_000_000)
    assert chips(shown) == []


def test_a_click_shows_what_the_chip_names_in_one_step(shown):
    session = shown.session
    before = session.state
    click(shown, chips(shown)[2])
    assert session.state.t0 < 1_500_000 < 1_700_000 < session.state.t1
    assert session.state.t1 - session.state.t0 == 200_000 * 26 // 25
    session.undo()
    assert session.state == before


def test_a_click_beside_a_chip_is_a_click_on_the_canvas(shown):
    session = shown.session
    session.select_slice(SliceRef(0, 0))
    before = session.state
    at = QPoint(int(chips(shown)[0].room.right()) + 20, middle(chips(shown)[0]).y())
    press(canvas(shown), at, LEFT)
    release(canvas(shown), at, LEFT)
    assert (session.state.t0, session.state.t1) == (before.t0, before.t1)
    assert session.state.slice is None


def test_the_mouse_over_a_chip_is_a_hand_with_the_full_figures(shown):
    view, chip = shown.timeline.view, chips(shown)[2]
    hover(shown, middle(chip))
    assert view.viewport().cursor().shape() == Qt.CursorShape.PointingHandCursor
    assert [plain_spaces(line) for line in view.tip.lines] == [
        "Click to show 2 slices: step",
        "both · q",
        "1.500 000 ms to 1.700 000 ms (200.000 µs), after the visible range",
    ]
    hover(shown, middle(chip) - QPoint(400, 0))
    assert view.viewport().cursor().shape() == Qt.CursorShape.ArrowCursor
    assert not view.tip.lines


def test_after_a_click_the_mouse_is_over_the_chip_no_more(shown):
    view, chip = shown.timeline.view, chips(shown)[2]
    hover(shown, middle(chip))
    click(shown, chip)
    assert view.viewport().cursor().shape() == Qt.CursorShape.ArrowCursor
    assert "Click to show" not in "".join(view.tip.lines)


def test_a_moment_is_shown_at_the_same_zoom(harness, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "process,thread,name,start_ns,dur_ns\n"
        "p,work,run,0,2000000\np,rare,add,0,10\np,rare,mark,1500000,0\n"
    )
    harness.open(path)
    show(harness, 1_000_000, 1_100_000)
    after = chips(harness)[1]
    assert plain_spaces(after.text) == "mark, 1.5 ms ›"
    click(harness, after)
    assert (harness.session.state.t0, harness.session.state.t1) == (1_450_000, 1_550_000)


def test_times_count_like_the_ruler(shown):
    set_ruler(shown.session, RulerUnit.FROM_SELECTION)
    late = 3  # from 1.5 ms on
    assert shown.session.traces[0].span_ns(late)[0] == 1_500_000
    shown.session.select_slice(SliceRef(0, late))
    paint(shown)
    assert texts(shown)[0] == "‹ 2 slices, −1.5 to −1.3 ms"


def test_low_rows_have_low_chips_and_lower_ones_none(shown):
    shown.timeline.scene.set_density(Density.COMPACT)
    paint(shown)
    assert [chip.room.height() for chip in chips(shown)] == [13, 13, 13]
    heights = (((0, "p"), 13), ((0, "q"), 30))
    arrange_tracks(shown.session, TrackView(heights=heights))
    paint(shown)
    assert [chip.track for chip in chips(shown)] == [3, 3]


def test_a_folded_process_has_none(shown):
    toggle_part(shown.session, (0, "q"))
    paint(shown)
    assert texts(shown) == ["‹ 2 slices, 0 to 200 µs"]


def test_chips_are_elided_on_a_narrow_canvas_and_then_left_out(shown):
    width = shown.window.width() - canvas(shown).width()
    shown.window.resize(width + 240, shown.window.height())
    paint(shown)
    before, after = chips(shown)[1:]
    assert "…" in after.text
    assert after.text.endswith(" ›")
    assert before.room.right() < after.room.left()
    shown.window.resize(width + 120, shown.window.height())
    paint(shown)
    assert chips(shown) == []


def test_a_chip_of_flows_takes_precedence(shown):
    painter, image = shown.timeline.view.frames.edge_chips, QImage(800, 400, FORMAT)
    early, *others = chips(shown)
    canvas_of_all = shown.timeline.view.canvas
    with QPainter(image) as drawing:
        painter.paint(drawing, canvas_of_all, [early.room.translated(5, 5)], None)
    assert chips(shown) == others
    assert painter.chip_at(middle(early)) is None


def test_while_only_hits_are_drawn_there_are_none(shown):
    shown.timeline.scene.search.set_query("conv")
    shown.settle()
    assert len(chips(shown)) == 3
    shown.timeline.scene.search.show_only_hits(True)
    paint(shown)
    assert chips(shown) == []


def test_they_go_when_files_are_closed(shown):
    shown.session.close_all()
    shown.settle()
    assert chips(shown) == []
