"""Makes an input smaller as long as it shows the same finding, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def minimized(data: bytes, shows: Callable[[bytes], bool], seconds: float) -> bytes:
    """Return a smaller input for which `shows` is true; lines first, then bytes."""
    until = time.monotonic() + seconds
    if data.count(b"\n") > 3:
        lines = data.splitlines(keepends=True)
        data = b"".join(_smaller(lines, lambda some: shows(b"".join(some)), until))
    return bytes(_smaller(list(data), lambda some: shows(bytes(some)), until))


def _smaller(parts: list[_T], shows: Callable[[list[_T]], bool], until: float) -> list[_T]:
    size = len(parts) // 2
    while size:
        at = 0
        while at < len(parts):
            if time.monotonic() > until:
                return parts
            fewer = parts[:at] + parts[at + size :]
            if fewer and shows(fewer):
                parts = fewer
            else:
                at += size
        size //= 2
    return parts
