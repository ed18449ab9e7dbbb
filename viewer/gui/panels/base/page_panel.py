"""The frame of a panel: one page, or in its place a sentence with at most one button."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from PySide6.QtCore import Qt, SignalInstance, Slot
from PySide6.QtWidgets import QAbstractScrollArea, QHBoxLayout, QVBoxLayout, QWidget

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, EmptyPlace, PageOrSentence
from viewer.gui.session.session import Session

_FAINT = 0.6  # the opacity of figures that are out of date


@runtime_checkable
class FadingWidget(Protocol):
    """A widget that paints itself with an opacity."""

    opacity: float

    def update(self) -> None:
        """Paint it soon."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What an empty panel shows: a sentence, and the button that helps with what it calls."""

    text: str
    button: str = ""
    pressed: SignalInstance | Callable[[], object] | None = None


class PagePanel(QWidget):
    """A panel over a session. A subclass builds its page and hands it to `set_page`."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._theme = theme
        self._is_stale = False
        self._fading: tuple[FadingWidget, ...] = ()

    def set_page(
        self, page: QWidget, *, above: QWidget | None = None, fading: tuple[FadingWidget, ...] = ()
    ) -> None:
        """Set the page, once. above: what stays above the sentence too. fading: the widgets of the
        page whose figures may be out of date."""
        self._stack = PageOrSentence(page, self._theme)
        self._fading = fading
        outer = plain_column(self)
        if above is not None:
            outer.addWidget(above)
        outer.addWidget(self._stack, 1)

    @property
    def session(self) -> Session:
        """The session that the panel is about."""
        return self._session

    @property
    def is_empty(self) -> bool:
        """Whether a sentence is shown in place of the page."""
        return self._stack.is_empty

    @property
    def sentence(self) -> str:
        """The sentence that is shown in place of the page, "" while the page is shown."""
        return self._stack.sentence

    @property
    def empty(self) -> EmptyPlace | None:
        """The place of the last sentence."""
        return self._stack.empty

    @property
    def is_stale(self) -> bool:
        """Whether the page is painted faint, since newer figures are being calculated."""
        return self._is_stale

    def refresh_on(self, *signals: SignalInstance) -> None:
        """Refresh whenever one of some signals is emitted."""
        # Not connected to `refresh` itself: PySide calls what a subclass overrides as long as
        # Python knows the panel, and the theme outlives its window.
        for signal in signals:
            signal.connect(self._refresh)

    @Slot()
    def _refresh(self) -> None:
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show what there is now."""
        raise NotImplementedError

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
        """Show a sentence in place of the page, and a button that does something about it."""
        self._stack.show_sentence(sentence, button, pressed)
        self.clear_page()

    def clear_page(self) -> None:
        """Let go of what the page showed: it may be all that keeps a closed file in memory."""

    def set_stale(self, stale: bool) -> None:
        """Paint figures that are out of date faint, or all of them as usual."""
        self._is_stale = stale
        for widget in self._fading:
            widget.opacity = _FAINT if stale else 1.0
            painted = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
            painted.update()


def plain_column(parent: QWidget) -> QVBoxLayout:
    """A column without margins and gaps that fills a widget."""
    column = QVBoxLayout(parent)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    return column


def head_row(theme: Theme, gap: int = 12) -> QHBoxLayout:
    """The line above a table; gap: px of the design between its widgets."""
    head = QHBoxLayout()
    head.setContentsMargins(theme.px(12), theme.px(6), theme.px(12), theme.px(6))
    head.setSpacing(theme.px(gap))
    return head


def subtitle_label(theme: Theme) -> ElidedLabel:
    """The label at the right of that line for what is listed below."""
    subtitle = ElidedLabel("", theme, "caption", "text2")
    subtitle.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    return subtitle
