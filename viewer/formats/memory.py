"""Memory that is not needed any more goes back to the system.

The C library keeps what was freed for the next time. After a large file was read, or given up, that
can be hundreds of megabytes that no other program may use.

While a file is read the contrary holds: what one block of it has freed, the next one takes. Pages
that go back in between are a third of the time of reading, as the system clears each before it
gives it out anew.
"""

from __future__ import annotations

import ctypes
import sys

# Of glibc's malloc.h; a piece of 32 MB or more always comes from the system and goes back to it.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _POOLS = -1, -3, -8
_LARGEST = 32 << 20
_KEPT, _KEPT_OTHERWISE = 512 << 20, 64 << 20


def one_pool() -> None:
    """Have all threads that begin later take from one pool (glibc).

    By itself each has its own, and the end of a pool that is not the first's never goes back: 200
    MB after a large file. The threads that read allocate little but large pieces.
    """
    _ask("mallopt", _POOLS, 1)


def keep_freed() -> None:
    """Keep freed memory until `give_back`, where the C library can be told to (glibc)."""
    _ask("mallopt", _MMAP_THRESHOLD, _LARGEST)
    _ask("mallopt", _TRIM_THRESHOLD, _KEPT)


def give_back() -> None:
    """Give freed memory back, where the C library can be asked to (glibc). Any thread may ask."""
    _ask("mallopt", _TRIM_THRESHOLD, _KEPT_OTHERWISE)
    _ask("malloc_trim", 0)


def _ask(function: str, *arguments: int) -> None:
    if sys.platform != "linux":
        return
    found = getattr(ctypes.CDLL(None), function, None)
    if found is not None:
        found(*arguments)
