"""Identities of Chrome trace events: what async events, counters and flows are matched by."""

from __future__ import annotations

import re
from typing import Protocol

Name = int | str | float | None

_HEX = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,16}")


class Identified(Protocol):
    """The fields of an event that identify it."""

    cat: str
    scope: str
    pid: Name
    id: Name
    id2: dict[str, Name] | None


def own_id(event: Identified) -> tuple[str, Name] | None:
    """The kind and the value of an id: `id`, else the global, else the local one; None if none."""
    if event.id is not None:
        return "id", event.id
    for kind in ("global", "local"):
        value = (event.id2 or {}).get(kind)
        if value is not None:
            return kind, value
    return None


def id_of(event: Identified) -> tuple[str, str, str, str]:
    """The key that async events with the same id share: category, scope, owner and id."""
    kind, value = own_id(event) or ("", "")
    # A local id is valid only in its process.
    owner = str(event.pid) if kind == "local" else ""
    return event.cat, event.scope, owner, str(value)


def flow_number(value: Name) -> str:
    """The id of a flow, which is a number or its hexadecimal text: 10 is "a" and "0xA"."""
    if isinstance(value, str) and _HEX.fullmatch(value):
        return str(int(value, 16))
    # Other texts stay apart from numbers.
    return repr(value) if isinstance(value, str) else str(value)
