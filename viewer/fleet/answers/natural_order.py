"""The order of names with numbers: "build 10" comes after "build 9"."""

from __future__ import annotations

import re

_NUMBERS = re.compile(r"([0-9]{1,18})")


def natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key to sort by names by, so that numbers in them count."""
    return [
        (1, int(one), "") if one.isdecimal() else (0, 0, one) for one in _NUMBERS.split(text) if one
    ]
