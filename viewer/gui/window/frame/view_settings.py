"""Settings of the timeline and the theme: applies and stores the user's choices."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QStyle

from viewer.gui.qt.settings import (
    DENSITY,
    DRAG_PANS,
    FLOWS,
    HEADER_WIDTH,
    LEGEND,
    SMOOTH_MOTION,
    THEME,
)
from viewer.gui.session.flows import FlowFeed
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.frame.shell import Shell
from viewer.render.stacking import Density


class ViewSettings(QObject):
    """Settings that apply to all files: theme, row density, animation, dragging, legend, flows."""

    def __init__(self, session: Session, timeline: Timeline, shell: Shell) -> None:
        super().__init__(shell)
        self._timeline, self._shell, self._settings = timeline, shell, shell.settings
        self._flows = FlowFeed.of(session)
        self._flows.show(self._settings.get(FLOWS))
        timeline.legend.setVisible(self._settings.get(LEGEND))
        timeline.set_header_width(self._settings.get(HEADER_WIDTH))
        timeline.scene.set_density(Density(self._settings.get(DENSITY)))
        timeline.view.drag_pans = self._settings.get(DRAG_PANS)
        timeline.scene.animation.enabled = self.moves_smoothly
        timeline.header_width_changed.connect(partial(self._settings.set, HEADER_WIDTH))

    @property
    def theme(self) -> str:
        """The chosen theme: system, light or dark."""
        return self._shell.theme.choice

    def pick_theme(self, choice: str) -> None:
        """Choose light or dark, or follow the system."""
        self._settings.set(THEME, choice)
        self._shell.theme.set_choice(choice)  # type: ignore[arg-type]

    def set_density(self, density: Density) -> None:
        """Choose the height of rows that have no height of their own."""
        self._settings.set(DENSITY, density.value)
        self._timeline.scene.set_density(density)

    @property
    def moves_smoothly(self) -> bool:
        """Whether jumps are animated: as chosen, unless the desktop disables animations."""
        hint_type = QStyle.StyleHint.SH_Widget_Animation_Duration
        hint = self._shell.style().styleHint(hint_type, None, self._shell)
        return self._settings.get(SMOOTH_MOTION) and hint > 0

    def toggle_motion(self) -> None:
        """Turn the animation of jumps on or off."""
        self._settings.set(SMOOTH_MOTION, not self._settings.get(SMOOTH_MOTION))
        self._timeline.scene.animation.enabled = self.moves_smoothly

    @property
    def drag_pans(self) -> bool:
        """Whether dragging pans the timeline, and Shift+dragging selects an area."""
        return self._timeline.view.drag_pans

    def toggle_drag_pans(self) -> None:
        """Swap the meanings of dragging and Shift+dragging in the timeline."""
        view = self._timeline.view
        view.drag_pans = not view.drag_pans
        self._settings.set(DRAG_PANS, view.drag_pans)

    @property
    def shows_legend(self) -> bool:
        """Whether the color legend is shown."""
        return not self._timeline.legend.isHidden()

    def toggle_legend(self) -> None:
        """Show or hide the color legend."""
        shown = not self.shows_legend
        self._timeline.legend.setVisible(shown)
        self._settings.set(LEGEND, shown)

    @property
    def shows_flows(self) -> bool:
        """Whether flow arrows are drawn."""
        return self._flows.visible

    def toggle_flows(self) -> None:
        """Show or hide flow arrows."""
        self._flows.show(not self._flows.visible)
        self._settings.set(FLOWS, self._flows.visible)
