"""The charts of the Compare panel."""

import pytest
from PySide6.QtCore import QPointF, Qt

from viewer.analysis.comparison.comparison import Step, Verdict
from viewer.gui.panels.compare.panel import SessionDots, StepChart
from viewer.model.times import plain_spaces

STEPS = (
    Step("softmax", -76_000.0, Verdict.FASTER, 7),
    Step("no change", 3_000.0, Verdict.NO_CHANGE),
)


def chart(theme, qtbot):
    made = StepChart(4_368_000.0, STEPS, 4_295_000.0, theme)
    qtbot.addWidget(made)
    made.resize(340, made.sizeHint().height())
    made.show()
    made.grab()
    return made


def test_a_click_on_the_step_of_a_row_picks_it(theme, qtbot):
    made = chart(theme, qtbot)
    picked = []
    made.picked.connect(picked.append)
    for box in range(4):  # A, two steps, B
        assert made.box_at(QPointF(made.center_of(box))) == box
        qtbot.mouseClick(made.viewport(), Qt.MouseButton.LeftButton, pos=made.center_of(box))
    assert picked == [7]


def test_bars_begin_where_the_previous_one_ends(theme, qtbot):
    made = chart(theme, qtbot)
    a, faster, slower, b = (made.room(box) for box in range(4))
    assert faster.right() == pytest.approx(a.right())
    assert slower.left() == pytest.approx(faster.left())
    assert slower.right() == pytest.approx(b.right())
    image = made.viewport().grab().toImage()
    at = faster.center().toPoint() * image.devicePixelRatio()
    assert image.pixelColor(at) == theme.color("faster")


def test_arrow_keys_read_the_steps_and_pick_their_rows(theme, qtbot):
    made = chart(theme, qtbot)
    picked = []
    made.picked.connect(picked.append)
    for _ in range(2):
        qtbot.keyClick(made, Qt.Key.Key_Down)
    assert plain_spaces(made.accessible_value()).startswith("softmax, −76")
    assert picked == [7]


def test_the_axis_below_has_times_with_units(theme, qtbot):
    made = chart(theme, qtbot)
    low, high = made.plot.viewRange()[0]
    (spacing, values), *_ = made.bottom.tickValues(low, high, 300)
    texts = [plain_spaces(text) for text in made.bottom.tickStrings(values, 1.0, spacing)]
    assert texts
    assert all(text.endswith(" ms") for text in texts)


def test_a_session_below_the_mouse_has_its_time(theme, qtbot):
    made = SessionDots((4.0e6, 5.0e6), (3.0e6,), "faster", theme)
    qtbot.addWidget(made)
    made.resize(300, made.sizeHint().height())
    made.show()
    made.grab()
    qtbot.mouseMove(made.viewport(), made.center_of(1))
    assert [plain_spaces(line) for line in made.tip.lines] == [
        "A session of A", "Median inference 5.000 ms",
    ]  # fmt: skip
    qtbot.mouseMove(made.viewport(), (made.center_of(0) + made.center_of(1)) / 2)
    assert made.tip.lines[0] == "Median inference of every session"
    for _ in range(3):
        qtbot.keyClick(made, Qt.Key.Key_Right)
    assert "session of B" in made.accessible_value()


def test_labels_have_their_width_if_there_is_room(theme, qtbot):
    long = Step("stem · convolution and 26 more → XnnpackBackend", -5.0, Verdict.FASTER, 7)
    made = StepChart(40.0, (long,), 35.0, theme)
    qtbot.addWidget(made)
    made.resize(340, made.sizeHint().height())
    narrow = made.label_width
    made.resize(1000, made.sizeHint().height())
    assert narrow < made.fontMetrics().horizontalAdvance(long.label) <= made.label_width


def test_a_screen_reader_hears_all_steps(theme, qtbot):
    told = chart(theme, qtbot).accessibleDescription()
    assert told.startswith("A 4.368")
    assert "softmax" in told
    assert told.endswith("ms")


def test_charts_paint_without_sessions_and_without_a_spread(theme, qtbot):
    for a, b in (((), ()), ((5.0,), (5.0,)), ((0.0, 0.0), (0.0,))):
        made = SessionDots(a, b, "cannot_tell", theme)
        qtbot.addWidget(made)
        made.resize(300, made.sizeHint().height())
        assert not made.grab().isNull()
