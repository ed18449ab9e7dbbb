"""The texts in the source code that people read: the string literals that are prose."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# In place of an expression in an f-string.
PLACE = "…"
# A title, a lower-case word, or words: not an identifier, a regular expression or a style sheet.
_PROSE = re.compile(r"[A-Z][a-z]+\b|[a-z]+\Z|.*[\w,;:.)”\"…] [\w(“\"…]", re.DOTALL)
_CODE = re.compile(r"\\[bdsSwW]|\(\?|\[\^|[\w-]+: ?[^;{}]*;|</?\w+|^[A-Z][a-z]+[A-Z]\w*$")


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The line and text of every string literal that people may read; docstrings are left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):  # a docstring
            skipped.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
    for node in ast.walk(tree):
        text = None if id(node) in skipped or not isinstance(node, ast.expr) else _text(node)
        if text and _PROSE.match(text) and not _CODE.search(text):
            yield node.lineno, text


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else PLACE for part in node.values
        )
    return None
