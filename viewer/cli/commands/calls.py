"""`opscope calls`: the call tree of profiles, with the time of every path."""

from __future__ import annotations

import argparse
import json

from viewer.analysis.calls.call_tree import KEYS
from viewer.cli.arguments import (
    STANDARD,
    Parser,
    add_files,
    add_inference,
    check_output,
    complain,
    written,
)
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.cli.output import output_path
from viewer.codecs.atomic_file import write_whole
from viewer.model import figures
from viewer.model.text import visible_controls
from viewer.model.times import parse_range
from viewer.render.flame_graph.boxes import FlameGraph
from viewer.render.flame_graph.svg import write_svg
from viewer.reports.calls import (
    CALLERS,
    MOST_ROWS,
    CallOptions,
    calls,
    calls_text,
    flame_graphs,
    folded,
)
from viewer.reports.info import Facts
from viewer.reports.parts import NoSuchRun
from viewer.reports.stats import NoSuchGroups

_EPILOG = f"""columns of the tree:
  {figures.TOTAL.title:<7} {figures.TOTAL.definition}
  {figures.SELF.title:<7} The total without that of the rows below.
  {figures.COUNT.title:<7} How many slices start in the range.

With --bottom-up, a caller's row shows how much of the figures of the name at the top comes from
calls along that path.
"""


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    options = _options(parser, chosen)
    workspace, failed = open_all(parser, chosen)
    warn(workspace)
    if not workspace.paths:
        return 1
    graphs: list[FlameGraph] = []
    try:
        if chosen.svg is not None:
            graphs, facts = flame_graphs(workspace, options)
        else:
            facts = calls(workspace, options)
    except NoSuchGroups as error:
        complain(str(error))
        return 1
    except NoSuchRun as error:
        complain(str(error))
        return 1 if failed else 2
    if chosen.svg is not None:
        with output_path(chosen.svg, ".svg") as path:
            is_written = written(path, lambda: write_svg(path, graphs))
    else:
        is_written = _write(_text(facts, chosen), chosen.output)
    if not is_written:
        return 1
    for file in facts["files"]:
        if file["missing"]:
            complain(f"note: {file['path']}: no call tree by {chosen.by}: {file['missing']}")
    reported = {file["path"] for file in facts["files"]}
    for trace in workspace.traces:
        if trace.path not in reported:
            complain(f"note: {trace.path}: it has no inference {chosen.inference}")
    return 1 if failed else 0


def _text(facts: Facts, chosen: argparse.Namespace) -> str:
    if chosen.json:
        return json.dumps(facts, indent=1)
    return folded(facts) if chosen.folded else calls_text(facts)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="opscope calls",
        description="Print the call tree: slices with the same path from process and thread down,\n"
        "merged, with inclusive time, self time and count.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_files(parser, "+")
    parser.add_argument(
        "--by",
        choices=KEYS,
        default=KEYS[0],
        help="what a frame is, by default the name of a slice; otherwise a slice without a group, "
        "or nested in a slice of the same group, is merged into the nearest enclosing slice that "
        "has a group",
    )
    parser.add_argument(
        "--bottom-up",
        action="store_true",
        help="list self time by name, and below each name its callers",
    )
    parser.add_argument(
        "--range",
        metavar="START:END",
        help="count only this range, such as 1.5ms:2ms; times count from the start of the trace, "
        "or from the earliest start if several traces share a clock",
    )
    add_inference(parser)
    parser.add_argument(
        "--depth",
        type=int,
        metavar="N",
        help="report only N levels of frames, or of names with --bottom-up (where the "
        f"default is {CALLERS})",
    )
    parser.add_argument(
        "--min",
        type=float,
        metavar="PERCENT",
        help="leave out rows with a smaller share of the time of their thread, or of all self "
        f"time with --bottom-up (without --depth and --min, the tree has the {MOST_ROWS} largest "
        "rows of each profile)",
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print JSON for scripts")
    forms.add_argument(
        "--folded",
        action="store_true",
        help='print "process;thread;frame;frame VALUE" with self time in ns, one line per path, '
        'for flame graph tools; in names, ";" becomes ":" and line ends become spaces; with '
        "several profiles, the file comes first",
    )
    forms.add_argument(
        "--svg",
        metavar="OUT",
        help="write a flame graph to an SVG file (- prints it), the root on top; with several "
        "profiles, one below the other",
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="write to a file, in UTF-8")
    return parser


def _options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> CallOptions:
    """Return what to report; exits with a usage error if options contradict each other."""
    try:
        span = parse_range(chosen.range) if chosen.range else None
    except ValueError as error:
        parser.error(str(error))
    if span and chosen.inference is not None:
        parser.error("--range and --inference cannot be used together")
    if chosen.depth is not None and chosen.depth < 1:
        parser.error(f"--depth {chosen.depth}: it must be at least 1")
    if chosen.min is not None and not 0 <= chosen.min <= 100:
        parser.error(f"--min {chosen.min:g}: it must be a percentage from 0 to 100")
    if chosen.folded and (chosen.depth is not None or chosen.min is not None):
        parser.error(
            "--depth and --min cannot be used with --folded, which always prints all self time"
        )
    if chosen.svg is not None and chosen.output is not None:
        parser.error("-o and --svg cannot be used together: --svg already names the file")
    for output in (chosen.output, chosen.svg):
        check_output(parser, output, chosen.files)
    if chosen.svg not in (None, STANDARD) and not chosen.svg.lower().endswith(".svg"):
        parser.error(f"{chosen.svg}: the name must end in .svg")
    depth, most = chosen.depth, None
    if not (chosen.json or chosen.folded or chosen.svg is not None):
        most = MOST_ROWS if depth is None and chosen.min is None else None
        depth = CALLERS if depth is None and chosen.bottom_up else depth
    return CallOptions(
        chosen.by,
        chosen.bottom_up,
        span,
        chosen.inference,
        depth,
        chosen.min or 0.0,
        most,
    )


def _write(text: str, output: str | None) -> bool:
    """Print a text, or write it to a file; returns whether this was possible."""
    if output in (None, STANDARD):
        print(text)
        return True
    data = f"{visible_controls(text)}\n".encode("utf-8", "backslashreplace")
    return written(output, lambda: write_whole(output, data))
