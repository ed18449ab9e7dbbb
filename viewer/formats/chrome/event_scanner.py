"""Reads trace events one by one as structs, and leaves out what is damaged.

An event is parsed by msgspec, or by Python's parser, as some writers make mistakes: that one
accepts NaN and Infinity; other spellings of them, and backslashes that nobody escaped, are
repaired. One that cannot be read costs itself: reading goes on at the next event. All work is
bounded by the bytes that are read: an event is looked for no further than a few times the length of
the longest one, and what has none is left behind in parts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import msgspec

from viewer.codecs.json_repairs import (
    NOT_FINITE,
    Repair,
    Walk,
    count_events,
    has_phase,
    members,
    starts,
    walk,
)
from viewer.formats.chrome.event_fields import LENGTH, START, Name

NOT_UTF8 = "text that is not UTF-8: invalid bytes are replaced"
BACKSLASHES = "text with backslashes that are not escaped: kept as they are"
CONTROL_CHARACTERS = "text with control characters that are not escaped: kept as they are"
_Raw = msgspec.Raw
_NOTHING = msgspec.Raw(b"")
THREAD_TIMES = (START, LENGTH)
STACKS = ("sf", "stack", "esf", "estack")


class Event(msgspec.Struct, gc=False):
    """One event of a file; its times and arguments are still raw JSON."""

    ph: str = ""
    name: str = ""
    cat: str = ""
    ts: _Raw = _NOTHING
    dur: _Raw = _NOTHING
    pid: Name = None
    tid: Name = None
    id: Name = None
    id2: dict[str, Name] | None = None
    scope: str = ""
    s: str = ""
    bp: str = ""
    bind_id: Name = None
    flow_in: Any = None
    flow_out: Any = None
    tts: _Raw = _NOTHING
    tdur: _Raw = _NOTHING
    sf: _Raw = _NOTHING
    stack: _Raw = _NOTHING
    esf: _Raw = _NOTHING
    estack: _Raw = _NOTHING
    args: dict[str, _Raw] | None = None


# What msgspec raises for text that is not JSON, or not of the types that are asked for.
FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
EVENTS = msgspec.json.Decoder(list[Event])
_EVENT = msgspec.json.Decoder(Event)


def parsed_event(raw: bytes) -> tuple[Event | None, list[str]]:
    """The event that a text is, and what is odd about it; no event if it cannot be parsed."""
    odd: list[str] = []
    try:
        text = raw.decode()
        return _EVENT.decode(raw), odd
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
        odd.append(NOT_UTF8)
    except FAULTS as error:
        if type(error) is msgspec.DecodeError and not Repair.may_help(text):
            return None, odd
    for is_escaped in (True, False) if '\\"' in text else (True,):
        repair = Repair(text, is_escaped=is_escaped)
        try:
            event = _event(repair.text)
        except RecursionError:
            return None, odd
        except ValueError:
            continue
        if repair.has_backslashes:
            odd.append(BACKSLASHES)
        elif repair.has_controls and not repair.is_respelled:
            odd.append(CONTROL_CHARACTERS)
        return event, odd
    return None, odd


def _event(text: str) -> Event | None:
    """The event of a text; None if it is no object. Raises ValueError if it is no JSON."""
    try:
        return _EVENT.decode(text)
    except FAULTS:
        value = json.loads(text, parse_float=_number)
        return lenient_event(value) if isinstance(value, dict) else None


def lenient_event(value: dict[str, Any]) -> Event:
    """The event of a JSON object whose values may be of any type."""
    arguments = value.get("args")
    if arguments is not None and not isinstance(arguments, dict):
        arguments = {"args": arguments}
    local = value.get("id2")
    stated: dict[str, Any] = {
        **{name: _shown(value.get(name)) for name in ("ph", "name", "cat", "scope", "s", "bp")},
        **{name: _raw(value.get(name)) for name in ("ts", "dur")},
        **{name: _identity(value.get(name)) for name in ("pid", "tid", "id", "bind_id")},
        **{name: value.get(name) for name in ("flow_in", "flow_out")},
        **{name: _raw(value[name]) for name in (*THREAD_TIMES, *STACKS) if name in value},
    }
    return Event(
        **stated,
        id2={k: _identity(v) for k, v in local.items()} if isinstance(local, dict) else None,
        args=None if arguments is None else {_shown(k): _raw(v) for k, v in arguments.items()},
    )


def _number(text: str) -> JsonNumber:
    return JsonNumber(NOT_FINITE.get(text, text))


class JsonNumber(str):
    """A JSON number as written."""

    __slots__ = ()


def _raw(value: Any) -> msgspec.Raw:
    return _Raw(_json(value).encode())


def _json(value: Any) -> str:
    """The JSON text of a value; its numbers are as they were written."""
    if isinstance(value, JsonNumber):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json, value)) + "]"
    return json.dumps(value)


def _shown(value: Any) -> str:
    """Any JSON value as text. Half of a surrogate pair, which cannot be shown, is replaced."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _identity(value: Any) -> Name:
    return value if value is None or type(value) is int else _shown(value)


UNREADABLE = "event that cannot be read: left out"
COMMAS = "comma that is missing or doubled between events: the events were read"
STRAY = "bracket or text that belongs to no event: skipped"
BEHIND = "data after the end of the events, {:,} bytes: not read"
_REST = "the rest of the file, {:,} bytes, is not read"
# What an event's text says, and what was odd; no event if it cannot be read.
Parse = Callable[[bytes], tuple[Event | None, Sequence[str]]]
KnownEnd = Callable[[int], int]
Count = Callable[[str, int, int], None]  # of a problem, how often, and its place in the file

# An event that does not end within so many bytes may be damaged, if others are in it. In a file
# that had such a one, no event is that long.
_PATIENCE = 1 << 19
_SHORT, _LONG = 1 << 12, 1 << 16
_TIMES_LONGER = 4  # than the longest event so far
_HELD = 1 << 17  # bytes in which an event is looked for, before all but the last are left behind
_TAIL = 1 << 16
# What is neither events nor the space between them is looked at in detail so often, and as often as
# there are events; events are looked for in so many bytes, and in some times those of the file.
_MOST_DETAILS = 1000
_MOST_LOOKED_AT, _TIMES_LOOKED_AT = 1 << 22, 4
_CHAIN = 16  # events in a row that are in no list of an event

_SPACE = rb"[ \t\r\n]*"
_GAP = re.compile(rb"[ \t\r\n,]*")
_FILLED = re.compile(rb"[^ \t\r\n]")
_SCALAR = re.compile(
    rb'("[^"\\\n]*(?:\\.[^"\\\n]*)*"|[^ \t\r\n,:"{}\[\]]+)' + _SPACE + rb"(?=[,\]])"
)
_WORD = re.compile(rb'[^ \t\r\n,:"{}\[\]]+(?=' + _SPACE + rb"\{)")
_KEY = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"' + _SPACE + rb":", re.DOTALL)
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STRAY_BRACKET = re.compile(rb"\]" + _SPACE + rb",?" + _SPACE + rb'(?:\{|\]|")')
_ONLY_BRACKETS = re.compile(rb"[}\]][}\] \t\r\n]*(?=," + _SPACE + rb"\{)")
_CLOSING = re.compile(rb"[}\] \t\r\n]*")
_COMMA_LIST = re.compile(rb"," + _SPACE + rb"\{")
_FILE_END = rb"\}?" + _SPACE + rb"\Z"
_ARRAY_END = {
    True: re.compile(rb"\]" + _SPACE + rb"(?:" + _FILE_END + rb")"),
    False: re.compile(
        rb"\]" + _SPACE + rb'(?:,?[ \t\r\n]*"|' + _FILE_END + rb"|\}" + _SPACE + rb"[\[{])"
    ),
}


class State(Enum):
    """Whether an array goes on, needs more of the file, has ended, or the file has."""

    GOES_ON = 0
    NEEDS_MORE = 1
    CLOSED = 2
    ENDED = 3


class EventScanner:
    """The events of one file, one by one; `found` has those of the current block."""

    def __init__(self, parse: Parse, count: Count) -> None:
        """parse: reads one event. count: counts a problem."""
        self._parse = parse
        self._count = count
        self._patience = _PATIENCE
        self._longest = 0  # of the events that were read
        self._lost = -1  # the place in the file from which on text is left out
        self._lost_events = 0
        self._details = 0
        self._looked_at = 0
        self._data = b""
        self._known_end: KnownEnd = _not_known
        self._escaped_quote = -1  # the first one that is not behind an event
        self._offset = 0
        self._is_last = self._is_bare = self._is_behind = False
        self.state = State.GOES_ON
        self.is_given_up = False  # whether the rest of the file is not read
        self.follows = False  # whether an event or another value came before, and no comma
        self.found: list[tuple[int, Event]] = []

    @property
    def _limit(self) -> int:
        """The length to which an event is looked for after damage."""
        return max(_LONG, _TIMES_LONGER * self._longest)

    def know_length(self, longest: int) -> None:
        """Take note of the length of an event that was read elsewhere."""
        self._longest = max(self._longest, longest)

    def start(
        self,
        data: bytes,
        offset: int,
        *,
        is_last: bool,
        is_bare: bool,
        is_behind: bool,
        known_end: KnownEnd | None = None,
    ) -> None:
        """Take a block: its place in the file, and whether the file ends with it.

        is_bare: whether the array is no value of an object. is_behind: whether the end of the
        events came before. known_end: where an event of the block ends that was read before and
        begins at a position; -1 if none does.
        """
        self._data, self._offset = data, offset
        self._known_end = known_end or _not_known
        self._escaped_quote = -1
        self._is_last, self._is_bare, self._is_behind = is_last, is_bare, is_behind
        self.state = State.GOES_ON
        self.found = []

    def step(self, position: int) -> int:
        """Read an event, a bracket or what is damaged, and return the position behind it."""
        data = self._data
        if self._lost >= 0:
            return self._damaged(position, position)
        gap = _GAP.match(data, position)
        assert gap is not None
        place = gap.end()
        if place == len(data):
            return self._more(position) if not self._is_last else self._end(place)
        if self._details > _MOST_DETAILS and data[place] != ord("{"):
            return self._damaged(place, place)
        commas = gap[0].count(b",")
        char = data[place : place + 1]
        rest = _ONLY_BRACKETS.match(data, place)
        if rest is not None and commas == self.follows:
            # Between two commas, they are what is left of an event.
            self._count(UNREADABLE, 1, self._offset + place)
            self.follows = True
            return rest.end()
        is_odd = commas != self.follows if char == b"{" else commas > 1
        count = len(self.found)
        after = _READERS.get(char, EventScanner._other)(self, position, place)
        if is_odd and (len(self.found) > count or self.state is State.CLOSED):
            self._count(COMMAS, 1, self._offset + place)
        return after

    def next_event(self, position: int) -> int:
        """Where the next event begins, if nothing but what must be there comes before it; or -1."""
        gap = _GAP.match(self._data, position)
        assert gap is not None
        place = gap.end()
        is_proper = gap[0].count(b",") == self.follows and self._lost < 0
        return place if is_proper and self._data[place : place + 1] == b"{" else -1

    # -- the ends of what is read ---------------------------------------------------------------

    def _more(self, position: int) -> int:
        self.state = State.NEEDS_MORE
        return position

    def _end(self, position: int) -> int:
        self.state = State.ENDED
        return position

    def _closed(self, position: int) -> int:
        self.state = State.CLOSED
        self._details += 1
        self.follows = False
        return position + 1

    def _stray(self, before: int, position: int) -> int:
        self._details += 1
        self._count(STRAY, 1, self._offset + position)
        self.follows = self.follows and b"," not in self._data[before:position]
        return position + 1

    def _filled(self, position: int) -> tuple[int, bytes]:
        """The next character that is no space, and its position; b"" if there is none."""
        match = _FILLED.search(self._data, position)
        return (len(self._data), b"") if match is None else (match.start(), match[0])

    # -- values ---------------------------------------------------------------------------------

    def _event(self, before: int, position: int) -> int:
        data = self._data
        end, ended = walk(data, position, position + self._patience)
        if ended is Walk.OPEN:
            if not self._is_last and len(data) - position < self._patience:
                return self._more(before)
            place = self._next_after(position, position + 1)
            if place is None or place > position + self._patience:
                end, ended = walk(data, position, len(data) if place is None else place)
            if ended is not Walk.CLOSED and place is not None:
                return self._leave_out(position, place)
            if ended is Walk.OPEN and not self._is_last:
                return self._more(before)
        event, odd = self._parse(data[position:end]) if ended is Walk.CLOSED else (None, ())
        if event is None and self._has_escaped_quote(position):
            # A path that ends with a backslash.
            other, how = walk(data, position, position + self._limit, is_escaped=False)
            if how is Walk.CLOSED:
                event, odd = self._parse(data[position:other])
                if event is not None:
                    end, ended = other, how
        if ended is Walk.OPEN:
            return self._end(before)
        if ended is Walk.BROKEN:
            return self._damaged(position, position + 1)
        if self._is_last and not self._is_bare and not self._filled(end)[1]:
            # The end of the array and of the file's object may have closed a damaged event.
            place = self._next_after(position, position + 1)
            if place is not None:
                return self._leave_out(position, place)
        follows = self._what_follows(end, is_event=event is not None)
        if follows is None:
            return self._more(before)
        if not follows:
            return self._closed_early(before, position, end, event)
        self.follows = True
        if event is None:
            self._count(UNREADABLE, 1, self._offset + position)
            return end
        self.know_length(end - position)
        self._details = max(self._details - 1, 0)
        for kind in odd:
            self._count(kind, 1, self._offset + position)
        self.found.append((position, event))
        return end

    def _has_escaped_quote(self, position: int) -> bool:
        """Whether a quote behind a backslash is so near that it may be in an event."""
        if self._escaped_quote < position:
            place = self._data.find(b'\\"', position)
            self._escaped_quote = place if place >= 0 else len(self._data)
        return self._escaped_quote < min(position + self._limit - 1, len(self._data))

    def _what_follows(self, position: int, *, is_event: bool) -> bool | None:
        """Whether what follows an object is such as after an event; None if more must be read.

        is_event: whether the object can be read, so that stray text may follow.
        """
        place, char = self._filled(position)
        if char == b",":
            place, char = self._filled(place + 1)
        if not char:
            return True if self._is_last else None
        if char == b":":
            return False
        if char != b'"':
            return is_event or char in b"{}[],"
        if _KEY.match(self._data, place) is not None:
            return False
        text = _TEXT.match(self._data, place)
        if text is not None and self._filled(text.end())[1]:
            return True
        return True if self._is_last or len(self._data) - position > _HELD else None

    def _closed_early(self, before: int, position: int, end: int, event: Event | None) -> int:
        """An object with members behind it: a bracket too many in an event, or one missing."""
        data = self._data
        place = self._next_after(end, end)
        if place is None:
            place = self._array_end(end)
        if place is None and not self._is_last and len(data) - position < _HELD:
            return self._more(before)
        if place is None:
            place = len(data)
        rest = data[end:place]
        after = data[place : place + _LONG]
        if event is not None and event.ph and _is_of_another(data[position:end], rest, after):
            self.found.append((position, event))
            self.follows = True
            return self._damaged(end, end)
        return self._damaged(position, end)

    def _list(self, before: int, position: int) -> int:
        place, char = self._filled(position + 1)
        if not char and not self._is_last:
            return self._more(before)
        if char == b"{":
            self._stray(before, position)
            self.follows = False
            return position + 1
        end, ended = walk(self._data, position, position + self._limit)
        if ended is Walk.CLOSED:
            place, char = self._filled(end)
            if char == b",":
                place, char = self._filled(place + 1)
            is_stray = char == b"]" and self._is_end(place) is False
            if char not in (b"[", b",", b"}") and not is_stray:
                self._count(UNREADABLE, 1, self._offset + position)
                self.follows = True
                return end
        if ended is Walk.OPEN and not self._is_last and len(self._data) - position < self._limit:
            return self._more(before)
        return self._damaged(position, position)

    def _other(self, before: int, position: int) -> int:
        scalar = _SCALAR.match(self._data, position)
        if scalar is not None:
            if self._data[scalar.end() : scalar.end() + 1] == b"]":
                is_end = self._is_end(scalar.end())
                if is_end is None:
                    return self._more(before)
                if not is_end:
                    return self._damaged(position, position)
            if scalar[1] != b"null":
                self._count("value that is no event: left out", 1, self._offset + position)
            self.follows = True
            return scalar.end()
        word = _WORD.match(self._data, position)
        if word is not None:
            self._stray(before, position)
            return word.end()
        return self._damaged(position, position)

    def _bracket(self, before: int, position: int) -> int:
        """The end of the array, unless more events follow."""
        is_end = self._is_end(position)
        if is_end is None:
            return self._more(before)
        if is_end:
            return self._closed(position)
        if _STRAY_BRACKET.match(self._data, position) is not None:
            return self._stray(before, position)
        return self._damaged(position, position)

    def _is_end(self, position: int) -> bool | None:
        """Whether a bracket ends the array; None if more must be read."""
        place, char = self._filled(position + 1)
        if char == b",":
            place, char = self._filled(place + 1)
            if char and char in b"{[]},":
                return False
        if not char:
            return True if self._is_last else None
        if char == b"]":
            return False
        if char == b"}":
            behind = _CLOSING.match(self._data, place)
            assert behind is not None
            # Brackets of an event are left, and another event follows.
            return self._data[behind.end() : behind.end() + 1] != b","
        if char == b'"' and not self._is_bare:
            return not has_phase(self._data[place : place + self._limit].partition(b"{")[0])
        if char == b"{":
            if self._is_event(place):
                return False
            if not self._is_last and len(self._data) - place < self._limit:
                return None
        return True

    # -- damage ---------------------------------------------------------------------------------

    def _damaged(self, position: int, search: int) -> int:
        """Go on at the next event; what is before it is left out and counted."""
        data = self._data
        place = self._next_after(position, search)
        if place is not None:
            return self._leave_out(position, place)
        end = self._array_end(position) if self._details <= _MOST_DETAILS else None
        if end is not None:
            self._details += 1
            return self._leave_out(position, end)
        if self._is_last:
            self._lost_events += count_events(data[position:])
            begin = self._lost if self._lost >= 0 else self._offset + position
            size = self._offset + len(data) - begin
            what = BEHIND if self._is_behind else _REST
            self._count(what.format(size), max(self._lost_events, 1), begin)
            self.is_given_up = True
            self._lost = -1
            self._lost_events = 0
            self.state = State.ENDED
            return len(data)
        if len(data) - position < _HELD:
            return self._more(position)
        keep = len(data) - _TAIL
        if self._lost < 0:
            self._lost = self._offset + position
        self._lost_events += count_events(data[position:keep])
        return keep

    def _leave_out(self, position: int, end: int) -> int:
        text = self._data[position:end]
        begin = self._lost if self._lost >= 0 else self._offset + position
        count = self._lost_events + count_events(text)
        if count or self._is_of_event(text, end):
            self._count(UNREADABLE, max(count, 1), begin)
        else:
            self._count(STRAY, 1, begin)
        self._lost = -1
        self._lost_events = 0
        self.follows = False
        self._patience = max(_SHORT, _TIMES_LONGER * self._longest)
        return end

    def _is_of_event(self, text: bytes, end: int) -> bool:
        """Whether a text that has no key of events seems to be what is left of one."""
        if b":" in text:
            return True
        if text[:1] == b"{" and (b"," in text or self._data[end : end + 1] == b"]"):
            return True
        plain = text.translate(None, b"{}[], \t\r\n")
        return bool(plain) and len(text.translate(None, b"{}[]")) < len(text)

    def _next_after(self, position: int, search: int) -> int | None:
        """Where the next event begins that can be read; None if there is none in the data.

        position: where the damage begins, that no event in a list within an event is taken for one.
        """
        data = self._data
        first: int | None = None
        limit = len(data)
        depth, counted = 0, position
        for place in starts(data, search, limit):
            if first is not None and place > limit:
                break
            depth += data.count(b"[", counted, place) - data.count(b"]", counted, place)
            counted = place
            if (first is not None and depth) or not self._is_event(place):
                continue
            if not depth:
                return place
            if self._are_many(place):
                return place
            first = place
            limit = place + _TAIL
        return first

    def _is_event(self, position: int) -> bool:
        if self._known_end(position) >= 0:
            return True
        most = _MOST_LOOKED_AT + _TIMES_LOOKED_AT * (self._offset + position)
        if self._looked_at > most:
            return False
        end, ended = walk(self._data, position, position + self._limit)
        self._looked_at += end - position
        if ended is not Walk.CLOSED:
            return False
        event, _ = self._parse(self._data[position:end])
        return event is not None and event.ph != ""

    def _are_many(self, position: int) -> bool:
        """Whether many events in a row begin here, or the data ends with them."""
        data = self._data
        for _ in range(_CHAIN):
            end = self._known_end(position)
            if end < 0:
                end, ended = walk(data, position, position + self._limit)
                if ended is not Walk.CLOSED:
                    return ended is Walk.OPEN
            joint = _COMMA_LIST.match(data, self._filled(end)[0])
            if joint is None:
                return False
            position = joint.end() - 1
        return True

    def _array_end(self, position: int) -> int | None:
        """Where the array ends, if no event follows the damage."""
        data = self._data
        limit = len(data) if self._is_last else len(data) - _TAIL
        depth, counted = 0, position
        first: int | None = None
        for match in _ARRAY_END[self._is_bare].finditer(data, position):
            place = match.start()
            if place >= limit:
                break
            depth += data.count(b"[", counted, place) - data.count(b"]", counted, place)
            counted = place
            if not depth:
                return place
            if first is None and data[:place].rstrip(b" \t\r\n").endswith(b"}"):
                first = place
        return first


def _not_known(position: int) -> int:
    return -1


def _is_of_another(event: bytes, rest: bytes, after: bytes) -> bool:
    """Whether members behind an event are of another one, whose start is missing.

    after: what follows them.
    """
    if has_phase(rest):
        return True
    keys = members(event)
    first = _TEXT.search(rest)
    if first is not None and first[0][1:-1].decode("utf-8", "replace") in keys:
        return True
    if not after.startswith(b"{"):
        return False
    end, ended = walk(after, 0, len(after))
    return ended is Walk.CLOSED and members(after[:end]) <= keys


_READERS: dict[bytes, Callable[[EventScanner, int, int], int]] = {
    b"{": EventScanner._event,
    b"]": EventScanner._bracket,
    b"}": EventScanner._stray,
    b"[": EventScanner._list,
}
