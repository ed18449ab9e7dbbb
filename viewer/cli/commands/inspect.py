"""`opscope inspect`: what each event took, as the inspector of ExecuTorch prints it."""

from __future__ import annotations

from viewer.cli.arguments import complain
from viewer.compat import inspector_cli


def run(arguments: list[str]) -> int:
    """Run the command with the arguments behind its name. Returns the exit code."""
    return inspector_cli.run(arguments, complain)
