"""Where the panels lie: beside the timeline, below it, or as tabs where room is short."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QTabBar, QTabWidget, QWidget

RIGHT = Qt.DockWidgetArea.RightDockWidgetArea
BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea
DETAILS_WIDTH = 372
NARROW, VERY_NARROW = 1400, 1100  # px of the window
TIMELINE_SHARE = 0.6
_LEAST_BOTTOM = 200  # px
_BELOW = ("operators", "statistics", "source", "links", "problems", "untimed")
_TITLES = {"untimed": "Untimed events"}


class Docks(QObject):
    """The docks of one window, by name: details, operators, statistics, source, links, problems and
    untimed."""

    def __init__(self, window: QMainWindow, panels: dict[str, QWidget]) -> None:
        super().__init__(window)
        self._window = window
        self._shown = True
        self._narrow = False
        self._closed: set[str] = set()
        self._put_away: set[str] = set()  # what the last toggle of the bottom has hidden
        window.setDockOptions(
            QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AllowNestedDocks
        )
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        window.setCorner(Qt.Corner.BottomRightCorner, RIGHT)
        self.by_name: dict[str, QDockWidget] = {}
        for name, panel in panels.items():
            dock = QDockWidget(_TITLES.get(name, name.capitalize()), window)
            dock.setObjectName(name)
            dock.setWidget(panel)
            window.addDockWidget(RIGHT if name == "details" else BOTTOM, dock)
            dock.dockLocationChanged.connect(self._fit_titles)
            self.by_name[name] = dock
        docks = self.by_name
        window.splitDockWidget(docks["operators"], docks["source"], Qt.Orientation.Horizontal)
        window.tabifyDockWidget(docks["operators"], docks["statistics"])
        for name in ("links", "problems", "untimed"):
            window.tabifyDockWidget(docks["source"], docks[name])
        self.bring("operators")
        self.bring("source")

    def fill(self, menu: QMenu) -> None:
        """Add a switch for every dock to a menu."""
        for dock in self.by_name.values():
            menu.addAction(dock.toggleViewAction())

    def bring(self, name: str) -> None:
        """Open a dock and put it before its fellow tabs."""
        self.by_name[name].setVisible(self._shown)
        self.by_name[name].raise_()

    def show_all(self, shown: bool) -> None:
        """Hide the docks, as on the start page, or show them as the user left them."""
        if shown == self._shown:
            return
        if not shown:
            self.note_closed()
        self._shown = shown
        for name, dock in self.by_name.items():
            dock.setVisible(shown and name not in self._closed)

    def note_closed(self) -> None:
        """Remember which docks the user has closed, after a stored layout was restored."""
        self._closed = {name for name, dock in self.by_name.items() if dock.isHidden()}
        self._fit_titles()

    @property
    def shows_bottom(self) -> bool:
        """Whether the bottom panels are shown."""
        return any(not self.by_name[name].isHidden() for name in _BELOW)

    def toggle_bottom(self) -> None:
        """Hide or show the bottom panels."""
        if self.shows_bottom:
            self._put_away = {name for name in _BELOW if not self.by_name[name].isHidden()}
        shown = self.shows_bottom
        for name in self._put_away or _BELOW:
            self.by_name[name].setVisible(not shown)

    def fit_width(self) -> None:
        """In a narrow window details, then the source too, become tabs of the bottom."""
        window, docks = self._window, self.by_name
        narrow = window.width() < NARROW
        if narrow == self._narrow:
            return
        self._narrow = narrow
        if narrow and window.dockWidgetArea(docks["details"]) == RIGHT:
            window.tabifyDockWidget(docks["untimed"], docks["details"])
        elif not narrow and docks["problems"] in window.tabifiedDockWidgets(docks["details"]):
            hidden = docks["details"].isHidden()
            window.addDockWidget(RIGHT, docks["details"])
            docks["details"].setHidden(hidden)
        if window.width() < VERY_NARROW:
            window.tabifyDockWidget(docks["operators"], docks["source"])
            docks["operators"].raise_()
        docks["details" if narrow else "source"].raise_()
        self._fit_titles()

    @property
    def is_misfit(self) -> bool:
        """Whether the docks lie as for another width of the window."""
        return (self._window.width() < NARROW) != self._narrow

    def fit_height(self, above: int, rows: int) -> None:
        """Give what is above the docks (`above` px now) the height of its rows, at most 60 %."""
        window, docks = self._window, self.by_name
        # What Qt sizes is the dock with the tabs around it.
        tabs = [bar.height() for bar in window.findChildren(QTabBar) if bar.isVisible()]
        tabbed = bool(window.tabifiedDockWidgets(docks["operators"]))
        height = above + docks["operators"].height() + (max(tabs, default=0) if tabbed else 0)
        wanted = max(height - min(rows, round(height * TIMELINE_SHARE)), _LEAST_BOTTOM)
        window.resizeDocks([docks["operators"]], [wanted], Qt.Orientation.Vertical)
        window.resizeDocks([docks["details"]], [DETAILS_WIDTH], Qt.Orientation.Horizontal)
        both = docks["operators"].width() + docks["source"].width()
        window.resizeDocks(
            [docks["operators"], docks["source"]],
            [both * 53 // 100, both * 47 // 100],
            Qt.Orientation.Horizontal,
        )

    def retheme(self) -> None:
        """Let the tab bars that Qt makes for docks look like the others."""
        for tabs in self._window.findChildren(QTabBar):
            tabs.setExpanding(False)
            tabs.setDrawBase(False)

    def count_problems(self, count: int) -> None:
        """Say on the tab how many problems there are."""
        self.by_name["problems"].setWindowTitle(f"Problems ({count})" if count else "Problems")

    def _fit_titles(self) -> None:
        """A dock among tabs has no title bar of its own: its tab says the title."""
        for dock in self.by_name.values():
            tabbed = bool(self._window.tabifiedDockWidgets(dock))
            if tabbed != (dock.titleBarWidget() is not None):
                dock.setTitleBarWidget(QWidget() if tabbed else None)  # type: ignore[arg-type]
