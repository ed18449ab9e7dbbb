"""What the tests of logged dumps share: a clock that they set, and dumps read back plainly."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from flatbuffers import encode
from flatbuffers import number_types as n
from flatbuffers.table import Table


class Clock:
    """Shows the times it is given, then counts on by tens."""

    def __init__(self, *times: int) -> None:
        self._times = iter(times)
        self._rest = count(10 * (max(times, default=0) // 10 + 1), 10)

    def __call__(self) -> int:
        return next(self._times, None) or next(self._rest)


@dataclass(frozen=True)
class Logged:
    """One event as it stands in a dump; an allocation has only its allocator and size."""

    block: str
    what: str | int  # a name, an identifier, the name of an allocator
    start: int = 0
    end: int = 0
    chain: int = -1
    instruction: int = 0
    metadata: bytes | str = b""
    size: int | None = None


def events_of(path: Path) -> list[Logged]:
    """All events in file order, one field at a time, as the flatbuffers package reads them."""
    data = path.read_bytes()
    assert encode.Get(n.UOffsetTFlags.packer_type, data, 0) == len(data) - 4
    assert data[8:12] == b"ED00"
    root = Table(data, 4 + encode.Get(n.UOffsetTFlags.packer_type, data, 4))
    found = []
    for run in _tables(root, 1):
        block = _text(run, 0)
        assert isinstance(block, str)
        allocators = [_text(a, 0) for a in _tables(run, 2)]
        for event in _tables(run, 3):
            profile, allocation = _table(event, 0), _table(event, 1)
            if allocation is not None:
                own = allocators[_number(allocation, 0, n.Int32Flags, 0) - 1]
                size = _number(allocation, 1, n.Uint64Flags, 0)
                found.append(Logged(block, own or "", size=size))
                continue
            assert profile is not None
            assert profile.Pos % 8 == 0  # so that its times are aligned
            name, text = _text(profile, 0), _text(profile, 4)
            number = _number(profile, 3, n.Int32Flags, -1)
            stated = [
                what for what in (name, text, None if number == -1 else number) if what is not None
            ]
            (what,) = stated
            found.append(
                Logged(
                    block, what, _number(profile, 6, n.Uint64Flags, 0),
                    _number(profile, 7, n.Uint64Flags, 0), _number(profile, 1, n.Int32Flags, 0),
                    _number(profile, 2, n.Int32Flags, -1), _bytes(profile, 5) or b"",
                )
            )  # fmt: skip
    return found


def _number(table: Table, slot: int, flags: Any, default: int) -> int:
    return int(table.GetSlot(4 + 2 * slot, default, flags))


def _bytes(table: Table, slot: int) -> bytes | None:
    o = table.Offset(4 + 2 * slot)
    return bytes(table.String(table.Pos + o)) if o else None


def _text(table: Table, slot: int) -> str | None:
    data = _bytes(table, slot)
    return None if data is None else data.decode()


def _table(table: Table, slot: int) -> Table | None:
    o = table.Offset(4 + 2 * slot)
    return Table(table.Bytes, table.Indirect(table.Pos + o)) if o else None


def _tables(table: Table, slot: int) -> list[Table]:
    o = table.Offset(4 + 2 * slot)
    if not o:
        return []
    start = table.Vector(o)
    return [Table(table.Bytes, table.Indirect(start + 4 * i)) for i in range(table.VectorLen(o))]
