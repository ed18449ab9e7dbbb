"""What a panel is: what it asks of a window, its page, and the answers that it shows.

The window asks a panel for what `Panel` has; a panel asks its `PanelHost` for what only a window
can do. A small question is answered synchronously, a large one in a thread, as soon as the panel is
visible. While the answer is stale, the page is painted faint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Protocol,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

from PySide6.QtCore import QRect, Qt, SignalInstance, Slot
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from viewer.dataclasses import dataclass
from viewer.gui.qt.background import BEING_COUNTED, Latest, WhenVisible
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import Item, WrappingRow, laid_out
from viewer.gui.qt.widgets.labels import ElidedLabel, EmptyPlace, PageOrSentence
from viewer.gui.qt.widgets.tables import FilterLine
from viewer.gui.session.session import Session
from viewer.program.source_files import Substitution
from viewer.view.open_trace import AT_ONCE

if TYPE_CHECKING:
    from viewer.workspace.exports import ExportJob


JobOf: TypeAlias = "Callable[[str], ExportJob]"  # creates the job that writes a path


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file that a panel can write.

    title: of the dialog that asks for its path. ending: appended to the name of the profile, as a
    proposal. filters: as Qt's file dialog takes them. counts: what its job counts, as in "12
    slices".
    """

    title: str
    ending: str
    filters: str
    counts: str

    @classmethod
    def table(cls, name: str) -> ExportedFile:
        """A table of rows. name: appended to the name of the profile."""
        filters = ("comma separated (*.csv)", "tab separated (*.tsv)", "Parquet (*.parquet)")
        choices = ";;".join(f"Table, {text}" for text in filters)
        return cls("Export table", f".{name}.csv", choices, "rows")


class PanelHost(Protocol):
    """What a panel can ask of the window that it is in. Each panel has a host of its own."""

    @property
    def session(self) -> Session:
        """The session to show."""

    @property
    def theme(self) -> Theme:
        """The fonts, colors and sizes to show it with."""

    def open_files(self) -> None:
        """Ask for files, and open them."""

    def show_panel(self, name: str) -> None:
        """Bring a panel, or a page of one, to the front."""

    def show_source(self, path: str, line: int) -> None:
        """Show a line of a recorded source file."""

    def show_inferences(self) -> None:
        """Open the list of all inferences."""

    def choose_comparison(self) -> None:
        """Ask for both arms of a comparison, and compare them."""

    def choose_reference(self) -> None:
        """Ask for a file to compare logged values with."""

    def choose_buffer(self) -> None:
        """Ask for the debug buffer of a profile."""

    def locate_source(self, recorded_path: str) -> None:
        """Ask where a recorded source file is on this machine."""

    def forget_source(self, substitution: Substitution) -> None:
        """Forget a folder that replaces a recorded one."""

    def edit_file(self, path: str, line: int) -> None:
        """Open a line of a file in the user's editor."""

    def export(self, file: ExportedFile, job_of: JobOf) -> None:
        """Ask for a path, and write a file there in the background."""

    def show_count(self, count: int) -> None:
        """Show on the tab how many rows the panel has, and open or close it by its presence."""

    def refresh_commands(self) -> None:
        """Enable commands again, because what those of the panel require has changed."""


class Panel:
    """What a window asks of a panel; by default it has nothing of all this."""

    def show_keys(self, way_to: Callable[[str], str]) -> None:
        """Mention the current keys. way_to: how to run a command, by its id."""

    def stop(self) -> str:
        """Stop what the user waits for, and return a text about it; "" if there was nothing."""
        return ""

    def forget(self) -> None:
        """Forget what the user chose for files that were closed: others start without it."""

    def marked_areas(self) -> Sequence[QRect]:
        """Where the panel shows what is selected, in its own coordinates."""
        return ()


_FAINT = 0.6  # the opacity of stale figures


@runtime_checkable
class FadingWidget(Protocol):
    """A widget that paints itself with an opacity."""

    opacity: float

    def update(self) -> None:
        """Schedule a repaint."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What an empty panel shows: a sentence, and optionally a button that calls `pressed`."""

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


def plain_column(parent: QWidget, *items: Item) -> QVBoxLayout:
    """Add a vertical layout without margins and spacing to a widget."""
    return laid_out(QVBoxLayout(parent), *items, gap=0, margins=(0, 0, 0, 0))


class HeadLine(QWidget):
    """The line above a page: what switches to another page, and the tools of this one."""

    def __init__(self, head: QHBoxLayout | None, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme, self._head = theme, head
        self._switch: QWidget | None = None
        self._tools = QWidget(self)
        if head is not None:
            self._tools.setLayout(head)
        self._row = laid_out(QHBoxLayout(self), (self._tools, 1), 0, gap=0, margins=(0, 0, 0, 0))
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


def head_row(theme: Theme, gap: int = 12, *items: Item) -> QHBoxLayout:
    """Return the layout for the line above a table. gap: px between its widgets."""
    margins = theme.px(12), theme.px(6), theme.px(12), theme.px(6)
    return laid_out(WrappingRow(), *items, gap=theme.px(gap), margins=margins)


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
        if (old := self.takeWidget()) is not None:
            old.deleteLater()  # the old widget may be the sender of the click that led here
        self.setWidget(widget)
        self.updateGeometry()


PanelWidget: TypeAlias = PagePanel | ScrollPanel


Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A computation that a panel needs: `work(*args)`, a pure function of frozen data.

    size: the amount of data, in the unit of the panel's `SYNC_LIMIT`. about: the object that
    determines the answer; the panel does not ask again for the same object (None: it always asks).
    stays: whether the old page may stay until the answer arrives, because it shows the same trace.
    """

    work: Callable[..., object]
    args: tuple[Any, ...] = ()
    size: int = 0
    about: object = None
    stays: bool = False


class AnswerPanel(PagePanel, Generic[Answer]):
    """A panel that shows the answer to its latest question."""

    # Questions up to this size are answered synchronously: that is faster than a thread.
    SYNC_LIMIT: ClassVar[int] = AT_ONCE
    # Whether a large question waits until the panel is visible.
    WAITS_TO_BE_SEEN: ClassVar[bool] = True
    # Whether the questions of other visible panels are answered first.
    TAKES_LONG: ClassVar[bool] = False

    def __init__(self, host: PanelHost) -> None:
        super().__init__(host)
        self.answer: Answer | None = None
        self._current_identity: object = None
        self._latest = Latest(self, self._take, in_turn=True)
        self._latest.takes_long = self.TAKES_LONG
        self._latest.late.connect(self.show_stale)
        self._latest.failed.connect(self._ask_again)
        self._seen = WhenVisible(self)
        self._seen.due.connect(self._refresh)

    def question(self) -> Question | None:
        """Return the question to answer now, or None if there is nothing to compute."""
        raise NotImplementedError

    def show_answer(self, answer: Answer) -> None:
        """Fill and show the page, or show a sentence if the answer is empty."""
        raise NotImplementedError

    def empty_state(self) -> Sentence:
        """Explain why there is no question, with a button that helps."""
        raise NotImplementedError

    @property
    def is_pending(self) -> bool:
        """Whether the latest question is still unanswered."""
        return self._latest.pending

    @Slot()
    def refresh(self) -> None:
        """Ask the current question, or show why there is none."""
        question = self.question()
        if question is None:
            self.drop_answer()
            self.show_empty_state()
            return
        if question.about is not None and question.about is self._current_identity:
            self.show_again()
            return
        at_once = question.size <= self.SYNC_LIMIT
        if at_once or not self.defer(stays=question.stays):
            self._current_identity = question.about
            self._latest.ask(at_once, question.work, *question.args)

    def drop_answer(self) -> None:
        """Forget the question that is answered, and the answer."""
        self._latest.cancel()
        self._current_identity = self.answer = None

    def defer(self, *, stays: bool) -> bool:
        """Defer the question and return True if the panel is not visible.

        The panel then cancels the previous question and refreshes as soon as it is visible. stays:
        whether the page may stay until then; otherwise a sentence replaces it.
        """
        if not self.WAITS_TO_BE_SEEN or not self._seen.defer():
            return False
        self._latest.cancel()
        self._current_identity = None
        if not stays:
            self.answer = None
            self.show_sentence(BEING_COUNTED)
        return True

    def show_empty_state(self) -> None:
        """Show what the panel has without an answer: a sentence, unless a subclass overrides it."""
        state = self.empty_state()
        self.show_sentence(state.text, state.button, state.pressed)

    def show_again(self) -> None:
        """Show the latest answer again, after a change of theme or elsewhere in the session."""
        if self.answer is not None and not self.is_pending:
            self._take(self.answer)

    @Slot(object)
    def _take(self, answer: Answer) -> None:
        self.answer = answer
        self.set_stale(False)
        self.show_answer(answer)

    @Slot()
    def show_stale(self) -> None:
        """Paint the page faint while newer figures are computed."""
        self.set_stale(True)

    @Slot()
    def _ask_again(self) -> None:
        """Allow the same question again, because it failed."""
        self._current_identity = None
