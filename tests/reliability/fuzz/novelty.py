"""Which inputs show something new: they are kept and changed further."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import viewer.formats
from viewer.codecs.reading import UnreadableFile

_T = TypeVar("_T")
_DIGITS = re.compile(r"[0-9]+")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|“[^”]*”")
_FORMATS = str(Path(viewer.formats.__file__).parent)
MOST_KEPT = 4000
LARGEST_KEPT = 64_000


class Novelty:
    """Signatures and lines of code seen so far, and the inputs that showed them first."""

    def __init__(self) -> None:
        self.corpus: list[bytes] = []
        self.seen: set[Hashable] = set()
        self.lines: set[tuple[str, int]] = set()

    def add(self, signature: Hashable, data: bytes) -> bool:
        """Keep an input if its signature is new; returns whether it is."""
        if signature in self.seen or len(data) > LARGEST_KEPT:
            return False
        self.seen.add(signature)
        self._keep(data)
        return True

    def add_lines(self, reached: set[tuple[str, int]], data: bytes) -> None:
        """Keep an input that reached new lines of `viewer.formats`."""
        if not reached <= self.lines:
            self.lines |= reached
            if len(data) <= LARGEST_KEPT:
                self._keep(data)

    def _keep(self, data: bytes) -> None:
        if len(self.corpus) >= MOST_KEPT:
            # The oldest quarter was changed most often.
            del self.corpus[: MOST_KEPT // 4]
        self.corpus.append(data)


def reason_of(error: UnreadableFile) -> str:
    """Return the reason of a refusal without numbers and quoted texts."""
    return _QUOTED.sub("''", _DIGITS.sub("0", error.reason))[:200]


def traced(work: Callable[[], _T], reached: set[tuple[str, int]]) -> _T:
    """Call a function and collect the lines of `viewer.formats` it reaches; ten times slower."""

    def lines(frame: FrameType, event: str, argument: Any) -> Any:
        reached.add((frame.f_code.co_filename, frame.f_lineno))
        return lines

    def calls(frame: FrameType, event: str, argument: Any) -> Any:
        return lines if frame.f_code.co_filename.startswith(_FORMATS) else None

    sys.settrace(calls)
    try:
        return work()
    finally:
        sys.settrace(None)
