"""MLIR source locations, in every form that MLIR prints.

    loc("m.mlir":18:11)   loc("m.mlir":1:2 to 3:4)   loc("m.mlir":1:2 to :9)
    loc(callsite(CALLEE at CALLER))   loc(fused<METADATA>[A, B])   loc("name"(CHILD))   loc(unknown)
    @L13C10+@L11C10     in Torq's annotated profiles: the file is the compiler's input

Any other text becomes an `UnknownLocation` that contains the text. MLIR prints aliases unless given
--mlir-print-local-scope. An alias stands for the contents of the `loc(...)` that defines it, which
may use other aliases: `#loc5 = loc(fused[#loc3, callsite(#loc4 at #loc1)])`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import TypeAlias

from viewer.dataclasses import dataclass

_DEFINITION = re.compile(r"(#[\w$.-]+)[ \t]*=[ \t]*loc\((.*)\)[ \t]*")
_USE = re.compile(r'"(?:[^"\\]|\\.)*"|(#[\w$.-]+)')
# Nested aliases can expand to more text than fits in memory; real ones have a few hundred
# characters.
_LONGEST = 1 << 16
_DEEPEST = 100
_UNKNOWN = "unknown"


class LocationAliases:
    """The aliases that a text defines, anywhere in it."""

    def __init__(self, lines: Iterable[str]) -> None:
        matches = (_DEFINITION.fullmatch(line) for line in lines if line[:1] == "#")
        self._defined = {match[1]: match[2] for match in matches if match is not None}
        self._resolved: dict[str, str] = {}

    def resolved(self, location: str) -> str:
        """A location with its aliases replaced by their definitions.

        Aliases that are undefined, recursive or too long become `unknown`.
        """
        return self._expanded(location, 0) if "#" in location else location

    def _expanded(self, text: str, depth: int) -> str:
        parts: list[str] = []
        length = end = 0
        for use in _USE.finditer(text):
            if use[1] is None:
                continue
            parts += (text[end : use.start()], self._meaning(use[1], depth))
            length += len(parts[-2]) + len(parts[-1])
            end = use.end()
            if length > _LONGEST:
                return _UNKNOWN
        return "".join((*parts, text[end:]))

    def _meaning(self, alias: str, depth: int) -> str:
        if alias in self._resolved:
            return self._resolved[alias]
        if depth >= _DEEPEST or alias not in self._defined:
            return _UNKNOWN
        self._resolved[alias] = _UNKNOWN  # its value in its own definition
        self._resolved[alias] = self._expanded(self._defined[alias], depth + 1)
        return self._resolved[alias]


# Inlining nests call sites a few dozen deep. The limit prevents hostile text from overflowing the
# stack.
MAX_NESTING = 200
# The contents of a quoted string that ends on its line. Possessive, because a repetition that can
# backtrack costs a hundred bytes of memory per character.
STRING_CONTENT = r'[^"\\\n]*+(?:\\.[^"\\\n]*+)*+'
# The file of a position without one.
INPUT_FILE = "the input file"


@dataclass(frozen=True, slots=True)
class FilePosition:
    """file:line:col, counted from 1, and the end of the range if the text states one."""

    file: str
    line: int
    col: int
    end_line: int | None = None
    end_col: int | None = None


@dataclass(frozen=True, slots=True)
class NameLocation:
    """A name that a front end gave to an operation, and the location it wraps."""

    name: str
    child: Location | None = None


@dataclass(frozen=True, slots=True)
class CallSite:
    """An inlined operation: its own location (callee) and where it was called (caller)."""

    callee: Location
    caller: Location


@dataclass(frozen=True, slots=True)
class FusedLocation:
    """The locations of an operation made from several; without the metadata."""

    members: tuple[Location, ...]


@dataclass(frozen=True, slots=True)
class UnknownLocation:
    """`unknown`, or a text that is not a location, in `unparsed`."""

    unparsed: str = ""


Location: TypeAlias = FilePosition | NameLocation | CallSite | FusedLocation | UnknownLocation


def parse_location(text: str) -> Location:
    """Parse a printed location, with or without the `loc(...)` around it. Never raises."""
    inner = text.strip()
    if _SHORT.fullmatch(inner):
        places = (place.split("C") for place in inner.removeprefix("@L").split("+@L"))
        return FusedLocation(
            tuple(FilePosition(INPUT_FILE, int(line), int(col)) for line, col in places)
        )
    if inner.startswith("loc(") and inner.endswith(")"):
        inner = inner[4:-1]
    parser = _LocationParser(inner)
    try:
        location = parser.location(0)
        parser.expect(_END)
    except _NotALocation:
        return UnknownLocation(text)
    return location


def positions(location: Location) -> tuple[FilePosition, ...]:
    """All distinct file positions: callee before caller, members of a fusion in order."""
    file_positions: dict[FilePosition, None] = {}
    waiting: list[Location] = [location]
    while waiting:
        match waiting.pop():
            case FilePosition() as position:
                file_positions.setdefault(position)
            case NameLocation(_, child) if child is not None:
                waiting.append(child)
            case CallSite(callee, caller):
                waiting += (caller, callee)
            case FusedLocation(members):
                waiting += reversed(members)
    return tuple(file_positions)


class PlaceRole(Enum):
    """The relation of an outline's line to its parent line."""

    PLACE = ""
    MEMBER = "fused"
    CALLER = "called from"


@dataclass(frozen=True, slots=True)
class OutlinedPlace:
    """One line of a location's outline: its depth, role and position.

    position: None for `unknown` and for a name without a position. name: given by a front end, or
    the text that is not a location; "" if there is none.
    """

    depth: int
    role: PlaceRole
    position: FilePosition | None
    name: str = ""


def outline(location: Location) -> tuple[OutlinedPlace, ...]:
    """A location as indented lines: members of a fusion in order, callers below their callee."""
    outlined_places: list[OutlinedPlace] = []
    waiting = [(location, 0, PlaceRole.PLACE, "")]
    while waiting:
        place, depth, role, name = waiting.pop()
        match place:
            case FilePosition() as position:
                outlined_places.append(OutlinedPlace(depth, role, position, name))
            case NameLocation(location_name, child):
                if child is None:
                    outlined_places.append(OutlinedPlace(depth, role, None, location_name))
                else:
                    waiting.append((child, depth, role, location_name))
            case CallSite(callee, caller):
                waiting.append((caller, depth + 1, PlaceRole.CALLER, ""))
                waiting.append((callee, depth, role, name))
            case FusedLocation(members):
                waiting += [(m, depth, PlaceRole.MEMBER, name) for m in reversed(members)]
            case UnknownLocation(unparsed):
                outlined_places.append(OutlinedPlace(depth, role, None, name or unparsed))
    return tuple(outlined_places)


class _NotALocation(Exception):
    pass


_SHORT = re.compile(r"@L\d{1,9}C\d{1,9}(?:\+@L\d{1,9}C\d{1,9})*+", re.A)
_END = re.compile(r"\s*\Z")
_STRING = re.compile(r'\s*"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.S)
_POSITION = re.compile(
    r"\s*:\s*(\d{1,9})(?:\s*:\s*(\d{1,9}))?(?:\s+to\s+(\d{1,9})?\s*:\s*(\d{1,9}))?", re.A
)
_WORD = re.compile(r"\s*(callsite|fused|unknown)\b")
_AT = re.compile(r"\s*at\b")
_OPEN, _CLOSE = re.compile(r"\s*\("), re.compile(r"\s*\)")
_OPEN_LIST, _CLOSE_LIST = re.compile(r"\s*\["), re.compile(r"\s*\]")
_COMMA, _OPEN_METADATA = re.compile(r"\s*,"), re.compile(r"\s*<")
# In metadata, "->" closes no bracket, and brackets in a string are text.
_METADATA_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|->|[<>]', re.S)
_ESCAPE = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(.))", re.S)
_NAMED_ESCAPES = {b"n": b"\n", b"t": b"\t"}


class _LocationParser:
    """Recursive descent parser; recursion is limited to MAX_NESTING."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def expect(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = self._accept(pattern)
        if match is None:
            raise _NotALocation
        return match

    def location(self, depth: int) -> Location:
        if depth > MAX_NESTING:
            raise _NotALocation
        word = self._accept(_WORD)
        if word is None:
            return self._quoted(depth)
        if word[1] == "callsite":
            self.expect(_OPEN)
            callee = self.location(depth + 1)
            self.expect(_AT)
            caller = self.location(depth + 1)
            self.expect(_CLOSE)
            return CallSite(callee, caller)
        if word[1] == "fused":
            return self._fused(depth)
        return UnknownLocation()

    def _accept(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return match

    def _quoted(self, depth: int) -> Location:
        name = unescape(self.expect(_STRING)[1])
        place = self._accept(_POSITION)
        if place is not None:
            line, col = int(place[1]), int(place[2] or 0)
            if place[4] is None:
                return FilePosition(name, line, col)
            return FilePosition(name, line, col, int(place[3] or line), int(place[4]))
        if self._accept(_OPEN) is None:
            return NameLocation(name)
        child = self.location(depth + 1)
        self.expect(_CLOSE)
        return NameLocation(name, child)

    def _fused(self, depth: int) -> Location:
        if self._accept(_OPEN_METADATA):
            self._skip_metadata()
        self.expect(_OPEN_LIST)
        members: list[Location] = []
        if self._accept(_CLOSE_LIST) is None:
            members.append(self.location(depth + 1))
            while self._accept(_COMMA):
                members.append(self.location(depth + 1))
            self.expect(_CLOSE_LIST)
        return FusedLocation(tuple(members))

    def _skip_metadata(self) -> None:
        open_brackets = 1
        for token in _METADATA_TOKEN.finditer(self._text, self._at):
            open_brackets += {"<": 1, ">": -1}.get(token[0], 0)
            if open_brackets == 0:
                self._at = token.end()
                return
        raise _NotALocation


def unescape(text: str) -> str:
    r"""The text inside an MLIR string literal: \22 is a quote, \C3\A9 is é, \\ a backslash."""
    if "\\" not in text:
        return text

    def byte(match: re.Match[bytes]) -> bytes:
        if match[1] is not None:
            return bytes.fromhex(match[1].decode("ascii"))
        return _NAMED_ESCAPES.get(match[2], match[2])

    raw = text.encode("utf-8", "surrogatepass")
    return _ESCAPE.sub(byte, raw).decode("utf-8", "replace")
