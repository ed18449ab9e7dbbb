"""What all readers and writers share: progress and cancel callbacks, and their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

Progress = Callable[[int, int], None]  # done so far and total, in bytes or rows
Cancelled = Callable[[], bool]


def no_progress(done: int, total: int) -> None:
    """Do nothing: a progress callback for callers that show none.

    Args:
        done: Bytes or rows that were read.
        total: All of them.
    """


def never_cancelled() -> bool:
    """Return False: a cancel callback for callers that never cancel.

    Returns:
        False.
    """
    return False


class UnreadableFile(Exception):
    """A file that cannot be opened.

    The only error that readers raise. Unexpected data in a recognized file is not an error: it
    becomes a counted `Problem` of the trace.

    Attributes:
        path: The file.
        reason: What is wrong, as the rest of a sentence that starts with the path.
        where: The place in the file, such as "line 3"; "" if it is about the whole file.
        remedy: What to do, as a sentence; "" if there is nothing.
    """

    def __init__(self, path: str, reason: str, *, where: str = "", remedy: str = "") -> None:
        """Create the error; its text has all four.

        Args:
            path: The file.
            reason: What is wrong.
            where: The place in the file.
            remedy: What to do.
        """
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

    Attributes:
        part: The largest share of it that fits, from its start; 0 if none, or if it cannot be
            opened in part.
    """

    def __init__(self, path: str, reason: str, *, remedy: str, part: Fraction) -> None:
        """Create the error.

        Args:
            path: The file.
            reason: What is wrong, with the memory that it needs and the memory that is available.
            remedy: What to do.
            part: The largest share that fits, from 0 to 1.
        """
        self.part = part
        super().__init__(path, reason, remedy=remedy)


class ReadCancelled(Exception):
    """Raised by a reader when `cancelled()` returns true."""


def stop_if(cancelled: Cancelled) -> None:
    """Raise ReadCancelled if the reader is cancelled."""
    if cancelled():
        raise ReadCancelled


@contextmanager
def faults_of(path: str) -> Iterator[None]:
    """Raise UnreadableFile about a file for what the system answers in the block."""
    try:
        yield
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
