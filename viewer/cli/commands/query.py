"""`opscope query`: one SQL query over the tables of files."""

from __future__ import annotations

import os
import re
import sys

from viewer.api.outputs import output_path
from viewer.api.profile import Profile
from viewer.api.sql import sql_result, write_result
from viewer.api.sql_tables import schema
from viewer.cli.arguments import Parser, add_files, complain
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.cli.query_output import (
    add_forms,
    add_seconds,
    limits_of,
    print_rows,
)
from viewer.query.engine import NoDuckDB, WrongQuery

_WHOLE, _NUMBER = re.compile(r"[-+]?[0-9]{1,18}"), re.compile(r"[-+]?[0-9]*\.[0-9]+(e[-+]?[0-9]+)?")


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
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
    try:
        write_result(columns, rows, path)
    except OSError as error:
        complain(f"{path}: {error.strerror or error}")
        return 1
    return 0
