"""What commands print: no control characters reach a terminal, and no failure to print is silent.

A name in a file may contain an escape sequence that rewrites the screen, or a direction override
that shows another text. Every text that a command prints passes here, also messages of argparse.
JSON is ASCII, so it does not change. If stdout is full or closed, the command ends with one line on
stderr and exit code 1; if stderr itself is, there is nowhere to report to.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from viewer.cli.arguments import STANDARD
from viewer.model.text import visible_controls

_TERMINAL_S, _PLAIN_S = 0.25, 30.0


class UnwritableOutput(BaseException):
    """Stdout cannot be written.

    Not an OSError, which argparse ignores, nor an Exception, which commands report per file.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def with_output(answer: Callable[[], int], *, exact: bool = False) -> int:
    """Call what prints; returns its exit code, or 1 if stdout cannot be written.

    exact: as for `visible_output`.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal without UTF-8, or an undecodable file name, must not stop the output.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with visible_output(exact=exact):
            try:
                return answer()
            finally:
                # Also after SystemExit of --help; without this, only the interpreter would find out
                # that the output was lost.
                if sys.stdout is not None:
                    sys.stdout.flush()
    except UnwritableOutput as unwritable:
        _discard(sys.stdout)
        # The reader of a pipe has what it wanted (`opscope info ... | head`).
        if unwritable.error.errno != errno.EPIPE:
            with contextlib.suppress(OSError):
                print(f"opscope: {_why(unwritable.error)}", file=sys.stderr)
        return 1
    except OSError as error:  # such as a current folder that was removed
        reason = error.strerror or str(error)
        with contextlib.suppress(OSError):
            print(
                f"opscope: {reason if error.filename is None else f'{error.filename}: {reason}'}",
                file=sys.stderr,
            )
        return 1
    finally:
        try:
            if sys.stderr is not None:
                sys.stderr.flush()
        except OSError:
            _discard(sys.stderr)


def _why(error: OSError) -> str:
    if error.errno == errno.EBADF:
        return "nothing was printed, because the standard output is closed"
    return f"the standard output cannot be written ({error.strerror or error})"


def _open_closed_streams() -> None:
    """Open descriptors 0 to 2 that are closed, so that no file that is read gets their numbers.

    Stdout is then opened for reading, so that it fails as soon as something is written to it.
    """
    if os.name != "posix":
        return  # a Windows program without a console has no such descriptors
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if descriptor == 2 else os.O_RDONLY)
            if descriptor == 1:
                sys.stdout = os.fdopen(descriptor, "w", encoding="utf-8", closefd=False)
            elif descriptor == 2:
                sys.stderr = os.fdopen(descriptor, "w", encoding="utf-8", closefd=False)


def _discard(stream: TextIO) -> None:
    """Redirect a stream to nowhere, so that the interpreter does not fail to flush it at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def visible_output(*, exact: bool = False) -> Iterator[None]:
    """Print control characters as escapes such as \\x1b, on stdout and stderr.

    exact: leave the texts of stdout as they are, for the output of another tool. Printing to a
    stdout that cannot be written raises UnwritableOutput.
    """
    out, err = sys.stdout, sys.stderr
    # None in a Windows program without a console.
    sys.stdout = out if out is None else cast(TextIO, _Stream(out, required=True, exact=exact))
    sys.stderr = err if err is None else cast(TextIO, _Stream(err, required=False))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


@contextmanager
def output_path(output: str, suffix: str) -> Iterator[str]:
    """Return where to write an output: of "-" a file with this suffix, which then is printed.

    Nothing is printed if the block raises or writes no file. Raises UnwritableOutput.
    """
    if output != STANDARD:
        yield output
        return
    # Late: the window, which starts with this module, has no use for it.
    import shutil

    from viewer.codecs.temporary_folder import TemporaryFolder

    with TemporaryFolder() as folder:
        path = os.path.join(folder, f"output{suffix}")
        yield path
        if not os.path.exists(path):
            return
        sys.stdout.flush()
        try:
            with open(path, "rb") as file, os.fdopen(1, "wb", closefd=False) as out:
                shutil.copyfileobj(file, out)
        except OSError as error:
            raise UnwritableOutput(error) from error


class ProgressLine:
    """Shows on stderr how far long work is.

    On a terminal, each text takes the place of the one before, at most 4 times a second. Otherwise,
    as in continuous integration, a line is printed every 30 s, and none of what ends sooner: a job
    that prints nothing for minutes is taken for one that hangs.
    """

    def __init__(self) -> None:
        self.is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._pause = _TERMINAL_S if self.is_terminal else _PLAIN_S
        self._next = 0.0 if self.is_terminal else time.monotonic() + self._pause
        self._is_open = False

    def show(self, text: str) -> None:
        """Show a text if it is time for one."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._pause
            self._write(text)

    def end(self, text: str = "") -> None:
        """Leave the line of a terminal, with a last text on it."""
        if text and self.is_terminal:
            self._write(text)
        if self._is_open:
            print(file=sys.stderr)
            self._is_open = False

    def _write(self, text: str) -> None:
        if not self.is_terminal:
            print(f"opscope: {text}", file=sys.stderr, flush=True)
            return
        stream = sys.stderr
        # The carriage return is ours, so it passes.
        raw = stream.stream if isinstance(stream, _Stream) else stream
        with contextlib.suppress(OSError):
            raw.write(f"\r{visible_controls(text)}")
            raw.flush()
        self._is_open = True


class _Stream:
    """A text stream that writes control characters as escapes; all else is the stream's.

    required: whether a failure raises UnwritableOutput; otherwise the text is dropped.
    """

    def __init__(self, stream: TextIO, *, required: bool, exact: bool = False) -> None:
        self.stream = stream
        self._required, self._exact = required, exact

    def write(self, text: str) -> int:
        """Write a text; returns its length, as a text stream does."""
        with self._failures():
            self.stream.write(text if self._exact else visible_controls(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what is buffered."""
        with self._failures():
            self.stream.flush()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._required:
                raise UnwritableOutput(error) from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
