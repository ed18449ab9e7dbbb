"""The bounds of an answer: so many rows, texts of limited length, and so many characters in all.

A file may hold a name of a megabyte or a list of a million numbers, and an assistant reads answers
in full. What is cut says so. Clients move answers beyond about 50,000 characters into a file, so an
answer that is too long has fewer items in its lists.
"""

from __future__ import annotations

import json
import math
from collections import Counter
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
    rows = _first_of_each(facts[name], [row[of] for row in facts[name]], limit)
    return {**facts, name: rows, "total": len(facts[name]), "shown": len(rows)}


def _first_of_each(rows: Sequence[Any], files: Sequence[str], limit: int) -> list[Any]:
    """Return at most `limit` rows of each file, the first ones; files: that of each row."""
    count, first_rows = Counter[str](), []
    for row, file in zip(rows, files, strict=True):
        count[file] += 1
        if count[file] <= limit:
            first_rows.append(row)
    return first_rows


def of_each(limit: int, profiles: int) -> int:
    """Return how many rows each of some profiles has, if all have `limit` together."""
    return max(1, limit // max(1, profiles))


def answer_text(facts: Facts, limit: int) -> str:
    """Return facts as JSON in ASCII, so that no character in a name has an effect anywhere.

    limit: of lists that have no limit of their own. An answer that is too long has fewer items in
    its lists, of each profile; only if that is not enough, fewer profiles. Raises `TooLarge`.
    """
    for is_whole in (True, False):
        items = max(limit, MOST_ITEMS)
        while items:
            files = MOST_ITEMS if is_whole else items
            text = json.dumps(_bounded(facts, items, files), allow_nan=False, separators=(",", ":"))
            if len(text) <= MOST_CHARACTERS:
                return text
            items = items * 3 // 4
    raise TooLarge(
        f"the answer has more than {group_digits(MOST_CHARACTERS)} characters: name one profile"
    )


def _bounded(value: Any, items: int, files: int | None = None) -> Any:
    """Return a value of JSON with short texts and lists; numbers that are not finite are null.

    files: the most items of its list of files, which are not cut with the other lists.
    """
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        bounded: dict[str, Any] = {}
        for key, part in value.items():
            most = files if key == "files" and files is not None else items
            if not isinstance(part, list | tuple):
                bounded[_short(str(key))] = _bounded(part, items)
                continue
            cut = _first_of_each_file(part, most)
            bounded[_short(str(key))] = [_bounded(row, items) for row in cut]
            if len(part) > len(cut):
                bounded[f"{_short(str(key))}_total"] = len(part)
        if isinstance(bounded.get("shown"), int):
            lists = [part for part in bounded.values() if isinstance(part, list)]
            bounded["shown"] = min(bounded["shown"], max(map(len, lists), default=0))
        return bounded
    if isinstance(value, Sequence):
        return [_bounded(part, items) for part in value[:items]]
    return value


def _first_of_each_file(rows: Sequence[Any], most: int) -> Sequence[Any]:
    """Return at most so many rows, the first ones of each file that rows name."""
    if len(rows) <= most:
        return rows
    files = [str(row.get("file")) if isinstance(row, Mapping) else "" for row in rows]
    count = len(set(files))
    return _first_of_each(rows, files, of_each(most, count))[: max(most, count)]


def _short(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}... ({group_digits(len(text))} characters)"
