"""Reads JSON from files that may be damaged or hostile, value by value, without raising.

A value of an unexpected type reads as empty (or None), so that a reader can continue with the rest
and count the problem.
"""

from __future__ import annotations

import json
import re
from typing import Any

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_REPLACEMENT = "\ufffd"


def memory_needed(raw: bytes | bytearray) -> int:
    """About how many bytes the text and the objects of a JSON text take once it is parsed.

    Counted are brackets, commas and quotes. Measured with tracemalloc: 1.02 to 1.12 times what the
    programs and graphs of real ETRecords take (2.6 to 5.2 bytes a byte), 1.1 to 1.2 times for
    repeated small lists and objects with a value and for texts (12 to 44 bytes a byte), but only
    half of what long numbers take (6 to 8 bytes a byte) and an eighth of that of one large object.
    """
    objects, lists = raw.count(b"{}"), raw.count(b"[]")
    texts = raw.count(b'"') // 2 - raw.count(b'":') - raw.count(b'\\"') // 2
    return (
        len(raw)
        + 80 * objects
        + 200 * (raw.count(b"{") - objects)
        + 56 * lists
        + 96 * (raw.count(b"[") - lists)
        + 16 * raw.count(b",")
        + 56 * max(texts, 0)
    )


class InvalidJson(ValueError):
    """The text is not JSON, or is nested deeper than Python can parse."""


class Parsed:
    """A parsed JSON text. `warnings` lists what was replaced or lost, one sentence each."""

    def __init__(self, raw: bytes | bytearray | str, *, find_duplicates: bool = False) -> None:
        """Parse the text. Raises InvalidJson.

        find_duplicates: report duplicate keys. This costs a call per object: only for small texts.
        """
        self.warnings: list[str] = []
        text = raw if isinstance(raw, str) else self._decode(raw)
        self._duplicates = 0
        try:
            self.value: Any = json.loads(
                text, object_pairs_hook=self._object if find_duplicates else None
            )
        except (ValueError, RecursionError) as error:
            raise InvalidJson(str(error)) from error
        # An escaped half of a surrogate pair makes a string that can be neither shown nor written.
        if _SURROGATE_ESCAPE.search(text) and self._replace_lone_surrogates():
            self.warnings.append("text with half a surrogate pair: shown with \ufffd")
        if self._duplicates:
            self.warnings.append("duplicate key: the last one is used")

    def _decode(self, raw: bytes | bytearray) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.warnings.append("text is not UTF-8: shown with \ufffd")
            return raw.decode("utf-8", "replace")

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        self._duplicates += len(result) < len(pairs)
        return result

    def _replace_lone_surrogates(self) -> bool:
        is_changed = False
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
                    is_changed = True
                if isinstance(key, str) and _SURROGATES.search(key):
                    container[_SURROGATES.sub(_REPLACEMENT, key)] = container.pop(key)
                    is_changed = True
        self.value = holder[0]
        return is_changed


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def whole_number(value: Any) -> int | None:
    """An integer from 0 to 2**63 - 1, given as a number or as decimal text, else None."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63:
        return value
    return None
