"""The bounds of an answer: so many rows, texts of limited length, and so many characters in all.

A file may hold a name of a megabyte or a list of a million numbers, and an assistant reads answers
in full. What is cut says so. Clients move answers beyond about 50,000 characters into a file, so an
answer that is too long has fewer items in its lists.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from viewer.model.times import group_digits
from viewer.reports.info import Facts

LONGEST_TEXT = 1000  # characters of one text
MOST_ITEMS = 100  # of a list inside an answer that has no limit of its own
MOST_CHARACTERS = 40_000  # of an answer


class TooLarge(ValueError):
    """An answer that is too large for an assistant; the message says what to do."""


def limited(facts: Facts, name: str, limit: int) -> Facts:
    """Return facts with at most `limit` rows in the list of a name, and how many there are.

    `total`: the number of rows; `shown`: how many of them are in the list.
    """
    rows = facts[name][:limit]
    return {**facts, name: rows, "total": len(facts[name]), "shown": len(rows)}


def limited_by_file(facts: Facts, name: str, limit: int, of: str = "file") -> Facts:
    """Return the same with at most `limit` rows of each file, which the rows name as `of`."""
    count: dict[str, int] = {}
    rows = []
    for row in facts[name]:
        count[row[of]] = count.get(row[of], 0) + 1
        if count[row[of]] <= limit:
            rows.append(row)
    return {**facts, name: rows, "total": len(facts[name]), "shown": len(rows)}


def of_each(limit: int, profiles: int) -> int:
    """Return how many rows each of some profiles has, if all have `limit` together."""
    return max(1, limit // max(1, profiles))


def answer_text(facts: Facts, limit: int) -> str:
    """Return facts as JSON in ASCII, so that no character in a name has an effect anywhere.

    limit: of lists that have no limit of their own. Raises `TooLarge`.
    """
    items = max(limit, MOST_ITEMS)
    while items:
        text = json.dumps(_bounded(facts, items), allow_nan=False)
        if len(text) <= MOST_CHARACTERS:
            return text
        items = items * 3 // 4
    raise TooLarge(
        f"the answer has more than {group_digits(MOST_CHARACTERS)} characters: name one profile"
    )


def _bounded(value: Any, items: int) -> Any:
    """Return a value of JSON with short texts and lists; numbers that are not finite are null."""
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        bounded: dict[str, Any] = {}
        for key, part in value.items():
            bounded[_short(str(key))] = _bounded(part, items)
            if isinstance(part, list | tuple) and len(part) > items:
                bounded[f"{_short(str(key))}_total"] = len(part)
        if isinstance(bounded.get("shown"), int):
            bounded["shown"] = min(bounded["shown"], items)
        return bounded
    if isinstance(value, Sequence):
        return [_bounded(part, items) for part in value[:items]]
    return value


def _short(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}... ({group_digits(len(text))} characters)"
