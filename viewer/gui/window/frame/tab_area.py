"""An area of the window that shows one of several panels, with a tab for each; or a window of one.

Tabs that do not fit are never cut: they are in the menu of a button after the last tab. The tab
bars of Qt's own docks cannot do that: Qt creates them anew with every change, cuts their titles,
and puts tabs in another order when docks move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent, QFont, QFontMetrics, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QMenu,
    QScrollArea,
    QSizePolicy,
    QTabBar,
    QToolButton,
    QWidget,
)

from viewer.gui.panels.base.panel import plain_column
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import PageStack

_DIRECT = Qt.FindChildOption.FindDirectChildrenOnly
_MORE = "…"
_LEAST_WINDOW = QSize(480, 360)


class TabBar(QTabBar):
    """A bar whose tabs keep their width and are never cut; `close_requested` on a middle click."""

    close_requested = Signal(int)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._around: dict[str, int] = {}  # by key of the font: what is around a title, in px
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.setUsesScrollButtons(False)
        self.setExpanding(False)
        self.setDrawBase(False)

    @guard(QSize(80, 32))
    def tabSizeHint(self, index: int) -> QSize:
        """The size of a tab with its title in the weight of the current one."""
        size, plain = super().tabSizeHint(index), self.font()
        if plain.key() not in self._around:
            # The style sheet uses the plain weight only for tabs that are not current. Its rounding
            # differs by a pixel between titles, so the room around a title is measured once.
            if self.count() < 2:
                return size
            other = int(self.currentIndex() == 0)
            width = super().tabSizeHint(other).width()
            self._around[plain.key()] = width - _advance(plain, self.tabText(other))
        heavy = QFont(plain)
        heavy.setWeight(QFont.Weight.DemiBold)
        width = self._around[plain.key()] + _advance(heavy, self.tabText(index)) + 1
        return QSize(width, size.height())

    @guard(QSize(80, 32))
    def minimumTabSizeHint(self, index: int) -> QSize:
        """Tabs do not shrink."""
        return self.tabSizeHint(index)

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Request to close the tab below a middle click."""
        super().mouseReleaseEvent(event)
        index = self.tabAt(event.position().toPoint())
        if event.button() is Qt.MouseButton.MiddleButton and index >= 0:
            self.close_requested.emit(index)


def _advance(font: QFont, text: str) -> int:
    return QFontMetrics(font).horizontalAdvance(text)


class _ScrolledStack(QScrollArea):
    """The panels of an area: lower than a panel needs, it scrolls instead of cutting lines.

    It never widens: the width of panels is that of their area.
    """

    def __init__(self, stack: PageStack) -> None:
        super().__init__()
        self._stack = stack
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.setWidget(stack)
        stack.installEventFilter(self)
        stack.currentChanged.connect(self._fit)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fit the panel again after its content changed."""
        if event.type() is QEvent.Type.LayoutRequest:
            self._fit()
        return super().eventFilter(watched, event)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        event.ignore()

    @Slot()
    def _fit(self) -> None:
        """Give the panel the whole room, and the height that it needs at least."""
        room = self.size()
        self._stack.resize(room)
        if (least := self._stack.minimumSizeHint().height()) > room.height():
            # With the bar, the panel is narrower, and may need more lines.
            width = room.width() - self.verticalScrollBar().sizeHint().width()
            self._stack.resize(width, least)
            self._stack.resize(width, max(least, self._stack.minimumSizeHint().height()))


class TabArea(QWidget):
    """Tabs, the button for those that do not fit, and the panel of the current tab.

    `fill_menu(menu, hidden)` fills the menu of the button; hidden: the names without a visible tab.
    `chosen(name)`: the user clicked a tab. `close_requested(name)`: close it.
    `float_requested(name)`: show it in a window of its own. `picture_requested(name)`: copy it.
    """

    chosen = Signal(str)
    close_requested = Signal(str)
    float_requested = Signal(str)
    picture_requested = Signal(str)

    def __init__(
        self, name: str, fill_menu: Callable[[QMenu, Sequence[str]], None], parent: QWidget
    ) -> None:
        """name: the accessible name of the tabs."""
        super().__init__(parent)
        self.names: tuple[str, ...] = ()
        self._fill_menu = fill_menu
        self.head = QWidget()
        self.head.setProperty("surface", "chrome")
        self.head.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.bar = TabBar(self.head)
        self.bar.setAccessibleName(name)
        self.bar.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.more = QToolButton(self.head)
        self.more.setText(_MORE)
        self.more.setToolTip("More panels")
        self.more.setAccessibleName(f"More panels, {name}")
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.more)
        menu.aboutToShow.connect(self._list_more)
        self.more.setMenu(menu)
        self.stack = PageStack()
        plain_column(self, self.head, (_ScrolledStack(self.stack), 1))
        self.bar.currentChanged.connect(self._turn)
        self.bar.close_requested.connect(self._close)
        self.bar.customContextMenuRequested.connect(self._open_menu)

    @property
    def front(self) -> str:
        """The name of the current tab, "" if there are none."""
        index = self.bar.currentIndex()
        return self.names[index] if 0 <= index < len(self.names) else ""

    @property
    def hidden(self) -> tuple[str, ...]:
        """The names of the tabs that do not fit."""
        return tuple(n for i, n in enumerate(self.names) if not self.bar.isTabVisible(i))

    def show_tabs(self, names: Sequence[str], titles: Sequence[str], front: str) -> None:
        """Show these tabs in this order, with `front` as the current one."""
        if tuple(names) != self.names:
            self.bar.blockSignals(True)
            while self.bar.count():
                self.bar.removeTab(self.bar.count() - 1)
            self.names = tuple(names)
            for title in titles:
                self.bar.addTab(title)
            self.bar.blockSignals(False)
        for index, title in enumerate(titles):
            if self.bar.tabText(index) != title:
                self.bar.setTabText(index, title)
        if self.names:
            self.bar.blockSignals(True)
            self.bar.setCurrentIndex(self.names.index(front))
            self.bar.blockSignals(False)
        self._fit()

    def show_page(self, page: QWidget | None) -> None:
        """Show the panel of the current tab."""
        if page is None:
            return
        if self.stack.currentWidget() is not page:
            if self.stack.indexOf(page) < 0:
                self.stack.addWidget(page)
            self.stack.setCurrentWidget(page)

    @Slot(int)
    def _turn(self, index: int) -> None:
        if 0 <= index < len(self.names):
            self.chosen.emit(self.names[index])

    @Slot(int)
    def _close(self, index: int) -> None:
        self.close_requested.emit(self.names[index])

    @Slot(QPoint)
    def _open_menu(self, point: QPoint) -> None:
        index = self.bar.tabAt(point)
        if index < 0:
            return
        name = self.names[index]
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        title = self.bar.tabText(index)
        menu.addAction(f"&Float {title}").triggered.connect(lambda: self.float_requested.emit(name))
        copy = menu.addAction("Copy &image")
        copy.triggered.connect(lambda: self.picture_requested.emit(name))
        menu.addAction(f"&Close {title}").triggered.connect(lambda: self.close_requested.emit(name))
        menu.popup(self.bar.mapToGlobal(point))

    @Slot()
    def _list_more(self) -> None:
        menu = self.more.menu()
        menu.clear()
        # `clear` deletes the actions that belong to the menu, but no submenus.
        for submenu in menu.findChildren(QMenu, options=_DIRECT):
            submenu.deleteLater()
        self._fill_menu(menu, self.hidden)

    def _fit(self) -> None:
        """Show as many tabs as fit, in their order and always the current one, and the button."""
        bar, more = self.bar, self.more
        height = max(bar.sizeHint().height(), self.head.height())
        button = more.sizeHint().width()
        widths = [bar.tabSizeHint(i).width() for i in range(bar.count())]
        current = bar.currentIndex()
        space = self.width() - button - (widths[current] if widths else 0)
        is_full, used = False, widths[current] if widths else 0
        for index, width in enumerate(widths):
            if index == current:
                bar.setTabVisible(index, True)
                continue
            is_full = is_full or width > space
            bar.setTabVisible(index, not is_full)
            if not is_full:
                space, used = space - width, used + width
        self.head.setFixedHeight(bar.sizeHint().height())
        bar.setGeometry(0, 0, used, height)
        more.setGeometry(
            used, (height - more.sizeHint().height()) // 2, button, more.sizeHint().height()
        )

    # -- Qt overrides ------------------------------------------------------------------------

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @guard
    def changeEvent(self, event: QEvent) -> None:
        """Fit the tabs again after a change of font or style."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    @guard
    def showEvent(self, event: QEvent) -> None:
        """Fit the tabs once the style sheet applies."""
        super().showEvent(event)  # type: ignore[arg-type]
        self._fit()


class FloatingPanel(QWidget):
    """A window around one panel. `returned(name)`: it was closed, so the panel has its tab again.

    It is a tool of the main window: the keys of that window work in it too, and both come to the
    front together.
    """

    returned = Signal(str)

    def __init__(self, name: str, panel: QWidget, window: QWidget) -> None:
        super().__init__(window, Qt.WindowType.Tool)
        self._name = name
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        size = panel.size().expandedTo(_LEAST_WINDOW)
        plain_column(self).addWidget(panel)
        panel.show()
        self.resize(size)

    @guard
    def closeEvent(self, event: QCloseEvent) -> None:
        event.accept()
        self.returned.emit(self._name)
