"""Finds an open file by what a user typed: its path in any spelling, or its name alone."""

from __future__ import annotations

import os
from collections.abc import Iterable


def find_path(paths: Iterable[str], typed: str) -> str | None:
    """Return the path that was typed, or the only one with that file name; None if there is none.

    Raises ValueError if several files have that name.
    """
    listed = list(dict.fromkeys(paths))
    absolute = os.path.abspath(typed)
    same = next((path for path in listed if os.path.abspath(path) == absolute), None)
    if same is not None:
        return same
    named = [path for path in listed if os.path.basename(path) == typed]
    if len(named) > 1:
        raise ValueError(f"{typed} is the name of {len(named)} open files: give the path of one")
    return named[0] if named else None
