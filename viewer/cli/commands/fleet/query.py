"""`opscope fleet query`: one SQL query over the tables of a lake."""

from __future__ import annotations

import csv
import json
import os
import sys
from dataclasses import replace
from functools import partial

from viewer.cli.arguments import Parser, complain
from viewer.cli.commands.fleet.losses import add_strict, code_of_losses
from viewer.codecs.memory_budget import parse_limit
from viewer.codecs.spreadsheet_cells import harmless
from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.query import Limits, NoDuckDB, WrongQuery, query
from viewer.fleet.schemas import TABLES
from viewer.model.text import one_line
from viewer.model.times import counted

_MOST_ROWS, _WIDEST = 100, 60
_MOST_SECONDS = 86_401


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope fleet query",
        description="Run one SQL query with DuckDB. Every table of the lake is a view: "
        f"{', '.join(TABLES)}. Nothing is written.",
    )
    parser.add_argument("lake", metavar="LAKE")
    parser.add_argument("sql", metavar="SQL", help='such as "SELECT device, count(*) FROM files '
                        'GROUP BY device"')  # fmt: skip
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--csv", action="store_true", help="print CSV")
    forms.add_argument("--json", action="store_true", help="print JSON: a list of objects")
    parser.add_argument(
        "--max-seconds",
        type=float,
        default=60.0,
        metavar="N",
        help="stop a query that takes longer (default: %(default)g)",
    )
    parser.add_argument(
        "--max-memory",
        default="2G",
        metavar="SIZE",
        help="stop a query that needs more, such as 512M or 50%% (default: %(default)s)",
    )
    add_strict(parser)
    chosen = parser.parse_args(arguments)
    try:
        limits = Limits(chosen.max_seconds, parse_limit(chosen.max_memory))
    except ValueError as error:
        parser.error(f"--max-memory {error}")
    if not 0 < limits.seconds < _MOST_SECONDS:
        parser.error(f"--max-seconds {limits.seconds:g}: it must be above 0, and at most a day")
    try:
        lake = Lake(chosen.lake)
        columns, rows = query(lake, chosen.sql, replace(limits, overdue=partial(_stop, limits)))
    except (UnusableLake, NoDuckDB, WrongQuery) as error:
        complain(str(error))
        return 2
    if chosen.json:
        named = [dict(zip(columns, row, strict=True)) for row in rows]
        print(json.dumps(named, indent=1, default=str))
    elif chosen.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(value) for value in row] for row in rows)
    else:
        print(_table(columns, rows))
    return code_of_losses(lake, strict=chosen.strict)


def _stop(limits: Limits) -> None:
    """End the process: DuckDB cannot interrupt what it does."""
    complain(limits.too_slow)
    os._exit(2)


def _cell(value: object) -> object:
    return harmless(value) if isinstance(value, str) else value


def _table(columns: list[str], rows: list[tuple[object, ...]]) -> str:
    shown = [[_short(value) for value in row] for row in rows[:_MOST_ROWS]]
    widths = [max(map(len, column)) for column in zip(columns, *shown, strict=True)]
    is_number = [
        all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(columns))
    ]
    lines = [
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, is_number, strict=True)
        ).rstrip()
        for row in (columns, *shown)
    ]
    if len(rows) > _MOST_ROWS:
        lines.append(f"and {len(rows) - _MOST_ROWS:,} more rows: use --csv, --json or LIMIT")
    elif not rows:
        lines.append(counted(0, "row"))
    return "\n".join(lines)


def _short(value: object) -> str:
    text = "" if value is None else one_line(str(value))
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
