"""Where the panels lie: beside the timeline, below it, or as tabs where room is short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QByteArray, QObject, Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QTabBar, QTabWidget, QWidget

from viewer.gui.qt.settings import WINDOW_STATE_VERSION
from viewer.gui.window.frame.panel_table import PANEL, PANELS, PanelArea, tabs_of
from viewer.model.times import group_digits

RIGHT = Qt.DockWidgetArea.RightDockWidgetArea
BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea
DETAILS_WIDTH = 372
NARROW, VERY_NARROW = 1400, 1100  # px of the window
TIMELINE_SHARE = 0.6
_LEAST_BOTTOM = 200  # px
_LEFT, _RIGHT = tabs_of(PanelArea.LEFT), tabs_of(PanelArea.RIGHT)
_BELOW = tuple(spec.id for spec in PANELS if spec.area is not PanelArea.SIDE)


class Docks(QObject):
    """The docks of one window, by name: details, and those that lie below the timeline."""

    def __init__(self, window: QMainWindow, panels: dict[str, QWidget]) -> None:
        super().__init__(window)
        self._window = window
        self._shown = False  # the start page has none
        self._level = 0  # of narrowness, as the docks lie now
        self._closed: set[str] = set()
        self._put_away: set[str] = set()  # what the last toggle of the bottom has hidden
        self._lay: QByteArray | None = None  # how all lay then
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
        """Lie as when a state was stored, or as designed where there is none, or none that fits.

        One or the other: of tabs that were put together before the window was laid out, and are to
        lie otherwise, Qt leaves the empty bars over the menus for good.
        """
        if not state.isEmpty() and self._window.restoreState(state, WINDOW_STATE_VERSION):
            self._shown = True
            self.note_closed()
        else:
            self._design()

    def _design(self) -> None:
        docks, window = self.by_name, self._window
        with self._without_layout():
            left, right = docks[_LEFT[0]], docks[_RIGHT[0]]
            window.splitDockWidget(left, right, Qt.Orientation.Horizontal)
            for first, *others in (_LEFT, _RIGHT):
                for name in others:
                    window.tabifyDockWidget(docks[first], docks[name])
        self.show_panel(_LEFT[0])
        self.show_panel(_RIGHT[0])

    @contextmanager
    def _without_layout(self) -> Iterator[None]:
        """Tabs are put together in here.

        Where Qt makes the bar of a second group of tabs, it lays the window out first if that is
        due, and then makes that bar twice. The first one stays behind the panels for good and a
        drag of it, with a mouse or the keys, ends the process.
        """
        layout = self._window.layout()
        assert layout is not None
        layout.setEnabled(False)
        try:
            yield
        finally:
            layout.setEnabled(True)

    def fill(self, menu: QMenu) -> None:
        """Add a switch for every dock to a menu."""
        for dock in self.by_name.values():
            menu.addAction(dock.toggleViewAction())

    def show_panel(self, name: str) -> None:
        """Open a dock and put it before its fellow tabs."""
        self.by_name[name].setVisible(self._shown)
        self.by_name[name].raise_()

    @property
    def in_front(self) -> tuple[str, ...]:
        """The docks that stand before their fellow tabs, by name."""
        return tuple(
            name
            for name, dock in self.by_name.items()
            if not dock.visibleRegion().isEmpty() and self._window.tabifiedDockWidgets(dock)
        )

    def put_in_front(self, names: Iterable[str]) -> None:
        """Put docks before their fellow tabs, of these names those that are open now."""
        for name in names:
            dock = self.by_name.get(name)
            if dock is not None and not dock.isHidden():
                dock.raise_()

    def show_all(self, shown: bool) -> None:
        """Hide the docks, as on the start page, or show them as the user left them."""
        if shown == self._shown:
            return
        if not shown:
            self.note_closed()
        self._shown = shown
        for name, dock in self.by_name.items():
            dock.setVisible(shown and name not in self._closed)
        self._fit_titles()  # hidden docks were no fellows of one another

    def note_closed(self) -> None:
        """Remember which docks the user has closed, after a stored layout was restored."""
        self._closed = {name for name, dock in self.by_name.items() if dock.isHidden()}
        self._fit_titles()

    @property
    def shows_bottom(self) -> bool:
        """Whether the bottom panels are shown."""
        return any(not self.by_name[name].isHidden() for name in _BELOW)

    def toggle_bottom(self) -> None:
        """Hide the bottom panels, or show them as they were."""
        shown, lay = self.shows_bottom, self._lay
        if shown:
            self._put_away = {name for name in _BELOW if not self.by_name[name].isHidden()}
            self._lay = self._window.saveState()
        for name in self._put_away or _BELOW:
            self.by_name[name].setVisible(not shown)
        if not shown and lay is not None:
            # Else Qt brings the last of the tabs to the front, and shares the width anew.
            self._window.restoreState(lay)

    def fit_width(self) -> None:
        """In a narrow window details, then the source too, become tabs of the bottom."""
        level = self._narrowness
        if level == self._level:
            return
        docks, was = self.by_name, self._level
        self._level = level
        self._lay = None
        with self._without_layout():
            self._follow_width(was)
        docks["details" if level else "source"].raise_()
        self._fit_titles()

    def _follow_width(self, was: int) -> None:
        window, docks, level = self._window, self.by_name, self._level
        if not was and window.dockWidgetArea(docks["details"]) == RIGHT:
            window.tabifyDockWidget(docks["untimed"], docks["details"])
        elif not level and docks["problems"] in window.tabifiedDockWidgets(docks["details"]):
            hidden = docks["details"].isHidden()
            window.addDockWidget(RIGHT, docks["details"])
            docks["details"].setHidden(hidden)
        beside = docks["operators"] in window.tabifiedDockWidgets(docks["source"])
        if level == 2 and not beside:
            window.tabifyDockWidget(docks["operators"], docks["source"])
            docks["operators"].raise_()
        elif was == 2 and beside:
            window.tabifyDockWidget(docks["links"], docks["source"])

    @property
    def is_misfit(self) -> bool:
        """Whether the docks lie as for another width of the window."""
        return self._narrowness != self._level

    @property
    def _narrowness(self) -> int:
        """How short the room is: 0 for a window with room for all, 1 or 2."""
        return sum(self._window.width() < width for width in (NARROW, VERY_NARROW))

    def fit_height(self, above: int, rows: int) -> None:
        """Give what is above the docks (`above` px now) the height of its rows, at most 60 %."""
        window = self._window
        # What Qt sizes is the dock with the tabs around it; one behind another has an old height.
        front = self._front("operators")
        tabs = [bar.height() for bar in window.findChildren(QTabBar) if bar.isVisible()]
        tabbed = bool(window.tabifiedDockWidgets(front))
        height = above + front.height() + (max(tabs, default=0) if tabbed else 0)
        wanted = max(height - min(rows, round(height * TIMELINE_SHARE)), _LEAST_BOTTOM)
        window.resizeDocks([front], [wanted], Qt.Orientation.Vertical)

    def share_width(self) -> None:
        """Give details and the two halves of the bottom the widths of the design."""
        window, left, right = self._window, self._front("operators"), self._front("links")
        window.resizeDocks([self.by_name["details"]], [DETAILS_WIDTH], Qt.Orientation.Horizontal)
        both = left.width() + right.width()
        window.resizeDocks(
            [left, right], [both * 53 // 100, both * 47 // 100], Qt.Orientation.Horizontal
        )

    def _front(self, name: str) -> QDockWidget:
        """A dock, or the one of its fellow tabs that stands before it."""
        dock = self.by_name[name]
        fellows = [dock, *self._window.tabifiedDockWidgets(dock)]
        return next((d for d in fellows if not d.visibleRegion().isEmpty()), dock)

    def retheme(self) -> None:
        """Let the tab bars that Qt makes for docks look like the others."""
        for tabs in self._window.findChildren(QTabBar):
            tabs.setExpanding(False)
            tabs.setDrawBase(False)

    def count_problems(self, count: int) -> None:
        """Say on the tab how many problems there are."""
        self._count("problems", str(count) if count else "")

    def count_selected(self, count: int) -> None:
        """Say on the tab how many slices the selection panel is about."""
        self._count("selection", group_digits(count) if count else "")

    def count_hits(self, count: int) -> None:
        """Say on the tab of the search how much it finds."""
        self._count("search", group_digits(count) if count else "")

    def _count(self, name: str, count: str) -> None:
        title = PANEL[name].title
        self.by_name[name].setWindowTitle(f"{title} ({count})" if count else title)

    def _fit_titles(self) -> None:
        """A dock among tabs has no title bar of its own: its tab says the title."""
        for dock in self.by_name.values():
            tabbed, empty = bool(self._window.tabifiedDockWidgets(dock)), dock.titleBarWidget()
            if tabbed != (empty is not None):
                dock.setTitleBarWidget(QWidget() if tabbed else None)  # type: ignore[arg-type]
                if empty is not None:  # Qt leaves it in the dock
                    empty.deleteLater()
