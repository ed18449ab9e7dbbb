"""Work for a panel waits until the panel is visible."""

import pytest
from PySide6.QtWidgets import QTabWidget, QWidget

from viewer.gui.qt.background import WhenVisible


@pytest.fixture
def tabs(qtbot):
    made = QTabWidget()
    qtbot.addWidget(made)
    made.addTab(QWidget(), "front")
    made.addTab(QWidget(), "behind")
    made.show()
    return made


def test_a_request_of_a_visible_panel_is_due_at_once(tabs, qtbot):
    seen = WhenVisible(tabs.widget(0))
    with qtbot.waitSignal(seen.due, timeout=0):
        seen.request()


def test_requests_of_a_panel_behind_a_tab_are_due_once_it_is_in_front(tabs, qtbot):
    seen, due = WhenVisible(tabs.widget(1)), []
    seen.due.connect(lambda: due.append(seen))
    seen.request()
    seen.request()
    assert due == []
    tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: due == [seen])
    seen.request()
    assert due == [seen, seen]
