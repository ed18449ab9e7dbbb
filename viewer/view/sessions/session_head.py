"""Recognizes session files by their first bytes; cheap to import, unlike what reads them."""

from __future__ import annotations

from viewer.codecs.reading import UnreadableFile
from viewer.formats import head_of

_FIRST_KEY = b'"opscope_session"'
_HEAD = 256  # bytes that must contain the first key


def is_session(path: str) -> bool:
    """Return whether a file starts like a session file; False if it is unreadable.

    Also False for anything but a regular file, which could block forever.
    """
    try:
        head = head_of(path)[:_HEAD]
    except UnreadableFile:
        return False
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" and _FIRST_KEY in head
