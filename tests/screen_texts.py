"""The texts in the source code that people read: the string literals that are prose."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.sources import source_of

# A title, a lower-case word, or words: not an identifier, a regular expression or a style sheet.
_PROSE = re.compile(r"[A-Z][a-z]+\b|[a-z]+\Z|.*[\w,;:.)”\"…] [\w(“\"…]", re.DOTALL)
_CODE = re.compile(r"\\[bdsSwW]|\(\?|\[\^|[\w-]+: ?[^;{}]*;|</?\w+|^[A-Z][a-z]+[A-Z]\w*$")


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The line and text of every string literal that people may read; docstrings are left out."""
    for literal in source_of(path).literals:
        text = literal.text
        if literal.is_statement or literal.is_part or not text:
            continue
        if _PROSE.match(text) and not _CODE.search(text):
            yield literal.line, text
