"""Finds profiles, and what belongs to each, in folders and at URLs.

Next to a profile: its ETRecords and programs, which are those of its own name, otherwise all in its
folder; and its sidecar `run.json`. Symbolic links to folders are not followed;
hidden files, and what is not a regular file, are left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from viewer.codecs.atomic_file import is_same_file
from viewer.codecs.reading import UnreadableFile
from viewer.fleet.remote import is_url, list_url, read_head
from viewer.formats import HEAD_SIZE, LOG, PACKED, PLAIN_CSV, choose
from viewer.recording.folder import is_system_trace

# With these extensions, an unreadable file is a failure; otherwise it is not a profile.
SURELY = (".etdp", ".etdump", ".pftrace")
# The same for what profiles are linked with: a loss of it would leave rows without operators.
_SURELY_RECORDS = (".etrecord", ".pte")
SIDECAR = "run.json"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """One file: its path or URL, its path below its source, its size, and when it changed.

    relative: with "/". changed: a text that differs after a change, such as the time in ns.
    modified: that time, in seconds since 1970; None if it is not known.
    """

    path: str
    relative: str
    size: int
    changed: str
    modified: float | None = None

    @property
    def folder(self) -> str:
        """Its folder, as a path or URL."""
        return self.path.replace(os.sep, "/").rpartition("/")[0]

    @property
    def name(self) -> str:
        """Its name without folders."""
        return self.relative.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class FoundProfile:
    """A profile with the files that it may be linked with, and its sidecar."""

    file: FoundFile
    records: tuple[FoundFile, ...] = ()
    sidecar: FoundFile | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The profiles of some sources, the unreadable files, and the number of files of other kinds.

    unreadable: each file with the reason, as a sentence.
    """

    profiles: tuple[FoundProfile, ...]
    unreadable: tuple[tuple[FoundFile, str], ...]
    others: int


class NoSource(Exception):
    """A source does not exist or cannot be listed; the message says what to do."""


def find_profiles(
    sources: Sequence[str],
    *,
    records: str | None = None,
    leave_out: str | None = None,
    is_present: Callable[[str], bool] = lambda _: False,
) -> Found:
    """Return all profiles in folders, files and URLs, sorted by path.

    records: a folder or URL whose ETRecords are for all profiles, instead of those next to each.
    leave_out: a folder to ignore. is_present: whether a path is known to be a profile: its first
    bytes are not read. Raises NoSource.
    """
    return joined(
        found_profiles(sources, records=records, leave_out=leave_out, is_present=is_present)
    )


def joined(parts: Iterable[Found]) -> Found:
    """Return several as one."""
    every = tuple(parts)
    profiles = [profile for part in every for profile in part.profiles]
    return Found(
        tuple(sorted(profiles, key=lambda profile: profile.file.path)),
        tuple(pair for part in every for pair in part.unreadable),
        sum(part.others for part in every),
    )


def found_profiles(
    sources: Sequence[str],
    *,
    records: str | None = None,
    leave_out: str | None = None,
    is_present: Callable[[str], bool] = lambda _: False,
) -> Iterator[Found]:
    """Yield all profiles, those of some folders at once; as for `find_profiles`.

    What belongs together is in one folder. Of several sources, all are one part: a file of one may
    belong to a profile of another. Raises NoSource.
    """
    record_files = None if records is None else _given_records(records)
    if len(sources) == 1:
        for files in _files(sources[0], leave_out):
            yield _found_in([(sources[0], files)], record_files, is_present)
        return
    every = [(source, files) for source in sources for files in _files(source, leave_out)]
    yield _found_in(every, record_files, is_present)


def _found_in(
    listed: Iterable[tuple[str, Sequence[FoundFile]]],
    record_files: tuple[FoundFile, ...] | None,
    is_present: Callable[[str], bool],
) -> Found:
    """The profiles of some folders. listed: a source, and files of it."""
    profiles: dict[str, FoundFile] = {}
    nearby: dict[str, list[FoundFile]] = {}
    sidecars: dict[str, FoundFile] = {}
    unreadable: list[tuple[FoundFile, str]] = []
    others = 0
    for source, file in ((source, file) for source, files in listed for file in files):
        if file.path in profiles:
            continue
        if file.name == SIDECAR or file.name.endswith(f".{SIDECAR}"):
            sidecars[file.path.replace(os.sep, "/")] = file
            others += 1
        elif is_present(file.path):
            profiles[file.path] = file
        else:
            kind = _kind(file, is_named=file.path == os.path.abspath(source))
            if kind == "profile":
                profiles[file.path] = file
            elif kind == "record":
                nearby.setdefault(file.folder, []).append(file)
            elif kind:
                unreadable.append((file, kind))
            else:
                others += 1
    # Of many profiles with the same records, all have one tuple of these.
    of_folders = {folder: tuple(files) for folder, files in nearby.items()}
    complete = []
    for file in sorted(profiles.values(), key=lambda file: file.path):
        of_folder = of_folders.get(file.folder, ()) if record_files is None else record_files
        stem = file.path.replace(os.sep, "/").rpartition(".")[0]
        sidecar = sidecars.get(f"{stem}.{SIDECAR}") or sidecars.get(f"{file.folder}/{SIDECAR}")
        complete.append(FoundProfile(file, records_of(file, of_folder), sidecar))
    return Found(tuple(complete), tuple(unreadable), others)


def records_of(profile: FoundFile, nearby: tuple[FoundFile, ...]) -> tuple[FoundFile, ...]:
    """Return the ETRecords of a profile's own name, else all that there are, as the same tuple."""
    stem = os.path.splitext(profile.name)[0]
    return tuple(file for file in nearby if os.path.splitext(file.name)[0] == stem) or nearby


def _kind(file: FoundFile, *, is_named: bool = False) -> str:
    """Return "profile", "record", "" for other files, or why a file cannot be read.

    is_named: whether it is a source itself, and not in a folder.
    """
    if is_url(file.path) and file.path.lower().endswith(SURELY):
        return "profile"  # its head takes a request; the worker that reads it finds out
    if is_system_trace(file.path):
        return ""  # it has no inferences
    try:
        if is_url(file.path):
            head = read_head(file.path, HEAD_SIZE)
        else:
            with open(file.path, "rb") as opened:
                head = opened.read(HEAD_SIZE)
        kind = choose(head, file.path)
        if kind.name == PACKED and not is_url(file.path):
            from viewer.formats.packed import inner_head

            head = inner_head(file.path)
            kind = choose(head, file.path)
    except UnreadableFile as error:
        return str(error) if file.path.lower().endswith((*SURELY, *_SURELY_RECORDS)) else ""
    except OSError as error:
        return f"{file.path}: it cannot be read ({error.strerror or error})"
    if kind.name in (LOG, PACKED) and not is_named:
        return ""  # most logs have no profile
    if kind.name == PLAIN_CSV:
        from viewer.formats.table.plain_csv import shows_columns

        return "profile" if shows_columns(head) else ""  # else any table of numbers
    if kind.kind == "trace":
        return "profile"
    if file.path.lower().endswith(kind.suffixes) and kind.name != "Python source":
        return "record"
    if file.path.lower().endswith(_SURELY_RECORDS):
        return f"{file.path}: its content is not what its name states ({kind.name})"
    return ""


def _given_records(folder: str) -> tuple[FoundFile, ...]:
    every = (file for files in _files(folder, None) for file in files)
    found_files = tuple(file for file in every if _kind(file) == "record")
    if not found_files:
        raise NoSource(f"{folder}: there is no ETRecord or program in it (--records)")
    return found_files


def _files(source: str, leave_out: str | None) -> Iterator[list[FoundFile]]:
    """Yield the regular files of a source, those of a folder together. Raises NoSource."""
    if is_url(source):
        is_empty = True
        try:
            for listed in list_url(source):
                is_empty &= not listed
                yield [
                    FoundFile(*file)
                    for file in listed
                    if leave_out is None or not file.url.startswith(f"{leave_out}/")
                ]
        except (OSError, ImportError) as error:
            raise NoSource(f"{source}: it cannot be listed ({error})") from error
        if is_empty:
            raise NoSource(f"{source}: there is no file")
        return
    path = os.path.abspath(source)
    if os.path.isfile(path):
        yield [_file_of(path, os.path.basename(path), os.stat(path))]
    elif os.path.isdir(path):
        yield from _files_below(path, "", leave_out)
    else:
        raise NoSource(f"{source}: no such file or folder")


def _file_of(path: str, relative: str, status: os.stat_result) -> FoundFile:
    changed = str(status.st_mtime_ns)
    return FoundFile(path, relative, status.st_size, changed, status.st_mtime)


def _files_below(folder: str, relative: str, leave_out: str | None) -> Iterator[list[FoundFile]]:
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError:
        return
    inside, files = [], []
    for entry in entries:
        if entry.name.startswith("."):
            continue
        below = f"{relative}/{entry.name}" if relative else entry.name
        try:
            if entry.is_dir(follow_symlinks=False):
                inside.append((entry.path, below))
            elif entry.is_file():
                status = entry.stat()
                files.append(_file_of(entry.path, below, status))
        except OSError:
            continue
    yield files
    for path, below in inside:
        if leave_out is None or not is_same_file(path, leave_out):
            yield from _files_below(path, below, leave_out)
