"""The time charged to the groups of a key, and the rest that no group has."""

from __future__ import annotations

from functools import cached_property

from viewer.analysis.cost.costs import FreeTime, length_within, whole_slices
from viewer.analysis.cost.stated_time import made_of_others
from viewer.arrays import Ints
from viewer.model.charging import Segments, charge, total_charged, total_per_group
from viewer.model.queries import is_whole
from viewer.model.scope import TimeScope
from viewer.model.trace import Trace


class ChargedTime:
    """Self time of one grouping of the slices of a trace; all times are ticks.

    The segments are made when a range is requested, or if some time is in no group.
    """

    def __init__(
        self, trace: Trace, group_of_key: Ints, groups: int, *, within_calls: bool = False
    ) -> None:
        """group_of_key: -1 for none. within_calls: the rest is that of `whole_slices`, else of all.

        groups: how many there are.
        """
        self._trace, self._group_of_key, self._groups = trace, group_of_key, groups
        self._within_calls = within_calls
        self._whole: dict[bool, Ints] = {}

    def per_group(
        self, first: int | None, last: int | None, track: int | None, *, warm_up: bool
    ) -> Ints:
        """Return the ticks charged to each group; arguments as in `total_per_group`."""
        is_all = is_whole(first, last) and track is None
        if is_all and not self._has_rest:
            if warm_up not in self._whole:
                self._whole[warm_up] = total_charged(
                    self._trace, self._group_of_key, self._groups, warm_up=warm_up
                )
            return self._whole[warm_up]
        return total_per_group(self._segments, self._groups, first, last, track, warm_up=warm_up)

    def rest(self, scope: TimeScope) -> int:
        """Return the ticks in a scope that no group has."""
        return length_within(self._free, self._trace, scope) if self._has_rest else 0

    @cached_property
    def _has_rest(self) -> bool:
        """Whether any slice is in no group."""
        bare = self._group_of_key < 0
        return bool(bare.any() and bare[self._trace.slices.key].any())

    @cached_property
    def _segments(self) -> Segments:
        return charge(self._trace, self._group_of_key)

    @cached_property
    def _free(self) -> FreeTime:
        trace, slices = self._trace, self._trace.slices
        if self._within_calls:
            whole = whole_slices(trace)
        else:
            whole = (slices.row_depth == 0)[slices.rows()] & ~made_of_others(trace)
        # All of the time of a slice with a group is charged.
        whole &= (self._group_of_key < 0)[slices.key]
        return FreeTime(trace, self._segments, whole)
