"""Base class of panels that show the answer to one background question.

A subclass implements `question`, `show_answer` and `empty_state`. The panel answers a small
question synchronously. It sends a large one to a worker thread, as soon as the panel is visible.
While the answer is stale, the page is painted faint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from PySide6.QtCore import Slot

from viewer.gui.panels.base.page_panel import PagePanel, Sentence
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.qt.background import Latest
from viewer.gui.qt.when_visible import BEING_COUNTED, WhenVisible
from viewer.view.open_trace import AT_ONCE

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
        self._latest = Latest(self, in_turn=True)
        self._latest.takes_long = self.TAKES_LONG
        self._latest.answered.connect(self._take)
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
