"""`opscope fleet report`: trends, changes, noise and problems of a lake as one HTML page."""

from __future__ import annotations

from functools import partial

from viewer.cli.arguments import Parser, check_output, complain, written
from viewer.cli.commands.fleet.losses import add_strict, code_of_losses
from viewer.fleet.answers.report import write_fleet_report
from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.query import NoDuckDB
from viewer.html_report.options import PAGE_SUFFIXES


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope fleet report",
        description="Write one HTML page: proven changes of the last build of every model on every "
        "device, trends by build, the noise of devices, and problems. It opens in any browser, "
        "without a network.",
    )
    parser.add_argument("lake", metavar="LAKE")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.html")
    parser.add_argument("--title", default="", help="title of the page (default: the lake)")
    add_strict(parser)
    chosen = parser.parse_args(arguments)
    if not chosen.output.lower().endswith(PAGE_SUFFIXES):
        parser.error(f"{chosen.output}: the name must end in one of {', '.join(PAGE_SUFFIXES)}")
    check_output(parser, chosen.output, ())
    try:
        lake = Lake(chosen.lake)
        if not written(
            chosen.output, partial(write_fleet_report, lake, chosen.output, chosen.title)
        ):
            return 1
    except (UnusableLake, NoDuckDB) as error:
        complain(str(error))
        return 2
    return code_of_losses(lake, strict=chosen.strict)
