"""A panel of several pages: the switch is above the page that is shown, and above its sentence."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from tests.gui.dark_theme import dark_theme
from tests.gui.fake_host import FakeHost
from viewer.gui.panels.base.multi_page_panel import ModePanel
from viewer.gui.panels.base.panel import PagePanel, head_row
from viewer.gui.session.session import Session

TITLES = {"first": "First", "second": "Second"}


class Page(PagePanel):
    """A page with a tool above it, unless it is a plain one."""

    def __init__(self, host, *, has_head):
        super().__init__(host)
        self.tool = QPushButton("tool")
        head = head_row(host.theme) if has_head else None
        if head is not None:
            head.addWidget(self.tool)
        self.set_page(QWidget(), head=head)


@pytest.fixture
def panel(qtbot):
    host = FakeHost(Session(), dark_theme())
    pages = {
        "first": Page(host, has_head=True),
        "second": Page(host, has_head=False),
    }
    made = ModePanel("Show", pages, TITLES, host.theme)
    qtbot.addWidget(made)
    qtbot.addWidget(pages["second"])
    made.resize(400, 200)
    made.show()
    return made


def test_it_starts_with_the_first_page_and_the_others_stay_outside(panel):
    assert panel.mode == "first"
    assert panel.pages["first"].isVisible()
    assert not panel.isAncestorOf(panel.pages["second"])
    assert [button.text() for button in panel.bar.buttons.values()] == ["First", "Second"]
    assert panel.bar.buttons["first"].isChecked()


def test_the_switch_shows_another_page_and_moves_to_it(panel, qtbot):
    button = panel.bar.buttons["second"]
    with qtbot.waitSignal(panel.mode_changed):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert panel.mode == "second"
    assert panel.pages["second"].isVisible()
    assert not panel.pages["first"].isVisible()
    assert panel.pages["second"].isAncestorOf(panel.switch)
    assert panel.switch.isVisible()
    assert panel.switch.x() >= 12
    with qtbot.assertNotEmitted(panel.mode_changed):
        panel.show_mode("second")


def test_the_keyboard_stays_on_the_switch(panel, qtbot):
    panel.activateWindow()
    button = panel.bar.buttons["second"]
    button.setFocus()
    qtbot.waitUntil(button.hasFocus)
    button.click()
    assert panel.mode == "second"
    assert button.hasFocus()


@pytest.mark.parametrize("mode", TITLES)
def test_an_empty_page_keeps_the_switch_and_hides_its_tools(panel, mode):
    panel.show_mode(mode)
    page = panel.pages[mode]
    page.show_sentence("Nothing here.")
    assert panel.switch.isVisible()
    assert not page.tool.isVisible()
    page.show_page()
    assert panel.switch.isVisible()
    assert page.tool.isVisible() is (mode == "first")


def test_a_page_without_a_switch_has_no_line_above_its_sentence(qtbot):
    page = Page(FakeHost(Session(), dark_theme()), has_head=True)
    qtbot.addWidget(page)
    page.show()
    assert page.tool.isVisible()
    page.show_sentence("Nothing here.")
    assert not page._line.isVisible()


def test_tab_reaches_the_switch_before_the_page(panel, qtbot):
    first, second = panel.bar.buttons.values()
    assert first.nextInFocusChain() is second
    after = second.nextInFocusChain()
    while not after.focusPolicy() & Qt.FocusPolicy.TabFocus:
        after = after.nextInFocusChain()
    assert after is panel.pages["first"].tool
