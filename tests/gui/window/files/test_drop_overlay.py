"""What the window shows while files are dragged over it."""

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QLabel, QWidget

from viewer.gui.window.files.drops import MOST_LISTED, DraggedFile, DropOverlay, recognized
from viewer.resources import SAMPLES


@pytest.fixture
def window(qtbot):
    window = QWidget()
    window.resize(900, 600)
    qtbot.addWidget(window)
    window.show()
    return window


@pytest.fixture
def overlay(theme, window):
    return DropOverlay(theme, window)


def urls(*paths):
    return [QUrl.fromLocalFile(str(path)) for path in paths]


def test_it_lists_what_files_are(overlay, qtbot, tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    overlay.show_for(urls(*SAMPLES[0].paths()[:2], tmp_path / "notes.txt"), adds=False)
    assert overlay.isVisible()
    qtbot.waitUntil(lambda: "not recognized" in overlay.accessibleDescription())
    texts = [label.text() for label in overlay.findChildren(QLabel) if label.isVisible()]
    assert texts[0] == "Drop to open 3 files"
    assert {"ETDump", "ETRecord", "not recognized"} <= set(texts)


def test_it_says_that_files_join_those_that_are_open(overlay, qtbot):
    overlay.show_for(urls(SAMPLES[0].paths()[0]), adds=True)
    assert overlay.accessibleDescription().startswith("Drop to add 1 file to this window")
    overlay.end()
    assert not overlay.isVisible()


def test_only_the_first_of_many_files_are_read(tmp_path):
    paths = tuple(str(tmp_path / f"{number}.etdp") for number in range(MOST_LISTED + 3))
    files = recognized((str(tmp_path), "view.opscope", *paths))
    assert files[:2] == [
        DraggedFile(tmp_path.name, "folder", True),
        DraggedFile("view.opscope", "Opscope session", True),
    ]
    assert [file.opens for file in files].count(False) == MOST_LISTED - 2
    assert len(files) == MOST_LISTED + 5
