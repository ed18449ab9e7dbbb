"""Reads a Python source file, such as the model's own, so that its lines can be displayed."""

from __future__ import annotations

import re

from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.formats import format_of
from viewer.program.program import Program
from viewer.program.source_files import MAX_SOURCE, read_source

# A line start that is typical of Python and of no other format here.
_STATEMENT = re.compile(
    rb"^(?:\xef\xbb\xbf)?(?:import [\w.]+|from [\w.]+ import |def \w+\(|class \w+ *[(:]|@\w[\w.]*"
    rb"|#!.*python|# -\*- coding)",
    re.M,
)
# A docstring before any statement: further down, three quotes are those of a cell in a CSV.
_DOCSTRING = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\r\n]*)?\r?\n)*[rR]?(?:\"\"\"|''')")


def sniff(head: bytes) -> bool:
    """Whether a line starts with a Python statement, or the text with a docstring.

    A table is none: its rows can begin with a name such as `@torch.compile` or `import x`.
    """
    if b"\0" in head or not (_DOCSTRING.match(head) or _STATEMENT.search(head)):
        return False
    from viewer.formats.table.plain_csv import is_table

    return not is_table(head)


def read(path: str, progress: Progress, cancelled: Cancelled) -> Program:
    """The lines of a source file, as a program without methods. Raises UnreadableFile."""
    lines = read_source(path)
    if lines is None:
        raise UnreadableFile(path, f"not a plain text of at most {MAX_SOURCE >> 20} MB")
    progress(1, 1)
    return Program(path, FORMAT.name, "", (), text_lines=lines)


FORMAT = format_of("python_source")
