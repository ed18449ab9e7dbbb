"""`opscope mcp`: serves the files to an assistant, over the Model Context Protocol."""

from __future__ import annotations

import argparse
import contextlib
import sys

from viewer.cli.arguments import Parser, add_files, complain
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.extras import how_to_install
from viewer.mcp_server.limits import OpenFiles
from viewer.mcp_server.server import NoProtocol, require, serve
from viewer.resources import resource
from viewer.view.sessions.opened_files import is_session, with_inputs

_INTERRUPTED = 130  # as a shell reports Ctrl+C


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope mcp",
        description="Serve files to an assistant over the Model Context Protocol, on standard "
        "input and output. The assistant can read these files and the sources that they name, and "
        "nothing else. Nothing is written, and no connection is opened.",
        epilog=f"{how_to_install('Needs the package mcp', 'mcp')}. Ends when standard input is "
        "closed.",
    )
    add_files(parser, "*")
    parser.add_argument(
        "--skill",
        action="store_true",
        help="print a skill file for assistants, in Markdown: how to answer the six questions that "
        "people ask most; save it where your client reads skills",
    )
    chosen = parser.parse_args(arguments)
    if chosen.skill:
        print(resource("assistant_skill.md").read_text("utf-8"), end="")
        return 0
    if not chosen.files:
        parser.error("the following arguments are required: FILE")
    try:
        require()
    except NoProtocol as error:
        complain(str(error))
        return 2
    try:
        serve(_opened(parser, chosen))
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


def _opened(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> OpenFiles:
    """Open the files of the command line; messages go to stderr, and to the assistant."""
    messages: list[str] = []

    def report(message: str) -> None:
        complain(message)
        messages.append(message)

    for path in filter(is_session, chosen.files):
        # It may be a stranger's: the assistant can read whatever it names.
        named = ", ".join(with_inputs([path])[0])
        complain(f"the session {path} opens: {named or 'no files'}")
    with contextlib.redirect_stdout(sys.stderr):  # standard output carries the protocol alone
        workspace, _ = open_all(parser, chosen, report=report)
        warn(workspace)
    return OpenFiles(workspace, messages)
