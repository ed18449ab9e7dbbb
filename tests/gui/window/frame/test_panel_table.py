"""The one table of panels: each has a class, a dock, menu entries, a command and a help page."""

import pytest
from PySide6.QtWidgets import QAbstractItemView

from viewer.gui.qt.commands.command_table import SEPARATOR
from viewer.gui.window.frame.panel_registry import panel_class
from viewer.gui.window.frame.panel_table import PANEL, PANELS, PanelArea, tabs_of
from viewer.gui.window.help.pages import PAGES, title_of


@pytest.mark.parametrize("spec", PANELS, ids=lambda spec: spec.id)
def test_a_panel_has_a_page_of_the_help_with_its_title(spec):
    assert spec.help_page in PAGES
    assert title_of(spec.help_page) == spec.title


def test_every_panel_has_a_dock_with_its_widget_in_the_order_of_the_menu(controller):
    listed = sorted(PANELS, key=lambda spec: spec.place)
    assert [spec.place for spec in listed] == list(range(len(PANELS)))
    assert list(controller.docks.by_name) == [spec.id for spec in listed]
    for spec in PANELS:
        dock = controller.docks.by_name[spec.id]
        assert (dock.objectName(), dock.windowTitle()) == (spec.id, spec.title)
        assert dock.widget() is controller.panels.of(panel_class(spec))


def test_every_panel_is_in_both_menus_of_panels_and_has_a_command(controller):
    def entries(menu, title):
        actions = controller.window.menus[menu].actions()
        (submenu,) = [a.menu() for a in actions if a.text().replace("&", "") == title]
        return submenu.actions()

    docks = controller.docks.by_name.values()
    assert entries("View", "Panels") == [dock.toggleViewAction() for dock in docks]
    assert entries("Go", "Panels") == [controller.commands.actions[spec.command] for spec in PANELS]
    for spec in PANELS:
        assert controller.commands.commands[spec.command].plain_title == f"Show {spec.title}"


def test_commands_on_rows_exist_and_are_of_panels_with_tables(controller):
    for spec in PANELS:
        assert set(spec.row_commands) - {SEPARATOR} <= controller.commands.commands.keys()
        if spec.row_commands:
            assert controller.docks.by_name[spec.id].findChildren(QAbstractItemView)


def test_the_tabs_of_an_area_are_numbered_from_zero():
    for area in PanelArea:
        places = [PANEL[id].tab for id in tabs_of(area)]
        assert places == list(range(len(places)))
    assert sum(len(tabs_of(area)) for area in PanelArea) == len(PANELS) == len(PANEL)
