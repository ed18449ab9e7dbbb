"""What every reader and writer shares: callbacks for progress and cancelling, and its errors."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]  # done so far and in all, in bytes or rows
Cancelled = Callable[[], bool]


def no_progress(done: int, total: int) -> None:
    """A progress callback for callers that show none."""


def never_cancelled() -> bool:
    """A cancel callback for callers that cannot be cancelled."""
    return False


class UnreadableFile(Exception):
    """A file that cannot be opened: which one, where in it, what is wrong and what to do.

    The one error that readers raise. Odd data inside a recognized file is not an error but a
    counted `Problem` of the trace.
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


class ReadCancelled(Exception):
    """Raised out of a reader when `cancelled()` turned true."""
