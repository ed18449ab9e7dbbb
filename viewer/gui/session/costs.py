"""The cost table that the panels show, computed once for all of them.

There is one feed per session. It follows the current trace and what costs are of, a run or a
selected range (`Session.scope`); a large trace is computed off the GUI thread, and until then the
old table stays and `late` says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from viewer.analysis.cost.costs import Costs, CostTable
from viewer.gui.panels.details.run_chart import MOST_RUNS
from viewer.gui.qt.background import Latest
from viewer.gui.session.session import Session
from viewer.model.scope import TimeScope
from viewer.model.trace import Run
from viewer.view.open_trace import AT_ONCE, OpenTrace


@dataclass(frozen=True, slots=True)
class CostAnswer:
    """One cost table and what it is of.

    table: of a trace without a record or source it is empty. per_run: that of every inference, in
    order; empty where there are too many to show.
    """

    shown: OpenTrace
    scope: TimeScope
    table: CostTable
    per_run: tuple[CostTable, ...]


class CostFeed(QObject):
    """Emits `changed` whenever `answer` is another one, `late` when the next one takes its time."""

    changed = Signal()
    late = Signal()

    @staticmethod
    def of(session: Session) -> CostFeed:
        """The feed of a session, made when it is first asked for."""
        return session.findChild(CostFeed) or CostFeed(session)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._asked: tuple[OpenTrace, TimeScope] | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._latest.late.connect(self.late)
        self._latest.failed.connect(self._give_up)
        self.answer: CostAnswer | None = None
        for signal in (session.workspace_changed, session.selection_changed, session.run_picked):
            signal.connect(self._follow)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        session = self._session
        number = session.current_trace
        if number is None:
            self._asked = None
            self._latest.cancel()
            self._set(None)
            return
        shown = session.traces[number]
        scope = session.scope(number)
        if self._asked is not None and self._asked[0] is shown and self._asked[1] == scope:
            return
        self._asked = (shown, scope)
        known = self.answer.per_run if self.answer and self.answer.shown is shown else None
        small = len(shown.trace.slices) <= AT_ONCE
        self._latest.ask(small, _answer, shown, scope, known)

    @Slot(object)
    def _take(self, answer: object) -> None:
        if isinstance(answer, CostAnswer):
            self._set(answer)

    @Slot(str)
    def _give_up(self, sentence: str) -> None:
        """The fault is reported already; old figures must not stand for new ones."""
        self._asked = None
        self._set(None)

    def _set(self, answer: CostAnswer | None) -> None:
        if answer is not self.answer:
            self.answer = answer
            self.changed.emit()


def _answer(shown: OpenTrace, scope: TimeScope, known: tuple[CostTable, ...] | None) -> CostAnswer:
    if shown.table.program is None:  # no time can be charged, and nobody asks what there is of it
        return CostAnswer(shown, scope, CostTable((), 0), ())
    table = shown.costs.table(*scope.span)
    per_run = _per_run(shown.costs, list(shown.trace.inferences())) if known is None else known
    return CostAnswer(shown, scope, table, per_run)


def _per_run(costs: Costs, runs: list[Run]) -> tuple[CostTable, ...]:
    if not 1 < len(runs) <= MOST_RUNS:
        return ()
    return tuple(costs.of_run(run) for run in runs)
