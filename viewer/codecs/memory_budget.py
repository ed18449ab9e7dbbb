"""One memory budget: what the files that are being read may take together.

The budget is the memory that is available when a file is opened, less a reserve, or what the user
allows with `--max-memory`. A reader states what it will need, in bytes at the peak, before it takes
it: `allowance().take(size)`, known from sizes in the file, or `allowance().expect(taken, share)`,
by what the part read so far takes. Both raise `NotEnoughMemory`, which `open_file` turns into a
`FileTooLarge`.

The allowance belongs to the thread that reads, in a context variable. So readers keep their
signatures, and one that states nothing has no limit; nor has one outside of `open_file`, and in
worker threads. Estimates are meant to be right or slightly too low: a file that fits must open. The
factors of each format are in its reader, with what they were measured on.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

from viewer.codecs.system_memory import SystemMemory, system_memory, used_memory

# For the window's drawings and other programs. Ten million slices take 430 MB for drawing (43 bytes
# a slice in the bench of the profile CSV), once the peak of reading, which is larger, has passed.
RESERVE = 256 << 20
# Files that need less than this are never refused: they do not fill any memory.
ALWAYS = 64 << 20
# What is assumed to be available where the system does not report it.
UNKNOWN = 2 << 30
# A part is large enough to estimate the whole file if it is this share of it, or this many bytes.
_SAMPLE_SHARE = 0.05
_SAMPLE = 8 << 20
_PACKED_SAMPLE = 128 << 20
# A real PyTorch trace is packed 13:1 (the corpus' torch_training); a list of one event repeated,
# 340:1. Deflate cannot exceed 1032:1.
ABSURD_RATIO = 150
# A file that needs more memory than both of these was made to fill it, so it is refused even if it
# fits: gzipped PyTorch traces need up to 90 times their size, the synthetic ones of the benches 135
# times, ETRecords 5 times; a zip bomb of 1.2 MB 1,900 times. A limit set by the user comes first.
UNUSUAL = 256 << 20
UNUSUAL_RATIO = 200
# The rest of a file takes at least half as much per byte as the part that was read.
_REST = 0.5
# Estimates are rather too low, so that no file is refused that fits; a limit that the user sets is
# for other programs, and must hold.
_SURE = 1.5
_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([KMGT]?)(?:i?B)?", re.IGNORECASE)
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?) ?%")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class NotEnoughMemory(MemoryError):
    """Reading a file would need more memory than is available; sizes in bytes.

    in_proportion: whether the first part of the file needs as much less as it is smaller.
    times: how many times its size the file needs, if only that is why it is refused, else 0.
    """

    def __init__(self, needed: int, available: int, *, in_proportion: bool, times: int = 0) -> None:
        super().__init__(f"{needed} bytes needed, {available} available")
        self.needed, self.available, self.in_proportion = needed, available, in_proportion
        self.times = times


class Allowance:
    """What one file may take.

    part: the share of the file to read, from its start; 1 is all. size: of the file, in bytes; None
    if what it needs is not compared with it.
    """

    def __init__(
        self,
        budget: MemoryBudget | None = None,
        part: Fraction = Fraction(1),
        size: int | None = None,
    ) -> None:
        self.part, self.size = part, size
        self.reserved = 0
        self.before = 0  # bytes that the process used before
        self._budget = budget

    def take(self, needed: int) -> None:
        """Reserve memory for the whole file, in bytes at the peak. Raises NotEnoughMemory."""
        self._reserve(needed, needed, in_proportion=False)

    def take_unpacked(self, size: int) -> None:
        """Refuse a file whose texts, written out, would be beyond all measure.

        They are held once and referred to. Raises NotEnoughMemory.
        """
        usual = max(UNUSUAL, UNUSUAL_RATIO * (self.size or 0))
        if self._budget is not None and size > usual:
            times = size // max(self.size or 0, 1)
            raise NotEnoughMemory(size, usual, in_proportion=False, times=times)

    def expect(
        self, taken: int, share: float, read: int, *, fixed: int = 0, ratio: float = 1.0
    ) -> None:
        """Reserve what the part read so far takes, and refuse if the rest cannot fit either.

        taken: bytes at the peak if the file ended here. share: of the file, 0 to 1. read: bytes
        of content, unpacked. fixed: bytes in addition that do not grow in proportion, such as
        distinct texts. ratio: unpacked bytes per byte of the file. The rest is only judged once
        the part is large enough to tell. Raises NotEnoughMemory.
        """
        whole = int(taken / max(share, 1e-9))
        is_plain = ratio < 1.5 or ratio > ABSURD_RATIO
        sample = _SAMPLE if is_plain else _PACKED_SAMPLE
        is_known = share >= _SAMPLE_SHARE or read >= sample
        least = taken + int((whole - taken) * _REST) if is_known else taken
        self._reserve(least + fixed, max(whole, least) + fixed, in_proportion=True)

    def _reserve(self, least: int, reported: int, *, in_proportion: bool) -> None:
        if self._budget is not None and least > self.reserved:
            self._budget.reserve(self, least, reported, in_proportion=in_proportion)


_CURRENT: ContextVar[Allowance] = ContextVar("allowance")
_UNLIMITED = Allowance()


def allowance() -> Allowance:
    """The allowance of the file that this thread reads."""
    return _CURRENT.get(_UNLIMITED)


class MemoryBudget:
    """The memory that all readers of this process share. Thread-safe."""

    def __init__(
        self,
        system: Callable[[], SystemMemory | None] = system_memory,
        used: Callable[[], int] = used_memory,
    ) -> None:
        self._system, self._used = system, used
        self._limit: int | None = None
        self._lock = threading.Lock()
        self._reading: list[Allowance] = []
        # What was available when the first of the files that are being read was opened. Small files
        # never ask, and looking takes a tenth of the time that they take; so it is found later.
        self._first_free: int | None = None
        self._first_used = 0
        self._kept = 0  # by the files that were read since then

    def limit(self, most: int | None) -> None:
        """Set the most that this process may use in bytes, None for what is available."""
        self._limit = most

    def available(self) -> int:
        """The bytes that files may take now, if none is being read."""
        return max(self._unused(), ALWAYS)

    def _unused(self) -> int:
        """What the limit or the system leaves, which is negative if it is exceeded."""
        memory = self._system()
        if self._limit is not None:
            return self._limit - (memory.used if memory else 0)
        return memory.available - RESERVE if memory else UNKNOWN

    @contextmanager
    def reading(self, part: Fraction = Fraction(1), size: int | None = None) -> Iterator[Allowance]:
        """The allowance of one file while this thread reads it; see `Allowance`."""
        part_allowance = Allowance(self, part, size)
        with self._lock:
            part_allowance.before = self._used()
            if not self._reading:
                self._first_free, self._first_used, self._kept = None, part_allowance.before, 0
            self._reading.append(part_allowance)
        token = _CURRENT.set(part_allowance)
        try:
            yield part_allowance
        finally:
            _CURRENT.reset(token)
            with self._lock:
                self._reading.remove(part_allowance)
                # The trace stays in memory. While other files are being read, what the process
                # uses is no measure of what is free, because they have not taken all of theirs.
                # If none is, the next file measures.
                if self._reading:
                    self._kept += min(
                        part_allowance.reserved, max(self._used() - part_allowance.before, 0)
                    )

    def reserve(
        self, part_allowance: Allowance, least: int, reported: int, *, in_proportion: bool
    ) -> None:
        """Reserve bytes for one file in place of what it had. Raises NotEnoughMemory.

        reported: what it would need in the error, at least `least`.
        """
        if least <= ALWAYS:
            part_allowance.reserved = least
            return
        if self._limit is not None:
            # What it uses already counts: a limit that the user sets must hold.
            least = max(int(least * _SURE), self._used() - part_allowance.before)
            reported = max(reported, least)
        with self._lock:
            others = sum(each.reserved for each in self._reading if each is not part_allowance)
            free = max(self._free() - others, ALWAYS)
            if least > free:
                raise NotEnoughMemory(reported, free, in_proportion=in_proportion)
            if part_allowance.size is None or self._limit is not None:
                usual = free
            else:
                usual = max(UNUSUAL, UNUSUAL_RATIO * part_allowance.size)
            if least > usual:
                times = reported // max(part_allowance.size or 0, 1)
                raise NotEnoughMemory(reported, usual, in_proportion=in_proportion, times=times)
            part_allowance.reserved = least

    def _free(self) -> int:
        """What is left of what was available when the first file was opened."""
        if self._first_free is None:
            taken = max(self._used() - self._first_used, 0)  # since then, by these files
            self._first_free = self._unused() + taken
        return self._first_free - self._kept


BUDGET = MemoryBudget()


def size_of(path: str) -> int | None:
    """The size of a file in bytes; None if it has none, which its reader reports."""
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return None


def parse_limit(text: str) -> int:
    """Bytes of "512M", "2G", "1.5GB" (powers of 1000) or "50%" of the memory. Raises ValueError."""
    share = _SHARE.fullmatch(text.strip())
    if share is not None and 0 < Fraction(share[1]) <= 100:
        memory = system_memory()
        if memory is None:
            raise ValueError("this system does not report its memory: state a size such as 2G")
        return int(memory.total * Fraction(share[1]) / 100)
    size = _SIZE.fullmatch(text.strip())
    if size is None or not Fraction(size[1]):
        raise ValueError(f"{text!r} is not a size: write it as 512M, 2G or 50%")
    return int(Fraction(size[1]) * _UNITS[size[2].upper()])


def parse_part(text: str) -> Fraction:
    """The share of a file from "20%" or "0.5%". Raises ValueError."""
    share = _SHARE.fullmatch(text.strip())
    if share is None or not 0 < Fraction(share[1]) <= 100:
        raise ValueError(f"{text!r} is not a part: write it as 20%")
    return Fraction(share[1]) / 100
