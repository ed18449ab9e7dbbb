"""The files that the API writes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from viewer.codecs.atomic_file import OVERWRITTEN, is_same_file


def output_path(
    path: str | os.PathLike[str], suffixes: Sequence[str], inputs: Iterable[str] = ()
) -> str:
    """Return the path of a file to write.

    Raises ValueError if its name has another suffix, or if it is one of the files that are open.
    """
    name = os.fspath(path)
    if not name.lower().endswith(tuple(suffixes)):
        expected = f"one of {', '.join(suffixes)}" if len(suffixes) > 1 else suffixes[0]
        raise ValueError(f"{name}: the name must end in {expected}")
    if any(is_same_file(one, name) for one in inputs):
        raise ValueError(f"{name}: {OVERWRITTEN}")
    return name
