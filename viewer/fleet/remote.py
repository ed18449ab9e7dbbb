"""Files at URLs, through fsspec: `s3://`, `gs://`, `http://`, whatever the user has installed.

Local folders need no fsspec. A missing package is an ImportError that names it. All arguments
beyond a path are keywords: file systems have the names of fsspec, but an order of their own (the
second argument of `cat_file` is a version in s3fs). Whatever a file system raises is an OSError
with the URL: clients of clouds have exceptions of their own.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from viewer.codecs.memory_budget import BUDGET, NotEnoughMemory
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.temporary_folder import TemporaryFolder
from viewer.codecs.unpacking import write_temporary
from viewer.extras import how_to_install
from viewer.formats import too_large

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# What differs after a change, by the names that file systems use.
_CHANGED = ("ETag", "etag", "mtime", "LastModified", "last_modified", "created", "size")

_MODIFIED = ("LastModified", "last_modified", "mtime", "updated", "created")


def is_url(source: str) -> bool:
    """Whether a source is a URL for fsspec, and not a path."""
    return _URL.match(source) is not None


@contextlib.contextmanager
def file_system(url: str) -> Iterator[tuple[Any, str]]:
    """The file system of a URL, and its path there, for the length of the block.

    Raises ImportError, UnreadableFile, OSError for all else, also for what the block raises.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ImportError(how_to_install("URLs need fsspec", "fleet")) from error
    try:
        yield url_to_fs(url)
    except (OSError, ImportError, UnreadableFile, MemoryError):
        raise
    except Exception as error:
        raise OSError(str(error) or type(error).__name__) from error


class ListedFile(NamedTuple):
    """A file below a URL: its path there, its size, what changes with it, and when it did.

    modified: seconds since 1970; None if the file system does not say.
    """

    url: str
    relative: str
    size: int
    changed: str
    modified: float | None


def list_url(url: str) -> Iterator[list[ListedFile]]:
    """Yield the files below a URL, the files of a folder always together, and some folders at once.

    So the memory does not have all files. Hidden ones are left out. Raises ImportError, OSError.
    """
    with file_system(url) as (system, root):
        for subtree in _subtrees(system, root):
            system.invalidate_cache()  # what it remembers of listings
            files = []
            for path, facts in sorted(subtree.items()):
                relative = path[len(root) :].strip("/") or path.rpartition("/")[2]
                if any(part.startswith(".") for part in relative.split("/")):
                    continue
                changed = next((str(facts[name]) for name in _CHANGED if facts.get(name)), "")
                size = int(facts.get("size") or 0)
                name = str(system.unstrip_protocol(path))
                files.append(ListedFile(name, relative, size, changed, _modified(facts)))
            yield files


def _subtrees(system: Any, root: str) -> Iterator[dict[str, dict[str, Any]]]:
    """Yield the files of a folder, and then those of each folder in it with all that it has."""
    try:
        entries = system.ls(root, detail=True)
    except (FileNotFoundError, NotADirectoryError):
        entries = []
    inside = {str(facts["name"]): facts for facts in entries}
    folders = sorted(
        name
        for name, facts in inside.items()
        if facts["type"] == "directory" and name.strip("/") != root.strip("/")
    )
    files = {name: facts for name, facts in inside.items() if facts["type"] != "directory"}
    if len(folders) == 1 and not files:
        yield from _subtrees(system, folders[0])
        return
    if not folders:
        yield system.find(root, detail=True)
        return
    yield files
    for folder in folders:
        yield system.find(folder, detail=True)


def _modified(facts: Mapping[str, Any]) -> float | None:
    """When a file was changed, as a time, a number or a text in ISO 8601 of a listing says."""
    for name in _MODIFIED:
        value = facts.get(name)
        with contextlib.suppress(ValueError, OverflowError):
            if isinstance(value, str):
                value = datetime.fromisoformat(value)
            if isinstance(value, datetime):
                return value.timestamp()
            if isinstance(value, int | float):
                return float(value)
    return None


def read_head(url: str, size: int) -> bytes:
    """Return the first bytes of a file. Raises ImportError, OSError."""
    with file_system(url) as (system, path):
        head: bytes = system.cat_file(path, start=0, end=size)
    return head


def read_small(url: str, most: int) -> bytes:
    """Return at most `most` bytes of a file or URL. Raises OSError."""
    if is_url(url):
        return read_head(url, most)
    with open(url, "rb") as file:
        return file.read(most)


@contextlib.contextmanager
def local_copy(url: str) -> Iterator[str]:
    """Download a file, under its own name, for the length of the block.

    Raises OSError, UnreadableFile.
    """
    with TemporaryFolder() as folder, BUDGET.reading():
        with file_system(url) as (system, path):
            target = os.path.join(folder, path.rpartition("/")[2] or "file")
            try:
                with system.open(path, mode="rb") as source:
                    write_temporary(source, target, url)
            except NotEnoughMemory as error:
                raise too_large(url, error) from error
        yield target
