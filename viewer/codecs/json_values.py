"""JSON from files that may be damaged or hostile: parsed, and read value by value without raising.

A value of another type than expected reads as empty (or None), so that a reader can go on with what
is left and count what was odd.
"""

from __future__ import annotations

import json
import re
from typing import Any

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_REPLACEMENT = "\ufffd"


class NotJson(ValueError):
    """The text is no JSON, or is nested deeper than Python can parse."""


class Parsed:
    """A JSON text, parsed. `oddities` says what was replaced or lost in it, one sentence each."""

    def __init__(self, raw: bytes | bytearray | str, *, find_duplicates: bool = False) -> None:
        """Raises NotJson. find_duplicates costs a call per object: for small texts only."""
        self.oddities: list[str] = []
        text = raw if isinstance(raw, str) else self._decode(raw)
        self._duplicates = 0
        try:
            self.value: Any = json.loads(
                text, object_pairs_hook=self._object if find_duplicates else None
            )
        except (ValueError, RecursionError) as error:
            raise NotJson(str(error)) from error
        # An escaped half of a surrogate pair is a text that can be neither shown nor written.
        if _SURROGATE_ESCAPE.search(text) and self._replace_lone_surrogates():
            self.oddities.append("text with half a surrogate pair: shown with \ufffd")
        if self._duplicates:
            self.oddities.append("a key is there twice: the last one counts")

    def _decode(self, raw: bytes | bytearray) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.oddities.append("text is not UTF-8: shown with \ufffd")
            return raw.decode("utf-8", "replace")

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        self._duplicates += len(made) < len(pairs)
        return made

    def _replace_lone_surrogates(self) -> bool:
        found = False
        holder = [self.value]
        todo: list[Any] = [holder]
        while todo:
            container = todo.pop()
            items = container.items() if isinstance(container, dict) else enumerate(container)
            for key, value in list(items):
                if isinstance(value, (dict, list)):
                    todo.append(value)
                elif isinstance(value, str) and _SURROGATES.search(value):
                    container[key] = _SURROGATES.sub(_REPLACEMENT, value)
                    found = True
                if isinstance(key, str) and _SURROGATES.search(key):
                    container[_SURROGATES.sub(_REPLACEMENT, key)] = container.pop(key)
                    found = True
        self.value = holder[0]
        return found


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def whole_number(value: Any) -> int | None:
    """A number from 0 to 2**63 - 1, given as a number or as decimal text; None for all else."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63:
        return value
    return None
