"""Tabs that fit, in full and in their order, and a menu with the others."""

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QMainWindow, QMenu

from viewer.gui.window.frame.tab_area import TabArea

NAMES = ("operators", "model", "graph", "delegation", "details", "source")
TITLES = [name.capitalize() for name in NAMES]


@pytest.fixture
def area(qtbot, theme):
    """An area of six tabs in a window of 1000 px."""
    window = QMainWindow()
    qtbot.addWidget(window)
    made = TabArea("Tabs", lambda menu, hidden: [menu.addAction(name) for name in hidden], window)
    for name in NAMES:
        made.stack.addWidget(QLabel(name))
    window.setCentralWidget(made)
    window.resize(1000, 300)
    window.show()
    made.show_tabs(NAMES, TITLES, "operators")
    QCoreApplication.processEvents()
    yield made
    window.hide()


def seen(area):
    """The names of the tabs in sight, from left to right."""
    bar = area.bar
    shown = [at for at in range(bar.count()) if bar.isTabVisible(at)]
    assert all(bar.rect().contains(bar.tabRect(at)) for at in shown)
    return [area.names[at] for at in sorted(shown, key=lambda at: bar.tabRect(at).x())]


def resize(area, width):
    area.window().resize(width, 300)
    QCoreApplication.processEvents()


def test_tabs_that_do_not_fit_are_in_the_menu_and_come_back_in_order(area):
    assert seen(area) == list(NAMES)
    resize(area, 330)
    few = seen(area)
    assert few == list(NAMES[: len(few)])
    assert 1 < len(few) < 5
    area.more.menu().aboutToShow.emit()
    assert [a.text() for a in area.more.menu().actions()] == list(NAMES[len(few) :])
    resize(area, 1000)
    assert seen(area) == list(NAMES)


def test_a_submenu_lasts_until_the_menu_opens_again(qtbot, theme):
    def fill(menu, hidden):
        menu.addMenu("All panels").addAction("One")

    area = TabArea("Tabs", fill, None)
    qtbot.addWidget(area)
    for _ in range(3):
        area.more.menu().aboutToShow.emit()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        assert [menu.title() for menu in area.more.menu().findChildren(QMenu)] == ["All panels"]


@pytest.mark.parametrize("width", [1000, 500, 250])
def test_no_title_is_cut(area, width):
    resize(area, width)
    bar = area.bar
    for at in range(bar.count()):
        if bar.isTabVisible(at):
            assert bar.tabRect(at).width() > QFontMetrics(bar.font()).horizontalAdvance(TITLES[at])
    assert area.more.geometry().right() < area.width()


def test_the_current_tab_is_always_in_sight(area):
    resize(area, 250)
    area.show_tabs(NAMES, TITLES, "source")
    assert seen(area)[-1] == "source"
    assert area.front == "source"


def test_tabs_keep_their_width_when_they_become_current(area):
    def places():
        return [area.bar.tabRect(at) for at in range(area.bar.count())]

    before = places()
    area.show_tabs(NAMES, TITLES, "graph")
    QCoreApplication.processEvents()
    assert places() == before


def test_a_click_chooses_a_tab_and_a_middle_click_closes_it(area, qtbot):
    at = area.bar.tabRect(2).center()
    with qtbot.waitSignal(area.chosen) as chosen:
        QTest.mouseClick(area.bar, Qt.MouseButton.LeftButton, pos=at)
    assert chosen.args == ["graph"]
    with qtbot.waitSignal(area.close_requested) as closed:
        QTest.mouseClick(area.bar, Qt.MouseButton.MiddleButton, pos=QPoint(at))
    assert closed.args == ["graph"]
