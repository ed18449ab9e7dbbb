"""Which keys stay with the widget that has the keyboard, and which are commands everywhere."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QTableWidget,
    QTextEdit,
    QWidget,
)

from viewer.gui.window.commands.menus import NAVIGATION, keeps

Key = Qt.Key
PLAIN, ALT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.AltModifier


@pytest.mark.parametrize("kind", [QLineEdit, QComboBox, QTableWidget, QTextEdit, QPlainTextEdit])
def test_fields_and_tables_keep_the_arrows_and_no_letter(qtbot, kind):
    widget = kind()
    qtbot.addWidget(widget)
    assert all(keeps(widget, key, PLAIN) for key in NAVIGATION)
    assert not any(keeps(widget, key, ALT) for key in NAVIGATION), "Alt+Left goes back"
    assert not keeps(widget, Key.Key_W, PLAIN)


@pytest.mark.parametrize("kind", [QPushButton, QWidget])
def test_others_keep_nothing(qtbot, kind):
    widget = kind()
    qtbot.addWidget(widget)
    assert not any(keeps(widget, key, PLAIN) for key in NAVIGATION)
    assert not keeps(None, Key.Key_Left, PLAIN)


def test_a_text_to_read_keeps_the_arrows_that_scroll_it(qtbot):
    text = QPlainTextEdit("one line")
    text.setReadOnly(True)
    qtbot.addWidget(text)
    text.resize(300, 200)
    text.show()
    assert not keeps(text, Key.Key_Down, PLAIN)
    text.setPlainText("line\n" * 100)
    assert keeps(text, Key.Key_Down, PLAIN)
    assert not keeps(text, Key.Key_Left, PLAIN)


def test_arrows_go_through_a_table_and_move_the_timeline_elsewhere(attention, qtbot):
    table, view = attention.panels["operators"].table, attention.timeline.view
    before = attention.session.state.t0, attention.session.state.t1
    table.setFocus()
    table.selectRow(0)
    qtbot.keyClick(table, Key.Key_Down)
    assert table.currentIndex().row() == 1
    qtbot.keyClick(table, Key.Key_Home)
    qtbot.keyClick(table, Key.Key_Left)
    assert (attention.session.state.t0, attention.session.state.t1) == before
    qtbot.keyClick(table, Key.Key_A)
    assert attention.session.state.t0 < before[0]
    view.setFocus()
    now = attention.session.state.t0
    qtbot.keyClick(view, Key.Key_Right)
    assert attention.session.state.t0 > now


def test_typing_into_a_field_is_typing(attention, qtbot):
    field = attention.panels["operators"].filter
    before = attention.session.state
    field.setFocus()
    qtbot.keyClicks(field, "Was dfnpq?.,")
    for key in (Key.Key_Left, Key.Key_Home, Key.Key_Right, Key.Key_Backspace):
        qtbot.keyClick(field, key)
    assert field.text() == "as dfnpq?.,"
    assert attention.session.state == before
