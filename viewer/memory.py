"""Memory that is not needed any more goes back to the system.

The C library keeps what was freed for the next time. After a large file was read, or given up, that
can be hundreds of megabytes that no other program may use.
"""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Give freed memory back, where the C library can be asked to (glibc). Any thread may ask."""
    if sys.platform != "linux":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
