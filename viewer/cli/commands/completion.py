"""`opscope completion`: completion of commands, options and files in shells, by argcomplete.

The command prints what a shell evaluates. At a tab, the shell starts `opscope` with `COMPLETING`
set; the parser of the command that stands on the line then offers its options instead of reading
arguments, so that no list of options is written twice.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import NoReturn

from viewer.cli import commands
from viewer.cli.arguments import Parser

SHELLS = ("bash", "zsh", "fish")
# A shell sets it that asks what can follow: from which word on argcomplete reads the line.
COMPLETING = "_ARGCOMPLETE"


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope completion",
        description="Print the completion for a shell. For bash, add "
        '`eval "$(opscope completion bash)"` to ~/.bashrc; for zsh the same to ~/.zshrc, after '
        "compinit; for fish, `opscope completion fish | source` to its configuration.",
    )
    parser.add_argument("shell", choices=SHELLS)
    chosen = parser.parse_args(arguments)
    from argcomplete.shell_integration import shellcode

    print(shellcode(["opscope"], shell=chosen.shell))
    return 0


def complete(run_window: Callable[[list[str]], int]) -> int:
    """Answer the shell with the parser of the command on its line; ends the process."""
    from viewer.cli.commands.fleet import SUBCOMMANDS, run_subcommand

    argparse.ArgumentParser.parse_args = _answer  # type: ignore[assignment, method-assign]
    words = _words()[1:3]
    if words[:1] == ["fleet"] and words[1:] and words[1] in SUBCOMMANDS:
        os.environ[COMPLETING] = "3"
        return run_subcommand(words[1], [])
    if words and words[0] in commands.COMMANDS:
        os.environ[COMPLETING] = "2"
        return commands.run(words[0], [])
    return run_window([])


def _answer(parser: argparse.ArgumentParser, *_: object) -> NoReturn:
    """Tell the shell what can follow according to a parser, and end the process."""
    import argcomplete
    from argcomplete.completers import BaseCompleter, FilesCompleter

    class FilesOrCommands(BaseCompleter):
        """What a word can be that is no option and no choice: commands as the first word alone."""

        def __call__(self, *, prefix: str, **_: object) -> list[str]:
            is_first = parser.prog == "opscope" and len(_words()) == 1
            return [*(commands.COMMANDS if is_first else ()), *FilesCompleter()(prefix)]

    argcomplete.autocomplete(
        parser, always_complete_options=False, default_completer=FilesOrCommands()
    )
    raise AssertionError("argcomplete ends the process")


def _words() -> list[str]:
    """The whole words on the line of the shell, before the one at its cursor."""
    from argcomplete.lexers import split_line

    line = os.environ.get("COMP_LINE", "")
    return split_line(line, int(os.environ.get("COMP_POINT", len(line))))[3]
