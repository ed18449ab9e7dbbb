"""A stack of pages is laid out by its current page alone."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QLabel, QWidget

from viewer.gui.qt.widgets.page_stack import PageStack


def page(width: int, height: int) -> QWidget:
    class Page(QWidget):
        def sizeHint(self):
            return QSize(width, height)

        minimumSizeHint = sizeHint

    return Page()


def test_hidden_pages_do_not_affect_its_size(qtbot):
    stack = PageStack()
    qtbot.addWidget(stack)
    small, large = page(100, 50), page(900, 700)
    for one in (small, large):
        stack.addWidget(one)
    assert stack.currentWidget() is small
    assert stack.sizeHint() == stack.minimumSizeHint() == QSize(100, 50)
    stack.setCurrentWidget(large)
    assert stack.sizeHint() == stack.minimumSizeHint() == QSize(900, 700)


def test_without_a_page_it_has_no_size(qtbot):
    stack = PageStack()
    qtbot.addWidget(stack)
    assert stack.minimumSizeHint() == QSize()


def test_its_height_does_not_depend_on_its_width(qtbot):
    text = QLabel("a sentence that takes several lines if it is narrow")
    text.setWordWrap(True)
    stack = PageStack()
    qtbot.addWidget(stack)
    stack.addWidget(text)
    assert text.hasHeightForWidth()
    assert not stack.hasHeightForWidth()
