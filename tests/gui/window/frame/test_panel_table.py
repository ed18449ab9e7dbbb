"""The one table of panels: each has a class, a dock, menu entries, a command and a help page."""

import pytest
from PySide6.QtWidgets import QAbstractScrollArea

from viewer.gui.panels.base.multi_page_panel import SectionsPanel
from viewer.gui.panels.base.panel_spec import LINE
from viewer.gui.qt.command_table import SEPARATOR
from viewer.gui.window.frame.panel_registry import made_by
from viewer.gui.window.frame.panel_table import PANELS, TABLE
from viewer.gui.window.help.pages import PAGES, title_of

PANEL_PAGES = TABLE.pages


@pytest.mark.parametrize("page", PANEL_PAGES.values(), ids=lambda page: page.id)
def test_a_page_of_a_panel_has_a_page_of_the_help_with_its_title(page):
    assert page.help_page in PAGES
    assert title_of(page.help_page) == page.title


def test_every_panel_has_a_widget_in_the_order_of_the_table(controller):
    docks = controller.docks
    assert list(docks.panels) == [spec.id for spec in PANELS]
    assert list(docks.by_name) == list(PANEL_PAGES)
    for page in PANEL_PAGES.values():
        assert docks.by_name[page.id] is controller.panels[page.id]
        assert type(docks.by_name[page.id]) is made_by(page.factory)
    for spec in PANELS:
        assert docks.title(spec.id) == spec.title
        if len(spec.pages) == 1:
            assert docks.panels[spec.id] is docks.by_name[spec.id]
        else:
            assert docks.panels[spec.id].pages == {
                page.id: docks.by_name[page.id] for page in spec.pages
            }


def test_a_panel_shows_the_page_that_is_asked_for(controller):
    docks = controller.docks
    for spec in PANELS:
        for page in spec.pages:
            docks.show_panel(page.id)
            assert docks.page_of(spec.id) == page.id
            assert docks.is_open(page.id)
            assert docks.is_open(spec.id)
            others = {other.id for other in spec.pages} - {page.id, spec.id}
            has_sections = isinstance(docks.panels[spec.id], SectionsPanel)
            assert all(docks.is_open(other) is has_sections for other in others)


def test_every_panel_is_in_the_menu_of_panels_and_each_page_has_a_command(controller):
    actions = controller.window.menus["View"].actions()
    (menu,) = [a.menu() for a in actions if a.text().replace("&", "") == "Panels"]
    listed = [a for a in menu.actions() if not a.isSeparator()]
    by_group = sorted(PANELS, key=lambda spec: spec.group.value)
    assert [action.text() for action in listed] == [spec.title for spec in by_group]
    assert all(action.isCheckable() for action in listed)
    pages = PANEL_PAGES.values()
    for page in pages:
        assert controller.commands.commands[page.command].plain_title == f"Show {page.title}"


def test_commands_on_rows_exist_and_are_of_panels_with_menus(controller):
    for page in PANEL_PAGES.values():
        assert set(page.row_commands) - {SEPARATOR} <= controller.commands.commands.keys()
        if page.row_commands:
            areas = controller.docks.by_name[page.id].findChildren(QAbstractScrollArea)
            assert any(hasattr(area, "menu_offered") for area in areas)


def test_no_two_panels_share_an_id():
    assert len(PANELS) == len(TABLE.panels)
    assert LINE == SEPARATOR
