"""Controls when freed memory is returned to the system.

The C library keeps freed memory for reuse. After a large file was read or cancelled, that can be
hundreds of megabytes that no other program can use. While a file is being read, each block reuses
the memory that the one before freed: returning it would cost a third of the reading time, because
the system clears every page before it hands it out again.
"""

from __future__ import annotations

import ctypes
import sys

# From glibc's malloc.h. Allocations of 32 MB or more always come from the system and return to it.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _POOLS = -1, -3, -8
_LARGEST = 32 << 20
_KEPT, _KEPT_OTHERWISE = 512 << 20, 64 << 20


def use_single_arena() -> None:
    """Make all threads that start later allocate from one arena (glibc).

    By default each thread has its own, and the top of an arena other than the main one is never
    returned: 200 MB after a large file. The reading threads allocate few but large blocks.
    """
    _call_libc("mallopt", _POOLS, 1)


def retain_freed() -> None:
    """Keep freed memory until `release_freed`, if the C library supports it (glibc)."""
    _call_libc("mallopt", _MMAP_THRESHOLD, _LARGEST)
    _call_libc("mallopt", _TRIM_THRESHOLD, _KEPT)


def release_freed() -> None:
    """Return freed memory to the system, if the C library supports it (glibc). Thread-safe."""
    _call_libc("mallopt", _TRIM_THRESHOLD, _KEPT_OTHERWISE)
    _call_libc("malloc_trim", 0)


def _call_libc(function: str, *arguments: int) -> None:
    if sys.platform != "linux":
        return
    symbol = getattr(ctypes.CDLL(None), function, None)
    if symbol is not None:
        symbol(*arguments)
