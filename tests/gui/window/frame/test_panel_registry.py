"""A panel that nothing but the list of panels names has all that the others have."""

import pytest
from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QListWidget, QMenu

from tests.gui.dark_theme import dark_theme
from tests.gui.events import put_away
from viewer.gui.panels.base.panel import PagePanel
from viewer.gui.panels.base.panel_spec import (
    PageSpec,
    PanelArea,
    PanelCommand,
    PanelGroup,
    PanelTable,
    Presence,
    panel_of_page,
)
from viewer.gui.qt.settings import Settings
from viewer.gui.window.frame.panel_table import PANELS
from viewer.gui.window.main_window import MainWindow
from viewer.model.times import group_digits

pytestmark = pytest.mark.slow


class SketchList(QListWidget):
    """Rows with a menu."""

    menu_offered = Signal(QMenu)


class SketchPanel(PagePanel):
    """A panel that the program does not know."""

    def __init__(self, host):
        super().__init__(host)
        self.list, self.keys = SketchList(), ""
        self.set_page(self.list)
        self.refresh_on(host.session.workspace_changed)

    def refresh(self):
        self.host.show_count(1234)

    def open_for_sketch(self):
        self.host.open_files()

    def show_keys(self, way_to):
        self.keys = way_to("sketch.open")


SKETCH = panel_of_page(
    PageSpec(
        "sketch",
        "Sketch",
        f"{__name__}:SketchPanel",
        lambda session: Presence.AVAILABLE,
        ("view.fit", "sketch.open"),
        commands=(PanelCommand("sketch.open", "Open for a sketch…", "Edit", "open_for_sketch"),),
    ),
    PanelArea.RIGHT,
    PanelGroup.FILES,
)


@pytest.fixture(scope="module")
def sketching(qapp, tmp_path_factory):
    path = tmp_path_factory.mktemp("window") / "settings.ini"
    settings = Settings(QSettings(str(path), QSettings.Format.IniFormat))
    window = MainWindow(dark_theme(), settings, PanelTable((*PANELS, SKETCH)))
    yield window.controller
    put_away(window)


def test_a_panel_is_its_spec_and_its_class(sketching, sample):
    docks, commands = sketching.docks, sketching.commands
    panel = sketching.panels["sketch"]
    assert type(panel) is SketchPanel
    assert docks.panels["sketch"] is panel
    assert docks.title("sketch") == "Sketch"
    # Its menu item, and its command with a key.
    menu = QMenu()
    docks.fill(menu)
    (item,) = [action for action in menu.actions() if action.text() == "Sketch"]
    assert item.isCheckable()
    commands.give_key("panel.sketch", "Ctrl+Alt+K")
    assert commands.way_to("panel.sketch") == "Ctrl+Alt+K"
    assert commands.commands["panel.sketch"].title == "Show Sketch"
    # What it is offered for, counts, and shows when it is asked for.
    sketching.session.add([shown.file for shown in sample("attention_xnnpack").traces])
    assert docks.title("sketch") == f"Sketch ({group_digits(1234)})"
    assert not docks.is_open("sketch")
    assert commands.run("panel.sketch")
    assert docks.is_open("sketch")
    assert "sketch" in [tabs.front for tabs in docks.areas.values()]
    item.trigger()
    assert not docks.is_open("sketch")


def test_its_rows_have_the_commands_of_its_spec_and_the_help(sketching):
    panel, menu = sketching.panels["sketch"], QMenu()
    panel.list.menu_offered.emit(menu)
    texts = [action.text() for action in menu.actions() if not action.isSeparator()]
    assert texts == ["Zoom to &selection", "Open for a sketch…", "Help"]
    assert sketching.help.page_of(panel.list.viewport()) == "sketch"


def test_its_own_commands_have_keys_that_it_is_told(sketching, monkeypatch):
    commands, asked = sketching.commands, []
    monkeypatch.setattr(sketching.opener, "open_dialog", lambda: asked.append("files"))
    names = list(commands.commands)
    assert names[names.index("panel.list") + 1] == "sketch.open"
    action = commands.actions["sketch.open"]
    action.trigger()
    assert asked == ["files"]
    commands.give_key("sketch.open", "Ctrl+Alt+J")
    assert sketching.panels["sketch"].keys == "Ctrl+Alt+J"
    assert [key.toString() for key in action.shortcuts()] == ["Ctrl+Alt+J"]
