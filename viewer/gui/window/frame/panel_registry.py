"""Creates the panels of a window on demand, each once and with its host."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from PySide6.QtWidgets import QWidget

from viewer.gui.panels.base.page_panel import PanelWidget
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.base.panel_spec import PanelSpec, PanelTable
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.frame.panel_table import TABLE


class PanelRegistry:
    """Creates the timeline and the panels of one session, each on first use.

    Creating all of them at once takes 0.2 s, during which the window would be unresponsive.
    `prepare` therefore creates one per call.
    """

    def __init__(
        self, session: Session, theme: Theme, host_of: Callable[[str], PanelHost], table: PanelTable
    ) -> None:
        """host_of: creates the host of a page, given by its id."""
        self.session, self.table = session, table
        self._theme, self._host_of = theme, host_of
        self._pages: dict[str, PanelWidget] = {}
        self._timeline: Timeline | None = None

    @property
    def timeline(self) -> Timeline:
        """The timeline."""
        if self._timeline is None:
            self._timeline = Timeline(self.session, self._theme)
        return self._timeline

    def __getitem__(self, page: str) -> PanelWidget:
        """The widget of a page, given by its id."""
        if page not in self._pages:
            factory = made_by(self.table.pages[page].factory)
            self._pages[page] = factory(self._host_of(page))
        return self._pages[page]

    def panels(self) -> dict[str, QWidget]:
        """All panels by id, in the order of their table."""
        return {name: self._panel(spec) for name, spec in self.table.panels.items()}

    def _panel(self, spec: PanelSpec) -> QWidget:
        pages = {page.id: self[page.id] for page in spec.pages}
        if len(pages) == 1:
            return pages[spec.id]
        titles = {page.id: page.choice or page.title for page in spec.pages}
        panel: QWidget = made_by(spec.factory)(spec.switch, pages, titles, self._theme)
        return panel

    def prepare(self) -> bool:
        """Create one widget that does not exist yet; False if all exist."""
        if self._timeline is None:
            return self.timeline is not None
        missing = next((page for page in self.table.pages if page not in self._pages), None)
        return missing is not None and self[missing] is not None


def made_by(factory: str) -> Any:
    """The class that a spec names; imports its module on the first call."""
    module, name = factory.split(":")
    return getattr(importlib.import_module(module), name)


def import_panels() -> None:
    """Import the modules of all panels; a thread does that before the window needs them."""
    for page in TABLE.pages.values():
        made_by(page.factory)
