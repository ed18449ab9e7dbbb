"""The inference picker: its list shows every inference with its time, and what it picks."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible

from tests.gui.events import open_files, settle
from tests.gui.window.shown import ATTENTION, pick_inference, show_inferences
from viewer.gui.panels.base.file_caption import (
    NUMBERING,
    InferenceList,
    InferenceModel,
    InferenceRow,
)
from viewer.gui.session.comparison import compare
from viewer.gui.session.navigation import pick_run
from viewer.gui.window.toolbar.inference_picker import InferencePicker
from viewer.model.inference_views import Inferences
from viewer.model.times import plain_spaces

Key = Qt.Key


def texts(picker):
    return [plain_spaces(row.text) for row in picker.rows]


def picked(controller):
    run = controller.session.state.run
    return None if run is None else controller.session.traces[0].trace.runs[run[1]].number


@pytest.fixture
def popup(attention):
    """The open list of the attention sample."""
    attention.toolbar.run.show_list()
    yield attention.toolbar.run.popup
    attention.toolbar.run.popup.hide()


def test_a_row_is_number_time_and_whether_it_warms_up(attention):
    assert texts(attention.toolbar.run) == [
        "1 of 5 · 115.072 µs · warm-up",
        "2 of 5 · 55.212 µs",
        "3 of 5 · 52.007 µs",
        "4 of 5 · 51.127 µs",
        "5 of 5 · 51.207 µs",
    ]
    assert plain_spaces(attention.toolbar.run.text()) == "2 of 5 · 55.212 µs"


def test_the_tooltip_of_a_row_says_that_the_inspector_counts_from_zero(attention):
    model = attention.toolbar.run.popup.model
    found = {model.index(row).data(Qt.ItemDataRole.ToolTipRole) for row in range(len(model.rows))}
    assert found == {NUMBERING}
    assert model.rows[0].number == 1


def test_it_picks_an_inference_and_follows_the_keys(attention, qtbot):
    pick_inference(attention, 4)
    assert picked(attention) == 4
    qtbot.keyClick(attention.window, Key.Key_P)
    assert plain_spaces(attention.toolbar.run.text()).startswith("3 of 5")
    show_inferences(attention, Inferences.AS_RUN)
    assert picked(attention) is None
    assert attention.toolbar.run.text() == "All inferences"


def test_it_aligns_inferences_and_shows_the_typical_one_and_their_mean(attention, qtbot):
    picker, session = attention.toolbar.run, attention.session
    show_inferences(attention, Inferences.ALIGNED)
    assert len(session.traces[0].trace.tracks) == 5
    assert picker.text() == "All inferences, aligned"
    show_inferences(attention, Inferences.TYPICAL)
    assert session.traces[0].trace.tracks[0].thread.endswith(", typical of 4")
    show_inferences(attention, Inferences.MEAN)
    assert session.traces[0].label(0) == "forward · mean of 4 inferences"
    assert attention.commands.actions["go.runs_mean"].isChecked()
    assert len(picker.rows) == 5
    qtbot.keyClick(attention.window, Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert picker.text() == "Typical inference"
    show_inferences(attention, Inferences.AS_RUN)
    assert session.traces[0].trace is session.traces[0].file
    assert picker.text() == "All inferences"


def test_arrows_enter_and_digits_pick(attention, popup, qtbot):
    assert popup.list.currentIndex().row() == 1
    qtbot.keyClick(popup.list, Key.Key_Down)
    qtbot.keyClick(popup.list, Key.Key_Return)
    assert picked(attention) == 3
    assert not popup.isVisible()
    attention.toolbar.run.show_list()
    qtbot.keyClick(popup.list, Key.Key_5)
    qtbot.keyClick(popup.list, Key.Key_Return)
    assert picked(attention) == 5


def test_arrows_go_on_to_the_views_below_and_back(attention, popup, qtbot):
    popup.list.go_to(popup.model.rows[-1].run)
    qtbot.keyClick(popup.list, Key.Key_Down)
    first, second = list(popup.entries.values())[:2]
    assert first.hasFocus()
    qtbot.keyClick(first, Key.Key_Down)
    assert second.hasFocus()
    qtbot.keyClick(second, Key.Key_Up)
    qtbot.keyClick(first, Key.Key_Up)
    assert popup.list.hasFocus()
    qtbot.keyClick(first, Key.Key_Return)
    assert picked(attention) is None


def test_esc_changes_nothing(attention, popup, qtbot):
    before = attention.session.state
    qtbot.keyClick(popup.list, Key.Key_Down)
    qtbot.keyClick(popup.list, Key.Key_Escape)
    assert not popup.isVisible()
    assert attention.session.state == before


def test_the_check_box_includes_the_warm_up(attention, popup):
    assert not popup.warm_up.isChecked()
    popup.warm_up.click()
    assert attention.session.state.warm_up
    assert attention.commands.actions["go.include_warm_up"].isChecked()
    attention.session.undo()
    assert not popup.warm_up.isChecked()


def test_a_screen_reader_gets_names_and_rows(attention, popup):
    picker = attention.toolbar.run
    name = plain_spaces(picker.accessibleName())
    assert name == "Inference: 2 of 5, 55.212 µs"
    rows = QAccessible.queryAccessibleInterface(popup.list)
    spoken = [plain_spaces(rows.child(i).text(QAccessible.Text.Name)) for i in range(2)]
    assert spoken == [
        "Inference 1 of 5, 115.072 µs, warm-up",
        "Inference 2 of 5, 55.212 µs, current",
    ]


def test_it_stays_in_place_whatever_the_link_state_says(controller, qtbot):
    open_files(qtbot, controller, ATTENTION)
    for width in (1000, 1280, 1920):
        controller.window.resize(width, 800)
        qtbot.waitUntil(lambda width=width: controller.toolbar.width() == width)
        places = set()
        for text in ("no ETRecord linked", "Linked · 100 % of time"):
            controller.toolbar.link_state.setText(text)
            controller.toolbar._fit()
            settle(qtbot, controller)
            places.add(controller.toolbar.run.geometry().getRect())
        assert len(places) == 1


def test_without_a_file_there_is_nothing_to_pick(sample, theme, qtbot):
    session = sample("plain_csv")
    session.close_all()
    picker = InferencePicker(session, theme)
    qtbot.addWidget(picker)
    assert (picker.text(), picker.isEnabled()) == ("No inferences", False)


def test_thousands_of_inferences_are_no_widgets_and_found_by_number(theme, qtbot):
    model = InferenceModel()
    listed = InferenceList(model, theme)
    qtbot.addWidget(listed)
    listed.resize(232, 400)
    rows = [InferenceRow(i, i + 1, 9000, "forward", 1000 + i, i < 3, True) for i in range(9000)]
    model.show(rows)
    listed.show()
    for digit in "8123":
        listed.jump(digit)
    assert listed.currentIndex().row() == 8122
    assert listed.findChildren(type(listed)) == []
    assert listed.viewport().rect().intersects(listed.visualRect(listed.currentIndex()))


def test_ctrl_click_compares_with_the_picked_inference(attention, qtbot):
    picker, session = attention.toolbar.run, attention.session
    pick_run(session, (0, picker.rows[0].run))
    picker.show_list()
    assert picker.popup._hint.isVisible()
    place = picker.popup.list.visualRect(picker.popup.model.index(2)).center()
    view = picker.popup.list.viewport()
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, place)
    chosen = session.state.compared
    assert (chosen.a.numbers, chosen.b.numbers) == ((1,), (3,))
    assert chosen.a.paths == chosen.b.paths
    assert not picker.popup.isVisible()
    compare(session, None)
