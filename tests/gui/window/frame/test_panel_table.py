"""The one table of panels: each has a class, a dock, menu entries, a command and a help page."""

import pytest
from PySide6.QtWidgets import QAbstractScrollArea

from viewer.gui.qt.commands.command_table import SEPARATOR
from viewer.gui.window.frame.panel_registry import panel_class
from viewer.gui.window.frame.panel_table import PANEL, PANELS, PanelArea, tabs_of
from viewer.gui.window.help.pages import PAGES, title_of


@pytest.mark.parametrize("spec", PANELS, ids=lambda spec: spec.id)
def test_a_panel_has_a_page_of_the_help_with_its_title(spec):
    assert spec.help_page in PAGES
    assert title_of(spec.help_page) == spec.title


def test_every_panel_has_a_widget_in_the_order_of_the_table(controller):
    assert list(controller.docks.by_name) == [spec.id for spec in PANELS]
    for spec in PANELS:
        assert controller.docks.by_name[spec.id] is controller.panels.of(panel_class(spec))
        assert controller.docks.title(spec.id) == spec.title


def test_every_panel_is_in_both_menus_of_panels_and_has_a_command(controller):
    def entries(menu, title):
        actions = controller.window.menus[menu].actions()
        (submenu,) = [a.menu() for a in actions if a.text().replace("&", "") == title]
        return submenu.actions()

    listed = [a for a in entries("View", "Panels") if not a.isSeparator()]
    by_group = sorted(PANELS, key=lambda spec: spec.group.value)
    assert [action.text() for action in listed] == [spec.title for spec in by_group]
    assert all(action.isCheckable() for action in listed)
    assert entries("Go", "Panels") == [controller.commands.actions[spec.command] for spec in PANELS]
    for spec in PANELS:
        assert controller.commands.commands[spec.command].plain_title == f"Show {spec.title}"


def test_commands_on_rows_exist_and_are_of_panels_with_menus(controller):
    for spec in PANELS:
        assert set(spec.row_commands) - {SEPARATOR} <= controller.commands.commands.keys()
        if spec.row_commands:
            areas = controller.docks.by_name[spec.id].findChildren(QAbstractScrollArea)
            assert any(hasattr(area, "menu_offered") for area in areas)


def test_every_panel_is_in_one_area():
    assert sorted(id for area in PanelArea for id in tabs_of(area)) == sorted(PANEL)
    assert len(PANELS) == len(PANEL)
