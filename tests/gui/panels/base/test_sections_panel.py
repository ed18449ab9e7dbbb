"""A panel of sections: each page is as tall as its rows, and one scroll bar is for all."""

import pytest
from PySide6.QtCore import QStringListModel
from PySide6.QtWidgets import QListView

from tests.gui.dark_theme import dark_theme
from tests.gui.fake_host import FakeHost
from viewer.gui.panels.base.multi_page_panel import SectionsPanel
from viewer.gui.panels.base.panel import PagePanel
from viewer.gui.session.session import Session

TITLES = {"first": "First", "second": "Second"}


class Rows(PagePanel):
    """A list of texts, or a sentence without any."""

    def __init__(self, host):
        super().__init__(host)
        self.model = QStringListModel(self)
        self.list = QListView()
        self.list.setModel(self.model)
        self.set_page(self.list)
        self.show_rows(0)

    def show_rows(self, count):
        self.model.setStringList([f"row {i}" for i in range(count)])
        if count:
            self.show_page()
        else:
            self.show_sentence("Nothing here.")


@pytest.fixture
def panel(qtbot):
    host = FakeHost(Session(), dark_theme())
    made = SectionsPanel("All", {name: Rows(host) for name in TITLES}, TITLES, host.theme)
    qtbot.addWidget(made)
    made.resize(300, 200)
    made.show()
    return made


def is_whole(page):
    view = page.list
    last = view.visualRect(view.model().index(view.model().rowCount() - 1, 0))
    return view.verticalScrollBar().maximum() == 0 and last.bottom() < view.viewport().height()


def test_a_page_is_as_tall_as_its_rows(panel, qtbot):
    first, second = panel.pages.values()
    first.show_rows(40)
    second.show_rows(3)
    qtbot.waitUntil(lambda: is_whole(first) and is_whole(second))
    assert first.height() > panel.height() > second.height()
    qtbot.waitUntil(lambda: panel.area.verticalScrollBar().maximum() > 0)
    first.show_rows(2)
    qtbot.waitUntil(lambda: first.height() < 100 and is_whole(first))


def test_all_pages_are_in_sight_and_an_empty_one_is_a_sentence(panel, qtbot):
    first, second = panel.pages.values()
    second.show_rows(3)
    qtbot.waitUntil(lambda: is_whole(second))
    assert first.sentence == "Nothing here."
    assert first.height() >= first.empty.sentence.sizeHint().height()
    assert all(page.isVisible() for page in panel.pages.values())


def test_to_show_a_page_is_to_scroll_to_it(panel, qtbot):
    for page in panel.pages.values():
        page.show_rows(40)
    panel.show_mode("second")
    section = panel.sections["second"]
    qtbot.waitUntil(lambda: panel.area.verticalScrollBar().value() == section.y() > 0)
    assert panel.mode == "second"


def test_the_row_of_the_keyboard_stays_in_sight(panel, qtbot):
    first = panel.pages["first"]
    first.show_rows(40)
    qtbot.waitUntil(lambda: is_whole(first) and panel.area.verticalScrollBar().maximum() > 0)
    panel.activateWindow()
    first.list.setFocus()
    qtbot.waitUntil(first.list.hasFocus)
    first.list.setCurrentIndex(first.model.index(39, 0))
    assert panel.area.verticalScrollBar().value() > 0
    assert not first.list.visibleRegion().isEmpty()


def test_counts_are_in_the_titles(panel):
    panel.show_count("second", "3")
    assert panel.sections["second"].title.text() == "Second (3)"
    panel.show_count("second", "")
    assert panel.sections["second"].title.text() == "Second"
