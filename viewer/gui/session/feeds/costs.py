"""Computes the cost table once for all panels that show it.

The feed follows the current trace and its cost scope, which is an inference or a selected time
range (`Session.scope`). While the costs of a large trace are computed, the previous table stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viewer.analysis.cost.costs import Costs, CostTable
from viewer.analysis.statistics.run_medians import medians_per_inference
from viewer.gui.session.feeds.feed import Feed
from viewer.gui.session.session import Session
from viewer.model.figure_base import FigureBase
from viewer.model.scope import LeftOut, TimeScope
from viewer.model.trace import Run
from viewer.view.cost_scope import per_inference
from viewer.view.open_trace import AT_ONCE, OpenTrace

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
