"""Undoes the wraps of a 32-bit counter, once per file, so that all times are on one axis.

Microcontrollers count ticks in 32 bits: Cortex-M, Zephyr, NXP. After 2^32 ticks the counter starts
at 0 again, in the middle of an inference as well as between two. A file whose times are all below
2^32 may be of such a counter. What its times leave open, the order of the log and the nesting show:

* Events are logged when they end. What follows in a parent starts after what came before it ended,
  by less than 2^32 ticks. So durations and gaps are differences modulo 2^32.
* A parent that holds its children at their times modulo 2^32, in their order, is as long as it
  says. An event that was logged late is then where its time is.
* A parent that is too short for its children starts whole laps earlier: it is as long as its
  children and the gaps around them.
* Runs follow each other. One that starts more than 2^31 ticks before the last one ended starts
  after a wrap. One that starts a little before is on a clock that was reset (`methods.clocks`).

Events on clocks of their own are no wraps (`foreign_clocks`). A call gets longer for its delegate's
events only if these begin with it, or if a short call of the file holds all of its events. Times
that contradict the nesting stay as logged. A leaf or a gap of more than 2^32 ticks loses whole
laps: nothing in the file shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, flags_at
from viewer.dataclasses import dataclass
from viewer.formats.executorch.etdump.events import ProfileEvents, correct_ends, next_in_run
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import EXECUTE, INIT, LOAD, STEP
from viewer.model.times import LAP
from viewer.model.timing import stated_unit
from viewer.model.trace import KeyKind
from viewer.program.debug_handles import is_host_event

WRAPPED = "the 32-bit counter wrapped: undone, so that all times are on one axis"
# Events of one thread overlap by less: what a thread was interrupted for between the end of an
# event and its log. A gap of nearly a lap is as improbable.
_LATE = 1 << 24
# An event that was logged late fits into the gap before the one logged earlier, this far back.
_LATE_IN_GAP = 1 << 28
# How far from the ends of a call its events begin and end, if they are what makes it longer; a call
# that is shorter than this holds no events of another clock by chance.
_NEAR = 1 << 28
# Ranks: scopes of whole runs, scopes in them, instructions, and what is inside an instruction.
_TOP, _SCOPE, _CALL, _INNER = range(4)


def undo_wraps(events: ProfileEvents, kind: NDArray[np.uint8], builder: TraceBuilder) -> bool:
    """Undo the wraps in the times of events as logged; return whether there were any.

    Ends before their start that remain are corrected one by one.
    """
    count, first = 0, -1
    if _may_wrap(events, kind):
        start, end, is_host = _Axis(events, kind).times()
        after = is_host & (end >= LAP)
        count = int(end[after].max(initial=0)) // LAP
        if count:
            first = int(events.row[np.argmax(after)])
            events.start[is_host], events.end[is_host] = start[is_host], end[is_host]
    correct_ends(builder, events)
    builder.problem(WRAPPED, count, f"event {first}")
    return count > 0


def _may_wrap(events: ProfileEvents, kind: NDArray[np.uint8]) -> bool:
    """Whether all times of the host's clock have 32 bits, and some show a wrap.

    They go back, or an event is longer than the scope that its run ends with.
    """
    is_delegate = kind == KeyKind.DELEGATE_EVENT
    last = np.maximum(events.start, events.end)
    if not len(events) or int(np.where(is_delegate, 0, last).max()) >= LAP:
        return False
    end = events.end[~is_delegate | ((events.start > 0) & (last < LAP))]
    if (events.end < events.start).any() or (end[1:] < end[:-1]).any():
        return True
    length = np.where(is_delegate, 0, events.end - events.start)
    first = np.flatnonzero(np.append(True, events.run[1:] != events.run[:-1]))
    ending = np.append(first[1:], len(events)) - 1
    is_scope = events.named(EXECUTE, STEP, LOAD)[ending]
    return bool((is_scope & (np.maximum.reduceat(length, first) > length[ending])).any())


@dataclass(slots=True)
class _Group:
    """The children of the parents of one rank, sorted by parent, then as logged.

    at, of: the children and their parents. head: where each parent's children begin. number: of
    each child, that of its parent among the parents.
    """

    at: Ints
    of: Ints
    head: Ints
    number: Ints

    @property
    def parents(self) -> Ints:
        return self.of[self.head]

    def part(self, chosen: Bools) -> _Group:
        """The children of the chosen parents, one value per parent."""
        inside = chosen[self.number]
        return _group(self.at[inside], self.of[inside])


def _group(rows: Ints, of: Ints) -> _Group:
    is_first = np.append(True, of[1:] != of[:-1])[: len(of)]
    return _Group(rows, of, np.flatnonzero(is_first), np.cumsum(is_first) - 1)


class _Axis:
    """Places the events on one axis: lengths from the innermost outwards, then times inwards."""

    def __init__(self, events: ProfileEvents, kind: NDArray[np.uint8]) -> None:
        self._events, self._kind = events, kind
        is_delegate = kind == KeyKind.DELEGATE_EVENT
        # Vulkan's host events are on the host's clock, but its shaders are not.
        is_vulkan = is_delegate & _named(events, is_host_event)
        is_other = (events.start == 0) | (events.start >= LAP) | (events.end >= LAP)
        is_other |= _named(events, stated_unit)
        self._is_host = ~(is_delegate & is_other)
        self._is_stranger = ~self._is_host | is_vulkan
        self._start, self._end = events.start, events.end
        self._length: Ints = (events.end - events.start) % LAP
        self._offset = np.zeros(len(events), np.int64)
        self._place()

    def times(self) -> tuple[Ints, Ints, Bools]:
        """The start and end of every event on the axis, and which events are on it."""
        for rank in (_CALL, _SCOPE, _TOP):
            self._measure(rank)
        start = np.zeros(len(self._events), np.int64)
        is_top = self._is_host & (self._parent < 0)
        loose = np.flatnonzero(is_top & (self._kind == KeyKind.DELEGATE_EVENT))
        is_top[loose] = False
        tops = np.flatnonzero(is_top)
        start[tops] = self._follow(tops)
        for rank in (_TOP, _SCOPE, _CALL):
            rows = np.flatnonzero(self._of_rank(rank))
            start[rows] = start[self._parent[rows]] + self._offset[rows]
        if len(loose) and len(tops):
            near = tops[np.maximum(np.searchsorted(tops, loose) - 1, 0)]
            until = start[near] + self._length[near]
            start[loose] = until + _nearest(self._start[loose] - until)
        end = start + self._length
        return start, end, self._is_host & (start >= 0)

    def _place(self) -> None:
        """Find the rank and the parent of every event, -1 if it has none."""
        events, kind, run = self._events, self._kind, self._events.run
        rank = np.full(len(events), _CALL, np.int64)
        inner = (kind == KeyKind.KERNEL) | (kind == KeyKind.PLAIN)
        inner |= (kind == KeyKind.DELEGATE_EVENT) & (events.chain >= 0)
        is_scope = kind == KeyKind.FRAMEWORK
        rank[is_scope & events.named(EXECUTE, STEP, LOAD)] = _TOP
        rank[is_scope & events.named(INIT)] = _SCOPE
        rank[inner] = _INNER
        top = next_in_run(rank == _TOP, run)
        parent = top.copy()
        parent[rank == _TOP] = -1
        loaded = np.flatnonzero((rank == _CALL) & (events.chain < 0))
        parent[loaded] = next_in_run(rank <= _SCOPE, run)[loaded]
        is_call = (kind == KeyKind.OPERATOR_CALL) | (kind == KeyKind.DELEGATE_CALL)
        calls = self._own_calls(np.flatnonzero(inner), is_call)
        # What no call of its instruction follows is beside the calls.
        parent[inner] = np.where(calls >= 0, calls, top[inner])
        rank[inner] = np.where(calls >= 0, _INNER, _CALL)
        scopes = np.flatnonzero((rank == _CALL) & is_scope)
        around = next_in_run(is_call, run)[scopes]
        offset = (self._start[scopes] - self._start[around]) % LAP
        inside = (around >= 0) & (offset + self._length[scopes] <= self._length[around])
        parent[scopes[inside]] = around[inside]
        self._rank, self._parent = rank, parent
        self._may_enclose = (
            (kind == KeyKind.PLAIN) | (kind == KeyKind.DELEGATE_EVENT) | (is_scope & (rank > _TOP))
        )

    def _own_calls(self, rows: Ints, is_call: Bools) -> Ints:
        """The next call of the same instruction in the run of each event, -1 if there is none."""
        events, calls = self._events, np.flatnonzero(is_call)
        if not len(calls):
            return np.full(len(rows), -1)
        both = np.stack([events.run, events.instruction], axis=1)
        _, code = np.unique(both, axis=0, return_inverse=True)
        code = code.reshape(-1)
        place = code * len(events) + np.arange(len(events))
        calls = calls[np.argsort(place[calls])]
        after = np.append(calls, -1)[np.searchsorted(place[calls], place[rows])]
        next_calls: Ints = np.where((after >= 0) & (code[after] == code[rows]), after, -1)
        return next_calls

    def _of_rank(self, rank: int) -> Bools:
        """Which events on the axis have a parent of a rank."""
        inside: Bools = self._is_host & (self._parent >= 0)
        inside[inside] = self._rank[self._parent[inside]] == rank
        return inside

    def _measure(self, rank: int) -> None:
        """Find the lengths of the events of a rank, and the offsets of their children."""
        rows = np.flatnonzero(self._of_rank(rank))
        rows = rows[np.argsort(self._parent[rows], kind="stable")]
        group = _group(rows, self._parent[rows])
        if not len(rows):
            return
        offset, fits = self._inside(group)
        self._offset[group.at] = offset
        end = offset + self._length[group.at]
        back = np.append(0, end[:-1] - end[1:])
        back[group.head] = 0
        fits &= back <= LAP >> 1
        if self._wraps:
            fits &= ~self._overlap(group, offset)
        short = ~np.logical_and.reduceat(fits, group.head)
        if not short.any():
            return
        group = group.part(short)
        foreign = self._foreign(group)
        self._is_host[group.at[foreign]] = False
        left = ~foreign
        if foreign.any():  # without them, the others may fit
            group = _group(group.at[left], group.of[left])
            if not len(group.at):
                return
            _, fits = self._inside(group)
            group = group.part(~np.logical_and.reduceat(fits, group.head))
        if len(group.at):
            self._offset[group.at], self._length[group.parents] = self._chained(group)

    def _inside(self, group: _Group) -> tuple[Ints, Bools]:
        """The offsets of children modulo a lap, and which fit into their parent as it is."""
        offset = (self._start[group.at] - self._start[group.of]) % LAP
        return offset, offset + self._length[group.at] <= self._length[group.of]

    def _overlap(self, group: _Group, offset: Ints) -> Bools:
        """Which children would be at the time of the one before, though they follow it."""
        end = offset + self._length[group.at]
        over = np.append(0, end[:-1] - offset[1:])
        over[group.head] = 0
        overlaps: Bools = (over > _LATE) & (end > np.append(0, offset[:-1]))
        overlaps &= ~self._may_enclose[group.at]
        return overlaps

    def _chained(self, group: _Group) -> tuple[Ints, Ints]:
        """The offsets of children that follow each other, and the lengths of their parents."""
        rows, head = group.at, group.head
        length = self._length[rows]
        is_first = flags_at(len(rows), head)
        before = np.append(0, rows[:-1])
        until = np.where(is_first, self._start[group.of], self._end[before])
        last = np.where(is_first, 0, self._length[before])
        gap = (self._start[rows] - until) % LAP
        over = LAP - gap
        # A scope around the event before it.
        around = self._may_enclose[rows] & ~is_first & (over <= length) & (over >= last)
        gap_before = np.where(is_first, 0, np.append(0, gap[:-1]))
        late = (over <= _LATE) | (
            ~is_first & (over <= _LATE_IN_GAP) & (last <= over - length)
            & (over <= last + gap_before)
        )  # fmt: skip
        gap -= np.where(around | late, LAP, 0)
        steps = np.cumsum(gap + length)
        base = np.append(0, steps)[head]
        offset = steps - length - base[group.number]
        covered = np.maximum.reduceat(offset + length, head)
        rest = (self._length[group.parents] - covered) % LAP
        rest -= np.where(LAP - rest <= _LATE, LAP, 0)
        return offset, np.maximum(covered + rest, self._length[group.parents])

    def _foreign(self, group: _Group) -> Bools:
        """Which children of parents that do not hold them are on clocks of their own.

        Delegate events are, unless they are what makes the parent longer: nothing else tells a call
        of several laps from a call whose delegate has a clock of its own.
        """
        _, fits = self._inside(group)
        is_delegate = self._kind[group.at] == KeyKind.DELEGATE_EVENT
        outside: Bools = is_delegate & ~fits
        if not outside.any():
            return outside
        offset, whole = self._chained(group)
        length, head = self._length[group.parents], group.head
        each = np.where(is_delegate, self._length[group.at], 0)
        end = offset + self._length[group.at]
        until = np.maximum.reduceat(end, head)
        is_short = np.logical_or.reduceat(outside, head) & ~self._have_strangers(group.parents)
        if self._delegates_share_the_clock:
            is_host = is_short & (until - offset[head] > length)
        else:
            is_host = is_short & (np.maximum.reduceat(each, head) > length)
            gap = offset - np.append(0, end[:-1])
            gap[head] = offset[head]
            gap = np.maximum.reduceat(np.where(_first_of(outside, group), gap, -LAP), head)
            is_near = (gap < _LATE) | ((gap < _NEAR) & (whole - until < _NEAR))
            is_host &= bool(is_near[is_host].all())
        apart: Bools = outside & ~is_host[group.number]
        return apart

    def _have_strangers(self, parents: Ints) -> Bools:
        """Which parents have children that are known to be on another clock, or next to such."""
        has_stranger = flags_at(
            len(self._events), self._parent[self._is_stranger & (self._parent >= 0)]
        )
        has: Bools = has_stranger[parents]
        return has

    @cached_property
    def _wraps(self) -> bool:
        """Whether an event of the host has a wrap in it, or follows one."""
        is_host = self._kind != KeyKind.DELEGATE_EVENT
        start, end = self._start[is_host], self._end[is_host]
        return bool((end < start).any() or (end[:-1] - end[1:] > LAP >> 1).any())

    @cached_property
    def _delegates_share_the_clock(self) -> bool:
        """Whether the host's clock wraps, and a delegate's events fit into their short call.

        If none of them is known to be on another clock, all are on this one.
        """
        is_delegate = self._kind == KeyKind.DELEGATE_EVENT
        if not self._wraps or self._is_stranger.any():
            return False
        rows = np.flatnonzero(is_delegate & (self._parent >= 0))
        of = self._parent[rows]
        offset = (self._start[rows] - self._start[of]) % LAP
        fits = offset + self._length[rows] <= self._length[of]
        holds = flags_at(len(self._events), of)
        holds[of[~fits]] = False
        return bool((holds & (self._length < _NEAR)).any())

    def _follow(self, tops: Ints) -> Ints:
        """The starts of events that follow each other outside all others."""
        if not len(tops):
            return tops
        start, length = self._start[tops], self._length[tops]
        gap = start[1:] - self._end[tops][:-1]
        gap += np.where(gap < -(LAP >> 1), LAP, 0)
        moved: Ints = start[0] + np.append(0, np.cumsum(gap + length[:-1]))
        return moved


def _first_of(marked: Bools, group: _Group) -> Bools:
    """The first marked child of every parent."""
    count = np.cumsum(marked)
    before = np.append(0, count)[group.head]
    is_first: Bools = marked & (count - before[group.number] == 1)
    return is_first


def _named(events: ProfileEvents, check: Callable[[str], object]) -> Bools:
    """Which events have an identifier that passes a check."""
    passes = np.array([*(bool(check(text)) for text in events.texts), False])
    is_named: Bools = passes[events.text]
    return is_named


def _nearest(ticks: Ints) -> Ints:
    """The smallest differences, in either direction, that are equal modulo a lap."""
    half = LAP >> 1
    offsets: Ints = (ticks + half) % LAP - half
    return offsets
