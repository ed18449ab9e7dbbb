"""`opscope report`: what profiles show, as one HTML file to send, or as Markdown for a ticket."""

from __future__ import annotations

import argparse

from viewer.cli.arguments import STANDARD, Parser, add_files, check_output, complain, written
from viewer.cli.commands.open_inputs import add_other_arm, files_in_arm, open_all, open_arms, warn
from viewer.cli.output import output_path
from viewer.cli.session_files import ran_queries
from viewer.codecs.atomic_file import write_whole
from viewer.html_report.contents import PAGE_SUFFIXES, ComparedReport, ReportOptions
from viewer.html_report.report import report_markdown, write_report
from viewer.reports.compare import NoComparison, compared
from viewer.workspace.workspace import Workspace

_MARKDOWN = ".md", ".markdown"


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope report",
        usage="opscope report FILE [FILE ...] [--with B [B ...]] -o OUT.html [options]\n"
        "       opscope report FILE [FILE ...] [--with B [B ...]] --markdown [-o OUT.md] [options]",
        description="Write one HTML file of at most 5 MB with findings, timeline, operators, "
        "source and the origin of every figure. It opens in any browser, without a network, and "
        "in Opscope again. --markdown is for tickets and pull requests.",
    )
    add_files(parser, "+")
    add_other_arm(
        parser,
        "the files of another arm: the report includes a comparison, as of opscope compare",
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", help=".html, or .md for Markdown; - is the standard output"
    )
    parser.add_argument(
        "--markdown", action="store_true", help="write Markdown, to the standard output without -o"
    )
    parser.add_argument(
        "--no-source", action="store_true", help="leave out the text of the model's source"
    )
    parser.add_argument("--title", default="", help="title of the report (default: the file)")
    chosen = parser.parse_args(arguments)
    if chosen.output == STANDARD and not chosen.markdown:
        with output_path(STANDARD, PAGE_SUFFIXES[0]) as chosen.output:
            return _report(parser, chosen)
    chosen.output = "" if chosen.output == STANDARD else chosen.output
    return _report(parser, chosen)


def _report(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> int:
    output = chosen.output or ""
    markdown = chosen.markdown or output.lower().endswith(_MARKDOWN)
    if not markdown and not output:
        parser.error("give -o OUT.html, or --markdown")
    if output and not output.lower().endswith(_MARKDOWN if markdown else PAGE_SUFFIXES):
        suffixes = _MARKDOWN if chosen.markdown else (*PAGE_SUFFIXES, *_MARKDOWN)
        parser.error(f"{output}: the name must end in one of {', '.join(suffixes)}")
    check_output(parser, output, (*chosen.files, *(chosen.others or ())))
    workspace, comparison, failed = _opened(parser, chosen)
    if workspace is None:
        return 1
    queries, has_all = ran_queries(chosen.files, workspace)
    failed = failed or not has_all
    options = ReportOptions(
        chosen.title, not chosen.no_source, comparison, [rows for rows, _ in queries]
    )

    def write() -> None:
        if not markdown:
            write_report(workspace, output, options)
        elif output:
            write_whole(output, report_markdown(workspace, options).encode("utf-8", "replace"))
        else:
            print(report_markdown(workspace, options), end="")

    return 1 if not written(output, write) or failed else 0


def _opened(
    parser: argparse.ArgumentParser, chosen: argparse.Namespace
) -> tuple[Workspace | None, ComparedReport | None, bool]:
    """Return the open files, the comparison if there are two arms, and whether anything failed.

    None instead of the files if nothing can be reported; it is said why.
    """
    if not chosen.others:
        workspace, failed = open_all(parser, chosen)
        warn(workspace)
        return (workspace if workspace.paths else None), None, failed
    files, others = files_in_arm(parser, chosen.files), files_in_arm(parser, chosen.others)
    a, b, failed = open_arms(parser, chosen, files, others)
    try:
        comparison, notes = compared(a, b)
    except NoComparison as error:
        complain(str(error))
        return None, None, True
    return a, ComparedReport(comparison, b, notes), failed
