"""Finds the tables of layers in a JSON text: arrays of objects, wherever they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from viewer.formats.json_objects import (
    DEEPEST,
    first_objects,
    has_events,
    is_json,
    parsed,
    read_json,
)
from viewer.formats.layers.cells import duration
from viewer.formats.layers.headings import NAME, words_of
from viewer.formats.layers.known import Known, known_of
from viewer.formats.layers.tables import Table, has_hint, header_of, unit_in
from viewer.formats.table.column_units import split_unit
from viewer.model.building.builder import TraceBuilder
from viewer.model.names.layers import TYPE
from viewer.model.text import bytes_text
from viewer.model.times import format_time

# Objects that are long before their table: what the tool writes first.
_MARKS = (b'"execution_summary"', b'"detailed_performance"', b'"avg_performance"')
_SPLIT = re.compile(rb'"(?:columns|headers)"\s*:\s*(\[[^\[\]]{2,2000}\])')
_KEYED = re.compile(rb'"[^"]{1,400}"\s*:\s*(?=\{[^{}]{2,2000}\})')
_LONGEST_CELL = 400
NO_OBJECT = "object that is no row of the table: left out"


def is_table(head: bytes) -> bool:
    """Whether the start of a JSON text has an object with a name and a duration."""
    if not is_json(head) or has_events(head):
        return False
    if any(mark in head for mark in _MARKS):
        return True
    for raw in first_objects(head):
        if (
            has_hint(raw.decode("latin-1"))
            and isinstance(item := parsed(raw), dict)
            and _fits(item)
        ):
            return True
    return any(map(_are_headings, _SPLIT.findall(head)[:4])) or _is_keyed(head)


def _are_headings(text: bytes) -> bool:
    """Whether the headings of a JSON with columns and rows are of a table of layers."""
    heads = parsed(text)
    columns = header_of([str(head) for head in heads]) if isinstance(heads, list) else None
    return columns is not None and bool(columns.unit)


def _is_keyed(head: bytes) -> bool:
    """Whether most objects have their name as a key: `"conv1": {"time_ms": 0.5}`."""
    keyed = list(_KEYED.finditer(head))[:4]
    if len({match[0] for match in keyed}) < len(keyed):
        return False
    tails = [head[match.end() :] for match in keyed]
    rows = [item for tail in tails if isinstance(item := _first(tail), dict)]
    return len(rows) > 1 and all(_fits({"name": "", **row}) for row in rows)


def _first(text: bytes) -> Any:
    """The JSON object that a text begins with, None if it is none."""
    return parsed(text[: text.find(b"}") + 1])


def _fits(item: Mapping[str, Any]) -> bool:
    columns = header_of([str(key) for key in item])
    if columns is None:
        return False
    row = [_cell(value) for value in item.values()]
    return duration(row[columns.length], unit_in(columns, row)) is not None


class JsonTables:
    """The tables of one JSON text."""

    def __init__(self, path: str, builder: TraceBuilder) -> None:
        self.tables: list[Table] = []
        self.runs = ""
        self._builder = builder
        self._path = path

    def read(self) -> None:
        """Read the file. Raises UnreadableFile, OSError."""
        whole = read_json(self._path, self._builder.problem)
        self._walk(whole, 0)
        tool = next((known_of(table.columns.headings) for table in self.tables), None)
        if tool is not None and tool.unit and isinstance(whole, dict):
            self._state(whole, tool)

    def _walk(self, item: Any, depth: int) -> None:
        if depth > DEEPEST:
            return
        if isinstance(item, list):
            rows = [row for row in item if isinstance(row, dict)]
            if rows and self._add(rows, len(item) - len(rows)):
                return
            for child in item:
                self._walk(child, depth + 1)
        elif isinstance(item, dict):
            if (rows := _rows_of(item)) and self._add(rows, 0):
                return
            for value in item.values():
                before = len(self.tables)
                self._walk(value, depth + 1)
                if len(self.tables) == before + 1 and isinstance(value, list):
                    self._totals(item, self.tables[-1])

    def _add(self, rows: list[dict[str, Any]], others: int) -> bool:
        """Add the table of some objects, False if they are none."""
        headings = list(dict.fromkeys(str(key) for row in rows for key in row))
        columns = header_of(headings)
        if columns is None:
            return False
        tool = known_of(headings)
        exact = not any(isinstance(row.get(headings[columns.length]), str) for row in rows)
        table = Table(columns, 1, tool.title if tool else "", is_json=exact)
        name = headings[columns.roles.get(NAME, columns.roles.get(TYPE, 0))]
        for number, row in enumerate(rows, 1):
            if not table.rows and name not in row and headings[columns.length] not in row:
                if "count" in row and len(row) == 1:
                    self.runs = str(row["count"])
                else:
                    self._builder.problem(NO_OBJECT, 1, f"object {number}")
                continue
            cells = {str(key): _cell(value) for key, value in row.items()}
            table.rows.append((number, [cells.get(heading, "") for heading in headings]))
        self._builder.problem(NO_OBJECT, others, "")
        if not any(duration(row[columns.length], unit_in(columns, row)) for _, row in table.rows):
            return False
        self.tables.append(table)
        return True

    @staticmethod
    def _totals(around: Mapping[str, Any], table: Table) -> None:
        """Keep the total of the column of durations that stands next to the table."""
        wanted = f"total {words_of(table.columns.headings[table.columns.length])}"
        for key, value in around.items():
            if words_of(key) == wanted and isinstance(value, int | float):
                unit = split_unit(key)[1] or table.columns.unit
                table.totals.append((1, _cell(value), unit))

    def _state(self, whole: Mapping[str, Any], tool: Known) -> None:
        """Keep what a known tool states about all inferences."""
        parts = [part for part in whole.values() if isinstance(part, dict)]
        for key, value in ((key, value) for part in parts for key, value in part.items()):
            name = key.replace("_", " ").strip().capitalize()
            if key == tool.times and isinstance(value, list):
                times = [length[0] for cell in value if (length := duration(str(cell), tool.unit))]
                if times:
                    least, most = format_time(round(min(times))), format_time(round(max(times)))
                    mean = format_time(round(sum(times) / len(times)))
                    self._builder.state(name, f"{len(times)}: {least} to {most}, mean {mean}")
            elif "memory" in key and isinstance(value, int):
                self._builder.state(name, bytes_text(value))
            elif key.endswith("_time") and (length := duration(str(value), tool.unit)):
                self._builder.state(name, format_time(round(length[0])))


def _rows_of(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of an object of objects by name, or of columns and rows as pandas splits them."""
    heads = next((item[key] for key in ("columns", "headers") if key in item), None)
    lists = next((item[key] for key in ("data", "rows") if key in item), None)
    if isinstance(heads, list) and isinstance(lists, list):
        names = [str(head) for head in heads]
        return [dict(zip(names, row, strict=False)) for row in lists if isinstance(row, list)]
    if len(item) > 1 and all(isinstance(value, dict) for value in item.values()):
        return [{"name": key, **value} for key, value in item.items()]
    return []


def _cell(value: Any) -> str:
    """A value of JSON as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value)[:_LONGEST_CELL]
