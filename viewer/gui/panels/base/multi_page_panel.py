"""Panels of several pages, of which a switch shows one, or which are sections of one column.

Each page is a panel of its own. The switch is at the start of the line above the page, and stays
there when the page is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from PySide6.QtCore import QEvent, QModelIndex, QObject, QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QListView,
    QScrollArea,
    QTableView,
    QToolButton,
    QWidget,
)

from viewer.gui.panels.base.panel import PagePanel, ScrollPanel, plain_column
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import SegmentBar
from viewer.gui.qt.widgets.labels import Hairline, PageStack, label


class ModePanel(QWidget):
    """The pages by id, and the switch. `mode_changed()`: another page is shown."""

    mode_changed = Signal()

    def __init__(
        self, name: str, pages: Mapping[str, PagePanel], titles: Mapping[str, str], theme: Theme
    ) -> None:
        """name: the accessible name of the switch. pages: each can be made when it is first shown.

        titles: of the pages in the switch.
        """
        super().__init__()
        self.pages = pages
        self.mode = next(iter(pages))
        self._titles, self._theme = titles, theme
        self._arrange(name)
        self._show(self.mode)

    def _arrange(self, name: str) -> None:
        self._stack = PageStack()
        plain_column(self).addWidget(self._stack)
        self.switch = self.make_switch(name)

    def make_switch(self, name: str) -> QWidget:
        """Return the widget that switches between the pages."""
        self.bar: SegmentBar[str] = SegmentBar(name, dict.fromkeys(self.pages, ""), self._titles)
        self.bar.picked.connect(self.show_mode)
        return self.bar

    def mark_mode(self, mode: str) -> None:
        """Show in the switch which page is shown."""
        self.bar.press(mode)

    def show_count(self, mode: str, count: str) -> None:
        """Show the number of rows of a page in the switch; "" for none."""
        title = self._titles[mode]
        self.bar.buttons[mode].setText(f"{title} ({count})" if count else title)

    @Slot(object)
    def show_mode(self, mode: str) -> None:
        """Show a page."""
        if mode != self.mode:
            self._show(mode)
            self.mode_changed.emit()

    def _show(self, mode: str) -> None:
        page = self.pages[mode]
        # A page comes into the window when it is first shown, as panels do.
        if self._stack.indexOf(page) < 0:
            self._stack.addWidget(page)
        focus = QApplication.focusWidget()
        page.take_switch(self.switch)
        self._stack.setCurrentWidget(page)
        self.mode = mode
        self._order_tabs()
        self.mark_mode(mode)
        if focus is not None and self.switch.isAncestorOf(focus):
            focus.setFocus()  # moving it took it away

    def _order_tabs(self) -> None:
        """Let Tab reach the switch before the tools and the table of the page."""
        page = self.pages[self.mode]
        controls = (*self.switch.findChildren(QComboBox), *self.switch.findChildren(QToolButton))
        reached = [*controls, *page.tools, *filter(None, [page.findChild(QAbstractItemView)])]
        for before, after in pairwise(reached):
            QWidget.setTabOrder(before, after)

    @guard
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._order_tabs()  # coming into the window changes the order


_LEAST = 24  # px, of a page


class SectionsPanel(ModePanel):
    """The pages, each below its title. To show a page is to scroll to it."""

    def _arrange(self, name: str) -> None:
        self.setAccessibleName(name)
        # A timer of the panel, since a single shot holds a closed window until it has run.
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self._scroll)
        self.area = QScrollArea()
        self.area.setAccessibleName(name)
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.inside = QWidget()
        column = plain_column(self.inside)
        self.sections = {
            mode: Section(self._titles[mode], page, self, self._theme, is_first=not number)
            for number, (mode, page) in enumerate(self.pages.items())
        }
        for section in self.sections.values():
            column.addWidget(section)
        column.addStretch(1)
        self.area.setWidget(self.inside)
        plain_column(self).addWidget(self.area)

    def show_count(self, mode: str, count: str) -> None:
        title = self._titles[mode]
        self.sections[mode].title.setText(f"{title} ({count})" if count else title)

    @Slot(object)
    def show_mode(self, mode: str) -> None:
        """Scroll to a page, once it is laid out."""
        self.mode = mode
        self._soon.start()

    def _show(self, mode: str) -> None:
        """All are shown."""

    def _order_tabs(self) -> None:
        """There is no switch."""

    @Slot()
    def _scroll(self) -> None:
        for section in self.sections.values():
            section.fit()
        self.inside.adjustSize()
        self.area.verticalScrollBar().setValue(self.sections[self.mode].y())


class Section(QWidget):
    """A title and a page, which is as tall as its rows."""

    def __init__(
        self,
        title: str,
        page: PagePanel | ScrollPanel,
        panel: SectionsPanel,
        theme: Theme,
        *,
        is_first: bool,
    ) -> None:
        super().__init__()
        self._page, self._panel, self._theme = page, panel, theme
        self.title = label(title, theme, "section", "text2")
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(12), theme.px(10), theme.px(12), theme.px(2))
        head.addWidget(self.title, 1)
        column = plain_column(self)
        if not is_first:
            column.addWidget(Hairline(theme))
        column.addLayout(head)
        column.addWidget(page)
        self._views: list[QAbstractItemView] = []
        if isinstance(page, PagePanel):
            self._views = [*page.findChildren(QTableView), *page.findChildren(QListView)]
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self.fit)
        for view in self._views:
            model = view.model()
            for signal in (
                model.modelReset,
                model.layoutChanged,
                model.rowsInserted,
                model.rowsRemoved,
            ):
                signal.connect(self._soon.start)
            view.selectionModel().currentChanged.connect(self._follow)
        page.installEventFilter(self)

    @Slot()
    def fit(self) -> None:
        """Make the page as tall as what it shows."""
        height = max(self._height(), self._theme.px(_LEAST))
        if height != self._page.height():
            self._page.setFixedHeight(height)

    def _height(self) -> int:
        page, width = self._page, self._page.width()
        content: QWidget | None = page.widget() if isinstance(page, ScrollPanel) else None
        if isinstance(page, PagePanel):
            if not page.is_empty and self._views:
                return page.height() + sum(_missing(view) for view in self._views)
            content = page.empty
        if content is None:
            return 0
        if content.parent() is not page:
            content.installEventFilter(self)  # the widget of a `ScrollPanel`, which comes and goes
        wrapped = content.heightForWidth(width)  # -1 if nothing in it breaks lines
        hint = content.sizeHint().height() if wrapped < 0 else wrapped
        return max(hint, content.minimumSizeHint().height())

    @Slot(QModelIndex)
    def _follow(self, current: QModelIndex) -> None:
        """Keep the row of the keyboard in sight: its view is as tall as all rows."""
        view = next((view for view in self._views if view.model() is current.model()), None)
        if view is not None and view.hasFocus():
            row = view.visualRect(current)
            place = view.viewport().mapTo(self._panel.inside, row.center())
            self._panel.area.ensureVisible(place.x(), place.y(), 0, row.height())

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fit again when the page is laid out, since its heights depend on its width."""
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize, QEvent.Type.Show):
            self._soon.start()
        return False

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._soon.start()


def _missing(view: QAbstractItemView) -> int:
    """Return how much taller a view must be to show all its rows, in px."""
    rows = view.model().rowCount()
    if isinstance(view, QTableView):
        return view.verticalHeader().length() - view.viewport().height()
    view.doItemsLayout()
    last = view.visualRect(view.model().index(rows - 1, 0))
    return last.bottom() + 1 + view.verticalOffset() - view.viewport().height() if rows else 0
