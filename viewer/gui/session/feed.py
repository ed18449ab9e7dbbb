"""The base of a session's feeds: the latest answer to a question that follows the view.

There is one feed of a kind per session, so that everybody who shows an answer shows the same one.
What takes longer than a moment is computed off the GUI thread.
"""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot

from viewer.gui.qt.background import Latest
from viewer.gui.session.session import Session

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Feed(QObject, Generic[Question, Answer]):
    """Emits `changed` whenever `answer` is another one, `late` when the next one takes its time.

    A subclass connects `_follow` to the signals that its question depends on, and calls it once.
    """

    changed = Signal()
    late = Signal()

    @classmethod
    def of(cls, session: Session) -> Self:
        """The feed of a session, made when it is first requested."""
        known = session.findChild(cls, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return known if isinstance(known, cls) else cls(session)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._asked: Question | None = None
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
        """What the view asks now, None for nothing; equal questions have the same answer."""
        raise NotImplementedError

    def _ask(self, question: Question) -> None:
        """Have `_latest` answer a question, or answer it at once with `_set`."""
        raise NotImplementedError

    @Slot()
    def _follow(self) -> None:
        question = self._question()
        if question is None:
            self._asked = None
            self._latest.cancel()
            self._set(None)
        elif question != self._asked:
            self._asked = question
            self._ask(question)

    @Slot(object)
    def _take(self, found: Any) -> None:
        """Show what `_latest` has found: by default the answer itself."""
        self._set(found)

    @Slot(str)
    def _fail(self, sentence: str) -> None:
        """The error is reported already; old figures must not stay for new ones."""
        self._asked = None
        self._set(None)

    def _set(self, answer: Answer | None) -> None:
        if answer is not self.answer:
            self.answer = answer
            self.changed.emit()
