"""Updates shortcut hints in the window and for screen readers when keys change."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from viewer.gui.panels.bookmarks.panel import BookmarksPanel
from viewer.gui.panels.search.panel import HitsPanel
from viewer.gui.qt.commands.command_table import CommandTable
from viewer.gui.qt.commands.key_map import shown_key
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.commands.menus import START_KEYS, spoken_keys
from viewer.gui.window.frame.panel_registry import PanelRegistry
from viewer.gui.window.frame.shell import Shell
from viewer.gui.window.toolbar.search_field import SearchField


class ShortcutHints(QObject):
    """Stores the user's keys, and shows the current keys in panels, timeline and start page."""

    def __init__(
        self,
        table: CommandTable,
        panels: PanelRegistry,
        timeline: Timeline,
        search: SearchField,
        shell: Shell,
    ) -> None:
        super().__init__(shell)
        self._table, self._timeline, self._search, self._shell = table, timeline, search, shell
        self._marks, self._hits = panels.of(BookmarksPanel), panels.of(HitsPanel)
        table.keys_changed.connect(self._keep)
        self._show()

    @Slot()
    def _keep(self) -> None:
        self._shell.settings.set_keys(self._table.own_keys)
        self._show()

    def _show(self) -> None:
        way = self._table.way_to
        self._marks.set_shortcut_hints(way("mark.measure"), way("mark.keep"))
        self._hits.set_shortcut_hints(way("search.find"))
        self._search.set_shortcut_hints(way("search.find"), way("view.only_hits"))
        self._timeline.set_shortcut_hints(spoken_keys(self._table))
        named = [(text, self._table.keys(id)) for text, id in START_KEYS]
        self._shell.start_page.show_keys(
            [(text, shown_key(keys[0])) for text, keys in named if keys]
        )
