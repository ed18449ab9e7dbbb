"""Whether a source file on this machine is the version that a record was made from.

A stack trace holds the text of every line that it names. A file that reads otherwise there is
another version, and what its lines cost would stand beside the wrong ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.program.program import Program
from viewer.program.sources.files import SourceFile


@dataclass(frozen=True, slots=True)
class VersionFit:
    """How a file compares with what was recorded of it.

    compared: how many of its lines were recorded with their text. unlike: those of them that read
    otherwise here, ascending, each with the text that was recorded.
    """

    compared: int
    unlike: tuple[tuple[int, str], ...]

    @property
    def is_other(self) -> bool:
        """Whether the file is another version than the recorded one."""
        return bool(self.unlike)


def version_fit(program: Program, file: SourceFile) -> VersionFit:
    """Compare a file with every line of it that the program's stack traces quote.

    White space at the ends does not count: Python takes it off when it records a line.
    """
    quoted: dict[int, set[str]] = {}
    for operator in program.operators:
        for frame in operator.frames:
            if frame.path == file.recorded and frame.text.strip():
                quoted.setdefault(frame.line, set()).add(frame.text.strip())
    unlike = tuple(
        (line, min(texts))
        for line, texts in sorted(quoted.items())
        if (file.line(line) or "").strip() not in texts
    )
    return VersionFit(len(quoted), unlike)
