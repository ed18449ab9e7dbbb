"""What a window shows while its first files are read."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from viewer.gui.window.frame.reading_page import ReadingPage


@pytest.fixture
def page(theme, qtbot):
    page = ReadingPage(theme)
    qtbot.addWidget(page)
    page.resize(800, 400)
    page.show()
    return page


@pytest.mark.parametrize(
    ("paths", "text"),
    [
        (["/a/run.etdp"], "Reading run.etdp"),
        (["/a/b/"], "Reading b"),
        ([f"/a/{i}.etdp" for i in range(5)], "Reading 0.etdp · 1.etdp · 2.etdp · 2 more"),
    ],
)
def test_files_and_folders_are_named(page, paths, text):
    page.begin(paths)
    assert (page.task.text(), page.progress.value()) == (text, 0)


def test_progress_and_cancel(page, qtbot):
    page.show_progress("Reading run.etdp 5 MB of 10 MB", 0.5)
    assert page.progress.value() == page.progress.maximum() // 2
    with qtbot.waitSignal(page.cancelled):
        QTest.mouseClick(page.cancel, Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(page.cancelled):
        QTest.keyClick(page.cancel, Qt.Key.Key_Space)
