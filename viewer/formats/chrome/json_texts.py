"""Makes one JSON in UTF-8 of texts that are written otherwise: UTF-16, and an event on each line.

PowerShell writes UTF-16, loggers write JSON lines. The copy is in a temporary folder while it is
read. A damaged line stays as it is, so that the reader counts it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

MARKS = (b"\xff\xfe", b"\xfe\xff")  # byte order marks of UTF-16
_HEAD = 1 << 16


@contextmanager
def as_one_json(path: str) -> Iterator[str]:
    """The file itself, or a copy of it as one JSON in UTF-8. Raises OSError, ValueError."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    is_wide = head.startswith(MARKS)
    encoding = "utf-16" if is_wide else "utf-8-sig"
    are_lines = _are_events(head.decode(encoding, "ignore"))
    if not is_wide and not are_lines:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="opscope-") as folder:
        copy = os.path.join(folder, os.path.basename(path))
        with (
            open(path, encoding=encoding, errors="replace") as source,
            open(copy, "w", encoding="utf-8") as target,
        ):
            joint = "[\n" if are_lines else ""
            for line in source:
                if are_lines and not (line := line.strip().rstrip(",")):
                    continue
                target.write(joint + line)
                joint = ",\n" if are_lines else ""
            target.write("\n]\n" if are_lines else "")
        yield copy


def _are_events(text: str) -> bool:
    """Whether each of the first two lines is a trace event."""
    lines = [line.strip().rstrip(",") for line in text.splitlines() if line.strip()][:2]
    try:
        found = [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        return False
    return len(found) == 2 and all(isinstance(one, dict) and "ph" in one for one in found)
