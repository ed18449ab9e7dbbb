"""The base class of a session's feeds, and the feeds of costs and of problems.

A session has one feed per kind, so that all panels show the same result. Slow computations run off
the GUI thread. While the costs of a large trace are computed, the previous table stays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any, Generic, TypeVar

from PySide6.QtCore import Signal, Slot

from viewer.analysis.cost.costs import Costs, CostTable
from viewer.analysis.statistics.pivot import medians_per_inference
from viewer.dataclasses import dataclass, field
from viewer.gui.qt.background import Latest
from viewer.gui.session.session import OfSession, Session
from viewer.model.figures import FigureBase, LeftOut, TimeScope
from viewer.model.trace import Problem, Run
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.selection import per_inference
from viewer.workspace.workspace import Workspace

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Feed(OfSession, Generic[Question, Answer]):
    """Emits `changed` when `answer` is replaced, and `late` when computing the next one takes long.

    Subclasses connect `_follow` to the signals that their question depends on, and call it once.
    """

    changed = Signal()
    late = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._current_question: Question | None = None
        self.answer: Answer | None = None
        self._latest = Latest(self, self._take)
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


# With more inferences than this, panels show no chart of them, and there are no separate tables.
MOST_RUNS = 24


@dataclass(frozen=True, slots=True)
class CostAnswer:
    """A cost table with the trace and scope that it covers.

    `table` is empty for a trace without a program. `per_run` has one table per inference
    that finished, in order; it is empty if there is only one or there are more than `MOST_RUNS`.
    medians: of the self time of every set of operators per inference, in ticks; empty if figures
    are no mean.
    """

    open_trace: OpenTrace
    scope: TimeScope
    table: CostTable
    per_run: tuple[CostTable, ...]
    medians: Mapping[tuple[int, ...], float] = field(default_factory=dict)

    @property
    def base(self) -> FigureBase:
        """What the figures are per."""
        return self.open_trace.base_of(self.scope)

    @property
    def left_out(self) -> LeftOut:
        """How many inferences the table leaves out."""
        return self.open_trace.left_out_of(self.scope)


class CostFeed(Feed[tuple[OpenTrace, TimeScope], CostAnswer]):
    """The costs of the current trace in the current scope."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        for signal in (session.workspace_changed, session.selection_changed, session.run_picked):
            signal.connect(self._follow)
        self._follow()

    def _question(self) -> tuple[OpenTrace, TimeScope] | None:
        number = self._session.current_trace
        if number is None:
            return None
        scope = per_inference(self._session.scope(number), self._session.state)
        return self._session.traces[number], scope

    def _ask(self, question: tuple[OpenTrace, TimeScope]) -> None:
        open_trace, scope = question
        cost_tables = (
            self.answer.per_run if self.answer and self.answer.open_trace is open_trace else None
        )
        self._latest.ask(
            len(open_trace.trace.slices) <= AT_ONCE, _answer, open_trace, scope, cost_tables
        )


def _answer(
    open_trace: OpenTrace, scope: TimeScope, cost_tables: tuple[CostTable, ...] | None
) -> CostAnswer:
    if open_trace.table.program is None:  # without a program, no time can be charged to operators
        return CostAnswer(open_trace, scope, CostTable((), 0), ())
    costs = open_trace.figures_for(scope).costs
    table = costs.table(scope)
    per_run = (
        _per_run(costs, list(open_trace.trace.finished_inferences()))
        if cost_tables is None
        else cost_tables
    )
    return CostAnswer(open_trace, scope, table, per_run, _medians(open_trace, scope))


def _medians(open_trace: OpenTrace, scope: TimeScope) -> dict[tuple[int, ...], float]:
    """Return the median self time of every set of operators, in ticks per inference."""
    if not open_trace.base_of(scope).is_mean:
        return {}
    medians = medians_per_inference(open_trace.grouping_for(scope), "operator")
    return {open_trace.table.sets[number]: median for number, median in medians.items()}


def _per_run(costs: Costs, runs: list[Run]) -> tuple[CostTable, ...]:
    if not 1 < len(runs) <= MOST_RUNS:
        return ()
    return tuple(costs.of_run(run) for run in runs)


class Severity(Enum):
    """The severity of a problem: its word, icon and color token."""

    ERROR = ("Error", "warning", "error")
    WARNING = ("Warning", "warning", "warning")
    NOTE = ("Note", "info", "text2")

    def __init__(self, word: str, icon: str, token: str) -> None:
        self.word = word
        self.icon = icon
        self.token = token


@dataclass(frozen=True, slots=True)
class ProblemEntry:
    """One row: what is unexpected, how often (0: not counted), where first, in which file."""

    severity: Severity
    what: str
    count: int
    first: str
    path: str


class ProblemsFeed(OfSession):
    """The problems of a session; `changed` is emitted whenever they were collected again."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self.failures: dict[str, str] = {}  # path -> why it could not be opened
        self.entries: list[ProblemEntry] = []
        session.workspace_changed.connect(self.refresh)
        self.refresh()

    def forget_failures(self, paths: Collection[str]) -> None:
        """Remove what could not be opened before something else was."""
        if self.failures.keys() & set(paths):
            self.failures = {p: m for p, m in self.failures.items() if p not in paths}
            self.refresh()

    def add_failure(self, path: str, message: str) -> None:
        """Add a file that could not be opened, or replace the message of this path."""
        self.failures[path] = message
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Collect all problems again."""
        space = self._session.workspace
        self.failures = {p: m for p, m in self.failures.items() if p not in space.paths}
        self.entries = _entries(space, self.failures)
        self.changed.emit()


def _entries(space: Workspace, failures: dict[str, str]) -> list[ProblemEntry]:
    """Return all problems: failed files, then doubtful matches, then unexpected data per file."""
    problem_entries = [_failure(path, message) for path, message in failures.items()]
    for trace in space.traces:
        problem_entries += [
            ProblemEntry(Severity.WARNING, w, 0, "", trace.path) for w in space.warnings(trace)
        ]
    reported: list[tuple[str, tuple[Problem, ...]]] = [(t.path, t.problems) for t in space.traces]
    reported += [(p.path, p.problems) for p in space.programs]
    reported += [(e.path, e.problems) for e in space.executables]
    for path, problems in reported:
        problem_entries += [
            ProblemEntry(Severity.NOTE, p.kind, p.count, p.first, path) for p in problems
        ]
    return problem_entries


def _failure(path: str, message: str) -> ProblemEntry:
    """Return the entry of a file that could not be opened, with path and place split off."""
    place, colon, what = message.removeprefix(path).partition(": ")
    if not message.startswith(path) or not colon:
        return ProblemEntry(Severity.ERROR, message, 0, "", path)
    return ProblemEntry(Severity.ERROR, what, 0, place.strip(" ()"), path)
