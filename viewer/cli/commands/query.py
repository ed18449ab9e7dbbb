"""`opscope query`: one SQL query over the tables of files.

`opscope fleet query` shares its options, and how rows are printed.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import sys
from collections.abc import Sequence
from functools import partial

from viewer.cli.arguments import Parser, add_files, complain
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.codecs.memory_budget import parse_limit
from viewer.codecs.spreadsheet_cells import harmless
from viewer.model.text import one_line
from viewer.model.times import counted
from viewer.query.engine import Limits, NoDuckDB, WrongQuery

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


_WHOLE, _NUMBER = re.compile(r"[-+]?[0-9]{1,18}"), re.compile(r"[-+]?[0-9]*\.[0-9]+(e[-+]?[0-9]+)?")


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.api.outputs import output_path
    from viewer.api.profile import Profile
    from viewer.api.sql import sql_result
    from viewer.api.sql_tables import schema

    parser = Parser(
        prog="opscope query",
        usage="opscope query FILE... SQL [options]",
        description="Run one SQL query with DuckDB over the tables of files. Nothing is written.",
        epilog="tables: slices, operators, inferences and more; --schema lists them",
    )
    add_files(parser, "+")
    parser.add_argument("--file", metavar="PATH", help="read the query from this file, not SQL")
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of $NAME in the query; can be repeated",
    )
    parser.add_argument(
        "--schema", action="store_true", help="print the tables and their columns, without SQL"
    )
    forms = add_forms(parser)
    forms.add_argument("--parquet", metavar="PATH", help="write a Parquet file")
    add_seconds(parser)
    chosen = parser.parse_args(arguments)
    select = _select(parser, chosen.file, chosen.files, is_needed=not chosen.schema)
    parameters = _parameters(parser, chosen.param)
    limits = limits_of(parser, chosen)
    if chosen.parquet:
        try:
            output_path(chosen.parquet, [".parquet"], chosen.files)
        except ValueError as error:
            parser.error(f"--parquet {error}")
    workspace, failed = open_all(parser, chosen)
    warn(workspace)
    if not workspace.paths:
        return 1
    profile = Profile(workspace)
    if chosen.schema:
        rows = [
            (table, column.name, column.unit, column.meaning)
            for table, columns in schema(profile).items()
            for column in columns
        ]
        print_rows(chosen, ("table", "column", "unit", "meaning"), rows)
        return 1 if failed else 0
    try:
        result = sql_result(profile, select, limits, parameters)
    except (NoDuckDB, WrongQuery) as error:
        complain(str(error))
        if isinstance(error, WrongQuery) and error.place:
            print(error.place, file=sys.stderr)
        return 2
    if chosen.parquet:
        return max(_write(chosen.parquet, result.columns, result.rows), int(failed))
    print_rows(chosen, result.columns, result.rows)
    return 1 if failed else 0


def _select(parser: Parser, path: str | None, files: list[str], *, is_needed: bool) -> str:
    """Return the text of the query; it is the last of the files if no file has it."""
    if not is_needed:
        return ""
    if path is not None:
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except (OSError, UnicodeDecodeError) as error:
            parser.error(f"--file {path}: {getattr(error, 'strerror', None) or 'it is no text'}")
    if len(files) < 2 or os.path.exists(files[-1]):
        parser.error('the query is missing, such as "SELECT name, dur_ns FROM slices"')
    return files.pop()


def _parameters(parser: Parser, texts: list[str]) -> dict[str, object]:
    parameters: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            parser.error(f"--param {text}: expected NAME=VALUE, such as inference=2")
        if _WHOLE.fullmatch(value):
            parameters[name] = int(value)
        else:
            parameters[name] = float(value) if _NUMBER.fullmatch(value) else value
    return parameters


def _write(path: str, columns: list[str], rows: list[tuple[object, ...]]) -> int:
    from viewer.api.sql import write_result

    try:
        write_result(columns, rows, path)
    except OSError as error:
        complain(f"{path}: {error.strerror or error}")
        return 1
    return 0
