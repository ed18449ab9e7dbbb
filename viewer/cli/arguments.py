"""Arguments shared by commands: files, options for them, colors.

Modules are imported only for options that are given, because the first window waits for this one.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewer.program.sources.files import Substitution
    from viewer.workspace.link_choices import Choices

THEMES = ("light", "dark")


def add_files(parser: argparse.ArgumentParser, count: str) -> None:
    """Add the positional files, `count` of them as in argparse, and the options for files."""
    parser.add_argument(
        "files",
        nargs=count,
        metavar="FILE",
        help="profiles, ETRecords, program files, sources",
    )
    parser.add_argument(
        "--pair",
        action="append",
        default=[],
        metavar="DUMP=RECORD",
        help="link a profile to this ETRecord, even if they do not match",
    )
    parser.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="[FILE:]NAME[:NUMBERS]=METHOD",
        help="set the method of inferences if the ETRecord does not determine it. NAME is the name "
        'that opscope info shows: "Execute 1=forward", or "Execute 1:1-3,7=forward" for some '
        "inferences; without FILE in all profiles",
    )
    parser.add_argument(
        "--identifier-column",
        action="append",
        default=[],
        metavar="[FILE=]NAME",
        help="profile column that contains delegate identifiers, in one file or in all that have "
        'it; "" for none',
    )
    parser.add_argument(
        "--debug-info",
        action="append",
        default=[],
        metavar="DIR",
        help="also open the Torq debug info in a folder (torq-compile --torq-debug-info=DIR)",
    )
    parser.add_argument(
        "--clock",
        action="append",
        default=[],
        metavar="[FILE=|[FILE]:BACKEND=]RATE",
        help="clock frequency for profiles that do not state one: 100MHz or est.csv=1.2GHz; or for "
        "a delegate's clock: run.etdp:QnnBackend=800MHz, or in all files :cycles=800MHz",
    )
    parser.add_argument(
        "--source-path",
        action="append",
        default=[],
        metavar="FROM=TO",
        help="map source path prefix FROM to TO: /home/user/models=/data/models. Profiles may name "
        "files of any kind below TO, elsewhere only .py and .mlir files",
    )
    parser.add_argument(
        "--part",
        action="append",
        default=[],
        metavar="[FILE=]SHARE",
        help="open only the first part of a profile that is too large: 20%% or big.csv=20%%; for "
        "CSV, TSV, Chrome and Perfetto files",
    )
    add_max_memory(parser)


def add_max_memory(parser: argparse.ArgumentParser) -> None:
    """Add the option that limits the memory of this process; it applies as soon as it is parsed."""
    parser.add_argument(
        "--max-memory",
        action=_MaxMemory,
        metavar="SIZE",
        help="the most memory to use, such as 512M, 2G or 50%% of the machine's; files that need "
        "more are refused before they are read (default: what is available)",
    )


class _MaxMemory(argparse.Action):
    """Sets the limit of the memory budget."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        from viewer.codecs.memory_budget import BUDGET, parse_limit

        try:
            BUDGET.limit(parse_limit(str(values)))
        except ValueError as error:
            parser.error(f"--max-memory {error}")
        setattr(namespace, self.dest, values)


def files_of(chosen: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return all files to open (debug-info folders last), and a message per folder without any."""
    files, complaints = list(chosen.files), list[str]()
    if not chosen.debug_info:
        return files, complaints
    from viewer.formats.folders import NoDebugInfo, debug_info_of

    for folder in chosen.debug_info:
        try:
            files += debug_info_of(folder)
        except NoDebugInfo as error:
            complaints.append(str(error))
    return files, complaints


def _source_paths(parser: argparse.ArgumentParser, given: list[str]) -> tuple[Substitution, ...]:
    if not given:
        return ()
    from viewer.program.sources.files import Substitution

    substitutions = []
    for text in given:
        recorded, equals, local = text.partition("=")
        if not (equals and local):
            parser.error(f"--source-path {text}: write it as FROM=TO")
        if not os.path.exists(local):
            parser.error(f"--source-path {text}: {local} does not exist")
        try:
            substitutions.append(Substitution(recorded, os.path.abspath(local), any_kind=True))
        except ValueError as error:
            parser.error(f"--source-path {text}: {error}")
    return tuple(substitutions)


def _clocks(
    parser: argparse.ArgumentParser, given: list[str], files: Sequence[str]
) -> list[tuple[str, str, Fraction]]:
    """Return (profile or "", delegate's clock or "", ns per tick) for each option.

    A file name may contain ":", so it ends the name only if the whole is not one of `files`.
    """
    if not given:
        return []
    from viewer.model.times import parse_rate

    clocks = []
    for text in given:
        path, _, rate = text.rpartition("=")
        name = ""
        if not any(path == os.path.basename(file) or _is_same(path, file) for file in files):
            before, colon, after = path.rpartition(":")
            path, name = (before, after) if colon else (path, "")
        try:
            clocks.append((path, name, parse_rate(rate)))
        except ValueError as error:
            parser.error(f"--clock {text}: {error}")
    return clocks


def _parts(
    parser: argparse.ArgumentParser, given: list[str], files: Sequence[str]
) -> tuple[tuple[str, Fraction], ...]:
    """Return (file or "", share) for each [FILE=]SHARE; FILE may be the name of one of `files`."""
    if not given:
        return ()
    from viewer.codecs.memory_budget import parse_part

    parts = []
    for text in given:
        name, _, share = text.rpartition("=")
        found = [file for file in files if _is_same(name, file) or name == os.path.basename(file)]
        if name and not found:
            parser.error(f"--part {text}: {name} is not one of the files")
        try:
            parts += [(file, parse_part(share)) for file in (found if name else [""])]
        except ValueError as error:
            parser.error(f"--part {error}")
    return tuple(parts)


def _is_same(one: str, other: str) -> bool:
    return os.path.abspath(one) == os.path.abspath(other)


def add_include_warmup(parser: argparse.ArgumentParser) -> None:
    """Add the option that includes inferences that warm up."""
    parser.add_argument(
        "--include-warmup",
        action="store_true",
        help="include the warm-up in figures over all inferences: the first quarter after each "
        "load, at most 3",
    )


def add_inference(parser: argparse.ArgumentParser) -> None:
    """Add the option for one inference by its number."""
    parser.add_argument(
        "--inference", type=int, metavar="N", help="report only inference N, counted from 1"
    )
    # The former name of the option.
    parser.add_argument("--run", dest="inference", type=int, help=argparse.SUPPRESS)


def add_theme(parser: argparse.ArgumentParser) -> None:
    """Add the option for the light or dark theme."""
    parser.add_argument("--theme", choices=THEMES, help="colors (default: the theme of the system)")


def choices_of(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> Choices | None:
    """Return the options for the files, None without any; exits with a usage error if wrong."""
    given = (
        chosen.pair,
        chosen.method,
        chosen.identifier_column,
        chosen.clock,
        chosen.source_path,
        chosen.part,
    )
    if not any(given):
        return None
    from viewer.workspace.link_choices import Choices

    methods = [text.partition("=")[::2] for text in chosen.method]
    for text, (scope, method) in zip(chosen.method, methods, strict=True):
        if not (scope and method):
            parser.error(
                f"--method {text}: write it as NAME=METHOD or NAME:NUMBERS=METHOD, as in "
                '"Execute 1=forward" or "Execute 1:1-3,7=forward"'
            )
    clocks = _clocks(parser, chosen.clock, chosen.files)
    return Choices(
        tuple(_pairs(parser, chosen.pair)),
        tuple(methods),
        tuple(_column(text, chosen.files) for text in chosen.identifier_column),
        tuple((path, rate) for path, name, rate in clocks if not name),
        _source_paths(parser, chosen.source_path),
        delegate_clocks=tuple(clock for clock in clocks if clock[1]),
        parts=_parts(parser, chosen.part, chosen.files),
    )


def _cut(text: str) -> list[tuple[str, str]]:
    """Return the text split at each "=", because names of files and columns may contain one."""
    return [(text[:i], text[i + 1 :]) for i, character in enumerate(text) if character == "="]


def _column(text: str, files: Sequence[str]) -> tuple[str | None, str]:
    """Return (profile or None, column) for [FILE=]NAME.

    A column name may contain "=", so FILE counts only if it is one of `files`.
    """
    given = {os.path.abspath(path) for path in files}
    names = {os.path.basename(path) for path in files}
    cuts = _cut(text)
    found = [halves for halves in cuts if os.path.abspath(halves[0]) in given]
    found = found or [halves for halves in cuts if halves[0] in names]
    return found[0] if found else (None, text)


def _pairs(parser: argparse.ArgumentParser, given: list[str]) -> list[tuple[str, str]]:
    """Return (profile, ETRecord) for each DUMP=RECORD.

    If names contain "=", the split at which both parts are existing files is used.
    """
    pairs = []
    for text in given:
        halves = [both for both in _cut(text) if all(both)]
        if not halves:
            parser.error(f"--pair {text}: write it as DUMP=RECORD")
        files = [half for half in halves if all(map(os.path.exists, half))]
        pairs.append((files or halves)[0])
    return pairs


def internal_error(path: str, error: Exception) -> str:
    """Return the message for an error that no reader should raise."""
    return f"{path}: internal error in Opscope ({error!r})"


def complain(message: str) -> None:
    """Print one line on stderr."""
    from viewer.model.text import one_line

    print(f"opscope: {one_line(message)}", file=sys.stderr)
