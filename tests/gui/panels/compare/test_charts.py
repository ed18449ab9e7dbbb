"""The charts of the Compare panel."""

from PySide6.QtCore import Qt

from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.comparison.steps import Step
from viewer.gui.panels.compare.charts import SessionDots, StepChart

STEPS = (
    Step("softmax", -76_000.0, Verdict.FASTER, 7),
    Step("no change", 3_000.0, Verdict.NO_CHANGE),
)


def chart(theme, qtbot):
    made = StepChart(4_368_000.0, STEPS, 4_295_000.0, theme)
    qtbot.addWidget(made)
    made.resize(340, made.sizeHint().height())
    return made


def test_a_click_on_the_step_of_a_row_picks_it(theme, qtbot):
    made = chart(theme, qtbot)
    row = made.height() / 4  # A, two steps, B
    assert [made.row_at(row * (i + 0.5)) for i in range(4)] == [-1, 7, -1, -1]
    with qtbot.waitSignal(made.picked) as picked:
        qtbot.mouseClick(made, Qt.MouseButton.LeftButton, pos=made.rect().center() * 0.75)
    assert picked.args == [7]


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
