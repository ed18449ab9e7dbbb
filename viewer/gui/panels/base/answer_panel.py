"""A panel over one background question: its page, faint while it is stale, or a sentence.

A subclass states the question, shows the answer, and explains why there is none. A small question
is answered at once, a large one by a worker thread once somebody sees the panel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from viewer.gui.panels.base.page_panel import PagePanel, Sentence
from viewer.gui.qt.background import Latest
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.when_visible import BEING_COUNTED, WhenVisible
from viewer.gui.session.session import Session
from viewer.view.open_trace import AT_ONCE

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A pure function of frozen data: `work(*args)` gives the answer.

    size: how much it has to look at, in the unit of the panel's `MOST_AT_ONCE`. about: the object
    that decides the answer; while it is the same one, the panel does not ask again (None: always).
    stays: whether the page may be shown until the answer comes, since it is about the same trace.
    """

    work: Callable[..., object]
    args: tuple[Any, ...] = ()
    size: int = 0
    about: object = None
    stays: bool = False


class AnswerPanel(PagePanel, Generic[Answer]):
    """A panel that shows the answer to its latest question."""

    # Up to so many slices a question is answered at once: that is sooner than by a thread.
    MOST_AT_ONCE: ClassVar[int] = AT_ONCE
    # Whether a large question is put off until somebody sees the panel.
    WAITS_TO_BE_SEEN: ClassVar[bool] = True

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.answer: Answer | None = None
        self._asked: object = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._latest.late.connect(self.show_stale)
        self._latest.failed.connect(self._ask_again)
        self._seen = WhenVisible(self)
        self._seen.due.connect(self._refresh)

    def question(self) -> Question | None:
        """What there is to calculate now; None: show that there is nothing."""
        raise NotImplementedError

    def show_answer(self, answer: Answer) -> None:
        """Fill the page and show it, or show a sentence."""
        raise NotImplementedError

    def nothing(self) -> Sentence:
        """Why there is no question, and what helps."""
        raise NotImplementedError

    @property
    def is_pending(self) -> bool:
        """Whether the latest question has no answer yet."""
        return self._latest.pending

    @Slot()
    def refresh(self) -> None:
        """Ask for what the panel shows now, or show why there is nothing."""
        question = self.question()
        if question is None:
            self._latest.cancel()
            self._asked = self.answer = None
            self.show_nothing()
            return
        if question.about is not None and question.about is self._asked:
            self.show_again()
            return
        at_once = question.size <= self.MOST_AT_ONCE
        if at_once or not self.put_off(stays=question.stays):
            self._asked = question.about
            self._latest.ask(at_once, question.work, *question.args)

    def put_off(self, *, stays: bool) -> bool:
        """Whether nobody sees the panel: then it asks once somebody does, and the last question is
        taken back. stays: whether the page may be shown until then."""
        if not self.WAITS_TO_BE_SEEN or not self._seen.put_off():
            return False
        self._latest.cancel()
        self._asked = None
        if not stays:
            self.answer = None
            self.show_sentence(BEING_COUNTED)
        return True

    def show_nothing(self) -> None:
        """Show what there is without an answer: a sentence, unless a subclass has more."""
        nothing = self.nothing()
        self.show_sentence(nothing.text, nothing.button, nothing.pressed)

    def show_again(self) -> None:
        """Show what the last question is about, with another theme or after a change elsewhere."""
        if self.answer is not None and not self.is_pending:
            self._take(self.answer)

    @Slot(object)
    def _take(self, answer: Answer) -> None:
        self.answer = answer
        self.set_stale(False)
        self.show_answer(answer)

    @Slot()
    def show_stale(self) -> None:
        """Paint the page faint: newer figures take their time."""
        self.set_stale(True)

    @Slot()
    def _ask_again(self) -> None:
        """Without an answer the same question may be asked again."""
        self._asked = None
