"""Opens the profile that is in a log: its lines, or its bytes as base64 or hex.

People attach logs: Android's with the table of a benchmark, or that of a board without a file
system, which prints its ETDump. What the log writes before each line is removed. The profile is
written into a temporary folder and recognized by its content there, as any file is; it begins at
the first line that a format accepts. The trace states what was taken and from where.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from viewer.codecs.gzip_file import MAGIC
from viewer.codecs.memory_budget import BUDGET, allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.codecs.temporary_folder import TemporaryFolder
from viewer.codecs.unpacking import write_temporary
from viewer.formats import HEAD_SIZE, PACKED, PLAIN_CSV, WITH_COLUMNS, Format, format_of, formats
from viewer.formats.byte_blocks import byte_blocks, may_have_bytes
from viewer.formats.log_lines import Prefix, prefix_of, texts_of
from viewer.formats.table.packed_text import TextLines, encoding_of, head_text
from viewer.formats.table.plain_csv import shows_columns
from viewer.model.text import bytes_text
from viewer.model.trace import Problem, Trace

_LONGEST = 256 << 20
_STEP = 1 << 22
# Bytes of a text that is no log by its first lines, and what must be in them: most texts that no
# format accepts are no profiles.
_LOOKED_AT = 1 << 22
_TELLING = re.compile(rb'PyTorchObserver \{|Model Load Time:|Run Order|"traceEvents"')
# Bytes of a byte of the log: its lines are objects.
_HELD_MEMORY = 4
_ZIP, _CHROME = "ZIP archive", "Chrome trace"
_MOST_CANDIDATES = 2000
# What a terminal does with the text: colors, and parts of lines that it clears.
_COLORS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_DIGITS = re.compile(r"[0-9]+")
_SEPARATED = re.compile(r"[,;\t|].*[,;\t|]")
_OTHERS = re.compile(r"\s*[\[{<=#]|PyTorchObserver|Profiling|Prompt Tokens|Model Load Time")


@dataclass(frozen=True, slots=True)
class _Inside:
    """A profile in a log. what: how it is written, and where."""

    data: bytes
    format: Format
    what: str


def sniff(head: bytes) -> bool:
    """Whether nearly all lines begin like those of a log, or have colors, or bytes are written."""
    text = head_text(head)
    if not text:
        return False
    is_colored = "\x1b[" in text and _COLORS.search(text) is not None
    lines = (_COLORS.sub("", text) if is_colored else text).splitlines()
    if is_colored or prefix_of(lines) is not None:
        return True
    if not head.startswith(MAGIC) and encoding_of(head).lines_end_with_cr:
        inside = _text_in(lines, "")
        return inside is not None and inside.format.name not in WITH_COLUMNS
    return may_have_bytes(text.encode()) and _bytes_in(lines, "", is_head=True) is not None


def holds_profile(path: str) -> bool:
    """Whether a text that no format accepts has a profile further on, other than any table."""
    try:
        with TextLines(path) as file:
            if _bytes_in(_lines_of(file, path), "", is_head=True) is not None:
                return True
        with TextLines(path) as file:
            text = file.read(_LOOKED_AT)
    except (OSError, UnreadableFile):
        return False
    if not _TELLING.search(text):
        return False
    inside = _text_in(text.decode("utf-8", "replace").splitlines(), "")
    return inside is not None and inside.format.name not in WITH_COLUMNS


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """The trace of the profile in a log. Raises UnreadableFile, ReadCancelled."""
    with TextLines(path) as file:
        lines, size, reserved = list[str](), 0, 0
        for line in _lines_of(file, path):
            size += len(line)
            if size > reserved:
                reserved = size + _STEP
                allowance().take(reserved * _HELD_MEMORY)
            lines.append(line)
    prefix = prefix_of(lines)
    inside = _found(texts_of(lines, prefix), prefix, cancelled)
    if inside is None:
        kind = f"lines of {prefix.name}" if prefix is not None else "a log"
        raise UnreadableFile(path, f"this is {kind}, and no profile is in it", remedy=_CUT)
    del lines
    with TemporaryFolder() as folder:
        inner = os.path.join(folder, os.path.basename(path))
        write_temporary(io.BytesIO(inside.data), inner, path, cancelled)
        try:
            with BUDGET.reading(size=os.path.getsize(inner)):
                trace = cast(Trace, inside.format.read(inner, progress, cancelled))
        except UnreadableFile as error:
            reason = f"the {inside.format.name} in this log: {error.reason}"
            raise UnreadableFile(path, reason, where=error.where, remedy=error.remedy) from error
    fault = (Problem(file.fault, 1, "the lines before it were read"),) if file.fault else ()
    stated = {**trace.stated, "Taken from a log": inside.what}
    return replace(trace, path=path, stated=stated, problems=(*fault, *trace.problems))


_CUT = "Save the part of the log that is the profile as a file of its own, or attach the profile"


def _lines_of(file: TextLines, path: str) -> Iterator[str]:
    """The lines of a log. Raises UnreadableFile if it is too large to be one."""
    size = 0
    while line := file.readline(_LONGEST):
        size += len(line)
        if size > _LONGEST:
            what = f"this is a log of more than {bytes_text(_LONGEST)}"
            raise UnreadableFile(path, what, remedy=_CUT)
        text = line.decode("utf-8", "replace").replace("\0", " ").rstrip("\r\n")
        yield _COLORS.sub("", text) if "\x1b[" in text else text


def _found(
    texts: dict[str, list[str]], prefix: Prefix | None, cancelled: Cancelled
) -> _Inside | None:
    for tag, lines in texts.items():
        stop_if(cancelled)
        source = " ".join(filter(None, (prefix.name if prefix else "a log", tag and f'("{tag}")')))
        if inside := _bytes_in(lines, source) or _text_in(lines, source):
            return inside
    return None


def _bytes_in(lines: Iterable[str], source: str, *, is_head: bool = False) -> _Inside | None:
    """The first block of bytes that is a known profile. is_head: whether it may be cut."""
    inside: _Inside | None = None
    further = 0
    for number, kind, data in byte_blocks(lines):
        if inside is not None:
            further += len(data)
            continue
        chosen = _format_of(data[:HEAD_SIZE])
        if chosen is not None and chosen.name not in WITH_COLUMNS:
            size = bytes_text(len(data))
            inside = _Inside(data, chosen, f"{size} of {kind} at line {number + 1} of {source}")
            if is_head:
                break
    if inside is not None and further:
        more = f"; {bytes_text(further)} after it, maybe a debug buffer, are not read"
        return replace(inside, what=inside.what + more)
    return inside


def _text_in(lines: Sequence[str], source: str) -> _Inside | None:
    """The lines from the first one at which a format accepts them.

    Tables of any tool may have text above them, so a format that accepts a later line of what they
    recognize comes first.
    """
    shapes: set[str] = set()
    ends = _end_positions(lines)
    table: _Inside | None = None
    last_of_head = len(lines)
    for index, line in enumerate(lines):
        if index > last_of_head:
            break
        if index and not (_SEPARATED.search(line) or _OTHERS.search(line)):
            continue
        shape = _DIGITS.sub("", line)
        if shape in shapes:
            continue  # rows of a table look alike
        shapes.add(shape)
        if len(shapes) > _MOST_CANDIDATES:
            break
        last = index
        while last < len(lines) and ends[last] - ends[index] < HEAD_SIZE:
            last += 1
        head = "\n".join([*lines[index : last + 1], ""]).encode()[:HEAD_SIZE]
        chosen = _format_of(head)
        if chosen is not None and (table is None or chosen.name not in WITH_COLUMNS):
            data = "\n".join([*lines[index:], ""]).encode()
            count = sum(bool(text.strip()) for text in lines[index:])
            what = f"{count:,} lines from text {index + 1} of {source}, without what is before each"
            inside = _Inside(data, chosen, what)
            if chosen.name not in WITH_COLUMNS:
                return inside
            table, last_of_head = inside, last
    return table


def _end_positions(lines: Sequence[str]) -> list[int]:
    """How many characters end with each line."""
    ends, total = [], 0
    for line in lines:
        total += len(line) + 1
        ends.append(total)
    return ends


def _format_of(head: bytes) -> Format | None:
    """The format of a profile by its first bytes, if it is no other file and asks nothing."""
    for chosen in formats():
        if chosen.kind != "trace" or chosen.name in (FORMAT.name, _ZIP, PACKED):
            continue
        if chosen.name == _CHROME and b'"ph"' not in head:
            continue
        if chosen.name == PLAIN_CSV:
            return chosen if shows_columns(head) else None
        if chosen.sniff(head):
            return chosen
    return None


FORMAT = format_of("in_log")
