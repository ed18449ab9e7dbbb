"""What all readers and writers share: progress and cancel callbacks, and their errors."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

Progress = Callable[[int, int], None]  # done so far and total, in bytes or rows
Cancelled = Callable[[], bool]


def no_progress(done: int, total: int) -> None:
    """A progress callback that does nothing."""


def never_cancelled() -> bool:
    """A cancel callback that always returns False."""
    return False


class UnreadableFile(Exception):
    """A file that cannot be opened: its path, the location in it, what is wrong and what to do.

    The only error that readers raise. Unexpected data in a recognized file is not an error: it
    becomes a counted `Problem` of the trace.
    """

    def __init__(self, path: str, reason: str, *, where: str = "", remedy: str = "") -> None:
        self.path = path
        self.reason = reason
        self.where = where
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        place = f"{self.path} ({self.where})" if self.where else self.path
        text = f"{place}: {self.reason}"
        return f"{text}. {self.remedy}" if self.remedy else text


class FileTooLarge(UnreadableFile):
    """A file that would need more memory than is available.

    part: the largest share of it that fits, from its start; 0 if none, or if it cannot be opened in
    part.
    """

    def __init__(self, path: str, reason: str, *, remedy: str, part: Fraction) -> None:
        self.part = part
        super().__init__(path, reason, remedy=remedy)


class ReadCancelled(Exception):
    """Raised by a reader when `cancelled()` returns true."""
