"""Reads JSON texts whose objects are rows: an array of them, wherever it is, or one on each line.

What the rows mean is of the formats that read them: `layers.tables` and `table.json_rows`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import UnreadableFile

# How deep lists of rows are looked for.
DEEPEST = 6
_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*"|\[\s*[\[{])')
_EVENTS = re.compile(rb'"(?:traceEvents|ph)"\s*:')
_OBJECT = re.compile(rb"\{[^{}]{2,2000}\}")
# An object on each line.
_LINES = re.compile(r"\s*\{[^\n]*\}[ \t]*\r?\n\s*\{")
_LOOKED_AT = 40
# Bytes of memory for each byte of a JSON text that is read whole. Not measured.
_MEMORY = 12
_NO_LINE = "line that is no JSON: left out"


def is_json(head: bytes) -> bool:
    """Whether a text starts as JSON; a log can start with a bracket, too."""
    return _START.match(head) is not None


def has_events(head: bytes) -> bool:
    """Whether the start of a text has events of Chrome."""
    return _EVENTS.search(head) is not None


def first_objects(head: bytes) -> list[bytes]:
    """The first texts that look like an object without others in it."""
    return _OBJECT.findall(head)[:_LOOKED_AT]


def parsed(text: str | bytes, parse_float: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text, None if it is none."""
    try:
        return json.loads(text, parse_float=parse_float)
    except (ValueError, RecursionError):
        return None


def read_json(
    path: str,
    problem: Callable[[str, int, str], None],
    parse_float: Callable[[str], Any] | None = None,
) -> Any:
    """The value of a file; of one with an object on each line, the list of what its lines have.

    problem: is called with what was left out or replaced, how often, and where. Raises
    UnreadableFile, NotEnoughMemory, OSError.
    """
    with open(path, "rb") as file:
        raw = file.read()
    allowance().take(len(raw) * _MEMORY)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("utf-8-sig", "replace")
        problem("invalid UTF-8: replaced", text.count("\ufffd"), "")
    if not _LINES.match(text):
        try:
            return json.loads(text, parse_float=parse_float)
        except (ValueError, RecursionError) as error:
            raise UnreadableFile(
                path, f"its JSON is damaged: {error}", remedy="Write or copy it again"
            ) from error
    values = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line, parse_float=parse_float))
        except (ValueError, RecursionError):
            problem(_NO_LINE, 1, f"line {number}")  # the last one may be cut
    return values
