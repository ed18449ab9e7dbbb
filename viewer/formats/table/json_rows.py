"""Reads JSON with an object for each slice: an array of them, wherever it is, or one on each line.

Their keys are the columns of a plain CSV, and mean the same (`column_roles`), so the rows are
written as one into a temporary folder, and read as that. A list or an object in a row is a text.
Layers without a start are read by `viewer.formats.layers`, events of Chrome by
`viewer.formats.chrome`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from viewer.codecs.memory_budget import BUDGET
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, never_cancelled, stop_if
from viewer.codecs.temporary_folder import TemporaryFolder
from viewer.codecs.unpacking import write_temporary
from viewer.dataclasses import replace
from viewer.formats import format_of
from viewer.formats.json_objects import (
    DEEPEST,
    first_objects,
    has_events,
    is_json,
    parsed,
    read_json,
)
from viewer.formats.table import plain_csv
from viewer.formats.table.column_roles import recognized_names
from viewer.formats.table.stated_columns import ColumnsNeeded, stated_columns
from viewer.model.trace import Problem, Trace

_LINE = re.compile(r"\bline ([0-9]+)")


def sniff(head: bytes) -> bool:
    """Whether an object in the first bytes of a JSON text has a name, a start, and a length."""
    if not is_json(head) or has_events(head):
        return False
    return any(_is_row(parsed(raw)) for raw in first_objects(head))


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """One slice per object. Raises UnreadableFile (ColumnsNeeded), ReadCancelled."""
    with as_csv(path, cancelled) as (inner, problems):
        with BUDGET.reading(size=os.path.getsize(inner)):
            trace = plain_csv.read(inner, progress, cancelled)
        return replace(
            trace,
            path=path,
            format=FORMAT.name,
            problems=(*problems, *(replace(p, first=_object(p.first)) for p in trace.problems)),
        )


@contextmanager
def as_csv(
    path: str, cancelled: Cancelled = never_cancelled
) -> Iterator[tuple[str, list[Problem]]]:
    """The rows as a CSV while the context lasts, and what was left out.

    Errors are about the JSON. Raises UnreadableFile, ReadCancelled, OSError.
    """
    rows, problems = _rows(path)
    stop_if(cancelled)
    names = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([[_cell(row.get(name)) for name in names] for row in rows])
    with TemporaryFolder() as folder:
        inner = os.path.join(folder, os.path.basename(path))
        write_temporary(
            io.BytesIO(text.getvalue().encode(errors="replace")), inner, path, cancelled
        )
        try:
            yield inner, problems
        except ColumnsNeeded as error:
            raise ColumnsNeeded(
                path, error.reason, error.question, where="", remedy=error.remedy
            ) from error
        except UnreadableFile as error:
            raise UnreadableFile(
                path, error.reason, where=_object(error.where), remedy=error.remedy
            ) from error


def _rows(path: str) -> tuple[list[dict[str, Any]], list[Problem]]:
    problems: dict[str, Problem] = {}

    def problem(kind: str, count: int, first: str) -> None:
        known = problems.get(kind, Problem(kind, 0, first))
        problems[kind] = replace(known, count=known.count + count)

    whole = read_json(path, problem, _Number.parsed)
    rows: list[dict[str, Any]] = []
    others = 0
    for table in _tables(whole, 0):
        objects = [item for item in table if isinstance(item, dict)]
        rows += map(_texts, objects)
        others += len(table) - len(objects)
    if not rows:
        raise UnreadableFile(
            path, "it has no list of objects with a name, a start and a duration or an end"
        )
    if others:
        problem("item that is no object: left out", others, "")
    return rows, list(problems.values())


def _tables(item: Any, depth: int) -> Iterator[Sequence[Any]]:
    """The lists of rows in a JSON value."""
    if depth > DEEPEST:
        return
    if isinstance(item, list):
        if any(map(_is_row, item)):
            yield item
            return
        for child in item:
            yield from _tables(child, depth + 1)
    elif isinstance(item, dict):
        for child in item.values():
            yield from _tables(child, depth + 1)


def _is_row(item: Any) -> bool:
    """Whether an object has the keys of a slice, by their names or as the user states them."""
    if not isinstance(item, dict):
        return False
    names = list(map(str, item))
    if (stated := stated_columns().names) and stated <= set(names):
        return True
    roles = recognized_names(names)
    return bool(roles["name"] and roles["start"] and (roles["dur"] or roles["end"]))


class _Number(float):
    """A number with a fraction, and its text: a time has more digits than a float."""

    text: str

    @classmethod
    def parsed(cls, text: str) -> _Number:
        number = cls(text)
        number.text = text
        return number


def _texts(item: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in item.items()}


def _cell(value: Any) -> str:
    """A value as the text of a cell, in one line."""
    if value is None:
        return ""
    if isinstance(value, _Number):
        return value.text
    text = value if isinstance(value, str) else json.dumps(value)
    return text.replace("\r", " ").replace("\n", " ")


def _object(where: str) -> str:
    """A line of the CSV as the number of its object, from 1."""
    return _LINE.sub(lambda match: f"object {max(int(match[1]) - 1, 1)}", where)


FORMAT = format_of("table.json_rows")
