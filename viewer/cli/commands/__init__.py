"""The commands without a window, each with its arguments and its handler.

A command is the `run(arguments)` of the module of its name, or one of those in `reports`. It is
imported when it runs: the window needs none of them, and no command needs the imports of another.
"""

from __future__ import annotations

import importlib

# What each does, as `opscope --help` prints it; the manual page has the same texts.
COMMANDS = {
    "info": "summarize files, their links and their warnings",
    "stats": "aggregate time by operator, line, unit and more",
    "calls": "print the call tree with the time of every path, or as folded stacks for flame "
    "graphs",
    "export": "write a trace for Perfetto, or a table as CSV, TSV or Parquet",
    "estimates": "compare the Torq compiler's estimates with the measurements",
    "delegation": "report the time in delegates, what was not delegated, and why slices are not "
    "linked",
    "memory": "report the planned memory of a program file, its peak, and the tensors in use then",
    "sizes": "report what a program file consists of, and what differs between two",
    "numbers": "report logged tensors, and their gap to those of another run",
    "findings": "report performance findings, ranked by possible gain",
    "record": "run a program on a device or here, session by session, and keep what it measured",
    "compare": "compare two sets of profiles: what is slower or faster, and what is proven",
    "query": "run a SQL query over slices, operators, inferences and all other tables",
    "prove": "derive the figures of reports a second way, and list what differs",
    "report": "write findings, timeline, costs and comparison as one HTML file, or as Markdown",
    "inspect": "print the time of each event, as ExecuTorch's Inspector does",
    "screenshot": "save an image of the window",
    "mcp": "serve the files to assistants, over the Model Context Protocol",
    "completion": "print the completion for bash, zsh or fish",
    "fleet": "read many profiles into Parquet tables: build, status, query, compare, report, "
    "compact",
}
# Those in `reports`, as `run_info` and so on.
REPORTS = frozenset(
    ("info", "stats", "estimates", "delegation", "memory", "sizes", "findings", "prove", "inspect")
)


def run(command: str, arguments: list[str]) -> int:
    """Run one of `COMMANDS` with the arguments after its name. Returns the exit code."""
    if command in REPORTS:
        module, function = "reports", f"run_{command}"
    else:
        module, function = command, "run"
    code: int = getattr(importlib.import_module(f"{__name__}.{module}"), function)(arguments)
    return code
