"""`opscope inspect`: the time of each event, in the format of ExecuTorch's Inspector."""

from __future__ import annotations

from viewer.cli.arguments import complain
from viewer.compat import inspector_cli


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    return inspector_cli.run(arguments, complain)
