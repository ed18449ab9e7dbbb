"""Display texts: amounts with a prefix ("110.592 kFLOP", "49 MB"), names and their order, lines."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence

from viewer.model.times import NARROW_SPACE, group_digits, plain_spaces

# C0 without line ends, DEL, C1, and characters that override the direction of text.
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LINE_END = re.compile(r"[\n\u2028\u2029]")
# Characters of a text on the screen; exports and copies have all of them.
LONGEST = 4000
# What names without a visible letter are called.
NO_NAME, BLANK_NAME = "(no name)", "(blank)"
# Signs with a meaning in Markdown, and in the HTML that it may contain; "_" has none in a word.
_MARKDOWN = re.compile(r"([\\`*\[\]|#~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_ENTITIES = {"&": "&amp;", "<": "&lt;", "@": "&#64;"}
_DIGITS = re.compile(r"([0-9]+)")
_PREFIXES = (("P", 10**15), ("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3))


def amount_in_unit(value: float, unit: str) -> tuple[str, str]:
    """The number and its unit: integers below 1000 unchanged, others with three decimals."""
    for prefix, factor in _PREFIXES:
        # A value that rounds up to the next prefix uses that prefix: 1.000 k.
        if round(value / factor, 6) >= 1:
            return f"{value / factor:.3f}", prefix + unit
    if float(value).is_integer():
        return group_digits(int(value)), unit
    return f"{value:.3f}", unit


def bytes_text(size: int) -> str:
    """A size such as "95 kB", "49 MB" or "1.2 GB"; one decimal below ten of a unit."""
    units = ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)
    # From 999.5 MB on it is 1.0 GB.
    unit, factor = next(((u, f) for u, f in units if size >= f - f // 2000), ("B", 1))
    number = size / factor
    decimals = 1 if factor > 1 and number < 10 else 0
    return f"{number:.{decimals}f}{NARROW_SPACE}{unit}"


def display_name(path: str) -> str:
    """The last component of a path, for headers and messages; control characters as escapes."""
    return name_text(os.path.basename(path) or path) if path else ""


def name_text(name: str) -> str:
    """Return a name from a file as every view shows it: on one line, never empty, not endless.

    Line ends and control characters are escapes: "line 1\\nline 2".
    """
    text = visible_line(capped(name))
    return text if text.strip() else BLANK_NAME if name else NO_NAME


def distinct_names(paths: Sequence[str]) -> list[str]:
    """The display names of files; of equal names, each with as many folders as tell it apart."""
    parts = [path.replace(os.sep, "/").split("/") for path in paths]
    names = [display_name(path) for path in paths]
    depth = 1
    while len(set(names)) < len(set(paths)) and depth < max(map(len, parts)):
        depth += 1
        count = Counter(names)
        names = [
            visible_controls(capped("/".join(folders[-depth:]))) if count[name] > 1 else name
            for name, folders in zip(names, parts, strict=True)
        ]
    return names


def listed(
    names: Sequence[str], last: str = "and", most: int | None = None, count: int | None = None
) -> str:
    """Names in a sentence: "a", "a and b", "a, b and c"; last: the word before the last one.

    most: how many are named, "a, b and 4 more"; the rest is that of count (default: of the names).
    """
    more = 0 if most is None else (len(names) if count is None else count) - most
    first, end = (names[:most], [f"{more} more"]) if more > 0 else (names[:-1], names[-1:])
    return f" {last} ".join(filter(None, (", ".join(first), *end)))


def natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """Return a sort key that puts "core 2" before "core 10"; the case of letters decides last."""
    parts = _DIGITS.split(name.casefold())
    key = [
        (len(digits := part.lstrip("0")), digits) if i % 2 else (0, part)
        for i, part in enumerate(parts)
    ]
    return key, name


def one_line(text: str) -> str:
    """A name or sentence from a file on one line, with control characters escaped."""
    plain = plain_spaces(text)
    if plain.isprintable():
        return plain
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in plain)


def markdown_text(text: str) -> str:
    """A text from a file as Markdown that shows it as it is, on one line.

    Also "@" is escaped, so that a name mentions nobody on the page of a ticket.
    """
    escaped = _MARKDOWN.sub(r"\\\1", one_line(capped(text)))
    return "".join(_ENTITIES.get(c, c) for c in escaped)


def capped(text: str) -> str:
    """A text for the screen: its first `LONGEST` characters, and its length if it is longer.

    Qt takes seconds to lay out a name of 1 MB.
    """
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}… ({group_digits(len(text))} characters)"


def visible_line(text: str) -> str:
    """A text on one line: as `visible_controls`, and line ends as escapes too."""
    visible = visible_controls(text)
    if visible.isprintable():
        return visible
    return _LINE_END.sub(lambda match: match[0].encode("unicode_escape").decode(), visible)


def visible_controls(text: str) -> str:
    """A text with control characters and direction overrides as escapes, except line ends."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
