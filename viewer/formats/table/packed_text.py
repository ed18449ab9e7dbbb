"""Reads a text as UTF-8 lines, however it is packed and encoded.

It may be plain or compressed with gzip; UTF-8 or UTF-16, with or without a byte order mark, or
Windows-1252, which spreadsheets write; its lines may end with CR alone. It is read in order and
never held whole, so a small file that unpacks to a huge one takes no memory.
"""

from __future__ import annotations

import codecs
import re

from viewer.codecs.unpacking import MAGIC, PackedFile, inflated_head, is_partial
from viewer.dataclasses import dataclass
from viewer.formats.text_rows import LONGEST_LINE

_HEAD = 4096
_BLOCK = 1 << 18
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# A text in UTF-16 has a zero in every second byte, except for letters beyond U+00FF. Of these, few
# have a zero in the other byte.
_MANY_ZEROS, _FEW_ZEROS = 0.4, 0.1
WINDOWS = "cp1252"
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
# Of bytes that are no text. Terminals have the escape.
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
# Bytes that Windows-1252 does not define, and control characters that are not in texts.
_NOT_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d\0-\x08\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a text is encoded. mark: the size of its byte order mark. lines_end_with_cr: with CR
    alone."""

    name: str
    mark: int
    lines_end_with_cr: bool


def encoding_of(head: bytes) -> Encoding:
    """The encoding of a text that starts with `head`."""
    name, mark = next(
        ((name, len(mark)) for mark, name in _MARKS if head.startswith(mark)), ("utf-8", 0)
    )
    if not mark and len(head) >= 2:
        even, odd = head[::2], head[1::2]
        if odd.count(0) > _MANY_ZEROS * len(odd) and even.count(0) < _FEW_ZEROS * len(even):
            name = "utf-16-le"
        elif even.count(0) > _MANY_ZEROS * len(even) and odd.count(0) < _FEW_ZEROS * len(odd):
            name = "utf-16-be"
        elif _is_windows(head):
            name = WINDOWS
    text = head[mark:].decode(name, "replace")
    # A CR at the end of the head may be the half of a CR LF.
    return Encoding(name, mark, "\r" in text[:-1] and "\n" not in text)


def _is_windows(head: bytes) -> bool:
    """Whether a text has letters as Windows-1252 writes them, and none as UTF-8 does.

    European words have at most two such letters in a row; longer runs are of other encodings, or
    damage.
    """
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        runs = set(_NOT_ASCII.findall(head))
        return not _NOT_WINDOWS.search(head) and not any(
            len(run) > 2 or _is_utf8(run) for run in runs
        )
    return False


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def head_text(head: bytes) -> str:
    """The text at the start of a file, unpacked and decoded; "" if it is no text.

    NUL bytes, which power cuts and serial lines leave in texts, are spaces.

    head: its first bytes, plain or in gzip.
    """
    if head.startswith(MAGIC):
        head = inflated_head(head)
    encoding = encoding_of(head)
    text = head[encoding.mark :].decode(encoding.name, "ignore")
    if "\0" in text:
        if _CONTROL.search(text) or "\n" not in text:
            return ""
        text = text.replace("\0", " ")
    return text.replace("\r", "\n") if encoding.lines_end_with_cr else text


def is_direct(head: bytes) -> bool:
    """Whether the bytes of a file are UTF-8 lines already, apart from a byte order mark."""
    if head.startswith(MAGIC):
        return False
    encoding = encoding_of(head)
    return encoding.name == "utf-8" and not encoding.lines_end_with_cr


class TextLines:
    """A text as UTF-8 bytes with LF at line ends (or CR LF), read in order like a binary file.

    source: the file, with its size, how much of it was read, and why not to its end.
    """

    def __init__(self, path: str) -> None:
        """Open it. Raises OSError."""
        self.source = PackedFile(path)
        first = self.source.read(_HEAD)
        encoding = encoding_of(first)
        self.encoding = encoding.name
        self._cr = encoding.lines_end_with_cr
        self._decoder = (
            None
            if encoding.name == "utf-8"
            else codecs.getincrementaldecoder(encoding.name)("replace")
        )
        self._ended = not first
        self._at = 0  # in `_waiting`
        self._held = b""  # a line whose end is not read yet
        self._waiting = self._whole(self._text(first[encoding.mark :]))

    def read(self, most: int) -> bytes:
        """The next `most` bytes; fewer only at the end."""
        parts: list[bytes] = []
        size = 0
        while size < most:
            part = self._waiting[self._at : self._at + most - size]
            self._at += len(part)
            size += len(part)
            parts.append(part)
            if self._at == len(self._waiting) and not self._fill():
                break
        return b"".join(parts)

    def readline(self, most: int = -1) -> bytes:
        """The next line, or its first `most` bytes."""
        parts: list[bytes] = []
        size = 0
        while most < 0 or size < most:
            end = self._waiting.find(b"\n", self._at) + 1 or len(self._waiting)
            part = self._waiting[self._at : end if most < 0 else min(end, self._at + most - size)]
            self._at += len(part)
            size += len(part)
            parts.append(part)
            if part.endswith(b"\n") or (self._at == len(self._waiting) and not self._fill()):
                break
        return b"".join(parts)

    def tell(self) -> int:
        """The number of bytes unpacked so far, for messages."""
        return self.source.unpacked

    def _fill(self) -> bool:
        """Read the next block; returns whether there is one. Only when all before it was read."""
        if self._ended:
            return False
        raw = self.source.read(_BLOCK)
        self._ended = not raw
        self._waiting, self._at = self._whole(self._text(raw)), 0
        return not self._ended or bool(self._waiting)

    def _whole(self, text: bytes) -> bytes:
        """The whole lines so far. The last one counts without its end only if the file ends there.

        If only a part of the file is read, or the rest is damaged, it may be cut inside a number.
        """
        text = self._held + text
        if self._ended:
            self._held = b""
            return text[: text.rfind(b"\n") + 1] if self.source.fault or is_partial() else text
        end = text.rfind(b"\n") + 1
        if not end and len(text) > LONGEST_LINE:
            end = len(text)  # `rest_of_line` refuses it
        self._held = text[end:]
        return text[:end]

    def _text(self, raw: bytes) -> bytes:
        if self._decoder is not None:
            raw = self._decoder.decode(raw, final=not raw).encode("utf-8", "replace")
        return raw.replace(b"\r", b"\n") if self._cr else raw

    def __enter__(self) -> TextLines:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()
