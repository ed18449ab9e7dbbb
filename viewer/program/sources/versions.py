"""Checks whether a local source file is the version that an ETRecord was made from.

A stack trace contains the text of every line it names. If the file has other text there, it is
another version, and costs would be displayed next to the wrong lines.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.program.program import Program
from viewer.program.sources.files import SourceFile


@dataclass(frozen=True, slots=True)
class VersionFit:
    """How a file compares with its recorded lines.

    compared: the number of lines recorded with their text. unlike: those that differ here,
    ascending, each with its recorded text.
    """

    compared: int
    unlike: tuple[tuple[int, str], ...]

    @property
    def is_other(self) -> bool:
        """Whether the file is a different version than the recorded one."""
        return bool(self.unlike)


def version_fit(program: Program, file: SourceFile) -> VersionFit:
    """Compare a file with every line of it that the program's stack traces quote.

    Leading and trailing whitespace is ignored.
    """
    recorded = program.quoted_texts.get(file.recorded, {})
    quoted = {line: texts for line, texts in sorted(recorded.items()) if texts}
    unlike = tuple(
        (line, min(texts))
        for line, texts in quoted.items()
        if (file.line(line) or "").strip() not in texts
    )
    return VersionFit(len(quoted), unlike)
