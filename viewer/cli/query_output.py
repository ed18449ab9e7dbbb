"""What `opscope query` and `opscope fleet query` share: their options, and how rows are printed."""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import sys
from collections.abc import Sequence
from functools import partial

from viewer.cli.arguments import Parser, complain
from viewer.codecs.memory_budget import parse_limit
from viewer.codecs.spreadsheet_cells import harmless
from viewer.model.text import one_line
from viewer.model.times import counted
from viewer.query.engine import Limits

_MOST_ROWS, _WIDEST = 100, 60
_MOST_SECONDS = 86_401


def add_forms(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Add the options for the form of the rows, of which one can be given."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--csv", action="store_true", help="print CSV")
    forms.add_argument("--json", action="store_true", help="print JSON: a list of objects")
    return forms


def add_seconds(parser: argparse.ArgumentParser) -> None:
    """Add the option for the time of a query."""
    parser.add_argument(
        "--max-seconds",
        type=float,
        default=60.0,
        metavar="N",
        help="stop a query that takes longer (default: %(default)g)",
    )


def limits_of(parser: Parser, chosen: argparse.Namespace) -> Limits:
    """Return the limits of the options; what DuckDB cannot interrupt ends the process."""
    try:
        memory = parse_limit(chosen.max_memory) if chosen.max_memory else Limits().memory
    except ValueError as error:
        parser.error(f"--max-memory {error}")
    limits = Limits(chosen.max_seconds, memory)
    if not 0 < limits.seconds < _MOST_SECONDS:
        parser.error(f"--max-seconds {limits.seconds:g}: it must be above 0, and at most a day")
    return Limits(limits.seconds, memory, partial(_stop, limits))


def _stop(limits: Limits) -> None:
    """End the process: DuckDB cannot interrupt what it does."""
    complain(limits.too_slow)
    os._exit(2)


def print_rows(
    chosen: argparse.Namespace, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Print the rows of a query in the form of the options, by default as a table."""
    if chosen.json:
        named = [dict(zip(columns, map(_finite, row), strict=True)) for row in rows]
        print(json.dumps(named, indent=1, default=str))
    elif chosen.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(value) for value in row] for row in rows)
    else:
        print(_table(columns, rows))


def _finite(value: object) -> object:
    """Return a value as JSON has it, which has no number that is infinite or none."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: object) -> object:
    return harmless(value) if isinstance(value, str) else value


def _table(columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> str:
    listed = [[_short(value) for value in row] for row in rows[:_MOST_ROWS]]
    widths = [max(map(len, column)) for column in zip(columns, *listed, strict=True)]
    is_number = [
        all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(columns))
    ]
    lines = [
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, is_number, strict=True)
        ).rstrip()
        for row in (columns, *listed)
    ]
    if len(rows) > _MOST_ROWS:
        lines.append(f"and {len(rows) - _MOST_ROWS:,} more rows: use --csv, --json or LIMIT")
    elif not rows:
        lines.append(counted(0, "row"))
    return "\n".join(lines)


def _short(value: object) -> str:
    text = "" if value is None else one_line(str(value))
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
