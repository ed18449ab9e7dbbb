"""The lines of a source file that stack traces quote, for a file that is not on this machine.

A quoted text is untrusted: it may be of any length and contain control characters.

A stack trace contains the text of every line it names. If a local file has other text there, it is
another version than the ETRecord was made from, and costs would be displayed next to the wrong
lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from viewer.model.text import one_line
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
    recorded = program.quoted_texts.get(file.recorded_path, {})
    quoted = {line: texts for line, texts in sorted(recorded.items()) if texts}
    unlike = tuple(
        (line, min(texts))
        for line, texts in quoted.items()
        if (file.line(line) or "").strip() not in texts
    )
    return VersionFit(len(quoted), unlike)


MOST_CHARACTERS = 2000  # of a line; more would only make the view slow
GAP = 0  # the number of a row between lines that are not adjacent


@dataclass(frozen=True, slots=True)
class QuotedLines:
    """Rows of text, ascending: lines and the gaps between them; empty if no text was recorded.

    numbers: the line of each row, `GAP` between lines that are not adjacent. texts: what was
    recorded, without indentation. quoted: the number of lines with a text.
    """

    numbers: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    quoted: int = 0


def quoted_lines(programs: Iterable[Program], path: str) -> QuotedLines:
    """All lines of a file that the programs name, with the text that they quote.

    Programs that quote another version of the file than an earlier one are left out.
    """
    lines: dict[int, set[str]] = {}
    for program in programs:
        texts_of_line = program.quoted_texts.get(path, {})
        if all(
            lines[n] & texts_of_line[n]
            for n in lines.keys() & texts_of_line
            if lines[n] and texts_of_line[n]
        ):
            lines |= {n: lines.get(n, set()) | texts for n, texts in texts_of_line.items()}
    quoted = sum(map(bool, lines.values()))
    if not quoted:
        return QuotedLines()
    numbers, rows, before = [], [], 0
    for number, texts in sorted(lines.items()):
        if before and number > before + 1:
            numbers.append(GAP)
            rows.append("")
        numbers.append(number)
        rows.append(_shown(min(texts, default="")))
        before = number
    return QuotedLines(tuple(numbers), tuple(rows), quoted)


def _shown(text: str) -> str:
    """A text on one line, cut if it is very long."""
    cut = text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…"
    return one_line(cut)
