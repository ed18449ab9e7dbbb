"""Lays out the panels: next to the timeline, below it, or as tabs if space is limited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QByteArray, QObject, Qt, Signal
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QTabBar, QTabWidget, QWidget

from viewer.gui.qt.settings import WINDOW_STATE_VERSION
from viewer.gui.window.frame.panel_table import PANEL, PANELS, PanelArea, tabs_of
from viewer.model.times import group_digits

RIGHT = Qt.DockWidgetArea.RightDockWidgetArea
BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea
DETAILS_WIDTH = 372
NARROW, VERY_NARROW = 1400, 1100  # px, width of the window
TIMELINE_SHARE = 0.6
_LEAST_BOTTOM = 200  # px
_SIDE, _LEFT, _RIGHT = (tabs_of(area) for area in PanelArea)
_BELOW = tuple(spec.id for spec in PANELS if spec.area is not PanelArea.SIDE)


class Docks(QObject):
    """The docks of one window by name: those at the side, and those below the timeline.

    `rearranged`: panels were shown, or moved to fit the width of the window.
    """

    rearranged = Signal()

    def __init__(self, window: QMainWindow, panels: dict[str, QWidget]) -> None:
        super().__init__(window)
        self._window = window
        self._shown = False  # no docks on the start page
        self._narrowness_level = 0  # narrowness that the current layout is for
        self._closed: set[str] = set()
        self._hidden_bottom: set[str] = (
            set()
        )  # what the last toggle of the bottom panels has hidden
        self._saved_layout: QByteArray | None = None  # the layout before that
        window.setDockOptions(
            QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AllowNestedDocks
        )
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        window.setCorner(Qt.Corner.BottomRightCorner, RIGHT)
        self.by_name: dict[str, QDockWidget] = {}
        for name, panel in panels.items():
            dock = QDockWidget(PANEL[name].title, window)
            dock.setObjectName(name)
            dock.setWidget(panel)
            is_side = PANEL[name].area is PanelArea.SIDE
            window.addDockWidget(RIGHT if is_side else BOTTOM, dock)
            dock.hide()
            dock.dockLocationChanged.connect(self._fit_titles)
            self.by_name[name] = dock

    def restore(self, state: QByteArray) -> None:
        """Restore a stored layout, or use the default if there is none or it does not fit.

        It must be one or the other: if tabs are first grouped before the window is laid out and
        then arranged differently, Qt permanently leaves empty tab bars over the menus.
        """
        if not state.isEmpty() and self._window.restoreState(state, WINDOW_STATE_VERSION):
            self._shown = True
            self.note_closed()
            self._fit_titles()
        else:
            self._design()

    def _design(self) -> None:
        docks, window = self.by_name, self._window
        with self._without_layout():
            left, right = docks[_LEFT[0]], docks[_RIGHT[0]]
            window.splitDockWidget(left, right, Qt.Orientation.Horizontal)
            for first, *others in (_SIDE, _LEFT, _RIGHT):
                for name in others:
                    window.tabifyDockWidget(docks[first], docks[name])
        for first, *_ in (_SIDE, _LEFT, _RIGHT):
            self.show_panel(first)

    @contextmanager
    def _without_layout(self) -> Iterator[None]:
        """Disable the window's layout while docks are combined into tabs.

        When Qt creates the bar of a second tab group, it first performs any pending layout, and
        then creates the bar twice. The first one stays behind the panels for good, and dragging it,
        with the mouse or the keyboard, ends the process.
        """
        layout = self._window.layout()
        assert layout is not None
        layout.setEnabled(False)
        try:
            yield
        finally:
            layout.setEnabled(True)

    def fill(self, menu: QMenu) -> None:
        """Add a toggle for each dock to a menu."""
        for dock in self.by_name.values():
            menu.addAction(dock.toggleViewAction())

    def show_panel(self, name: str) -> None:
        """Show a dock, and bring it to the front of its tabs."""
        self.by_name[name].setVisible(self._shown)
        self.by_name[name].raise_()

    @property
    def front_tabs(self) -> tuple[str, ...]:
        """The names of the docks that are at the front of their tabs."""
        return tuple(
            name
            for name, dock in self.by_name.items()
            if not dock.visibleRegion().isEmpty() and self._window.tabifiedDockWidgets(dock)
        )

    def bring_to_front(self, names: Iterable[str]) -> None:
        """Bring the named docks to the front of their tabs, as far as they are open."""
        for name in names:
            dock = self.by_name.get(name)
            if dock is not None and not dock.isHidden():
                dock.raise_()

    def show_all(self, shown: bool) -> None:
        """Hide all docks, as on the start page, or show them as the user left them."""
        if shown == self._shown:
            return
        if not shown:
            self.note_closed()
        self._shown = shown
        if shown:
            for name in _BELOW:  # Most will be tabs. To remove it from a visible dock takes 2 ms.
                _show_title(self.by_name[name], False)
        for name, dock in self.by_name.items():
            dock.setVisible(shown and name not in self._closed)
        self._fit_titles()
        if shown:
            self.rearranged.emit()

    def note_closed(self) -> None:
        """Remember which docks are closed, for example after restoring a layout."""
        self._closed = {name for name, dock in self.by_name.items() if dock.isHidden()}
        self._fit_titles()

    @property
    def shows_bottom(self) -> bool:
        """Whether any bottom panel is shown."""
        return any(not self.by_name[name].isHidden() for name in _BELOW)

    def toggle_bottom(self) -> None:
        """Hide the bottom panels, or show them as they were."""
        shown, layout = self.shows_bottom, self._saved_layout
        if shown:
            self._hidden_bottom = {name for name in _BELOW if not self.by_name[name].isHidden()}
            self._saved_layout = self._window.saveState()
        for name in self._hidden_bottom or _BELOW:
            self.by_name[name].setVisible(not shown)
        if not shown and layout is not None:
            # Otherwise Qt brings the last tab to the front and divides the width differently.
            self._window.restoreState(layout)

    def fit_width(self) -> None:
        """In a narrow window, move Summary and Details, and then Source, into the bottom tabs."""
        level = self._narrowness
        if level == self._narrowness_level:
            return
        docks, previous = self.by_name, self._narrowness_level
        self._narrowness_level = level
        self._saved_layout = None
        with self._without_layout():
            self._follow_width(previous)
        docks[_SIDE[0] if level else "source"].raise_()
        self._fit_titles()
        self.rearranged.emit()

    def _follow_width(self, was: int) -> None:
        window, docks, level = self._window, self.by_name, self._narrowness_level
        if not was and window.dockWidgetArea(docks["details"]) == RIGHT:
            for name in _SIDE:
                window.tabifyDockWidget(docks["untimed"], docks[name])
        elif not level and docks["problems"] in window.tabifiedDockWidgets(docks["details"]):
            hidden = {name for name in _SIDE if docks[name].isHidden()}
            first, *others = _SIDE
            window.addDockWidget(RIGHT, docks[first])
            for name in others:
                window.tabifyDockWidget(docks[first], docks[name])
            for name in _SIDE:
                docks[name].setHidden(name in hidden)
            docks[first].raise_()
        is_tabbed = docks["operators"] in window.tabifiedDockWidgets(docks["source"])
        if level == 2 and not is_tabbed:
            window.tabifyDockWidget(docks["operators"], docks["source"])
            docks["operators"].raise_()
        elif was == 2 and is_tabbed:
            window.tabifyDockWidget(docks["links"], docks["source"])

    @property
    def needs_relayout(self) -> bool:
        """Whether the current layout is for another width of the window."""
        return self._narrowness != self._narrowness_level

    @property
    def _narrowness(self) -> int:
        """How narrow the window is: 0 for wide enough, 1 or 2."""
        return sum(self._window.width() < width for width in (NARROW, VERY_NARROW))

    def fit_height(self, above: int, rows: int) -> None:
        """Give the area above the docks (now `above` px) the height of its rows, at most 60 %."""
        window = self._window
        # Qt resizes docks including their tab bar. A dock behind another has an outdated height.
        front = self._front("operators")
        tabs = [bar.height() for bar in window.findChildren(QTabBar) if bar.isVisible()]
        tabbed = bool(window.tabifiedDockWidgets(front))
        height = above + front.height() + (max(tabs, default=0) if tabbed else 0)
        bottom_height = max(height - min(rows, round(height * TIMELINE_SHARE)), _LEAST_BOTTOM)
        window.resizeDocks([front], [bottom_height], Qt.Orientation.Vertical)

    def share_width(self) -> None:
        """Set the widths of the side and of the two bottom halves to those of the design."""
        window, left, right = self._window, self._front("operators"), self._front("links")
        window.resizeDocks([self._front("details")], [DETAILS_WIDTH], Qt.Orientation.Horizontal)
        both = left.width() + right.width()
        window.resizeDocks(
            [left, right], [both * 53 // 100, both * 47 // 100], Qt.Orientation.Horizontal
        )

    def _front(self, name: str) -> QDockWidget:
        """A dock, or the one that is at the front of its tabs."""
        dock = self.by_name[name]
        tabbed = [dock, *self._window.tabifiedDockWidgets(dock)]
        return next((d for d in tabbed if not d.visibleRegion().isEmpty()), dock)

    def retheme(self) -> None:
        """Style the tab bars that Qt creates for docks like the others."""
        for tabs in self._window.findChildren(QTabBar):
            tabs.setExpanding(False)
            tabs.setDrawBase(False)

    def count_problems(self, count: int) -> None:
        """Show the number of problems on the panel's tab."""
        self._count("problems", str(count) if count else "")

    def count_selected(self, count: int) -> None:
        """Show the number of selected slices on the panel's tab."""
        self._count("selection", group_digits(count) if count else "")

    def count_hits(self, count: int) -> None:
        """Show the number of search hits on the panel's tab."""
        self._count("search", group_digits(count) if count else "")

    def _count(self, name: str, count: str) -> None:
        title = PANEL[name].title
        self.by_name[name].setWindowTitle(f"{title} ({count})" if count else title)

    def _fit_titles(self) -> None:
        """Remove the title bars of docks in tab groups, because their tabs show the titles.

        Hidden docks do not count as tabs of a group.
        """
        if not self._shown:
            return
        for dock in self.by_name.values():
            _show_title(dock, not self._window.tabifiedDockWidgets(dock))


def _show_title(dock: QDockWidget, shown: bool) -> None:
    """Show the title bar of a dock, or replace it by an empty widget."""
    empty = dock.titleBarWidget()
    if shown == (empty is not None):
        dock.setTitleBarWidget(None if shown else QWidget())  # type: ignore[arg-type]
        if empty is not None:  # Qt does not delete it
            empty.deleteLater()
