"""Creates the panels of a window on demand, each once."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TypeVar, cast

from PySide6.QtWidgets import QWidget

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.frame.panel_table import PAGES, PANELS, PageSpec, PanelSpec

_FOLDER = "viewer.gui.panels"
PanelWidget = TypeVar("PanelWidget", bound=QWidget)


class PanelRegistry:
    """Creates the timeline and the panels of one session, each on first use.

    Creating all of them at once takes 0.2 s, during which the window would be unresponsive.
    `prepare` therefore creates one per call.
    """

    def __init__(self, session: Session, theme: Theme) -> None:
        self.session, self._theme = session, theme
        self._made: dict[type[QWidget], QWidget] = {}

    def of(self, kind: type[PanelWidget]) -> PanelWidget:
        """The widget of a class, created on first use."""
        if kind not in self._made:
            # All panels take these two arguments, which `type[QWidget]` cannot express.
            self._made[kind] = kind(self.session, self._theme)  # type: ignore[arg-type]
        return cast(PanelWidget, self._made[kind])

    def widgets(self) -> dict[str, QWidget]:
        """All panels by id, in the order of their table."""
        return {spec.id: self._panel(spec) for spec in PANELS}

    def _panel(self, spec: PanelSpec) -> QWidget:
        pages = {page.id: self.of(panel_class(page)) for page in spec.pages}
        if len(pages) == 1:
            return pages[spec.id]
        titles = {page.id: page.choice or page.title for page in spec.pages}
        kind = cast(Callable[..., QWidget], _class(spec.factory))
        return kind(spec.switch, pages, titles, self._theme)

    def prepare(self) -> bool:
        """Create one widget that does not exist yet; False if all exist."""
        kinds: tuple[type[QWidget], ...] = (Timeline, *map(panel_class, PAGES.values()))
        kind = next((kind for kind in kinds if kind not in self._made), None)
        if kind is not None:
            self.of(kind)
        return kind is not None


def panel_class(page: PageSpec) -> type[QWidget]:
    """The class of a page; imports its module on the first call."""
    return _class(page.factory)


def _class(factory: str) -> type[QWidget]:
    module, name = factory.split(":")
    return cast(type[QWidget], getattr(importlib.import_module(f"{_FOLDER}.{module}"), name))


def import_panels() -> None:
    """Import the modules of all panels; a thread does that before the window needs them."""
    for page in PAGES.values():
        panel_class(page)
