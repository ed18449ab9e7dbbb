"""Reads the events of a block of a Chrome trace: as columns where that pays off, else as structs.

Most files mix many layouts, and their texts repeat: `pieces` reads these, in half the time of
`layouts`. If all events of a file have the same few layouts, or many have texts of their own,
`layouts` takes less time. The parser of structs reads what both leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import msgspec
import numpy as np

from viewer.arrays import Ints
from viewer.codecs.json_columns.objects import Objects
from viewer.formats.chrome.event_structs import EVENTS, FAULTS, Event
from viewer.formats.chrome.layouts import EventLayouts
from viewer.formats.chrome.pieces import PieceReader
from viewer.formats.chrome.read_events import ReadEvents

_TRIES = 4  # blocks in a row of which a reader reads too few events, before giving it up
_FEW_LAYOUTS = 3
_MOST_OTHERS = 1 / 50  # the share of events of other layouts
_PIECES = msgspec.json.Decoder(list[list[Event]])

Found = tuple[Sequence[ReadEvents], Ints | None, Sequence[Event]]


class BlockReader:
    """Reads the blocks of one file."""

    def __init__(self, pieces: PieceReader, layouts: EventLayouts) -> None:
        """Choose between two readers, which number texts and threads alike."""
        self._pieces, self._layouts = pieces, layouts
        self._tries: dict[PieceReader | EventLayouts, int] = {
            self._layouts: _TRIES,
            self._pieces: _TRIES,
        }
        self._has_few_layouts = True

    def read(self, data: bytes, size: int) -> Found:
        """The first `size` bytes: events as columns, rows of the others, and their structs.

        The rows are None if the structs are all events. Raises the errors of msgspec if they are
        not JSON, and UnicodeDecodeError and RecursionError.
        """
        objects = Objects(data, size)
        if objects.is_plain:
            for reader in self._readers():
                found = reader.read(objects)
                if reader is self._layouts and self._has_few_layouts:
                    self._has_few_layouts = found is not None and _are_few(*found)
                    if found is None or not self._has_few_layouts:
                        continue
                whole = None if found is None else _with_rest(objects, *found)
                if whole is not None:
                    self._tries[reader] = _TRIES
                    return whole
                # If it does not pay off for some blocks, it will not for the rest of the file.
                self._tries[reader] -= 1
        return [], None, EVENTS.decode(b"[" + data[:size] + b"]")

    def _readers(self) -> list[PieceReader | EventLayouts]:
        """Those to try, one after another."""
        order: list[PieceReader | EventLayouts] = [self._pieces, self._layouts]
        if self._has_few_layouts:
            order.insert(0, self._layouts)
        return [reader for reader in order if self._tries[reader] > 0]


def _are_few(found: Sequence[ReadEvents], left: Ints) -> bool:
    others = _MOST_OTHERS * sum(map(len, found))
    return len(found) <= _FEW_LAYOUTS and len(left) <= others


def _with_rest(objects: Objects, found: Sequence[ReadEvents], left: Ints) -> Found | None:
    """Add the structs of the remaining objects; None if the block does not consist of objects."""
    text, begin, end = objects.text, objects.begin[left].tolist(), objects.end[left].tolist()
    pieces = b"],[".join([text[a:b] for a, b in zip(begin, end, strict=True)])
    try:
        parsed = _PIECES.decode(b"[[%b]]" % pieces) if begin else []
    except FAULTS:
        return None
    if len(parsed) != len(left):  # one text was cut into two objects
        return None
    # Usually an object is one event.
    counts = np.ones(len(objects), np.int64)
    counts[left] = list(map(len, parsed))
    row = np.cumsum(counts) - counts
    for some in found:
        some.rows = row[some.rows]
    rows = [
        at + i
        for at, piece in zip(row[left].tolist(), parsed, strict=True)
        for i in range(len(piece))
    ]
    return found, np.array(rows, np.int64), list(chain.from_iterable(parsed))
