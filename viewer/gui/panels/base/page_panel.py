"""Base classes of panels: one page, or a sentence with at most one button in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from PySide6.QtCore import Qt, SignalInstance, Slot
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.panels.base.panel_host import Panel, PanelHost
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, EmptyPlace, PageOrSentence
from viewer.gui.qt.widgets.tables import FilterLine
from viewer.gui.qt.widgets.wrapping_row import WrappingRow
from viewer.gui.session.session import Session

_FAINT = 0.6  # the opacity of stale figures


@runtime_checkable
class FadingWidget(Protocol):
    """A widget that paints itself with an opacity."""

    opacity: float

    def update(self) -> None:
        """Schedule a repaint."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What an empty panel shows: a sentence, and optionally a button.

    pressed: the signal or function that the button calls.
    """

    text: str
    button: str = ""
    pressed: SignalInstance | Callable[[], object] | None = None


class PagePanel(Panel, QWidget):
    """A panel over a session. A subclass builds its page and passes it to `set_page`."""

    def __init__(self, host: PanelHost) -> None:
        super().__init__()
        self.host = host
        self._session, self._theme = host.session, host.theme
        self._fading: tuple[FadingWidget, ...] = ()
        self._choosing = False  # whether what is selected was chosen here

    def set_page(
        self,
        page: QWidget,
        *,
        head: QHBoxLayout | None = None,
        above: QWidget | None = None,
        fading: tuple[FadingWidget, ...] = (),
    ) -> None:
        """Set the page; call this once.

        head: the line above the page, which is hidden with it. above: a widget that stays visible
        above the sentence too. fading: the widgets whose figures can be stale.
        """
        self._stack = PageOrSentence(page, self._theme, self)
        self._fading = fading
        self._line = HeadLine(head, self._theme, self)
        self._stack.currentChanged.connect(self._line.show_tools)
        outer = plain_column(self)
        if above is not None:
            outer.addWidget(above)
        outer.addWidget(self._line)
        outer.addWidget(self._stack, 1)

    @property
    def tools(self) -> list[QWidget]:
        """What the keyboard reaches in the line above the page."""
        return self._line.tools()

    def take_switch(self, switch: QWidget) -> None:
        """Put what switches between the pages of a panel at the start of the line above this."""
        self._line.take_switch(switch)

    @property
    def session(self) -> Session:
        """The session that the panel shows."""
        return self._session

    @property
    def is_empty(self) -> bool:
        """Whether a sentence is shown instead of the page."""
        return self._stack.is_empty

    @property
    def sentence(self) -> str:
        """The sentence shown instead of the page, "" while the page is shown."""
        return self._stack.sentence

    @property
    def empty(self) -> EmptyPlace | None:
        """The widget of the latest sentence, None if no sentence has been shown."""
        return self._stack.empty

    @contextmanager
    def choosing(self) -> Iterator[None]:
        """Select something in the session without following that."""
        self._choosing = True
        try:
            yield
        finally:
            self._choosing = False

    def refresh_on(self, *signals: SignalInstance) -> None:
        """Refresh whenever one of these signals is emitted."""
        # Not connected to `refresh` itself: PySide calls a method that a subclass overrides for as
        # long as Python references the panel, and the theme outlives its window.
        for signal in signals:
            signal.connect(self._refresh)

    @Slot()
    def _refresh(self) -> None:
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the current state of the session."""
        raise NotImplementedError

    def forget(self) -> None:
        for line in self.findChildren(FilterLine):
            line.clear()

    def show_page(self) -> None:
        """Show the page."""
        self._stack.show_page()

    @Slot(str)
    def show_sentence(
        self,
        sentence: str,
        button: str = "",
        pressed: SignalInstance | Callable[[], object] | None = None,
    ) -> None:
        """Show a sentence instead of the page, and optionally a button that helps."""
        self._stack.show_sentence(sentence, button, pressed)
        self.clear_page()

    def clear_page(self) -> None:
        """Release what the page showed: it may be the last reference to a closed file."""

    def set_stale(self, stale: bool) -> None:
        """Paint the widgets with stale figures faint, or normally again."""
        for widget in self._fading:
            widget.opacity = _FAINT if stale else 1.0
            painted = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
            painted.update()


def plain_column(parent: QWidget) -> QVBoxLayout:
    """Add a vertical layout without margins and spacing to a widget."""
    column = QVBoxLayout(parent)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    return column


class HeadLine(QWidget):
    """The line above a page: what switches to another page, and the tools of this one."""

    def __init__(self, head: QHBoxLayout | None, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme, self._head = theme, head
        self._switch: QWidget | None = None
        self._tools = QWidget(self)
        if head is not None:
            self._tools.setLayout(head)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(0)
        self._row.addWidget(self._tools, 1)
        self._row.addStretch()
        self.show_tools(0)

    def take_switch(self, switch: QWidget) -> None:
        """Put a switch before the tools; it stays when they are hidden."""
        self._switch = switch
        self._row.insertWidget(0, switch)
        self._fit()

    def tools(self) -> list[QWidget]:
        """Return the tools that Tab reaches."""
        head = self._head
        items = [] if head is None else [head.itemAt(i) for i in range(head.count())]
        widgets = [item.widget() for item in items if item is not None]
        return [w for w in widgets if w and w.focusPolicy() & Qt.FocusPolicy.TabFocus]

    @Slot(int)
    def show_tools(self, page: int) -> None:
        """Show the tools with the page, which is the first of its stack."""
        self._tools.setVisible(self._head is not None and page == 0)
        self._fit()

    def _fit(self) -> None:
        has_tools, has_switch = not self._tools.isHidden(), self._switch is not None
        air = 0 if has_tools else self._theme.px(6)  # the tools have their own
        self._row.setContentsMargins(self._theme.px(12) if has_switch else 0, air, 0, air)
        self.setVisible(has_tools or has_switch)


def head_row(theme: Theme, gap: int = 12) -> QHBoxLayout:
    """Return the layout for the line above a table. gap: px between its widgets."""
    head = WrappingRow()
    head.setContentsMargins(theme.px(12), theme.px(6), theme.px(12), theme.px(6))
    head.setSpacing(theme.px(gap))
    return head


def subtitle_label(theme: Theme) -> ElidedLabel:
    """Return the right-aligned label of that line, which describes the listed data."""
    subtitle = ElidedLabel("", theme, "caption", "text2")
    subtitle.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    return subtitle


def page_splitter(way: Qt.Orientation, first: QWidget, second: QWidget, part: int) -> QSplitter:
    """A splitter of two parts, neither of which can be closed. part: percent of the first one."""
    splitter = QSplitter(way)
    splitter.setChildrenCollapsible(False)
    splitter.setHandleWidth(1)
    for widget, share in ((first, part), (second, 100 - part)):
        splitter.addWidget(widget)
        splitter.setStretchFactor(splitter.count() - 1, share)
    splitter.setSizes([10 * part, 10 * (100 - part)])
    return splitter


class ScrollPanel(Panel, QScrollArea):
    """The frame. name: its accessible name."""

    def __init__(self, host: PanelHost, name: str) -> None:
        super().__init__()
        self.host = host
        self._session, self._theme = host.session, host.theme
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)

    @property
    def session(self) -> Session:
        """The session that the panel shows."""
        return self._session

    def replace_widget(self, widget: QWidget) -> None:
        """Replace the widget and delete the old one."""
        old = self.takeWidget()
        if old is not None:
            old.deleteLater()  # the old widget may be the sender of the click that led here
        self.setWidget(widget)
        self.updateGeometry()


PanelWidget: TypeAlias = PagePanel | ScrollPanel
