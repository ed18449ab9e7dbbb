"""Arguments shared by commands: files, options for them, colors.

Modules are imported only for options that are given, because the first window waits for this one.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from viewer.codecs.temporary_folder import TemporaryFolder
    from viewer.view.sessions.option_texts import OptionTexts
    from viewer.workspace.link_choices import Choices

THEMES = ("light", "dark")
# Names the standard input among the files to open, and the standard output as the file to write.
STANDARD = "-"
_DESCRIPTOR = re.compile(r"/dev/(stdin|fd/\d+)|/proc/self/fd/\d+")
# The copies of the standard input and of pipes, by their names.
_copies: dict[str, TemporaryFolder] = {}


class Parser(argparse.ArgumentParser):
    """The parser of a command: a wrong argument is one line, and the usage names what is needed.

    With a line for every option, the usage hides the reason of an error, and the own options of a
    command.
    """

    def error(self, message: str) -> NoReturn:
        """Print what is wrong as one line, and exit with 2."""
        complain(f"error: {message}", self.prog)
        sys.exit(2)

    def format_usage(self) -> str:
        """The usage: what is required, and whether there is more."""
        return self._with_usage(super().format_usage)

    def format_help(self) -> str:
        """The help, with this usage."""
        return self._with_usage(super().format_help)

    def _with_usage(self, form: Callable[[], str]) -> str:
        if self.usage is None:
            self.usage = " ".join([self.prog, *filter(None, map(_in_usage, self._actions))])
            self.usage = self.usage.replace("%", "%%") + " [options]"
        return form()


def _in_usage(action: argparse.Action) -> str:
    """How an argument is named in the usage; "" for options that can be left out."""
    name = str(action.metavar or action.dest.upper())
    if action.option_strings:
        return f"{action.option_strings[0]} {name}" if action.required else ""
    if action.help is argparse.SUPPRESS:
        return ""
    return {"+": f"{name}...", "*": f"[{name}...]", "?": f"[{name}]"}.get(str(action.nargs), name)


def add_files(parser: argparse.ArgumentParser, count: str) -> None:
    """Add the positional files, `count` of them as in argparse, and the options for files.

    The options are a group of their own, which the help prints after those of the command.
    """
    parser.add_argument(
        "files",
        nargs=count,
        type=_file,
        metavar="FILE",
        help="profiles, ETRecords, program files, sources; - is the standard input",
    )
    _add_options(parser.add_argument_group("options for files"))


def _file(path: str) -> str:
    """Return a file to open; of "-", or of a pipe such as <(...) of a shell, a copy of all of it.

    Readers go back in what they read. The copy is in a temporary folder of this process.
    """
    if (path != STANDARD and not _DESCRIPTOR.fullmatch(path)) or os.path.isfile(path):
        return path
    try:
        return _copy_of_stream(path)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {error.strerror or error}") from error


def _copy_of_stream(path: str) -> str:
    """Return the copy of a stream; one that is named twice is read once. Raises OSError."""
    import errno
    import shutil

    from viewer.codecs.temporary_folder import TemporaryFolder

    is_stdin = path in (STANDARD, "/dev/stdin")
    name = "stdin" if is_stdin else f"pipe{os.path.basename(path)}"
    if name not in _copies:
        with os.fdopen(0, "rb", closefd=False) if is_stdin else open(path, "rb") as stream:
            if stream.isatty():
                raise OSError(errno.EINVAL, "a terminal is no profile: use | or <")
            folder = TemporaryFolder()
            with open(os.path.join(folder.path, name), "wb") as copy:
                shutil.copyfileobj(stream, copy)
            _copies[name] = folder
    return os.path.join(_copies[name].path, name)


def reads_a_stream() -> bool:
    """Whether a file of the command line is a copy that ends with this process."""
    return bool(_copies)


# Options for files that can be given several times: name, what it takes, what it does.
_OPTIONS = (
    (
        "--pair",
        "DUMP=RECORD",
        "link a profile to this ETRecord, even if they do not match",
    ),
    (
        "--method",
        "[FILE:]NAME[:NUMBERS]=METHOD",
        "set the method of inferences if the ETRecord does not determine it. NAME is the name "
        'that opscope info shows: "Execute=forward", or "Execute:1-3,7=forward" for some '
        "inferences; without FILE in all profiles",
    ),
    (
        "--phases",
        "[FILE:]NAME[:NUMBERS]=PHASE",
        "name, merge or split phases, whose figures are kept apart: "
        '"Execute:1=prefill", or "Execute=" for one phase',
    ),
    (
        "--identifier-column",
        "[FILE=]NAME",
        "profile column that contains delegate identifiers, in one file or in all that have "
        'it; "" for none',
    ),
    (
        "--debug-info",
        "DIR",
        "also open the Torq debug info in a folder (torq-compile --torq-debug-info=DIR)",
    ),
    (
        "--clock",
        "[FILE=|[FILE]:BACKEND=]RATE",
        "clock frequency for profiles that do not state one: 100MHz or est.csv=1.2GHz; or for "
        "a delegate's clock: run.etdp:QnnBackend=800MHz, or in all files :cycles=800MHz",
    ),
    (
        "--same-clock",
        "A=B",
        "put profiles on one axis that share a clock: prefill.etdp=decode.etdp, or more as "
        'A=B=C; "stated" for all that state the time of day',
    ),
    (
        "--source-path",
        "FROM=TO",
        "map source path prefix FROM to TO: /home/user/models=/data/models. Profiles may name "
        "files of any kind below TO, elsewhere only .py and .mlir files",
    ),
    (
        "--part",
        "[FILE=]SHARE",
        "open only the first part of a profile that is too large: 20%% or big.csv=20%%; for "
        "CSV, TSV, Chrome and Perfetto files",
    ),
    (
        "--columns",
        "[FILE=]WHAT=COLUMN,...",
        'what the columns of a CSV are, if its header does not show it: "start=Start (ns),'
        'dur=Duration,unit=us". WHAT is name, start, dur, end, process, thread or identifier; unit '
        "is s, ms, us, ns or ps; decimal is point or comma",
    ),
)


def _add_options(parser: argparse._ArgumentGroup) -> None:
    for name, metavar, help in _OPTIONS:
        parser.add_argument(name, action="append", default=[], metavar=metavar, help=help)
    parser.add_argument(  # applies as soon as it is parsed
        "--max-memory",
        action=_MaxMemory,
        metavar="SIZE",
        help="the most memory to use, such as 512M, 2G or 50%% of the machine's; files that need "
        "more are refused before they are read (default: what is available)",
    )


class _MaxMemory(argparse.Action):
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


def files_of(chosen: argparse.Namespace, *, asks: bool = False) -> tuple[list[str], list[str]]:
    """Return all files to open (debug-info folders last), and a message per folder without any.

    asks: whether somebody chooses from the files in a folder; else all of them are opened.
    """
    files, complaints = list[str](), list[str]()
    if not chosen.debug_info and (asks or not any(map(os.path.isdir, chosen.files))):
        return list(chosen.files), complaints
    from viewer.formats.folders import NoDebugInfo, debug_info_of, files_in

    for path in chosen.files:
        try:
            files += [path] if asks else files_in([path])
        except ValueError as error:
            complaints.append(str(error))
    for folder in chosen.debug_info or ():
        try:
            files += debug_info_of(folder)
        except NoDebugInfo as error:
            complaints.append(str(error))
    return files, complaints


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


def option_texts(chosen: argparse.Namespace) -> OptionTexts:
    """Return the options for the files as they were given."""
    from viewer.view.sessions.option_texts import OptionTexts

    return OptionTexts(
        pair=chosen.pair,
        method=chosen.method,
        identifier_column=chosen.identifier_column,
        clock=chosen.clock,
        source_path=chosen.source_path,
        part=chosen.part,
        columns=chosen.columns,
        same_clock=chosen.same_clock,
        phases=chosen.phases,
    )


def choices_of(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> Choices | None:
    """Return the options for the files, None without any; exits with a usage error if wrong."""
    try:
        return option_texts(chosen).choices(chosen.files)
    except ValueError as error:
        parser.error(str(error))


def check_output(
    parser: argparse.ArgumentParser, output: str | None, inputs: Iterable[str]
) -> None:
    """Exit with a usage error if the output is a URL, or one of the input files."""
    from viewer.codecs.atomic_file import output_fault

    if output and output != STANDARD and (fault := output_fault(output, inputs)):
        parser.error(fault)


@contextlib.contextmanager
def needing_window() -> Iterator[None]:
    """Import the window in this block; exits with 2 where it is not installed: in opscope-core."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "viewer.gui":
            raise
        complain("opscope-core has no window: pip uninstall opscope-core && pip install opscope")
        sys.exit(2)


def internal_error(path: str, error: Exception) -> str:
    """Return the message for an error that no reader should raise."""
    return f"{path}: internal error in Opscope ({error!r})"


def written(output: str, write: Callable[[], object]) -> bool:
    """Call what writes a file; returns whether it did, and says why not on stderr."""
    from viewer.codecs.atomic_file import NothingToExport

    try:
        write()
    except NothingToExport as error:
        complain(str(error))
        return False
    except OSError as error:
        complain(f"{output}: it cannot be written ({error.strerror or error})")
        return False
    return True


def complain(message: str, program: str = "opscope") -> None:
    """Print one line on stderr. program: what it begins with."""
    from viewer.model.text import one_line

    print(f"{program}: {one_line(message)}", file=sys.stderr)
