"""Makes one JSON in UTF-8 of texts that are written otherwise: UTF-16, and an event on each line.

PowerShell writes UTF-16, loggers write JSON lines. The copy is in a temporary folder while it is
read. A damaged line stays as it is, so that the reader counts it.
"""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from viewer.codecs.memory_budget import BUDGET
from viewer.codecs.reading import Cancelled
from viewer.codecs.temporary_folder import TemporaryFolder
from viewer.codecs.unpacking import PackedFile, write_temporary

MARKS = (b"\xff\xfe", b"\xfe\xff")  # byte order marks of UTF-16
_HEAD = 1 << 16
_LONGEST_EVENT = 1 << 24


@contextmanager
def as_one_json(path: str, cancelled: Cancelled) -> Iterator[tuple[str, str]]:
    """The file itself, or a copy of it as one JSON in UTF-8, and why its gzip ended before its end.

    Raises OSError, UnreadableFile, ReadCancelled, NotEnoughMemory.
    """
    with PackedFile(path) as source:
        head = source.read(_HEAD)
    encoding = "utf-16" if head.startswith(MARKS) else "utf-8-sig"
    are_lines = _are_events(head.decode(encoding, "ignore"))
    if encoding != "utf-16" and not are_lines:
        yield path, ""
        return
    with TemporaryFolder() as folder:
        copy = os.path.join(folder, os.path.basename(path))
        # All of it, also if only a part of the copy is to be read.
        with BUDGET.reading(size=os.path.getsize(path)), PackedFile(path) as source:
            joined = _OneJson(source, encoding, are_lines)
            write_temporary(joined, copy, path, cancelled)
        yield copy, source.fault


class _OneJson:
    """A text as one JSON in UTF-8, made while it is read."""

    def __init__(self, source: PackedFile, encoding: str, are_lines: bool) -> None:
        self._source, self._are_lines = source, are_lines
        self._text = codecs.getincrementaldecoder(encoding)("replace")
        self._line, self._joint = "", "[\n"
        self._is_end = False

    def read(self, most: int) -> bytes:
        """The next bytes; b"" only at the end."""
        while not self._is_end:
            data = self._source.read(most)
            self._is_end = not data
            text = self._text.decode(data, final=not data)
            json_text = self._joined(text) if self._are_lines else text
            if json_text:
                return json_text.encode("utf-8", "replace")
        return b""

    def _joined(self, text: str) -> str:
        """The whole lines so far as members of an array."""
        *lines, self._line = (self._line + text).split("\n")
        if self._is_end or len(self._line) > _LONGEST_EVENT:
            lines.append(self._line)
            self._line = ""
        parts = []
        for line in lines:
            if event := line.strip().rstrip(","):
                parts.append(self._joint + event)
                self._joint = ",\n"
        return "".join(parts) + ("\n]\n" if self._is_end else "")


def _are_events(text: str) -> bool:
    """Whether each of the first two lines is a trace event."""
    lines = [line.strip().rstrip(",") for line in text.splitlines() if line.strip()][:2]
    try:
        values = [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        return False
    return len(values) == 2 and all(isinstance(value, dict) and "ph" in value for value in values)
