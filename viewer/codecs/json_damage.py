"""Finds the objects of a damaged JSON array of trace events, and repairs what writers get wrong.

Damage says nothing about where it ends: a lost quote turns strings and the text between them
around. What lies between two events cannot be told by brackets then, but the next event can be
found: an object that begins with a key of events, where an object of the array may begin.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from enum import Enum

_SPACE = rb"[ \t\r\n]*"
_WHITE = b" \t\r\n"
_LEXEMES = {
    is_escaped: re.compile(
        _SPACE + rb'(?:("' + string + rb'")|([{}\[\],:])|([^ \t\r\n"{}\[\],:]+))', re.DOTALL
    )
    for is_escaped, string in ((True, rb'[^"\\]*(?:\\.[^"\\]*)*'), (False, rb'[^"]*'))
}
_KEYS = (
    b"ph|name|cat|ts|dur|pid|tid|args|id|id2|scope|s|bp|bind_id|flow_in|flow_out|tts|tdur|sf|stack"
    b"|esf|estack|cname|ver"
)
_START = re.compile(rb"\{" + _SPACE + rb'"(' + _KEYS + rb')"' + _SPACE + rb":")
_PHASE = re.compile(rb'"ph"' + _SPACE + rb":")
_LONGEST_GAP = 256
_LONGEST = 1 << 16
# What may come before a string, before anything else that is no bracket, and before a bracket.
_BEFORE_STRING, _BEFORE_WORD = frozenset(b"{[,:"), frozenset(b"[,:")
_BEFORE_OPEN = {ord("{"): frozenset(b":"), ord("["): frozenset(b"[,")}
_CLOSES = {ord("}"): ord("{"), ord("]"): ord("[")}
_STRING, _WORD = 0, 1


class Walk(Enum):
    """How an object ends: with its bracket, not within the text, or it is damaged before."""

    CLOSED = 0
    OPEN = 1
    BROKEN = 2


def walk(data: bytes, position: int, limit: int, *, is_escaped: bool = True) -> tuple[int, Walk]:
    """Follow an object or list to its end, and return the position behind it.

    Only what may stand next to what is checked, to notice lost quotes and brackets. limit: no
    further than this position. is_escaped: whether a backslash in a string escapes.
    """
    stack = bytearray()
    before = 0
    match = _LEXEMES[is_escaped].match
    while (token := match(data, position, limit)) is not None:
        position = token.end()
        kind = token.lastindex
        if kind == 1:
            if before not in _BEFORE_STRING:
                return position, Walk.BROKEN
            before = _STRING
        elif kind == 3:
            if before not in _BEFORE_WORD:
                return position, Walk.BROKEN
            before = _WORD
        else:
            char = data[position - 1]
            if char in _BEFORE_OPEN:
                if stack and before not in _BEFORE_OPEN[stack[-1]]:
                    return position, Walk.BROKEN
                stack.append(char)
            elif char in _CLOSES:
                if stack.pop() != _CLOSES[char]:
                    return position, Walk.BROKEN
                if not stack:
                    return position, Walk.CLOSED
            before = char
    return position, Walk.OPEN


def starts(data: bytes, position: int, end: int, *, is_inner: bool = False) -> Iterator[int]:
    """Where an event of the array may begin between two positions.

    is_inner: also where an object is a value of another one.
    """
    for match in _START.finditer(data, position, end):
        if is_inner or _may_start(data, match.start()):
            yield match.start()


def _may_start(data: bytes, position: int) -> bool:
    """Whether the text before an object is such as between two objects of an array."""
    gap = data[max(0, position - _LONGEST_GAP) : position]
    before = gap.rstrip(_WHITE)
    if not before or before[-1] in b",}]{[":
        return True
    return before[-1] != ord(":") and b"\n" in gap[len(before) :]


def count_events(text: bytes) -> int:
    """About how many events a damaged text has: most events of a file begin with the same key."""
    phases = sum(1 for _ in _PHASE.finditer(text))
    keys = Counter(match[1] for match in _START.finditer(text) if _may_start(text, match.start()))
    return max(phases, *keys.values(), 0)


def has_phase(text: bytes) -> bool:
    """Whether a text has the key that all events have."""
    return _PHASE.search(text) is not None


def members(text: bytes) -> set[str]:
    """The keys of an object; empty if it cannot be read."""
    try:
        value = json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return set()
    return set(value) if isinstance(value, dict) else set()


def is_event_at(data: bytes, position: int) -> bool:
    """Whether a whole event is at a position: an object with the key that all events have."""
    if _START.match(data, position) is None:
        return False
    end, ended = walk(data, position, position + _LONGEST)
    if ended is not Walk.CLOSED:
        return False
    try:
        value = json.loads(data[position:end].decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return False
    return isinstance(value.get("ph"), str)


# Numbers that no writer writes stand for those that are not finite, which JSON cannot tell.
NAN, INFINITE = "9e9999999999990", "9e9999999999991"
NOT_FINITE = {NAN: "NaN", INFINITE: "Infinity", f"-{INFINITE}": "-Infinity"}
_NUMBER = (
    r"(?<=[:,\[\s])(?P<sign>[-+]?)"
    r"(?:(?P<nan>nan(?:\([^()\"]*\))?|1\.#(?:ind|q?nan)\d*)|inf(?:inity)?|1\.#inf\d*)"
    r"(?=[\s,}\]])"
)
NUMBER = re.compile(_NUMBER.encode(), re.IGNORECASE)
# A string that does not end goes to the end of the text: otherwise, each quote in it would be
# taken for the beginning of one, and searched for an end.
_TEXT_OR_NUMBER = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|' + _NUMBER, re.DOTALL | re.IGNORECASE | re.ASCII
)
_PLAIN_TEXT = re.compile(r'"[^"]*"')
_WRONG_ESCAPE = re.compile(r'\\(?:\\|["/bfnrt]|u[0-9a-fA-F]{4}|(?P<wrong>))')
_SUSPECT = re.compile(r"[\\\0-\x1f]|nan|inf|1\.#", re.IGNORECASE | re.ASCII)
_CONTROL = re.compile(r"[\0-\x1f]")


class Repair:
    """A JSON text with other numbers that are not finite, and strings that nobody escaped.

    `text` is valid JSON, if nothing else is wrong. `has_backslashes` tells whether a string has
    backslashes that are no escapes: in such a string, all are kept as they are. `has_controls`:
    whether one has control characters. `is_respelled`: whether a number is spelled otherwise than
    in JavaScript.
    """

    def __init__(self, text: str, *, is_escaped: bool = True) -> None:
        """is_escaped: whether a backslash before a quote keeps it in the string."""
        self.has_backslashes = not is_escaped
        self.has_controls = self.is_respelled = False
        if not is_escaped:
            text = _PLAIN_TEXT.sub(lambda match: match[0].replace("\\", "\\\\"), text)
        self.text = _TEXT_OR_NUMBER.sub(self._repaired, text)

    @staticmethod
    def may_help(text: str) -> bool:
        """Whether a text has anything that could be repaired."""
        return _SUSPECT.search(text) is not None

    def _repaired(self, match: re.Match[str]) -> str:
        text = match[0]
        if not text.startswith('"'):
            self.is_respelled |= text not in NOT_FINITE.values()
            return NAN if match["nan"] else f"-{INFINITE}" if match["sign"] == "-" else INFINITE
        if "\\" in text and any(
            escape["wrong"] is not None for escape in _WRONG_ESCAPE.finditer(text)
        ):
            self.has_backslashes = True
            text = re.sub(r'\\(?!")', r"\\\\", text)
        if _CONTROL.search(text) is not None:
            self.has_controls = True
            text = _CONTROL.sub(lambda char: json.dumps(char[0])[1:-1], text)
        return text
