"""Tables whose columns are not known, in the window: it asks, and remembers the answer."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.gui.events import open_files
from tests.gui.window.shown import message, names, problems

TEXT = "Op,Begin,Took\nconv,1,2\nrelu,5,3\n"


@pytest.fixture
def table(tmp_path):
    """A table that does not show its unit."""
    path = tmp_path / "mine.csv"
    path.write_text(TEXT)
    return path


def asked(qtbot, controller, *paths):
    """Open files until the dialog is shown."""
    controller.opener.open([str(path) for path in paths])
    qtbot.waitUntil(lambda: controller.opener.columns.dialog is not None)
    return controller.opener.columns.dialog


def answer(qtbot, controller, dialog, unit):
    """Choose a unit and click Open."""
    box = dialog.boxes["unit"]
    box.setCurrentIndex(box.findData(unit))
    with qtbot.waitSignal(controller.loader.all_done):
        QTest.mouseClick(dialog.open_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(controller.session.traces))


def ends(controller):
    return [int(shown.trace.end) for shown in controller.session.traces]


def test_the_answer_opens_the_table_and_is_remembered(controller, qtbot, table, tmp_path):
    answer(qtbot, controller, asked(qtbot, controller, table), "us")
    assert names(controller) == ["mine.csv"]
    assert ends(controller) == [8000]
    other = tmp_path / "other.csv"
    other.write_text(TEXT + "tanh,9,1\n")
    open_files(qtbot, controller, other)
    assert controller.opener.columns.dialog is None
    assert names(controller) == ["mine.csv", "other.csv"]
    assert ends(controller) == [8000, 10_000]
    # A reload does not ask either.
    table.write_text(TEXT + "tanh,19,1\n")
    with qtbot.waitSignal(controller.session.files_replaced):
        controller.session_files.reload()
    assert ends(controller) == [20_000, 10_000]


def test_two_tables_with_the_same_header_ask_once(controller, qtbot, table, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(TEXT)
    dialog = asked(qtbot, controller, table, other)
    answer(qtbot, controller, dialog, "ms")
    qtbot.waitUntil(lambda: len(controller.session.traces) == 2)
    assert controller.opener.columns.dialog is None


def test_one_answer_is_for_all_that_wait_with_this_header(controller, qtbot, table, tmp_path):
    paths = [table]
    for name in ("second.csv", "third.csv", "fourth.csv"):
        paths.append(tmp_path / name)
        paths[-1].write_text(TEXT)
    dialog = asked(qtbot, controller, *paths)
    box = dialog.boxes["unit"]
    box.setCurrentIndex(box.findData("us"))
    QTest.mouseClick(dialog.open_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(controller.session.traces) == len(paths))
    assert controller.opener.columns.dialog is None
    assert set(ends(controller)) == {8000}


def test_without_an_answer_the_message_offers_to_choose_again(controller, qtbot, table):
    dialog = asked(qtbot, controller, table)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    said = "mine.csv: this table does not show the unit of Begin and Took; its columns are Op,"
    assert message(controller).startswith(said)
    assert "--columns" not in message(controller)
    assert len(problems(controller)) == 1
    QTest.mouseClick(controller.window.message.action, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: controller.opener.columns.dialog is not None)
    answer(qtbot, controller, controller.opener.columns.dialog, "ns")
    assert ends(controller) == [8]
    assert message(controller) == ""


def test_a_command_changes_the_answer_and_undo_brings_it_back(controller, qtbot, table):
    command = controller.commands.actions["file.columns"]
    assert not controller.opener.can_choose_columns
    answer(qtbot, controller, asked(qtbot, controller, table), "us")
    assert controller.opener.can_choose_columns
    command.trigger()
    qtbot.waitUntil(lambda: controller.opener.columns.dialog is not None)
    dialog = controller.opener.columns.dialog
    assert dialog.boxes["unit"].currentData() == "us"
    answer(qtbot, controller, dialog, "ms")
    qtbot.waitUntil(lambda: ends(controller) == [8_000_000])
    assert controller.settings.table_columns(["Op", "Begin", "Took"]).endswith("unit=ms")
