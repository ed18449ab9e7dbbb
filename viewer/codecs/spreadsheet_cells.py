r"""Texts as cells that a spreadsheet shows and does not run, and back.

A spreadsheet takes a cell of a CSV file for a formula if it starts with =, +, - or @, also in full
width, or with a tab or carriage return, also after white space. Such a text gets an apostrophe in
front; a plain number, such as -5, does not. Control characters become escapes such as \x1b, except
tabs and line ends, which CSV can quote. No two texts become the same cell: a text that already
looks like a changed one, such as '=1 or a literal \x1b, gets one more apostrophe or twice the
backslashes.
"""

from __future__ import annotations

import re

# White space, and characters without a width that may come before the first visible one.
_BLANK = r"[\s\u200b-\u200f\u2060\ufeff]*"
_FORMULA = rf"'*{_BLANK}[=+\-@\uff1d\uff0b\uff0d\uff20\t\r]"
_is_formula = re.compile(_FORMULA).match
_has_prefix = re.compile(f"'{_FORMULA}").match
_is_number = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch

_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
_CODE = r"x(?:0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f])"
# Both match the backslashes in front: their number tells whether one of them starts an escape.
_TO_ESCAPE = re.compile(rf"(?<!\\)(?:(\\*)({_CONTROL})|(\\+)(?={_CODE}))")
_ESCAPE = re.compile(rf"(?<!\\)(\\+)({_CODE})")


def harmless(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula, without control characters.

    Most texts are unchanged.
    """
    # The test in front of the search is ten times as fast, and true for nearly all texts.
    is_plain = text.isprintable() and "\\x" not in text
    cell = text if is_plain else _TO_ESCAPE.sub(_escaped, text)
    return f"'{cell}" if _is_formula(cell) and not _is_number(cell) else cell


def original(cell: str) -> str:
    """Return the text that `harmless` turned into a cell; other cells are unchanged."""
    if cell[:1] != "'" and "\\x" not in cell:
        return cell
    text = _ESCAPE.sub(_unescaped, cell[1:] if _has_prefix(cell) else cell)
    return text if harmless(text) == cell else cell


def _escaped(match: re.Match[str]) -> str:
    backslashes, control, before_code = match.groups()
    return before_code * 2 if before_code else rf"{backslashes * 2}\x{ord(control):02x}"


def _unescaped(match: re.Match[str]) -> str:
    backslashes, code = match.groups()
    halved = backslashes[: len(backslashes) // 2]
    return halved + (chr(int(code[1:], 16)) if len(backslashes) % 2 else code)
