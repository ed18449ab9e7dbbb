"""One event of a Chrome trace as a struct, parsed by msgspec or made from any JSON object.

An event need not be valid JSON, as some writers make mistakes. Python's parser accepts NaN and
Infinity; other spellings of them, and backslashes that nobody escaped, are repaired. Texts may have
control characters, and bytes that are not UTF-8 are replaced.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from viewer.codecs.json_damage import NOT_FINITE, Repair
from viewer.formats.chrome.ids import Name
from viewer.formats.chrome.thread_times import LENGTH, START

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
