"""Opens the profile in a file that is packed with Zstandard, xz or bzip2.

Such files are what build systems and trace collectors keep. The profile is recognized by its
content, as any file is, and unpacked into a temporary folder while it is read. A file in gzip is
opened so if its format does not read gzip itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from viewer.codecs.memory_budget import BUDGET, allowance
from viewer.codecs.packed_stream import PackedStream, packing_of
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.codecs.temporary_folder import TemporaryFolder
from viewer.codecs.unpacking import MAGIC, PackedFile, inflated_head, write_temporary
from viewer.dataclasses import replace
from viewer.formats import HEAD_SIZE, PLAIN_CSV, Format, choose, format_of, formats
from viewer.formats.table.packed_text import encoding_of
from viewer.formats.table.stated_columns import ColumnsNeeded
from viewer.model.trace import Problem, Trace

_SUFFIXES = (".zst", ".xz", ".bz2", ".gz")
_LONGEST_LINE = 1 << 20


def sniff(head: bytes) -> bool:
    """Whether it is packed, and no reader reads it as it is."""
    inner = inflated_head(head)
    if not inner:
        return packing_of(head) != ""
    others = (other for other in formats() if other.name not in (FORMAT.name, PLAIN_CSV))
    return any(other.sniff(inner) for other in others) or not format_of("table.plain_csv").sniff(
        head
    )


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """The trace of the profile in it. Raises UnreadableFile, ReadCancelled."""
    part = allowance().part
    with unpacked(path, cancelled) as (inner, chosen, fault):
        if part < 1 and not chosen.in_order:
            raise UnreadableFile(
                path, f"a file of the format {chosen.name} cannot be opened in part"
            )
        with BUDGET.reading(part, os.path.getsize(inner)):
            trace = cast(Trace, chosen.read(inner, progress, cancelled))
    problems = (Problem(f"{fault}: the content before it was read", 1, ""),) if fault else ()
    return replace(trace, path=path, problems=(*problems, *trace.problems))


def inner_head(path: str) -> bytes:
    """The first unpacked bytes of a file. Raises OSError, UnreadableFile."""
    with _stream(path) as source:
        return _filled(source, HEAD_SIZE)


@contextmanager
def unpacked(path: str, cancelled: Cancelled) -> Iterator[tuple[str, Format, str]]:
    """The profile in it as a file of its own while the context lasts, its format, and its damage.

    Errors are about the packed file. Raises UnreadableFile, ReadCancelled, OSError.
    """
    chosen = _format_in(path)
    with TemporaryFolder() as folder:
        name = os.path.basename(path)
        suffix = next((s for s in _SUFFIXES if name.lower().endswith(s)), "")
        inner = os.path.join(folder, name[: len(name) - len(suffix)] or "unpacked")
        # All of it, also if only a part of the copy is to be read.
        with BUDGET.reading(size=os.path.getsize(path)), _stream(path) as source:
            write_temporary(source, inner, path, cancelled)
        if source.fault:
            _leave_out_cut_line(inner)
        try:
            yield inner, chosen, source.fault
        except ColumnsNeeded as error:
            raise ColumnsNeeded(
                path, error.reason, error.question, where=error.where, remedy=error.remedy
            ) from error
        except UnreadableFile as error:
            reason = source.fault or error.reason
            raise UnreadableFile(path, reason, where=error.where, remedy=error.remedy) from error


def _format_in(path: str) -> Format:
    """The format of the profile in it. Raises UnreadableFile, OSError."""
    with _stream(path) as source:
        head = _filled(source, HEAD_SIZE)
    what = packing_of(head) or ("gzip" if head.startswith(MAGIC) else "")
    if not head or what:
        reason = f"{what} is in it" if what else source.fault or "nothing is in it"
        raise UnreadableFile(path, reason, remedy="Unpack it, and open what is in it")
    chosen = choose(head, path)
    if chosen.kind != "trace":
        raise UnreadableFile(path, f"this is a packed {chosen.name}", remedy="Unpack it first")
    return chosen


def _stream(path: str) -> PackedStream | PackedFile:
    with open(path, "rb") as file:
        is_gzip = file.read(len(MAGIC)) == MAGIC
    return PackedFile(path) if is_gzip else PackedStream(path)


def _filled(source: PackedStream | PackedFile, most: int) -> bytes:
    """The next bytes, fewer than `most` only at the end."""
    data = b""
    while len(data) < most and (more := source.read(most - len(data))):
        data += more
    return data


def _leave_out_cut_line(path: str) -> None:
    """Shorten a text after its last whole line: its last number may be cut."""
    with open(path, "r+b") as file:
        encoding = encoding_of(head := file.read(HEAD_SIZE))
        if encoding.name == "utf-8" and b"\0" in head:
            return
        end = ("\r" if encoding.lines_end_with_cr else "\n").encode(encoding.name)
        size = file.seek(0, os.SEEK_END)
        begin = file.seek(max(size - _LONGEST_LINE, 0))
        line_end = file.read().rfind(end)
        if line_end >= 0:
            file.truncate(begin + line_end + len(end))


FORMAT = format_of("packed")
