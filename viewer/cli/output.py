"""What commands print: control characters from files never reach a terminal.

A name in a file may contain an escape sequence that rewrites the screen, or a direction override
that shows another text. Every text that a command prints passes here, also messages of argparse.
Line ends pass: reports keep names on one line. JSON is ASCII, so it does not change.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from viewer.model.text import visible_controls


@contextmanager
def visible_output(*, exact: bool = False) -> Iterator[None]:
    """Print control characters as escapes such as \\x1b, on stdout and stderr.

    exact: leave stdout as it is, for the output of another tool.
    """
    out, err = sys.stdout, sys.stderr
    # None in a Windows program without a console.
    sys.stdout = out if exact or out is None else cast(TextIO, _VisibleOutput(out))
    sys.stderr = err if err is None else cast(TextIO, _VisibleOutput(err))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


def overwrite_line(text: str) -> None:
    """Show a text on the current line of a terminal on stderr, over what is there."""
    stream = sys.stderr
    # The carriage return is ours, so it passes.
    raw = stream.stream if isinstance(stream, _VisibleOutput) else stream
    raw.write(f"\r{visible_controls(text)}")
    raw.flush()


class _VisibleOutput:
    """A text stream that writes control characters as escapes; all else is the stream's."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text; returns its length, as a text stream does."""
        self.stream.write(visible_controls(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
