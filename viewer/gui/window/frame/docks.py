"""Lays out the panels: right of the timeline, below it, or all below it if space is limited.

Three areas hold the panels as tabs. Each is a dock of the window, which stores their sizes; the
tabs are ours (`tab_area`). Which panels are open follows from what they have to show
(`PageSpec.presence`), and from what the user opened and closed. A tab that opens later comes last,
so that no other moves under the mouse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QMenu, QWidget

from viewer.gui.panels.base.multi_page_panel import ModePanel
from viewer.gui.panels.base.panel import PanelWidget
from viewer.gui.panels.base.panel_spec import PanelArea, PanelGroup, PanelTable, Presence
from viewer.gui.qt.clipboard import copy_picture
from viewer.gui.window.frame.panel_registry import (
    WITH_SOURCE,
    WITHOUT_SOURCE,
    WITHOUT_TIMES,
    Home,
    MadeOnUse,
)
from viewer.gui.window.frame.tab_area import FloatingPanel, TabArea
from viewer.model.times import group_digits
from viewer.view.sessions.session_file import SavedPanels

RIGHT = Qt.DockWidgetArea.RightDockWidgetArea
BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea
DETAILS_WIDTH = 372
NARROW, VERY_NARROW = 1400, 1100  # px, width of the window
TIMELINE_SHARE = 0.6
LEFT_SHARE = 530  # thousandths of the bottom panels
_LEAST_BOTTOM = 200  # px
MOST = 100_000  # px or thousandths
_BELOW = (PanelArea.LEFT, PanelArea.RIGHT)
_NAMES = {
    PanelArea.SIDE: "Panels on the right",
    PanelArea.LEFT: "Panels below the timeline",
    PanelArea.RIGHT: "Panels below the timeline, right",
}


class Docks(QObject):
    """The panels of one window by name, and the areas that they are in.

    `by_name` has the pages of all panels, most of which are the panel itself. Both are made when
    they are first looked up, which is when a tab is first in front. Where a panel is named, so can
    be one of its pages. `rearranged`: the panels have other places and sizes.
    """

    rearranged = Signal()

    def __init__(
        self,
        window: QMainWindow,
        panels: Mapping[str, QWidget],
        pages: MadeOnUse[PanelWidget],
        table: PanelTable,
    ) -> None:
        super().__init__(window)
        self._window, self.table = window, table
        self._visible = False  # no panels on the start page
        self._hidden: set[PanelArea] = set()  # by the user
        self._floating: dict[str, FloatingPanel] = {}
        self.default = SavedPanels()  # what the user made the default of all files
        self.sizes: tuple[int, ...] = ()  # as in `SavedPanels`
        self._narrowness_level = 0  # narrowness that the current layout is for
        self._counts: dict[str, str] = {}
        self._opened: set[str] = set()
        self._closed: set[str] = set()
        self._requested: set[str] = set()  # opened by something else than the user, until all close
        self._called_up: set[str] = set()  # at the front until `dismiss`
        self._recent: list[str] = []
        self._modes = {name: spec.pages[0].id for name, spec in table.panels.items()}
        self._source, self.by_name = panels, pages
        self.panels = MadeOnUse(table.panels, self._take)
        self._presence = dict.fromkeys(self.by_name, Presence.NOTHING)
        # The parent of panels until they are first shown. A change of theme styles every widget in
        # the window, so they come into it only then. They are destroyed after it: moving them
        # into it when it closes would style them all, which takes 80 ms.
        self.unshown = QWidget()
        window.destroyed.connect(self.unshown.deleteLater)
        self._actions: dict[str, QAction] = {}
        window.setDockOptions(QMainWindow.DockOption.AllowNestedDocks)
        window.setCorner(Qt.Corner.BottomRightCorner, RIGHT)
        self.areas: dict[PanelArea, TabArea] = {}
        self._docks: dict[PanelArea, QDockWidget] = {}
        for area in PanelArea:
            tabs = TabArea(_NAMES[area], self._fill_overflow(area), window)
            tabs.chosen.connect(self._choose)
            tabs.close_requested.connect(self.close_panel)
            tabs.float_requested.connect(self.float_panel)
            tabs.picture_requested.connect(self.copy_panel)
            dock = QDockWidget(_NAMES[area], window)
            dock.setObjectName(area.name.lower())
            dock.setFeatures(QDockWidget.DockWidgetFeature.NoDockWidgetFeatures)
            dock.setTitleBarWidget(QWidget(dock))
            dock.setWidget(tabs)
            window.addDockWidget(RIGHT if area is PanelArea.SIDE else BOTTOM, dock)
            dock.hide()
            self.areas[area], self._docks[area] = tabs, dock
        left, right = (self._docks[area] for area in _BELOW)
        window.splitDockWidget(left, right, Qt.Orientation.Horizontal)

    def take_page(self, name: str, page: PanelWidget) -> None:
        """Hold a page that was made, until it is shown."""
        if page.parent() is None:
            page.setParent(self.unshown)

    def _take(self, name: str) -> QWidget:
        """Hold a panel that was made, and turn it to its page."""
        panel = self._source[name]
        panel.setParent(self.unshown)
        if isinstance(panel, ModePanel):
            panel.show_mode(self._modes[name])
            for page in self._counts.keys() & panel.pages.keys():
                panel.show_count(page, self._counts[page])
            panel.mode_changed.connect(self._arrange)
        return panel

    def _several(self, name: str) -> ModePanel | None:
        """A panel of several pages, if it was made."""
        panel = self.panels.existing.get(name)
        return panel if isinstance(panel, ModePanel) else None

    def _pages_of(self, panel: str) -> tuple[str, ...]:
        return tuple(page.id for page in self.table.panels[panel].pages)

    def _turn_to(self, panel: str, page: str) -> None:
        """Turn a panel to one of its pages, now or when it is made."""
        switched = self._several(panel)
        if switched is not None:
            switched.show_mode(page)
        elif self._modes[panel] != page:
            self._modes[panel] = page
            self._arrange()

    # -- which panels are open -------------------------------------------------------------------

    def offer(self, presence: Mapping[str, Presence]) -> None:
        """Open and close panels for what they have to show; others keep their presence."""
        offered = {name: presence for name, presence in presence.items() if name in self.by_name}
        if any(self._presence[name] is not presence for name, presence in offered.items()):
            before = dict(self._presence)
            self._presence |= offered
            for name, spec in self.table.panels.items():
                if len(spec.pages) > 1:
                    self._turn(name, before)
            self._arrange()

    def _turn(self, name: str, before: Mapping[str, Presence]) -> None:
        """Turn a panel to the page that its presence asks for."""
        pages, panel = self._pages_of(name), self.panels.existing.get(name)
        offered = [page for page in pages if self._presence[page] is Presence.OPEN]
        fresh = [page for page in offered if before[page] is not Presence.OPEN]
        focus = self._window.focusWidget() or self._window
        is_in_use = panel is not None and panel.isAncestorOf(focus)
        if fresh and (fresh == offered or (self.table.panels[name].follows and not is_in_use)):
            self._turn_to(name, fresh[0])
        elif self._presence[self.page_of(name)] is Presence.NOTHING and not self._was_asked_for(
            name
        ):
            self._go_home(name)

    def _was_asked_for(self, panel: str) -> bool:
        return panel in self._opened or panel in self._requested

    def _go_home(self, panel: str) -> None:
        """Turn a panel to the first page that has the most to show."""
        pages = self._pages_of(panel)
        if len(pages) > 1:
            self._turn_to(panel, max(pages, key=lambda page: self._presence[page].value))

    def _presence_of(self, panel: str) -> Presence:
        """What the fullest page of a panel has to show."""
        presence = (self._presence[page] for page in self._pages_of(panel))
        return max(presence, key=lambda presence: presence.value)

    def page_of(self, panel: str) -> str:
        """The page that a panel shows."""
        switched = self._several(panel)
        return self._modes[panel] if switched is None else switched.mode

    def is_open(self, name: str) -> bool:
        """Whether a panel has a tab, or would have one if the panels were shown.

        A page is open if its panel shows it.
        """
        panel = self.table.panel_of[name]
        if name != panel and not self._has_in_sight(panel, name):
            return False
        by_itself = self._presence_of(panel) is Presence.OPEN and panel not in self._closed
        return by_itself or self._was_asked_for(panel)

    def _has_in_sight(self, panel: str, page: str) -> bool:
        return self.table.panels[panel].has_sections or page == self.page_of(panel)

    def is_shown(self, name: str) -> bool:
        """Whether a panel has a tab or a window on screen now."""
        return self.is_open(name) and (
            self.table.panel_of[name] in self._floating
            or not self._docks[self._area_of(self.table.panel_of[name])].isHidden()
        )

    def show_panel(self, name: str, *, by_hand: bool = False) -> None:
        """Open a panel in front. by_hand: the user asked, so that it stays open for other files."""
        page, name = name, self.table.panel_of[name]
        if page in self._pages_of(name):
            self._turn_to(name, page)
        self._open(name, by_hand=by_hand)

    def _open(self, name: str, *, by_hand: bool) -> None:
        if not self.is_open(name):
            if by_hand and self._presence_of(name) is not Presence.OPEN:
                self._opened.add(name)
            elif not by_hand:
                self._requested.add(name)
        if by_hand:
            self._closed.discard(name)
        # The halves of the bottom come back together.
        area = self._area_of(name)
        self._hidden -= set(_BELOW) if area in _BELOW else {area}
        self._choose(name)
        if name in self._floating:
            self._floating[name].raise_()
            self._floating[name].activateWindow()

    def close_panel(self, name: str) -> None:
        """Close a panel, as the user asked."""
        name = self.table.panel_of[name]
        self.dock_panel(name)
        self._opened.discard(name)
        self._requested.discard(name)
        if self._presence_of(name) is Presence.OPEN:
            self._closed.add(name)
        self._forget(name)
        self._arrange()

    def call_up(self, name: str) -> None:
        """Bring a panel to the front for a selection, unless the user works in its area."""
        page, name = name, self.table.panel_of[name]
        area = self.areas[self._area_of(name)]
        focus = self._window.focusWidget()
        if not self.is_open(name) or (area.front == name and self.page_of(name) == page):
            return
        if focus is None or not area.isAncestorOf(focus):
            self._turn_to(name, page)
            if area.front != name:
                self._choose(name)
                self._called_up.add(name)

    def dismiss(self, name: str) -> None:
        """Bring back what was at the front before `call_up`."""
        if self.table.panel_of[name] in self._called_up:
            self._forget(self.table.panel_of[name])
            self._arrange()

    def _choose(self, name: str) -> None:
        self._forget(name)
        self._recent.append(name)
        self._arrange()

    def _forget(self, name: str) -> None:
        self._called_up.discard(name)
        if name in self._recent:
            self._recent.remove(name)

    # -- menus -----------------------------------------------------------------------------------

    def fill(self, menu: QMenu) -> None:
        """Add a checkable entry for each panel to a menu, by group."""
        for group in PanelGroup:
            if menu.actions():
                menu.addSeparator()
            for spec in self.table.panels.values():
                if spec.group is group and spec.id in self.panels:
                    menu.addAction(self._action(spec.id))

    def _action(self, name: str) -> QAction:
        if name not in self._actions:
            action = QAction(self.table.panels[name].title, self)
            action.setCheckable(True)
            action.setChecked(self.is_open(name))
            action.triggered.connect(lambda checked: self._toggle(name, checked))
            self._actions[name] = action
        return self._actions[name]

    def _toggle(self, name: str, is_open: bool) -> None:
        if is_open:
            self._open(name, by_hand=True)
        else:
            self.close_panel(name)

    def _fill_overflow(self, area: PanelArea) -> Callable[[QMenu, Sequence[str]], None]:
        """What fills the menu after the tabs of an area."""

        def fill(menu: QMenu, hidden: Sequence[str]) -> None:
            closed = [
                name
                for name in self._names_in(area)
                if not self.is_open(name) and self._presence_of(name) is not Presence.NOTHING
            ]
            for names in (hidden, closed):
                for name in names:
                    action = menu.addAction(self.title(name))
                    action.triggered.connect(lambda _, name=name: self._open(name, by_hand=True))
                if names:
                    menu.addSeparator()
            self.fill(menu.addMenu("All pa&nels"))

        return fill

    # -- areas and tabs --------------------------------------------------------------------------

    @property
    def _home(self) -> Home:
        if self._presence.get("calls") is not Presence.OPEN:
            return WITHOUT_TIMES
        return WITH_SOURCE if self._presence.get("source") is Presence.OPEN else WITHOUT_SOURCE

    def _home_area(self, name: str) -> PanelArea:
        return self._home.moved.get(name, self.table.panels[name].area)

    def _area_of(self, name: str) -> PanelArea:
        """The area that a panel is in at the current width of the window."""
        area = self._home_area(name)
        moves = (area is PanelArea.SIDE) + 2 * (area is PanelArea.RIGHT)
        return PanelArea.LEFT if 0 < moves <= self._narrowness_level else area

    def _names_in(self, area: PanelArea) -> list[str]:
        """The panels of an area at the current width, in the order of the panel table."""
        order = (PanelArea.LEFT, PanelArea.SIDE, PanelArea.RIGHT)
        every = [name for name in self.table.panels if name in self.panels]
        listed = [name for place in order for name in every if self._home_area(name) is place]
        return [name for name in listed if self._area_of(name) is area]

    def _tabs_in(self, area: PanelArea) -> list[str]:
        """The open panels of an area: its present tabs as they are, then others."""
        names = [
            name
            for name in self._names_in(area)
            if self.is_open(name) and name not in self._floating
        ]
        present = [name for name in self.areas[area].names if name in names]
        if not self._visible:
            present = []
        return present + [name for name in names if name not in present]

    def _arrange(self) -> None:
        """Show the tabs; in front is the latest chosen, else that of the home, else the first."""
        home = self._home.narrow if self._narrowness_level else self._home.front
        for area, tabs in self.areas.items():
            names = self._tabs_in(area)
            wanted = (name for name in (*reversed(self._recent), *home, *names) if name in names)
            front = next(wanted, "")
            tabs.show_tabs(names, [self.title(name) for name in names], front)
            is_visible = self._visible and bool(names) and area not in self._hidden
            if is_visible and (front in self.panels.existing or front not in self.panels.begun):
                tabs.show_page(self.panels[front])  # a panel that is being made may come back here
            if self._docks[area].isHidden() is is_visible:
                self._docks[area].setVisible(is_visible)
        for name, action in self._actions.items():
            action.setChecked(self.is_open(name))

    @property
    def front_tabs(self) -> tuple[str, ...]:
        """The names of the pages at the front of their areas."""
        fronts = [tabs.front for area, tabs in self.areas.items() if self._docks[area].isVisible()]
        return tuple(
            self.page_of(spec.id) for spec in self.table.panels.values() if spec.id in fronts
        )

    def bring_to_front(self, names: Iterable[str]) -> None:
        """Bring the named pages to the front, except what is empty or was closed by hand."""
        for name in reversed([name for name in names if name in self.by_name]):
            is_empty = self._presence[name] is Presence.NOTHING and not self.is_open(name)
            if not is_empty and self.table.panel_of[name] not in self._closed:
                self.show_panel(name)

    # -- all of them -----------------------------------------------------------------------------

    @property
    def choices(self) -> SavedPanels:
        """What the user arranged, to be stored."""
        return SavedPanels(
            tuple(sorted(self._opened)),
            tuple(sorted(self._closed)),
            tuple(name for name in self._recent if name not in self._called_up),
            tuple(area.name.lower() for area in PanelArea if area in self._hidden),
            tuple(sorted(self._floating)),
            self._measured() if self._visible else self.sizes,
        )

    def restore(self, saved: SavedPanels) -> None:
        """Arrange the panels as stored; what does not fit is ignored."""
        self._opened = set(self._known(saved.opened))
        closed = frozenset(saved.closed)
        # Earlier versions had a panel for each page.
        self._closed = {
            spec.id
            for spec in self.table.panels.values()
            if spec.id in closed or closed.issuperset(page.id for page in spec.pages)
        }
        self._recent = list(dict.fromkeys(self._known(saved.recent)))
        self._hidden = {area for area in PanelArea if area.name.lower() in saved.hidden}
        self._requested.clear()
        self._called_up.clear()
        # Of numbers that no window can have, none counts.
        is_fit = len(saved.sizes) == len(PanelArea) and all(0 < n < MOST for n in saved.sizes)
        self.sizes = saved.sizes if is_fit else ()
        for name in tuple(self._floating):
            self.dock_panel(name)
        for name in self.table.panels:
            self._go_home(name)
        self._arrange()
        for name in self._known(saved.floating):
            if self._visible and self.is_open(name):
                self.float_panel(name)
        self.rearranged.emit()

    def _known(self, names: Iterable[str]) -> list[str]:
        """The panels of stored names, of which some can be those of pages."""
        return [self.table.panel_of[name] for name in names if name in self.table.panel_of]

    @property
    def open_panels(self) -> tuple[str, ...]:
        """The panels that have tabs, or would have if the panels were shown."""
        return tuple(filter(self.is_open, self.panels))

    def go_home(self, focused: str) -> None:
        """Put panels in order and in front as the open files start; what the user opened stays.

        focused: the panel that the user works in, which stays in front; "" for none.
        """
        self._requested.intersection_update({focused})
        self._called_up.clear()
        self._recent = [*self._known(self.default.recent), *filter(None, [focused])]
        for name in self.table.panels:
            if name != focused:
                self._go_home(name)
        for tabs in self.areas.values():
            tabs.show_tabs([], [], "")
        self._arrange()

    def show_all(self, visible: bool) -> None:
        """Hide all panels, as on the start page, or show those that are open."""
        if visible == self._visible:
            return
        self._visible = visible
        if visible:
            self._arrange()
        else:
            self.restore(self.default)  # other files start at home
            for page in self.by_name.existing.values():
                page.forget()

    # -- panels in windows of their own ----------------------------------------------------------

    @Slot(str)
    def float_panel(self, name: str) -> None:
        """Show a panel in a window of its own."""
        name = self.table.panel_of[name]
        if name in self._floating or not self.is_open(name):
            return
        panel = self.panels[name]
        floating = self._floating[name] = FloatingPanel(name, panel, self._window)
        floating.setWindowTitle(self.title(name))
        floating.returned.connect(self.dock_panel)
        self._arrange()
        corner = self._window.mapToGlobal(self._window.rect().center())
        floating.move(corner - floating.rect().center())
        floating.show()

    @Slot(str)
    def dock_panel(self, name: str) -> None:
        """Give a panel with a window of its own its tab again."""
        if (floating := self._floating.pop(self.table.panel_of[name], None)) is not None:
            self.panels[self.table.panel_of[name]].setParent(self.unshown)
            floating.hide()
            floating.deleteLater()
            self._arrange()

    @property
    def floating(self) -> tuple[str, ...]:
        """The panels that have windows of their own."""
        return tuple(self._floating)

    @property
    def panel_with_focus(self) -> str:
        """The panel with the keyboard focus; "" if none."""
        focus = QApplication.focusWidget()
        if focus is None:
            return ""
        panels = self.panels.existing.items()
        return next((name for name, panel in panels if panel.isAncestorOf(focus)), "")

    @property
    def focused_panel(self) -> str:
        """The panel with the keyboard focus, else the one in front of the left half; "" if none."""
        return self.panel_with_focus or self.areas[PanelArea.LEFT].front

    @Slot(str)
    def copy_panel(self, name: str) -> None:
        """Bring a panel to the front, and copy an image of it."""
        self.show_panel(name)
        panel = self.panels[name]
        if panel.isVisible():
            title = self.title(name)
            copy_picture(self._window, panel.grab().toImage(), f"an image of {title}")

    @property
    def shown_areas(self) -> frozenset[PanelArea]:
        """The areas that are on screen."""
        return frozenset(area for area, dock in self._docks.items() if not dock.isHidden())

    @property
    def shows_any(self) -> bool:
        """Whether any area is on screen."""
        return bool(self.shown_areas)

    @property
    def shows_bottom(self) -> bool:
        """Whether any bottom panel is shown."""
        return not self.shown_areas.isdisjoint(_BELOW)

    def toggle_bottom(self) -> None:
        """Hide the bottom panels, or show them as they were."""
        self._hidden ^= set(_BELOW)
        self._hidden |= set(_BELOW) if self._hidden & set(_BELOW) else set()
        self._arrange()

    # -- sizes -----------------------------------------------------------------------------------

    def fit_width(self) -> None:
        """In a narrow window, move the side panels, and then Source, into the bottom left tabs."""
        if self.needs_relayout:
            self._narrowness_level = self._narrowness
            self._arrange()

    @property
    def needs_relayout(self) -> bool:
        """Whether the current layout is for another width of the window."""
        return self._narrowness != self._narrowness_level

    @property
    def _narrowness(self) -> int:
        """How narrow the window is: 0 for wide enough, 1 or 2."""
        return sum(self._window.width() < width for width in (NARROW, VERY_NARROW))

    def fit_height(self, above: int, rows: int) -> None:
        """Give the area above the docks (now `above` px) the height of its rows, at most 60 %.

        Unless the user chose the height of the docks.
        """
        dock_widgets = [self._docks[area] for area in _BELOW if not self._docks[area].isHidden()]
        if not dock_widgets:
            return
        height = above + dock_widgets[0].height()
        wanted = height - min(rows, round(height * TIMELINE_SHARE))
        if self.sizes:
            wanted = height * self.sizes[2] // 1000
        self._window.resizeDocks(
            dock_widgets[:1], [max(wanted, _LEAST_BOTTOM)], Qt.Orientation.Vertical
        )

    def share_width(self) -> None:
        """Set the widths of side panels and bottom halves: those of the design or of the user."""
        side, left, right = (self._docks[area] for area in PanelArea)
        side_width, left_share, _ = self.sizes or (DETAILS_WIDTH, LEFT_SHARE, 0)
        if not side.isHidden():
            self._window.resizeDocks([side], [side_width], Qt.Orientation.Horizontal)
        if not left.isHidden() and not right.isHidden():
            both = left.width() + right.width()
            share = both * left_share // 1000
            self._window.resizeDocks(
                [left, right], [share, both - share], Qt.Orientation.Horizontal
            )

    def _measured(self) -> tuple[int, ...]:
        """The sizes as in `SavedPanels`; of an area that is hidden, those before."""
        side, left, right = (self._docks[area] for area in PanelArea)
        side_width, left_share, bottom = self.sizes or (DETAILS_WIDTH, LEFT_SHARE, 0)
        if not side.isHidden():
            side_width = side.width()
        if not left.isHidden() and not right.isHidden():
            left_share = 1000 * left.width() // max(left.width() + right.width(), 1)
        below = next((dock for dock in (left, right) if not dock.isHidden()), None)
        if below is not None:
            center = self._window.centralWidget()
            room = below.height() + (0 if center is None else center.height())
            bottom = 1000 * below.height() // max(room, 1)
        sizes = side_width, left_share, bottom
        return sizes if all(sizes) else self.sizes

    # -- titles ----------------------------------------------------------------------------------

    def show_count(self, name: str, rows: int) -> bool:
        """Show the number of rows of a page on the tab of its panel; return whether it is new."""
        count = group_digits(rows) if rows else ""
        if self._counts.get(name, "") == count:
            return False
        self._counts[name] = count
        if (switched := self._several(self.table.panel_of[name])) is not None:
            switched.show_count(name, count)
        self._arrange()
        return True

    def title(self, name: str) -> str:
        """The title of a panel's tab, with the count of the page that it shows."""
        panel = self.table.panel_of[name]
        pages = [page for page in self._pages_of(panel) if self._has_in_sight(panel, page)]
        title = self.table.panels[panel].title
        count = "".join(self._counts.get(page, "") for page in pages)
        return f"{title} ({count})" if count else title
