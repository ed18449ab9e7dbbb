"""`opscope fleet query`: one SQL query over the tables of a lake."""

from __future__ import annotations

from viewer.cli.arguments import Parser, complain
from viewer.cli.commands.fleet.losses import add_strict, code_of_losses
from viewer.cli.query_output import (
    add_forms,
    add_seconds,
    limits_of,
    print_rows,
)
from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.query import NoDuckDB, WrongQuery, query
from viewer.fleet.schemas import TABLES


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
    add_forms(parser)
    add_seconds(parser)
    parser.add_argument(
        "--max-memory",
        default="2G",
        metavar="SIZE",
        help="stop a query that needs more, such as 512M or 50%% (default: %(default)s)",
    )
    add_strict(parser)
    chosen = parser.parse_args(arguments)
    limits = limits_of(parser, chosen)
    try:
        lake = Lake(chosen.lake)
        columns, rows = query(lake, chosen.sql, limits)
    except (UnusableLake, NoDuckDB, WrongQuery) as error:
        complain(str(error))
        return 2
    print_rows(chosen, columns, rows)
    return code_of_losses(lake, strict=chosen.strict)
