"""The commands without a window: one module each, with its arguments and its handler.

Each module has `run(arguments)` and is imported when its command runs: the window needs none of
them, and no command needs the imports of another.
"""

from __future__ import annotations

import importlib

COMMANDS = (
    "info", "stats", "calls", "export", "estimates", "delegation", "memory", "sizes", "numbers",
    "findings", "compare", "report", "inspect", "screenshot", "mcp", "fleet",
)  # fmt: skip


def run(command: str, arguments: list[str]) -> int:
    """Run one of `COMMANDS` with the arguments after its name. Returns the exit code."""
    code: int = importlib.import_module(f"{__name__}.{command}").run(arguments)
    return code
