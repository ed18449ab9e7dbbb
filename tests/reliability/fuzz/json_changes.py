"""Changes of JSON: values that become others, go away, move, or repeat; and of its text."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from tests.reliability.fuzz.values import HOSTILE, Dice, name, number

_KEYS = ("\ud800", "-1", "9" * 20, "", "$type", "a/b", "name", "args", "id", "input")
_INSERTED = ("\\ud800", "\\", '"', "NaN", "9" * 5000, "{", "\x00", "[" * 1500, "1e999", ",", "//")
_LARGEST_COPY = 5000  # characters


def changed(data: bytes, dice: Dice) -> bytes:
    """Return another JSON text of a file. Raises ValueError if it is none."""
    tree = json.loads(data)
    change(tree, dice)
    raw = json.dumps(tree).encode()
    return text_changed(raw, dice) if dice.random() < 0.3 else raw


def change(tree: Any, dice: Dice) -> None:
    """Change one to a hundred values somewhere in a tree."""
    holders = [holder for holder in _containers(tree) if holder]
    for _ in range(dice.choice((1, 1, 2, 3, 10, 100)) if holders else 0):
        _change_one(dice.choice(holders), dice.choice(holders), dice)


def text_changed(raw: bytes, dice: Dice) -> bytes:
    """Cut the text, or insert what breaks it or what UTF-8 does not allow."""
    at, how = dice.randrange(len(raw) or 1), dice.randrange(4)
    if how == 0:
        return raw[:at]
    if how == 1:
        return raw[:at] + dice.choice(_INSERTED).encode() + raw[at:]
    if how == 2:
        return raw.replace(b'"name"', dice.choice((b'"$type"', b'"name": 1, "name"')), 3)
    return raw[:at] + b"\xff\xed\xa0\x80" + raw[at:]


def _change_one(holder: Any, other: Any, dice: Dice) -> None:
    keys: Any = list(holder) if isinstance(holder, dict) else range(len(holder))
    if not keys:
        return
    key, how = dice.choice(keys), dice.random()
    if how < 0.15:
        del holder[key]
    elif how < 0.3:
        if len(str(other)) < _LARGEST_COPY:
            holder[key] = copy.deepcopy(other)
    elif how < 0.4 and isinstance(holder, list):
        holder.extend(copy.deepcopy(holder[:20]))
    elif how < 0.4:
        holder[dice.choice(_KEYS)] = holder.pop(key)
    elif how < 0.5 and isinstance(holder, list):
        holder.insert(dice.randrange(len(holder)), holder.pop(key))
    elif how < 0.6 and isinstance(holder[key], int):
        holder[key] += dice.choice((-1, 1, 10, 2**31, 2**62))
    elif how < 0.7:
        holder[key] = number(dice)
    elif how < 0.8:
        holder[key] = name(dice)
    else:
        holder[key] = copy.deepcopy(dice.choice(HOSTILE))


def _containers(tree: object) -> Iterator[dict[str, Any] | list[Any]]:
    todo = [tree]
    while todo:
        one = todo.pop()
        if isinstance(one, (dict, list)):
            yield one
            todo += one.values() if isinstance(one, dict) else one
