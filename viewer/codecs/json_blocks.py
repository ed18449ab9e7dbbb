"""A large JSON file of events, cut into blocks of whole events as it is read.

Two forms hold events: an object with the key `traceEvents` (anywhere in it, other keys before or
after), and a bare array, whose closing bracket may be missing. A block is cut after the last event
in it that seems to end there; that it does is proved by the block being valid JSON, as an array
that is closed inside of an event or of a text never is. Only where that fails (the end of the
array, damaged events) are its events found by their brackets, which takes ten times as long.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from types import TracebackType

from viewer.codecs.gzip_head import MAGIC

BLOCK = 1 << 21
_GZIP = 16 + zlib.MAX_WBITS
_SPACE = b" \t\r\n"
_JOINT = re.compile(rb"\}\s*,\s*\{")
_TAIL = 1 << 12
# A text with its quotes (the last one missing where the data ends in it), or a bracket.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]', re.DOTALL)
_FIRST = re.compile(rb"[\[{]")
_BETWEEN = re.compile(rb'["{}\[\],:]')
_IN_TEXT = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_OPEN, _CLOSE = b"{[", b"}]"
_LONGEST_KEY = 64
EVENTS_KEY = b"traceEvents"


class PackedFile:
    """A file read from its beginning, unpacked if it is a gzip (of one member or several)."""

    def __init__(self, path: str) -> None:
        """Raises OSError."""
        self._file = open(path, "rb")  # noqa: SIM115 closed by `close`
        self.size = os.fstat(self._file.fileno()).st_size
        self._packed = self._file.peek(2)[:2] == MAGIC
        self._unpack = zlib.decompressobj(_GZIP)
        self._left = b""
        self.done = 0  # bytes of the file on disk that were read
        self.unpacked = 0  # bytes handed out
        self.fault = ""  # why a gzip could not be read to its end

    def read(self, most: int) -> bytes:
        """At most this many bytes more; b"" at the end, or where a gzip is damaged."""
        got = self._inflated(most) if self._packed else self._file.read(most)
        if not self._packed:
            self.done += len(got)
        self.unpacked += len(got)
        return got

    def _inflated(self, most: int) -> bytes:
        while not self.fault:
            if not self._left:
                self._left = self._file.read(BLOCK)
                self.done += len(self._left)
            if self._unpack.eof:
                self._left = self._left.lstrip(b"\0")  # padding of tapes, as gzip has it
                if not self._left:
                    return b""
                self._unpack = zlib.decompressobj(_GZIP)
            ended = not self._left
            try:
                got = self._unpack.decompress(self._left, most)
            except zlib.error as error:
                self.fault = f"the gzip is damaged ({error})"
                return b""
            self._left = self._unpack.unconsumed_tail or self._unpack.unused_data
            if got:
                return got
            if ended and not self._unpack.eof:
                self.fault = "the gzip is cut short"
        return b""

    def __enter__(self) -> PackedFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._file.close()


def cut(data: bytes, size: int) -> int:
    """Where the last joint of two events in the first bytes seems to be, as the number of bytes
    before it; 0 if there is none."""
    width = _TAIL
    while True:
        begin = max(0, size - width)
        at = -1
        for joint in _JOINT.finditer(data, begin, max(size, 0)):
            at = joint.start()
        if at >= 0:
            return at + 1
        if begin == 0:
            return 0
        width *= 16


def spans(data: bytes) -> tuple[list[tuple[int, int]], int, bool]:
    """The objects in the inside of an array, as (begin, end); how many bytes are told by that; and
    whether the array ends there. An object that does not end in the data is not among them."""
    found: list[tuple[int, int]] = []
    depth = begin = told = 0
    for token in _TOKEN.finditer(data):
        mark = data[token.start()]
        if mark in _OPEN:
            if depth == 0:
                begin = token.start()
            depth += 1
        elif mark in _CLOSE:
            if depth == 0:
                return found, token.end(), True
            depth -= 1
            if depth == 0:
                told = token.end()
                found.append((begin, told))
    return found, told, False


class Blocks:
    """The events of one file, block by block; what stands beside them is in `texts`."""

    def __init__(self, source: PackedFile) -> None:
        self._source = source
        self._data = b""
        self._at = 0  # what comes before it in the data is done with
        self.is_bare = False
        self.arrays = 0
        # Whoever takes a block says how many of its bytes are used up, and whether the array of
        # events ends in it.
        self.used = 0
        self.closed = False
        self.left = b""  # what stands behind the last whole event, if the file ends in an array
        self.texts: dict[str, bytes] = {}  # texts beside the events, by their key

    @property
    def position(self) -> int:
        """Where in the unpacked file the present block begins."""
        return self._source.unpacked - len(self._data) + self._at

    def blocks(self) -> Iterator[bytes]:
        """The inside of each array of events in parts. What is not used up comes again, with more
        behind it if there is more."""
        while self._find_array():
            self.arrays += 1
            self.closed = False
            while not self.closed:
                self._data = self._data[self._at :]
                self._at = 0
                last = not self._more()
                self.used = 0
                yield self._data
                self._at = self.used
                if last and not self.used and not self.closed:
                    self.left = self._data[self._at :].strip(_SPACE + b",")
                    return

    def _more(self) -> bool:
        """Read on, twice as much as is held: so that a huge event is not looked at too often."""
        held = len(self._data) - self._at
        got = self._source.read(max(BLOCK - held, held))
        self._data = self._data[self._at :] + got
        self._at = 0
        return bool(got)

    def _next(self, pattern: re.Pattern[bytes]) -> bytes:
        """The next place that fits, and go behind it; b"" at the end of the file."""
        while True:
            found = pattern.search(self._data, self._at)
            if found is not None:
                self._at = found.end()
                return found[0]
            self._at = len(self._data)
            if not self._more():
                return b""

    def _find_array(self) -> bool:
        """Go to the inside of the next array of events; False if there is none any more."""
        if not self.arrays:
            self.is_bare = self._next(_FIRST) == b"["
        elif self.is_bare:
            return False
        return self.is_bare or self._find_key()

    def _find_key(self) -> bool:
        depth, key, is_value = 1, b"", False
        while mark := self._next(_BETWEEN):
            if mark == b'"':
                text = self._text()
                if depth > 1:
                    continue
                if is_value:
                    self.texts.setdefault(key.decode("utf-8", "replace"), text)
                else:
                    key = text
            elif mark in (b"{", b"["):
                if depth == 1 and mark == b"[" and is_value and key == EVENTS_KEY:
                    return True
                depth += 1
            elif mark in (b"}", b"]"):
                depth -= 1
                if depth == 0:
                    return False
            elif depth == 1:
                is_value = mark == b":"
        return False

    def _text(self) -> bytes:
        """Go behind a text whose first quote was passed: the beginning of what is in it."""
        kept = b""
        while True:
            inside = _IN_TEXT.match(self._data, self._at)
            assert inside is not None
            kept = (kept + inside[0][: _LONGEST_KEY + 1])[: _LONGEST_KEY + 1]
            self._at = inside.end()
            # A lone backslash at the end stays for the character behind it.
            if self._data[self._at : self._at + 1] == b'"':
                self._at += 1
                return kept
            if not self._more():
                return kept
