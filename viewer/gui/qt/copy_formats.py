"""Rows of a table, and sentences, in the formats that can be copied: text, Markdown and JSON.

Tables give tab-separated text with headings in its first line; times are in ns without digit
grouping.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum


class CopyFormat(Enum):
    """How rows are copied; text is tab-separated."""

    TEXT = "Text"
    MARKDOWN = "Markdown"
    JSON = "JSON"


def formatted(tsv: str, form: CopyFormat) -> str:
    """Return tab-separated rows in a format.

    A line with fewer cells than the heading, such as the note that rows are missing, follows the
    table in Markdown, and is an object with the key "note" in JSON.
    """
    if form is CopyFormat.TEXT:
        return tsv
    head, rows, notes = _parts(tsv)
    if form is CopyFormat.JSON:
        # A column without a heading, such as that of a bar, has nothing to say.
        objects: list[dict[str, object]] = [
            {title: _value(cell) for title, cell in zip(head, row, strict=True) if title}
            for row in rows
        ]
        objects += [{"note": note} for note in notes]
        return json.dumps(objects, indent=2, ensure_ascii=False) + "\n"
    table = [head, ["---"] * len(head), *rows]
    text = "".join(f"| {' | '.join(map(_escaped, row))} |\n" for row in table)
    return text + "".join(f"\n{note}\n" for note in notes)


def formatted_list(title: str, sentences: Sequence[str], form: CopyFormat) -> str:
    """Return sentences below a title in a format: a list in Markdown, an object in JSON."""
    if form is CopyFormat.JSON:
        found = {"title": title, "rows": list(sentences)}
        return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    if form is CopyFormat.MARKDOWN:
        return "\n".join([_escaped(title), "", *(f"- {_escaped(one)}" for one in sentences), ""])
    return "\n".join([title, *sentences, ""])


def row_count(tsv: str) -> int:
    """The number of tab-separated rows, without headings and notes."""
    return len(_parts(tsv)[1])


def _parts(tsv: str) -> tuple[list[str], list[list[str]], list[str]]:
    """The headings, rows and notes."""
    head, *lines = [line.split("\t") for line in tsv.splitlines() if line] or [[]]
    rows = [line for line in lines if len(line) == len(head)]
    return head, rows, ["\t".join(line) for line in lines if len(line) != len(head)]


def _value(cell: str) -> int | str:
    """A whole number as such, so that times in ns stay exact; all else as its text."""
    digits = cell.removeprefix("-")
    plain = digits.isascii() and digits.isdecimal() and (digits == "0" or digits[0] != "0")
    return int(cell) if plain and len(digits) < 19 else cell


def _escaped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
