"""Base class of a session's feeds, which compute a result that follows the view.

A session has one feed per kind, so that all panels show the same result. Slow computations run off
the GUI thread.
"""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot

from viewer.gui.qt.background import Latest
from viewer.gui.session.session import Session

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Feed(QObject, Generic[Question, Answer]):
    """Emits `changed` when `answer` is replaced, and `late` when computing the next one takes long.

    Subclasses connect `_follow` to the signals that their question depends on, and call it once.
    """

    changed = Signal()
    late = Signal()

    @classmethod
    def of(cls, session: Session) -> Self:
        """The session's feed of this class, created on first use."""
        feed = session.findChild(cls, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return feed if isinstance(feed, cls) else cls(session)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._current_question: Question | None = None
        self.answer: Answer | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._latest.late.connect(self.late)
        self._latest.failed.connect(self._fail)

    @property
    def pending(self) -> bool:
        """Whether the answer to the latest question is still being computed."""
        return self._latest.pending

    def _question(self) -> Question | None:
        """The current question, None for none; equal questions must have equal answers."""
        raise NotImplementedError

    def _ask(self, question: Question) -> None:
        """Submit the question to `_latest`, or set the answer immediately with `_set`."""
        raise NotImplementedError

    @Slot()
    def _follow(self) -> None:
        question = self._question()
        if question is None:
            self._current_question = None
            self._latest.cancel()
            self._set(None)
        elif question != self._current_question:
            self._current_question = question
            self._ask(question)

    @Slot(object)
    def _take(self, answer: Any) -> None:
        """Accept the result of `_latest`, which by default is the answer itself."""
        self._set(answer)

    @Slot(str)
    def _fail(self, sentence: str) -> None:
        """Clear the answer, so that no outdated numbers stay; the error was already reported."""
        self._current_question = None
        self._set(None)

    def _set(self, answer: Answer | None) -> None:
        if answer is not self.answer:
            self.answer = answer
            self.changed.emit()
