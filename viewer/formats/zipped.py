"""Opens the one profile in a ZIP archive; of any other archive, it says what is in it.

Bug trackers and mail programs want profiles zipped. The member is recognized by its content, as any
file is, and unpacked into a temporary folder while it is read. Its limits are those of a file of
its unpacked size. An archive in an archive is not opened.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import cast

from viewer.codecs.memory_budget import BUDGET
from viewer.codecs.packed_stream import packing_of
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, never_cancelled, stop_if
from viewer.codecs.temporary_folder import TemporaryFolder
from viewer.codecs.unpacking import UnpackedMember, write_temporary
from viewer.dataclasses import replace
from viewer.formats import (
    ARRAY_MEMBER,
    HEAD_SIZE,
    LOG,
    PLAIN_CSV,
    PT2_MEMBERS,
    Format,
    choose,
    format_of,
)
from viewer.formats.executorch.etrecord.archive import DAMAGED
from viewer.formats.folders import is_meant
from viewer.formats.packed import unpacked
from viewer.formats.table import json_rows
from viewer.formats.table.layout import Layout
from viewer.formats.table.plain_csv import layout_in
from viewer.formats.table.stated_columns import ColumnsNeeded
from viewer.model.trace import Trace

_MAGIC, _EMPTY = b"PK\x03\x04", b"PK\x05\x06"
_MOST_MEMBERS = 10_000
_MOST_LOOKED_AT = 200
_MOST_NAMED = 4
_LONGEST_NAME = 60
_ODD = re.compile(r"[^\w.+ -]")
# Folders, and what the macOS Finder adds for its own use.
_ADDED = re.compile(r"/$|^__MACOSX/|(^|/)\.DS_Store$")


def sniff(head: bytes) -> bool:
    """Whether it is a ZIP archive that no other message is about."""
    return head.startswith((_MAGIC, _EMPTY)) and not any(
        member in head for member in (*PT2_MEMBERS, ARRAY_MEMBER)
    )


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """The trace of the one profile in it. Raises UnreadableFile, ReadCancelled."""
    with _unpacked(path, cancelled) as (inner, chosen), BUDGET.reading(size=os.path.getsize(inner)):
        trace = cast(Trace, chosen.read(inner, progress, cancelled))
    return replace(trace, path=path)


def table_layout(path: str) -> Layout:
    """The layout of a table, or of that in a packed file or in JSON.

    Raises UnreadableFile, OSError.
    """
    with open(path, "rb") as file:
        head = file.read(HEAD_SIZE)
    if json_rows.sniff(head):
        with json_rows.as_csv(path) as (inner, _):
            return layout_in(inner)
    if packing_of(head):
        with unpacked(path, never_cancelled) as (inner, *_):
            return layout_in(inner)
    if sniff(head):
        with _unpacked(path, never_cancelled) as (inner, _):
            return layout_in(inner)
    return layout_in(path)


@contextmanager
def _unpacked(path: str, cancelled: Cancelled) -> Iterator[tuple[str, Format]]:
    """The one profile in an archive as a file of its own while the context lasts, and its format.

    Errors are about the archive. Raises UnreadableFile, ReadCancelled.
    """
    try:
        with (
            closing(zipfile.ZipFile(path)) as archive,
            TemporaryFolder() as folder,
        ):
            member, chosen = _only_profile(path, archive, cancelled)
            name = _ODD.sub("_", os.path.basename(member.filename))[-_LONGEST_NAME:].lstrip(".")
            inner = os.path.join(folder, name or "member")
            with UnpackedMember(archive, member, f"{_short(member.filename)} in it") as source:
                write_temporary(source, inner, path, cancelled)
            try:
                yield inner, chosen
            except ColumnsNeeded as error:
                raise ColumnsNeeded(
                    path, error.reason, error.question, where=error.where, remedy=error.remedy
                ) from error
            except UnreadableFile as error:
                reason = f"{_short(member.filename)} in it: {error.reason}"
                raise UnreadableFile(
                    path, reason, where=error.where, remedy=error.remedy
                ) from error
    except DAMAGED as error:
        raise UnreadableFile(
            path,
            f"this ZIP archive is damaged or cut off ({error})",
            remedy="Copy or download it again",
        ) from error


def _only_profile(
    path: str, archive: zipfile.ZipFile, cancelled: Cancelled
) -> tuple[zipfile.ZipInfo, Format]:
    """The one profile in an archive, if it may be unpacked. Raises UnreadableFile."""
    members = [info for info in archive.infolist() if not _ADDED.search(info.filename)]
    if len(members) > _MOST_MEMBERS:
        raise UnreadableFile(path, f"this is a ZIP archive of {len(members):,} files")
    profiles = _profiles(archive, members, cancelled)
    if not profiles:
        where = "in it"
        if len(members) > _MOST_LOOKED_AT:
            where = f"among its first {_MOST_LOOKED_AT} files"
        raise UnreadableFile(
            path,
            f"this is a ZIP archive with {_named(members)}: not an ETRecord, "
            f"and no profile is {where}",
            remedy="Open the file that generate_etrecord or ETRecord.save wrote, or zip a profile",
        )
    if len(profiles) > 1:
        raise UnreadableFile(
            path,
            f"{len(profiles)} profiles are in this ZIP archive: {_named([m for m, _ in profiles])}",
            remedy="Unpack it, and open the folder",
        )
    member, chosen = profiles[0]
    return member, chosen


def _profiles(
    archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], cancelled: Cancelled
) -> list[tuple[zipfile.ZipInfo, Format]]:
    """The members that a reader of profiles accepts by their first bytes."""
    profiles = []
    for info in members[:_MOST_LOOKED_AT]:
        stop_if(cancelled)
        with archive.open(info) as file:
            head = file.read(HEAD_SIZE)
        if not head or head.startswith((_MAGIC, _EMPTY)):
            continue
        try:
            chosen = choose(head, info.filename)
        except UnreadableFile:
            continue
        # A table may ask what its columns are, and a log may have no profile.
        alone = chosen.name in (PLAIN_CSV, LOG) and len(members) == 1
        if chosen.kind == "trace" and (alone or is_meant(chosen.name, head)):
            profiles.append((info, chosen))
    return profiles


def _named(members: list[zipfile.ZipInfo]) -> str:
    """The names of a few members: "a.txt, b.txt and 3 more files"."""
    if not members:
        return "no files"
    names = ", ".join(_short(info.filename) for info in members[:_MOST_NAMED])
    more = len(members) - _MOST_NAMED
    return f"{names} and {more:,} more files" if more > 0 else names


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"…{name[-_LONGEST_NAME:]}"


FORMAT = format_of("zipped")
