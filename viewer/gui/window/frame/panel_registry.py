"""Makes the panels of a window, each once, when it is asked for."""

from __future__ import annotations

import importlib
from typing import TypeVar, cast

from PySide6.QtWidgets import QWidget

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.frame.panel_table import PANELS, PanelSpec

_FOLDER = "viewer.gui.panels"
PanelWidget = TypeVar("PanelWidget", bound=QWidget)


class PanelRegistry:
    """The timeline and the panels over one session, each made when it is asked for.

    All of them at once take a fifth of a second, in which the window would stand still: `prepare`
    makes one a turn.
    """

    def __init__(self, session: Session, theme: Theme) -> None:
        self.session, self._theme = session, theme
        self._made: dict[type[QWidget], QWidget] = {}

    def of(self, kind: type[PanelWidget]) -> PanelWidget:
        """The one widget of a class."""
        if kind not in self._made:
            # Every panel takes these two, which `type[QWidget]` cannot say.
            self._made[kind] = kind(self.session, self._theme)  # type: ignore[arg-type]
        return cast(PanelWidget, self._made[kind])

    def widgets(self) -> dict[str, QWidget]:
        """All panels by id, in the order of View > Panels."""
        listed = sorted(PANELS, key=lambda spec: spec.place)
        return {spec.id: self.of(panel_class(spec)) for spec in listed}

    def prepare(self) -> bool:
        """Make one that is not there yet; False if all are."""
        kinds: tuple[type[QWidget], ...] = (Timeline, *map(panel_class, PANELS))
        kind = next((kind for kind in kinds if kind not in self._made), None)
        if kind is not None:
            self.of(kind)
        return kind is not None


def panel_class(spec: PanelSpec) -> type[QWidget]:
    """The class of a panel; its module is imported with the first call."""
    module, name = spec.factory.split(":")
    return cast(type[QWidget], getattr(importlib.import_module(f"{_FOLDER}.{module}"), name))


def import_panels() -> None:
    """Import the modules of all panels, as another thread does before the window needs them."""
    for spec in PANELS:
        panel_class(spec)
