"""The file dialog where the system has none: as large as it must be, and nothing cut."""

import ast
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFileDialog,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QToolButton,
    QTreeView,
    QWidget,
)

import viewer
from viewer.formats import formats
from viewer.gui.window.dialogs.file_dialog import FileQuestion, PathKind, type_of_file

FILTERS = "Profiles (*.etdp *.json *.csv);;All files (*)"
INSTRUCTION = "Choose the profiles of A: 3 or more recordings, and its ETRecord if it has one."
NAMES = ("a.etdp", "long name of a recording on a device, session 12.etdp", "b.csv", "c.weird")


@pytest.fixture
def folder(tmp_path):
    for name in NAMES:
        (tmp_path / name).write_bytes(b"x" * 800_000)
    (tmp_path / "sub").mkdir()
    return tmp_path


@pytest.fixture
def window(qtbot, theme):
    """What the dialogs belong to."""
    made = QWidget()
    qtbot.addWidget(made)
    theme.apply_to(made)
    made.show()
    return made


@pytest.fixture
def shown(qtbot, window, theme, folder):
    """Shows the dialog for a kind of path."""

    def show(kind=PathKind.OPEN_FILES, start=folder):
        question = FileQuestion(kind, "Add files to A", INSTRUCTION, str(start), FILTERS)
        dialog = question.dialog(window, theme)
        dialog.show()
        tree = dialog.findChild(QTreeView, "treeView")
        count = 1 if kind is PathKind.FOLDER else 3
        qtbot.waitUntil(lambda: tree.model().rowCount(tree.rootIndex()) >= count)
        QApplication.processEvents()
        return dialog

    return show


@pytest.mark.parametrize("choice", ["dark", "light"])
def test_it_has_an_instruction_types_and_columns_that_are_not_cut(shown, theme, choice):
    theme.set_choice(choice)
    dialog = shown()
    px, screen = theme.px, dialog.screen().availableGeometry()
    wanted = min(px(900), screen.width()), min(px(600), screen.height())
    assert (dialog.width(), dialog.height()) == wanted
    assert dialog.instruction.text() == INSTRUCTION
    assert dialog.instruction.isVisible()
    tree = dialog.findChild(QTreeView, "treeView")
    model, header = tree.model(), tree.header()
    root = tree.rootIndex()
    rows = [model.index(row, 0, root) for row in range(model.rowCount(root))]
    types = {row.data(): row.siblingAtColumn(2).data() for row in rows}
    assert types == {"sub": "Folder", "a.etdp": "ETDump", NAMES[1]: "ETDump", "b.csv": "CSV file"}
    for row in rows:
        for column in (1, 2, 3):  # the name has the rest of the width
            cell = row.siblingAtColumn(column)
            needed = tree.sizeHintForIndex(cell).width()
            assert needed <= header.sectionSize(column), cell.data()
    assert header.sectionResizeMode(0) == QHeaderView.ResizeMode.Stretch
    icons = {row.data(): row.data(1).cacheKey() for row in rows}
    assert icons["sub"] == theme.icon("open").cacheKey()
    assert icons["a.etdp"] == theme.icon("file").cacheKey()


def test_each_control_has_a_name_and_an_icon_of_the_theme(shown):
    dialog = shown()
    named = [*dialog.findChildren(QToolButton), *dialog.findChildren(QComboBox)]
    named = [control for control in named if control.isVisibleTo(dialog)]
    assert len(named) == 8
    assert all(control.accessibleName() for control in named)
    assert dialog.findChild(QLineEdit, "fileNameEdit").accessibleName() == "File name"
    buttons = [button for button in dialog.findChildren(QPushButton) if button.isVisible()]
    assert sorted(button.text() for button in buttons) == ["&Open", "Cancel"]
    assert all(button.icon().isNull() for button in buttons)
    assert dialog.findChild(QComboBox, "fileTypeCombo").currentText() == "Profiles"


def test_what_is_chosen_is_the_answer(window, theme, folder):
    answers = []

    def accept():
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, QFileDialog)
        answers.append(dialog.windowTitle())
        dialog.findChild(QLineEdit, "fileNameEdit").setText('"a.etdp" "b.csv"')
        dialog.accept()

    QTimer.singleShot(200, accept)
    question = FileQuestion(PathKind.OPEN_FILES, "Open files", INSTRUCTION, str(folder), FILTERS)
    answer = question.ask(window, theme)
    assert answers == ["Open files"]
    assert answer.paths == (str(folder / "a.etdp"), str(folder / "b.csv"))
    assert answer.chosen_filter.startswith("Profiles")
    QTimer.singleShot(200, lambda: QApplication.activeModalWidget().reject())
    assert question.ask(window, theme).paths == ()


def test_a_file_to_save_begins_with_its_name(shown, folder):
    dialog = shown(PathKind.SAVE_FILE, folder / "new.csv")
    assert dialog.findChild(QLineEdit, "fileNameEdit").text() == "new.csv"
    assert dialog.acceptMode() is QFileDialog.AcceptMode.AcceptSave
    dialog = shown(PathKind.FOLDER)
    assert dialog.testOption(QFileDialog.Option.ShowDirsOnly)


def test_the_dialog_fits_on_a_small_screen_with_large_fonts(shown, theme, monkeypatch):
    monkeypatch.setattr(theme, "scale", 4.0)
    dialog = shown()
    screen = dialog.screen().availableGeometry()
    assert dialog.width() <= screen.width()
    assert dialog.height() <= screen.height()


def test_types_are_those_of_the_formats():
    shared, single = {}, {}
    for form in formats():
        for suffix in form.suffixes:
            (shared if suffix in single else single).setdefault(suffix, form.name)
    for suffix, name in single.items():
        expected = f"{suffix[1:].upper()} file" if suffix in shared else name
        assert type_of_file(f"a{suffix}") == expected
        assert type_of_file(f"A.B{suffix.upper()}") == expected
    assert type_of_file("README") == "File"
    assert type_of_file("a.unheard") == "UNHEARD file"


def test_no_other_module_shows_a_file_dialog():
    """One wrapper, so that all dialogs look the same and prefer the system's."""
    folder = Path(viewer.__file__).parent
    users = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if "QFileDialog" in path.read_text("utf-8")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Name | ast.alias)
        and getattr(node, "id", getattr(node, "name", "")) == "QFileDialog"
    }
    assert users == {"gui/window/dialogs/file_dialog.py"}
