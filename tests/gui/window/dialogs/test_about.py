"""About: a table of parts, and the license of the one that is chosen."""

import pytest
from PySide6.QtCore import Qt

from tests.gui.dark_theme import dark_theme
from viewer import __version__
from viewer.gui.window.dialogs.about import AboutDialog


@pytest.fixture
def about(qtbot, qapp):
    dialog = AboutDialog(dark_theme(), "/somewhere/faults.log")
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def test_it_tells_versions_and_where_faults_are_written(about):
    said = about.where.text()
    assert f"Opscope {__version__}, Python 3." in said
    assert "Qt 6." in said
    assert "/somewhere/faults.log" in said


def test_the_keys_go_from_part_to_part_and_show_its_license(about, qtbot):
    assert about.focusWidget() is about.table
    assert "Apache License" in about.text.toPlainText()
    qtbot.keyClick(about.table, Qt.Key.Key_Down)
    assert "Python Software Foundation" in about.text.toPlainText()


def test_a_part_without_a_text_says_where_it_is(about, monkeypatch):
    monkeypatch.setattr("viewer.gui.window.dialogs.about.text_of", lambda name: "")
    row = [part.name for part in about.parts].index("numpy")
    about.table.selectRow(row)
    assert about.text.toPlainText().startswith("numpy includes no license text")
    assert about.text.toPlainText().endswith("It is at https://numpy.org")
