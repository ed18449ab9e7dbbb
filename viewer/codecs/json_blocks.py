"""Splits a large JSON file of events into blocks of whole events while reading it.

Events come in two forms: an object with the key `traceEvents` (other keys may come before or after
it), or a bare array, whose closing bracket may be missing. What follows the end of either is read
as another one, since files are joined end to end. A block is cut after what looks like the end of
its last event. The cut is right if the block is valid JSON: an array that was cut inside an event
or a string never is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from viewer.codecs.json_repairs import is_event_at, starts
from viewer.codecs.memory_budget import allowance
from viewer.codecs.unpacking import PackedFile

BLOCK = 1 << 21
_FIRST_BLOCK = 1 << 17  # what a file repeats is learned from a little of it
# An event that is longer than a block is held in memory, and several times. Not measured: the data,
# its next block, both joined, and what is parsed.
_HELD_MEMORY = 5
# No event is that long: a damaged file, or one that only looks like a list of events, would be held
# in memory as a whole, and searched for the end of its first event for minutes.
LONGEST_EVENT = 16 << 20
_SPACE = b" \t\r\n"
_JOINT = re.compile(rb"\}\s*,\s*\{")
_LIST = re.compile(rb'"traceEvents"[ \t\r\n]*:[ \t\r\n]*\[')
_LISTS_FIRST = re.compile(_LIST.pattern + rb"[ \t\r\n]*(\{)")
_TAIL = 1 << 12
# A string with its quotes (the closing one is missing if the data ends inside it), or a bracket.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]', re.DOTALL)
_FIRST = re.compile(rb"[\[{]")
_BETWEEN = re.compile(rb'["{}\[\],:]')
_FILLED = re.compile(rb"[^ \t\r\n]")
_INTEGER = re.compile(rb"[ \t\r\n]*-?[0-9]{1,19}[ \t\r\n]*")
_IN_TEXT = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_LONGEST_KEY = 64
_MOST_KEYS = 64
_LONGEST_NUMBER = 64  # with the space around it
EVENTS_KEY = b"traceEvents"
# Keys of arrays and objects next to the events that a reader may want.
KEPT = frozenset((b"stackFrames", b"samples"))
_LOOKED_AT = 1 << 16  # bytes of what follows the events, to tell what it is
DAMAGED_START = "the list of events is damaged where it starts: the events after it were read"


class EventTooLong(ValueError):
    """An event that does not end within `LONGEST_EVENT` bytes; `position` in the unpacked file."""

    def __init__(self, position: int) -> None:
        size = LONGEST_EVENT >> 20
        super().__init__(f"an event does not end within {size} MB, at byte {position}")


def has_list(path: str) -> bool:
    """Whether a list of events begins anywhere in a file. Reads it once more."""
    before = b""
    with PackedFile(path) as source:
        while data := source.read(BLOCK):
            if _LIST.search(before + data):
                return True
            before = data[-_LONGEST_KEY:]
    return False


def cut(data: bytes, size: int) -> int:
    """The number of bytes before the last boundary of two events within `size` bytes; 0 if none.

    The boundary is a guess: it may be inside a string or a nested list.
    """
    width = _TAIL
    while True:
        start = max(0, size - width)
        last_joint = -1
        for joint in _JOINT.finditer(data, start, max(size, 0)):
            last_joint = joint.start()
        if last_joint >= 0:
            return last_joint + 1
        if start == 0:
            return 0
        width *= 16


class Blocks:
    """The events of one file, block by block; `texts` has the strings outside the events."""

    def __init__(self, source: PackedFile) -> None:
        self._source = source
        self._data = b""
        self._at = 0  # data before this position is consumed
        self._block = _FIRST_BLOCK // 2
        self.is_bare = False
        self.arrays = 0
        # The consumer of a block sets how many of its bytes it used, and whether the array of
        # events ends in it.
        self.used = 0
        self.closed = False
        self.is_last = False  # whether the file ends with the block
        self.is_behind = False  # whether the block follows the end of the list of events
        self.left = b""  # what follows the last whole event, if the file ends inside an array
        self.texts: dict[str, bytes] = {}  # strings next to the events, by key
        self.filled: set[str] = set()  # keys of arrays and objects next to the events
        self.damaged_start = -1  # the byte where a list of events begins that has no proper start
        self.unread: list[tuple[int, int]] = []  # objects behind the events: where, and their sizes
        # Integers next to the events, by key, and those in objects there: ("outer", "inner").
        self.integers: dict[tuple[str, ...], int] = {}
        # Where the values of `KEPT` keys next to the events are, in unpacked bytes.
        self.spans: dict[str, tuple[int, int]] = {}
        self._value = 0  # where the value of a key next to the events begins
        self._before = b""  # what it has before the data that is held

    @property
    def position(self) -> int:
        """Start of the current block in the decompressed file, in bytes."""
        return self._source.unpacked - len(self._data) + self._at

    def blocks(self) -> Iterator[bytes]:
        """Yield the contents of each array of events in parts.

        Bytes that the consumer did not use come again, followed by more data if there is any.
        """
        while self._find_array():
            self.arrays += 1
            self.closed = False
            has_gone_on = True
            while not self.closed:
                # What is left of a block may be as long as a block.
                if has_gone_on and len(self._data) - self._at >= self._block:
                    self._data = self._data[self._at :]
                    self._at = 0
                    self.is_last = False
                else:
                    self.is_last = not self._more()
                self.used = 0
                yield self._data
                self._at = self.used
                has_gone_on = self.used > 0
                if self.is_last and not self.used and not self.closed:
                    self.left = self._data[self._at :].strip(_SPACE + b",")
                    return

    def _more(self) -> bool:
        """Read on, doubling the data held, so that a huge event is not scanned too often."""
        held = len(self._data) - self._at
        if held > BLOCK:
            allowance().take(2 * held * _HELD_MEMORY)
        if held >= LONGEST_EVENT:
            raise EventTooLong(self.position)
        self._block = min(2 * self._block, BLOCK)
        got = self._source.read(max(self._block - held, held))
        self._data = self._data[self._at :] + got
        self._at = 0
        return bool(got)

    def _next(self, pattern: re.Pattern[bytes]) -> bytes:
        """The next match, moving past it; b"" at the end of the file."""
        while True:
            match = pattern.search(self._data, self._at)
            if match is not None:
                self._at = match.end()
                return match[0]
            self._before += self._data[self._value : self._value + _LONGEST_NUMBER]
            self._before = self._before[:_LONGEST_NUMBER]
            self._at = len(self._data)
            if not self._more():
                return b""
            self._value = 0

    def _find_array(self) -> bool:
        """Move into the next array of events; False if there are no more."""
        if self.arrays:
            return (not self.is_bare and self._find_key()) or self._find_behind()
        self.is_bare = self._next(_FIRST) == b"["
        return self.is_bare or self._enter_object()

    def _find_behind(self) -> bool:
        """Move into what follows the end of the events; False if nothing does.

        Where it is neither a list nor an object, it is handed out as if a list went on.
        """
        self.is_behind = False
        while mark := self._next(_FILLED):
            begin = self.position - 1
            self.is_bare = True
            if mark == b"[":
                return True
            self._at -= 1
            while len(self._data) - self._at < _LOOKED_AT and self._more():
                pass
            # Many objects without events are garbage.
            is_garbage = len(self.unread) >= _MOST_KEYS
            if mark != b"{" or is_garbage or is_event_at(self._data, self._at):
                self.is_behind = True
                return True
            self._at += 1
            self.is_bare = False
            if self._enter_object():
                return True
            self.unread.append((begin, self.position - begin))
        return False

    def _enter_object(self) -> bool:
        """Move into the array of events of an object that was just opened; False if it has none."""
        data, position = self._data, self._at
        if is_event_at(data, position - 1):
            return self._enter_damaged(position - 1, is_bare=True)
        end = min(position + _LOOKED_AT, len(data))
        lists = list(_LISTS_FIRST.finditer(data, position, end))
        if lists:
            first = lists[0].start(1)
            if is_event_at(data, first) and not self._has_key_at({m.start() for m in lists}):
                return self._enter_damaged(first)
        else:
            places = islice(starts(data, position, end, is_inner=True), _MOST_KEYS)
            event = next((place for place in places if is_event_at(data, place)), None)
            if event is not None and not has_list(self._source.path):
                return self._enter_damaged(next(starts(data, position, event), event))
        return self._find_key()

    def _enter_damaged(self, position: int, *, is_bare: bool = False) -> bool:
        self._at = position
        self.is_bare = is_bare
        if self.damaged_start < 0:
            self.damaged_start = self.position
        return True

    def _has_key_at(self, positions: set[int]) -> bool:
        """Whether a key of the object that was just opened is at one of some positions."""
        depth = 1
        for token in _TOKEN.finditer(self._data, self._at, max(positions) + 1):
            char = token[0][:1]
            if char == b'"':
                if depth == 1 and token.start() in positions:
                    return True
            else:
                depth += 1 if char in (b"{", b"[") else -1
        return False

    def _find_key(self) -> bool:
        depth, key, is_value = 1, b"", False
        inner, is_object = b"", False  # of an object next to the events
        begin = -1  # of a value that may be wanted
        while mark := self._next(_BETWEEN):
            if mark == b'"':
                text = self._text()
                if depth > 1:
                    inner = text if depth == 2 and not is_value else inner
                elif is_value:
                    self.texts.setdefault(key.decode("utf-8", "replace"), text)
                else:
                    key = text
                is_value = False
                continue
            if is_value and mark in (b",", b"}"):
                self._integer(self._at - 1, *((key, inner) if depth == 2 else (key,)))
            if mark in (b"{", b"["):
                if depth == 1 and mark == b"[" and is_value and key == EVENTS_KEY:
                    return True
                if depth == 1:
                    begin = self.position - 1
                    if not self._is_next_closing():
                        self._fill(key)
                is_object = mark == b"{" if depth == 1 else is_object
                is_value = False
                depth += 1
            elif mark in (b"}", b"]"):
                is_value = False
                depth -= 1
                if depth == 0:
                    return False
                if depth == 1 and key in KEPT:
                    self.spans.setdefault(key.decode(), (begin, self.position))
            elif depth <= 1 + is_object:
                is_value = mark == b":"
                self._value, self._before = self._at, b""
        return False

    def _integer(self, end: int, *key: bytes) -> None:
        """Keep the value of a key, which ends at a position, if it is an integer."""
        if end - self._value > _LONGEST_NUMBER or len(self.integers) >= _MOST_KEYS:
            return
        value = self._before + self._data[self._value : end]
        if _INTEGER.fullmatch(value):
            names = tuple(name.decode("utf-8", "replace") for name in key)
            self.integers[names] = int(value)

    def _is_next_closing(self) -> bool:
        """Whether the array or object that was just opened is empty; moves to what is in it."""
        next_byte = self._next(_FILLED)
        self._at -= len(next_byte)
        return next_byte in (b"]", b"}", b"")

    def _fill(self, key: bytes) -> None:
        if len(self.filled) < _MOST_KEYS:
            self.filled.add(key.decode("utf-8", "replace"))

    def _text(self) -> bytes:
        """Move past a string whose opening quote was consumed, and return its start."""
        head = b""
        while True:
            inside = _IN_TEXT.match(self._data, self._at)
            assert inside is not None
            head = (head + inside[0][: _LONGEST_KEY + 1])[: _LONGEST_KEY + 1]
            self._at = inside.end()
            # A lone backslash at the end stays, for the character that follows it.
            if self._data[self._at : self._at + 1] == b'"':
                self._at += 1
                return head
            if not self._more():
                return head
