"""Statistics by name of a plain profile, with every instant of a thread counted once.

Statistics by any key charge slices that overlap on a thread one by one, as other tools do. A
PyTorch profile has such slices: an annotation that starts a little before the Python frame around
it. Its own span also covers the trace. Here the self time is that of
`viewer.analysis.cost.thread_time`, as in findings, so that it adds up to the busy time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from viewer.analysis.cost.thread_time import GroupTime, ThreadTime
from viewer.analysis.statistics.figure_terms import BUSY_TIME
from viewer.analysis.statistics.group_table import Groups, GroupTable
from viewer.analysis.statistics.grouping import Grouping
from viewer.arrays import Bools
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
        assert isinstance(table.groups, Groups)
        is_counted = (ticks != 0) | ~self._is_span
        groups = replace(
            table.groups,
            own=ticks,
            share=ticks / busy if busy else np.zeros(len(ticks)),
            is_counted=is_counted,
        ).most_expensive_first()
        listed = groups.numbers[~is_counted[groups.numbers]]
        return replace(
            table,
            groups=groups,
            whole=busy,
            ungrouped=busy - int(ticks.sum()),
            share_of=BUSY_TIME,
            not_counted=tuple(groups.labels[number] for number in listed.tolist()),
        )

    @cached_property
    def _time(self) -> GroupTime:
        labels, of_key = self._grouping.parts("name")
        return self._threads.of(of_key, len(labels))

    @cached_property
    def _is_span(self) -> Bools:
        """Which names have spans of a whole thread that are not counted."""
        labels, of_key = self._grouping.parts("name")
        found = np.zeros(len(labels), np.bool_)
        groups = of_key[self._trace.slices.key[self._threads.not_counted]]
        found[groups[groups >= 0]] = True
        return found
