"""The clocks of an operating system that files name, and how files state them in metadata.

The names are those of Linux, without the prefix CLOCK_.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from viewer.model.trace import ClockZero

TIME_OF_DAY = "REALTIME"  # ns since the UNIX epoch; steps when it is set
# They count from the boot, the second one not while the device sleeps.
BOOT, STEADY = "BOOTTIME", "MONOTONIC"
_NAMES = (TIME_OF_DAY, BOOT, STEADY)
_ZERO = re.compile(r"([A-Z]+) (-?[0-9]{1,40})(?: ±([0-9]{1,40}))? (\S[^;]{0,99})")


def zeros_text(zeros: Iterable[ClockZero]) -> str:
    """Return zeros as one text of an export's metadata; "" without any."""
    return "; ".join(
        f"{zero.name} {zero.ns}{f' ±{zero.error_ns}' if zero.error_ns else ''} {zero.source}"
        for zero in zeros
    )


def parse_zeros(text: str) -> tuple[ClockZero, ...]:
    """Return the zeros of a text; what `zeros_text` does not write is skipped."""
    zeros: dict[str, ClockZero] = {}
    for part in text.split("; "):
        match = _ZERO.fullmatch(part)
        if match is not None and match[1] in _NAMES:
            zero = ClockZero(match[1], int(match[2]), match[4], int(match[3] or 0))
            zeros.setdefault(match[1], zero)
    return tuple(zeros.values())
