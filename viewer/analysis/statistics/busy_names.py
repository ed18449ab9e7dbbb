"""Statistics by name of a plain profile, with every instant of a thread counted once.

Statistics by any key charge slices that overlap on a thread one by one, as other tools do. A
PyTorch profile has such slices: an annotation that starts a little before the Python frame around
it. Its own span also covers the trace. Here the self time is that of
`viewer.analysis.cost.thread_time`, as in findings, so that it adds up to the busy time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from viewer.analysis.cost.thread_time import GroupTime, ThreadTime
from viewer.analysis.statistics.figure_terms import BUSY_TIME
from viewer.analysis.statistics.group_table import Group, GroupTable
from viewer.analysis.statistics.grouping import Grouping
from viewer.model.scope import TimeScope
from viewer.model.trace import Trace


class BusyNames:
    """The names of one trace; what does not depend on the range is cached."""

    def __init__(self, trace: Trace, grouping: Grouping, threads: ThreadTime) -> None:
        """grouping, threads: those of the trace."""
        self._trace, self._grouping, self._threads = trace, grouping, threads

    def table(self, scope: TimeScope) -> GroupTable:
        """Return the names in a scope, largest self time first.

        `self_ticks` is None for the name of a span that is not counted, because other slices
        explain it; shares are of the busy time.
        """
        table = self._grouping.by("name", *scope.span)
        ticks, busy = self._time.ticks(scope)

        def counted_once(group: Group) -> Group:
            own = int(ticks[group.number])
            if not own and group.number in self._not_counted:
                return replace(group, self_ticks=None, share=0.0)
            return replace(group, self_ticks=own, share=own / busy if busy else 0.0)

        groups = sorted(
            map(counted_once, table.groups),
            key=lambda one: (-(one.self_ticks or 0), one.self_ticks is None, -one.total),
        )
        return replace(
            table,
            groups=tuple(groups),
            whole=busy,
            ungrouped=busy - int(ticks.sum()),
            share_of=BUSY_TIME,
        )

    @cached_property
    def _time(self) -> GroupTime:
        labels, of_key = self._grouping.parts("name")
        return self._threads.of(of_key, len(labels))

    @cached_property
    def _not_counted(self) -> frozenset[int]:
        """The names of the spans of a whole thread that are not counted."""
        keys = self._trace.slices.key[self._threads.not_counted]
        return frozenset(self._grouping.parts("name")[1][keys].tolist())
