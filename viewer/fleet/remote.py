"""Files at URLs, through fsspec: `s3://`, `gs://`, `http://`, whatever the user has installed.

Local folders need no fsspec. A missing package is an ImportError that names it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from viewer.codecs.memory_budget import BUDGET, NotEnoughMemory
from viewer.codecs.temporary_folder import TemporaryFolder
from viewer.codecs.unpacking import write_temporary
from viewer.formats import too_large

HOW_TO_INSTALL = 'URLs need fsspec: pip install "opscope[fleet]"'
# What differs after a change, by the names that file systems use.
_CHANGED = ("ETag", "etag", "mtime", "LastModified", "last_modified", "created", "size")


def _file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and its path there. Raises ImportError, ValueError, OSError."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ImportError(HOW_TO_INSTALL) from error
    found: tuple[Any, str] = url_to_fs(url)
    return found


def list_url(url: str) -> list[tuple[str, str, int, str]]:
    """Return the files below a URL: URL, path below `url`, size, and what changes with it.

    Hidden ones are left out. Raises ImportError, ValueError, OSError.
    """
    system, root = _file_system(url)
    found = []
    for path, facts in sorted(system.find(root, detail=True).items()):
        relative = path[len(root) :].strip("/") or path.rpartition("/")[2]
        if any(part.startswith(".") for part in relative.split("/")):
            continue
        changed = next((str(facts[name]) for name in _CHANGED if facts.get(name)), "")
        size = int(facts.get("size") or 0)
        found.append((str(system.unstrip_protocol(path)), relative, size, changed))
    return found


def read_head(url: str, size: int) -> bytes:
    """Return the first bytes of a file. Raises OSError."""
    system, path = _file_system(url)
    head: bytes = system.cat_file(path, 0, size)
    return head


def read_small(url: str, most: int) -> bytes:
    """Return at most `most` bytes of a file or URL. Raises OSError."""
    if "://" in url:
        return read_head(url, most)
    with open(url, "rb") as file:
        return file.read(most)


@contextlib.contextmanager
def local_copy(url: str) -> Iterator[str]:
    """Download a file, under its own name, for the length of the block.

    Raises OSError, UnreadableFile.
    """
    system, path = _file_system(url)
    with TemporaryFolder() as folder, BUDGET.reading():
        target = os.path.join(folder, path.rpartition("/")[2] or "file")
        try:
            with system.open(path, "rb") as source:
                write_temporary(source, target, url)
        except NotEnoughMemory as error:
            raise too_large(url, error) from error
        yield target
