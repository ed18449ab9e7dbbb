"""Applies and stores what the user prefers, for the menus and the Preferences window."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QStyle

from viewer.gui.qt.settings import (
    DENSITY,
    DRAG_PANS,
    EDITOR,
    FIRST_INFERENCES,
    FLOWS,
    FONT_SIZE,
    HEADER_WIDTH,
    LEGEND,
    SMOOTH_MOTION,
    THEME,
    WARM_UP,
    Settings,
)
from viewer.gui.session.feeds.selection import FlowFeed
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.frame.shell import Shell
from viewer.model.inference_views import Inferences
from viewer.render.stacking import Density
from viewer.view.state import ViewState

# What "Restore Defaults" resets.
PREFERENCES = (
    THEME, FONT_SIZE, DENSITY, SMOOTH_MOTION, DRAG_PANS, LEGEND, FLOWS, FIRST_INFERENCES, WARM_UP,
    EDITOR,
)  # fmt: skip


class ViewSettings(QObject):
    """Settings that apply to all files; `changed` after one of `PREFERENCES` changed."""

    changed = Signal()

    def __init__(self, session: Session, timeline: Timeline, shell: Shell) -> None:
        super().__init__(shell)
        self._session, self._timeline = session, timeline
        self._shell, self._settings = shell, shell.settings
        self._flows = FlowFeed.of(session)
        session.preferred = partial(_first_state, self._settings)
        self._apply()
        timeline.set_header_width(shell.theme.px(self._settings.get(HEADER_WIDTH)))
        timeline.header_width_changed.connect(self._keep_header_width)

    def _keep_header_width(self, width: int) -> None:
        """Store the width for fonts of 13 px, as it grows with the fonts."""
        self._settings.set(HEADER_WIDTH, round(width / max(self._shell.theme.scale, 1.0)))

    def _apply(self) -> None:
        """Apply what is stored, except for the theme, which all windows share."""
        settings, timeline = self._settings, self._timeline
        self._flows.show(settings.get(FLOWS))
        timeline.legend.setVisible(settings.get(LEGEND))
        timeline.set_density(Density(settings.get(DENSITY)))
        timeline.set_drag_pans(settings.get(DRAG_PANS))
        timeline.set_animated(self.moves_smoothly)

    def restore_defaults(self) -> None:
        """Restore the default of every one of `PREFERENCES`."""
        for setting in PREFERENCES:
            self._settings.reset(setting)  # type: ignore[misc]  # of different types
        self._shell.theme.set_choice(THEME.default)  # type: ignore[arg-type]
        self._apply()
        self.changed.emit()
        self._shell.theme.set_font_size(FONT_SIZE.default)

    # -- appearance ----------------------------------------------------------------------------

    @property
    def theme(self) -> str:
        """The chosen theme: system, light or dark."""
        return self._shell.theme.choice

    def pick_theme(self, choice: str) -> None:
        """Choose light or dark, or follow the system."""
        self._settings.set(THEME, choice)
        self._shell.theme.set_choice(choice)  # type: ignore[arg-type]
        self.changed.emit()

    @property
    def font_size(self) -> str:
        """The chosen size of fonts, one of `FONT_SIZE.choices`."""
        return self._settings.get(FONT_SIZE)

    def pick_font_size(self, choice: str) -> None:
        """Choose the size of fonts; all windows are made anew with it."""
        self._settings.set(FONT_SIZE, choice)
        self.changed.emit()
        self._shell.theme.set_font_size(choice)

    @property
    def density(self) -> Density:
        """The height of rows that have no height of their own."""
        return self._timeline.density

    def set_density(self, density: Density) -> None:
        """Choose the height of rows that have no height of their own."""
        self._settings.set(DENSITY, density.value)
        self._timeline.set_density(density)
        self.changed.emit()

    # -- timeline ------------------------------------------------------------------------------

    @property
    def can_move_smoothly(self) -> bool:
        """Whether the desktop allows animations."""
        hint_type = QStyle.StyleHint.SH_Widget_Animation_Duration
        return self._shell.style().styleHint(hint_type, None, self._shell) > 0

    @property
    def moves_smoothly(self) -> bool:
        """Whether jumps are animated: as chosen, unless the desktop disables animations."""
        return self._settings.get(SMOOTH_MOTION) and self.can_move_smoothly

    def toggle_motion(self) -> None:
        """Turn the animation of jumps on or off."""
        self._settings.set(SMOOTH_MOTION, not self._settings.get(SMOOTH_MOTION))
        self._timeline.set_animated(self.moves_smoothly)
        self.changed.emit()

    @property
    def drag_pans(self) -> bool:
        """Whether dragging pans the timeline, and Shift+dragging selects an area."""
        return self._timeline.drag_pans

    def toggle_drag_pans(self) -> None:
        """Swap the meanings of dragging and Shift+dragging in the timeline."""
        self._timeline.set_drag_pans(not self.drag_pans)
        self._settings.set(DRAG_PANS, self.drag_pans)
        self.changed.emit()

    @property
    def shows_legend(self) -> bool:
        """Whether the color legend is shown."""
        return not self._timeline.legend.isHidden()

    def toggle_legend(self) -> None:
        """Show or hide the color legend."""
        visible = not self.shows_legend
        self._timeline.legend.setVisible(visible)
        self._settings.set(LEGEND, visible)
        self.changed.emit()

    @property
    def shows_flows(self) -> bool:
        """Whether flow arrows are drawn."""
        return self._flows.visible

    def toggle_flows(self) -> None:
        """Show or hide flow arrows."""
        self._flows.show(not self._flows.visible)
        self._settings.set(FLOWS, self._flows.visible)
        self.changed.emit()

    # -- inferences and source -----------------------------------------------------------------

    @property
    def first_inferences(self) -> Inferences:
        """How the inferences of files are shown when they are opened."""
        return _first_state(self._settings).inferences

    def set_first_inferences(self, inferences: Inferences) -> None:
        """Choose how inferences are shown when files are opened."""
        self._settings.set(FIRST_INFERENCES, inferences.name.lower())
        self.changed.emit()

    @property
    def includes_warm_up(self) -> bool:
        """Whether figures include the warm-up when files are opened."""
        return _first_state(self._settings).warm_up

    def toggle_warm_up(self) -> None:
        """Include the warm-up when files are opened, or leave it out."""
        self._settings.set(WARM_UP, not self.includes_warm_up)
        self.changed.emit()

    @property
    def editor(self) -> str:
        """The command that opens a source line; "" for the system's program for the file."""
        return self._settings.get(EDITOR)

    def set_editor(self, command: str) -> None:
        """Choose the command that opens a source line."""
        if command != self.editor:
            self._settings.set(EDITOR, command)
            self.changed.emit()


def _first_state(settings: Settings) -> ViewState:
    """How files are shown when they are opened; read then, as other windows may change it."""
    name = settings.get(FIRST_INFERENCES)
    inferences = Inferences.TYPICAL if name == "median" else Inferences[name.upper()]
    return ViewState(inferences=inferences, warm_up=settings.get(WARM_UP))
