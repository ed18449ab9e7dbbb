"""What commands act on, the order of each menu, and the keys.

A widget with the focus keeps the keys that it handles itself, such as arrow keys in tables, fields
and long texts. Every other key is a command, wherever the focus is. Letters need no rule: text
fields claim them from Qt themselves.
"""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QMenuBar,
    QPlainTextEdit,
    QRadioButton,
    QTabBar,
    QTextEdit,
    QWidget,
)

from viewer.dataclasses import dataclass
from viewer.gui.qt.accessibility import OF_WINDOW
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.command_table import SEPARATOR, CommandTable, Precondition, shown_key
from viewer.gui.qt.crash_report import guard
from viewer.gui.session.clocks import CYCLE_RATES
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.timeline.track_headers import SORTED
from viewer.gui.timeline.view import TimelineView
from viewer.gui.window.dialogs.command_palette import CommandPalette
from viewer.gui.window.files.comparing import Comparing, Recordings
from viewer.gui.window.files.export_actions import BackgroundWork, ExportActions, PerfettoUi
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.files.sessions import SessionFiles
from viewer.gui.window.files.unsaved_work import CloseGuard
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.panel_registry import PanelRegistry
from viewer.gui.window.frame.panel_table import TABLE
from viewer.gui.window.frame.shell import Shell
from viewer.gui.window.frame.status import ClockButton
from viewer.gui.window.frame.view_settings import ViewSettings
from viewer.gui.window.help.help import Help
from viewer.gui.window.toolbar.toolbar import SearchField
from viewer.render.color_schemes import SCHEMES
from viewer.render.stacking import Density
from viewer.resources import SAMPLES
from viewer.view.state import RulerUnit


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The parts of one window that commands read and change; `table` contains the commands."""

    session: Session
    table: CommandTable
    timeline: Timeline
    docks: Docks
    panels: PanelRegistry
    shell: Shell
    search: SearchField
    clock: ClockButton
    view_settings: ViewSettings
    palette: CommandPalette
    work: BackgroundWork
    opener: FileOpener
    comparing: Comparing
    recordings: Recordings
    session_files: SessionFiles
    close_guard: CloseGuard
    exports: ExportActions
    perfetto_ui: PerfettoUi
    help: Help


def open_profile(session: Session) -> Precondition:
    """Requires an open profile."""
    return Precondition("an open profile", lambda: bool(session.traces))


def selected_slice(session: Session) -> Precondition:
    """Requires a selected slice."""
    return Precondition("a selected slice", lambda: session.state.slice is not None)


MENUS = (
    ("File", (
        "file.new_window", "file.open", "file.record", "file.last_session", "file.reload",
        "file.columns", SEPARATOR,
        "compare.with", SEPARATOR,
        "file.save_session", "file.save_session_as", SEPARATOR,
        "file.export", "file.export_table", "file.export_operators", "file.export_report",
        "file.save_picture", "file.perfetto_ui", SEPARATOR,
        "file.close_all", "file.close_window", SEPARATOR,
        "file.quit",
    )),
    ("Edit", (
        "go.undo", "go.redo", SEPARATOR,
        "edit.copy", SEPARATOR,
        "search.find", SEPARATOR,
        "edit.source", SEPARATOR,
        "edit.preferences",
    )),
    ("View", (
        "view.fit", "view.fit_all", "view.fit_file", "view.fit_rest", SEPARATOR,
        "view.only_hits", "view.clear", "view.panels", "view.menu",
    )),
    ("Go", (
        "go.back", "go.forward", SEPARATOR,
        "go.next_run", "go.previous_run", "go.runs_aligned", "go.runs_median", "go.runs_mean",
        "go.include_warm_up", SEPARATOR,
        "go.next_slice", "go.previous_slice", "go.nearest_slices", SEPARATOR,
        "go.next_flow", "go.previous_flow", "go.next_branch", "go.previous_branch", SEPARATOR,
        "search.next", "search.previous", "search.list",
    )),
    ("Tracks", (
        "tracks.filter", SEPARATOR,
        "tracks.pin", "tracks.hide", "tracks.show_all", SEPARATOR,
        "tracks.up", "tracks.down", SEPARATOR,
        "tracks.collapse_all", "tracks.expand_all", SEPARATOR,
        "tracks.reset_heights",
    )),
    ("Selection", (
        "selection.same", "selection.area", "selection.copy_name", "selection.method",
        "selection.export", SEPARATOR,
        "mark.measure", "mark.keep", "mark.rename", "mark.fit", "mark.remove",
    )),
    ("Help", (
        "help.here", "help.tour", "help.recording", "help.glossary", SEPARATOR,
        "help.palette", "help.keys", "help.customize_keys", SEPARATOR,
        "help.about",
    )),
)  # fmt: skip
# Submenus: COMPARE_MENU of File, COPY_MENU of Edit, LAYOUT_MENU of View and SAMPLE_MENU of Help.
# The others are the menu of the ruler and its submenus; a strip has CLOCKS_MENU too.
CLOCK_MENU = (
    "clock.file",
    *(f"clock.{text.partition(' ')[0]}" for text in CYCLE_RATES),
    SEPARATOR,
    "clock.other",
)
CLOCKS_MENU = (
    "clocks.align_run", "clocks.align_operator", "clocks.align_marks", "clocks.release", SEPARATOR,
    "clocks.share_stated", "clocks.share", "clocks.separate", SEPARATOR,
    "clocks.same_scale", "clocks.lock_zooms", SEPARATOR,
    "clocks.next", "clocks.previous", "clocks.collapse",
)  # fmt: skip
SAMPLE_MENU = tuple(f"sample.{sample.key}" for sample in SAMPLES)
COMPARE_MENU = (
    "compare.others", SEPARATOR,
    "compare.pair", "compare.separate", SEPARATOR,
    "compare.relative", "compare.stretch", "compare.end",
)  # fmt: skip
COPY_MENU = (
    *(f"edit.copy_{form.name.lower()}" for form in CopyFormat),
    SEPARATOR,
    "edit.copy_ns",
)
MOVE_MENU = (
    "view.zoom_in", "view.zoom_out", "view.pan_left", "view.pan_right", "view.scroll_up",
    "view.scroll_down",
)  # fmt: skip
LAYOUT_MENU = (
    "layout.default", "layout.timeline", "layout.source", "layout.compare", SEPARATOR,
    "layout.keep", "layout.reset",
)  # fmt: skip
RULER_MENU = tuple(f"ruler.{unit.name.lower()}" for unit in RulerUnit)
# The choices of two preferences, and the commands about colors.
THEMES = ("view.theme_system", "view.theme_light", "view.theme_dark")
DENSITIES = tuple(f"view.density_{density.value}" for density in Density)
COLORS = (
    *(f"view.colour_{scheme.id}" for scheme in SCHEMES), "view.colour_argument", "view.colour_next",
    "view.colour_previous",
)  # fmt: skip
# Commands without a menu entry, with their keys and in the command palette, by where else
# they are.
ELSEWHERE = {
    "View > Panels, which opens and closes panels": (
        *(f"panel.{name}" for name in {**TABLE.pages, **TABLE.panels}),
    ),
    "the toolbar": (*COLORS, "compare.in_tables", "compare.swap"),
    "the preferences": (
        *THEMES, *DENSITIES, "view.legend", "view.flows", "view.drag_pans", "view.motion",
    ),
    "the menu of a tab": ("layout.float", "layout.dock", "edit.copy_panel"),
    "the menu of the timeline": ("edit.copy_timeline",),
    "the menu of a track's name": (
        *(f"tracks.sort_{order.name.lower()}" for _, order in SORTED), "tracks.taller",
        "tracks.lower", "tracks.only", "tracks.fold",
    ),
}  # fmt: skip

# Commands whose keys are shown on the start page.
START_KEYS = (
    ("Open files", "file.open"), ("Command palette", "help.palette"),
    ("Keyboard shortcuts", "help.keys"), ("Help", "help.here"),
)  # fmt: skip
# Commands whose keys a screen reader reads on the timeline.
SPOKEN_KEYS = (
    "view.zoom_in", "view.zoom_out", "view.pan_left", "view.pan_right", "go.next_slice",
    "go.previous_slice", "search.find", "help.keys",
)  # fmt: skip
_SIGNS = {".": "full stop", ",": "comma", "/": "slash", "?": "question mark"}
MOUSE_HELP = (
    ("Wheel", "Scroll tracks"),
    ("Ctrl+wheel, pinch", "Zoom around the mouse"),
    ("Shift+wheel, horizontal swipe", "Pan left or right"),
    ("Click", "Select the slice"),
    ("Double click", "Select and zoom to the slice"),
    ("Click the chevron or double-click a process", "Collapse or expand it"),
    ("Right click", "Open the context menu of a slice or table row"),
    ("Drag", "Select an area"),
    ("Ctrl+Shift+wheel, drag on the lower edge of a track's name", "Change the row height"),
    ("Drag on a track's name", "Move the track"),
    ("Right click on a track's name", "Pin, hide, collapse, sort"),
    ("Shift+drag", "Pan the timeline"),
    ("Middle button drag", "Pan the timeline"),
    ("Ctrl+click", "Add a slice to the selection, or remove it"),
    ("Shift+click", "Select a range of slices in a row"),
    ("Drag on the ruler", "Select a time range on all tracks"),
    ("Drag on the header of a clock", "Sideways: align it by hand; up or down: move its strip"),
    ("Double-click the header of a clock", "Collapse or expand its strip"),
    ("Drag on the lower edge of a strip", "Change its height"),
)
_SWAPPED = {"Drag": "Shift+drag", "Shift+drag": "Drag"}


def mouse_help(drag_pans: bool) -> list[tuple[str, str]]:
    """The mouse gestures; with `drag_pans`, Drag and Shift+drag are swapped."""
    return [(_SWAPPED.get(how, how) if drag_pans else how, what) for how, what in MOUSE_HELP]


def spoken_keys(table: CommandTable) -> str:
    """The timeline's content and its navigation keys, as text for screen readers."""
    spoken = [
        f"{_SIGNS.get(keys[0], shown_key(keys[0]))}: {table.commands[id].plain_title}."
        for id in SPOKEN_KEYS
        if (keys := table.keys(id))
    ]
    return " ".join(("Slices by process and thread.", *spoken))


_SIDEWAYS = {Qt.Key.Key_Left, Qt.Key.Key_Right}
NAVIGATION = _SIDEWAYS | {
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
}
_KEEP_ALL = (
    QAbstractItemView, QAbstractSpinBox, QAbstractSlider, QComboBox, QLineEdit, QMenuBar,
    QRadioButton, QTabBar,
)  # fmt: skip


def keeps(widget: QWidget | None, key: Qt.Key, held: Qt.KeyboardModifier) -> bool:
    """Whether the focused widget handles a key itself, instead of a command."""
    if key not in NAVIGATION or held & OF_WINDOW or widget is None:
        return False
    if isinstance(widget, _KEEP_ALL):
        return True
    if isinstance(widget, QTextEdit | QPlainTextEdit) and not widget.isReadOnly():
        return True
    if isinstance(widget, QAbstractScrollArea) and not isinstance(widget, TimelineView):
        # Read-only content that has to be scrolled.
        sideways = key in _SIDEWAYS
        bar = widget.horizontalScrollBar() if sideways else widget.verticalScrollBar()
        return bar.maximum() > bar.minimum()
    return False


class FocusKeys(QObject):
    """Event filter for the window and its docks, where Qt last checks if a key is a shortcut."""

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave a key to the focused widget, instead of using it as a shortcut."""
        is_override = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if not is_override:
            return False
        pressed = cast(QKeyEvent, event)
        is_kept = keeps(QApplication.focusWidget(), Qt.Key(pressed.key()), pressed.modifiers())
        if is_kept:
            event.accept()
        return is_kept
