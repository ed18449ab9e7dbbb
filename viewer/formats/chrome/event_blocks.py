"""Reads blocks of trace events: as columns where that pays off, else as structs.

A block with faults in strings and numbers is repaired and read as a sound one. If it is damaged in
another way, too, its objects are read apart from each other.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter

import msgspec
import numpy as np

from viewer.arrays import Bools, Ints
from viewer.codecs.json_pieces import Objects
from viewer.codecs.json_repairs import RepairedObjects, may_be_repaired, require_utf8
from viewer.formats.chrome.event_scanner import (
    BACKSLASHES,
    COMMAS,
    CONTROL_CHARACTERS,
    EVENTS,
    FAULTS,
    NOT_UTF8,
    Event,
    parsed_event,
)
from viewer.formats.chrome.pieces import PieceReader, ReadEvents

# Two neighbors in damaged text, with or without a comma.
_NEIGHBORS = re.compile(rb"\}([ \t\r\n]*,?[ \t\r\n]*)\{")
_TRIES = 4  # blocks in a row of which too few events are read as columns, before giving it up
_SEVERAL_OBJECTS = msgspec.json.Decoder(list[list[Event]])

BlockEvents = tuple[Sequence[ReadEvents], Ints | None, Sequence[Event]]


class BlockReader:
    """Reads the blocks of one file: as columns where that pays off, else as structs."""

    def __init__(self, pieces: PieceReader) -> None:
        """pieces: reads events as columns."""
        self._pieces = pieces
        self._tries = _TRIES
        self._is_repairing = False  # whether the block before had faults that can be repaired
        self.odd: list[tuple[str, Ints]] = []  # problems, and where the events begin that have each
        # After a failure: the objects of the block, those read as columns, and the others.
        self.failed: tuple[Objects, Sequence[ReadEvents], Ints] | None = None
        self.repaired: RepairedObjects | None = None

    def read(self, data: bytes, size: int) -> BlockEvents:
        """The first `size` bytes: events as columns, rows of the others, and their structs.

        The rows are None if the structs are all events. Raises the errors of msgspec if they are
        not JSON, and UnicodeDecodeError and RecursionError.
        """
        self.odd, self.repaired = [], None
        objects = Objects(data, size)
        if not self._is_repairing:
            try:
                return self._read(objects)
            except FAULTS:
                if not objects.is_plain or not self._may_be_repaired():
                    raise
                repaired = RepairedObjects(objects)
                if not repaired.is_changed:
                    raise
                if self.failed is None:  # what it learned is of damaged events
                    self._pieces = self._pieces.anew()
        elif not objects.is_plain or not (repaired := RepairedObjects(objects)).is_changed:
            self._is_repairing = False
            return self._read(objects)
        self._is_repairing = True
        self.repaired = repaired
        events = self._read(repaired.objects)
        begin = self._begins(repaired, *events)
        self.odd = [(kind, begin[which]) for kind, which in odd_events(repaired, begin)]
        return events

    def _may_be_repaired(self) -> bool:
        """Whether what could not be read has anything that can be repaired."""
        if self.failed is None:
            return True
        objects, _, left = self.failed
        text, begin, end = objects.text, objects.begin[left].tolist(), objects.end[left].tolist()
        return may_be_repaired(b" ".join([text[a:b] for a, b in zip(begin, end, strict=True)]))

    def _begins(
        self,
        repaired: RepairedObjects,
        read: Sequence[ReadEvents],
        rows: Ints | None,
        structs: Sequence[Event],
    ) -> Ints:
        """Where each event of a repaired block begins. Raises DecodeError if it cannot be told."""
        count = sum(map(len, read)) + len(structs)
        if rows is not None and count == len(repaired.objects):
            return repaired.before(repaired.objects.begin)
        begin = repaired.outermost()
        if len(begin) != count:
            self.failed = self.repaired = None
            raise msgspec.DecodeError("events whose bounds are unclear")
        return begin

    def _read(self, objects: Objects) -> BlockEvents:
        self.failed = None
        if self._tries:
            columns = self._as_columns(objects)
            if columns is not None:
                self._tries = _TRIES
                return columns
        text = objects.text[: objects.size]
        require_utf8(text)
        structs = EVENTS.decode(b"[%b]" % text)
        # If columns do not pay off for some blocks, they will not for the rest of the file.
        self._tries = max(self._tries - 1, 0)
        return [], None, structs

    def _as_columns(self, objects: Objects) -> BlockEvents | None:
        if not objects.is_plain:
            return None
        read = self._pieces.read(objects)
        if read is None:
            return None
        columns = _with_rest(objects, *read)
        if columns is None:
            self.failed = objects, *read
        return columns


def _with_rest(objects: Objects, read: Sequence[ReadEvents], left: Ints) -> BlockEvents | None:
    """Add the structs of the remaining objects; None if the block does not consist of objects."""
    if not len(left):
        return read, left, []
    text, begin, end = objects.text, objects.begin[left].tolist(), objects.end[left].tolist()
    joined = b"],[".join([text[a:b] for a, b in zip(begin, end, strict=True)])
    try:
        require_utf8(joined)
        structs = _SEVERAL_OBJECTS.decode(b"[[%b]]" % joined)
    except FAULTS:
        return None
    if len(structs) != len(left):  # one text was cut into two objects
        return None
    # Usually an object is one event.
    counts = np.ones(len(objects), np.int64)
    counts[left] = list(map(len, structs))
    row = np.cumsum(counts) - counts
    for events in read:
        events.rows = row[events.rows]
    rows = [
        first + i
        for first, events in zip(row[left].tolist(), structs, strict=True)
        for i in range(len(events))
    ]
    return read, np.array(rows, np.int64), list(chain.from_iterable(structs))


def odd_events(repaired: RepairedObjects, begin: Ints) -> list[tuple[str, Ints]]:
    """The problems of repaired events, and which events have each, given where they began."""

    def of(places: Ints) -> Ints:
        events = np.searchsorted(begin, np.sort(places), "right") - 1
        distinct: Ints = events[np.append(True, events[1:] != events[:-1])[: len(events)]]
        return distinct

    backslashes, respelled = of(repaired.backslashes), of(repaired.respelled)
    controls = np.setdiff1d(of(repaired.controls), np.append(backslashes, respelled))
    return [
        (kind, events)
        for kind, events in (
            (NOT_UTF8, of(repaired.not_utf8)),
            (BACKSLASHES, backslashes),
            (CONTROL_CHARACTERS, controls),
        )
        if len(events)
    ]


class ObjectsApart:
    """The objects of a block, each read apart from the others, so that damage costs none of them.

    begin: where each begins. events: those of each object that was not read as columns. bad: the
    objects that are none. odd: problems of objects. longest: the length of the longest that is
    good.
    """

    def __init__(self, reader: BlockReader, data: bytes, size: int) -> None:
        """Read those of a block that a reader failed to read."""
        self._data = self._text = data
        self._read: Sequence[ReadEvents] = ()
        self.odd: list[tuple[str, int]] = []
        repaired = reader.repaired
        if reader.failed is None and repaired is not None and repaired.has_plain:
            repaired = None  # backslashes were told for objects that may be several events
        if repaired is not None:
            self._text, size = repaired.objects.text, repaired.objects.size
        if reader.failed is not None:
            objects, self._read, which = reader.failed
            begin, end = objects.begin, objects.end
        else:
            joints = list(_NEIGHBORS.finditer(self._text, 0, size))
            begin = np.array([0, *(joint.end() - 1 for joint in joints)])
            end = np.array([*(joint.start() + 1 for joint in joints), size])
            self.odd += [(COMMAS, i) for i, joint in enumerate(joints, 1) if b"," not in joint[1]]
            which = np.arange(len(begin))
        self._spans = list(zip(begin.tolist(), end.tolist(), strict=True))  # in the repaired text
        if repaired is not None:
            begin, end = repaired.before(begin), repaired.before(end)
        self.begin: list[int] = begin.tolist()
        self._end: list[int] = end.tolist()
        self.events: dict[int, Sequence[Event]] = {}
        self.bad: set[int] = set()
        self._alone: set[int] = set()  # repaired apart from the others
        faults = [] if repaired is None else odd_events(repaired, begin)
        self._faulty = {i for _, events in faults for i in events.tolist()}
        for i in which.tolist():
            self._parse(i)
        skipped = self.bad | self._alone
        for kind, events in faults:
            self.odd += [(kind, i) for i in events.tolist() if i not in skipped]
        lengths = end - begin
        lengths[list(self.bad)] = 0
        self.longest = int(lengths.max(initial=0))

    def known_end(self, position: int) -> int:
        """Where the event at a position ends; -1 if there is none, or it needed repair."""
        which = bisect_left(self.begin, position)
        if which == len(self.begin) or self.begin[which] != position:
            return -1
        if which in self.bad or which in self._faulty or which in self._alone:
            return -1
        events = self.events.get(which)
        is_event = events is None or (len(events) == 1 and events[0].ph != "")
        return self._end[which] if is_event else -1

    def _parse(self, which: int) -> None:
        begin, end = self._spans[which]
        text = self._text[begin:end]
        try:
            require_utf8(text)
            events = EVENTS.decode(b"[%b]" % text)
        except FAULTS:
            event, odd = parsed_event(self._data[self.begin[which] : self._end[which]])
            if event is None:
                self.bad.add(which)
            else:
                self.events[which] = (event,)
                self._alone.add(which)
                self.odd += [(kind, which) for kind in odd]
            return
        if len(events) > 1 and which in self._faulty:  # the faults are of one of them
            self.bad.add(which)
        else:
            self.events[which] = events

    def remaining(
        self, has_gone: Bools, others: Sequence[tuple[int, Event]]
    ) -> tuple[list[Event], Ints, Sequence[ReadEvents]]:
        """Structs and their rows, and columns, without some objects but with other events.

        others: these, with their positions.
        """
        read = self._read
        if any(has_gone[columns.rows].any() for columns in read):
            # Few blocks are damaged so that what looks like events is none.
            for i in np.concatenate([columns.rows for columns in read]).tolist():
                if not has_gone[i]:
                    self._parse(i)
            read = ()
        structs = [
            (self.begin[i], event)
            for i in sorted(self.events)
            if not has_gone[i]
            for event in self.events[i]
        ]
        structs += others
        structs.sort(key=itemgetter(0))
        begin = np.array(self.begin)
        places = [np.array([place for place, _ in structs], np.int64)]
        places += [begin[columns.rows] for columns in read]
        every = np.concatenate(places)
        row = np.empty(len(every), np.int64)
        row[np.argsort(every, kind="stable")] = np.arange(len(every))
        first = len(structs)
        for columns in read:
            columns.rows = row[first : first + len(columns)]
            first += len(columns)
        return [event for _, event in structs], row[: len(structs)], read
