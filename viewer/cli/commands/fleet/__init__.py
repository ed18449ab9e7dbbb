"""`opscope fleet`: many profiles as one set of Parquet tables, a lake.

The subcommand `build` is in the module of that name, the others are in `lake`.

Exit code 0; 1 if some profiles could not be read, and with --strict if something of the lake is
missing; 2 for wrong usage, and if the lake or the cluster cannot be used.
"""

from __future__ import annotations

import argparse

from viewer.cli.arguments import Parser, complain
from viewer.extras import how_to_install

SUBCOMMANDS = {
    "build": "read profiles from folders and URLs, and write what the lake lacks",
    "status": "print what a lake has, and which profiles failed",
    "query": "run one SQL query over the tables of a lake",
    "compare": "compare two arms, such as two builds, with statistics",
    "report": "write trends, changes, noise and problems as one HTML page",
    "compact": "join small files of a lake",
}
# Packages of the extra, by the names that an ImportError has.
_OF_EXTRA = ("pyarrow", "duckdb", "fsspec", "dask", "distributed")


def run(arguments: list[str]) -> int:
    """Run the subcommand that is named first. Returns the exit code."""
    width = max(map(len, SUBCOMMANDS))
    parser = Parser(
        prog="opscope fleet",
        description="Read many profiles into a lake: a folder or bucket of Parquet tables with the "
        "operators and inferences of all devices and builds. Each subcommand has --help.",
        epilog="\n".join(f"  {name:<{width}}  {text}" for name, text in SUBCOMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("subcommand", choices=SUBCOMMANDS, metavar="SUBCOMMAND")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    try:
        return run_subcommand(chosen.subcommand, chosen.arguments)
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _OF_EXTRA:
            raise
        complain(how_to_install(f"a lake needs {error.name}", "fleet"))
        return 2


def run_subcommand(name: str, arguments: list[str]) -> int:
    """Run one of `SUBCOMMANDS` with the arguments after its name. Returns the exit code."""
    if name == "build":
        from viewer.cli.commands.fleet.build import run as function
    else:
        from viewer.cli.commands.fleet import lake

        function = getattr(lake, f"run_{name}")
    return function(arguments)
