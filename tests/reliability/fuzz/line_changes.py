"""Changes of texts with rows: lines and cells that repeat, move, go away or hold other values."""

from __future__ import annotations

import re

from tests.reliability.fuzz.values import Dice, name, number_text

_CELL = re.compile(rb"[,;\t]")
_DIGITS = re.compile(rb"[0-9]+")
_WORDS = re.compile(rb"[A-Za-z_]\w+")


def changed(data: bytes, dice: Dice) -> bytes:
    """Return another text, with the first line (the header of most tables) kept in most cases."""
    lines = data.split(b"\n")
    for _ in range(dice.choice((1, 1, 3, 10))):
        low = 1 if len(lines) > 1 and dice.random() < 0.9 else 0
        at, to = dice.randrange(low, len(lines)), dice.randrange(low, len(lines))
        how = dice.randrange(9)
        if how == 0 and len(lines) > 2:
            del lines[at]
        elif how == 1:
            lines[to:to] = [lines[at]] * dice.choice((1, 1, 5))
        elif how == 2:
            lines.insert(to, lines.pop(at))
        elif how == 3:
            lines[to] = lines[at][: len(lines[at]) // 2] + lines[to][len(lines[to]) // 2 :]
        elif how == 4:
            value = number_text(dice).encode()
            lines[at] = _DIGITS.sub(lambda _: value, lines[at], count=dice.randrange(1, 4))  # noqa: B023
        elif how == 5:
            word = name(dice).encode("utf-8", "surrogatepass")
            lines[at] = _WORDS.sub(lambda _: word, lines[at], count=1)  # noqa: B023
        else:
            lines[at] = _cells_changed(lines[at], dice)
    ending = b"\r\n" if dice.random() < 0.03 else b"\n"
    return ending.join(lines)


def _cells_changed(line: bytes, dice: Dice) -> bytes:
    found = _CELL.search(line)
    if found is None:
        return line
    separator = found[0]
    cells = line.split(separator)
    at, how = dice.randrange(len(cells)), dice.randrange(6)
    if how == 0:
        del cells[at]
    elif how == 1:
        cells.insert(at, dice.choice(cells))
    elif how == 2:
        cells[at] = b'"' + cells[at] + dice.choice((b'"', b'""', b""))
    elif how == 3:
        cells[at] = number_text(dice).encode()
    elif how == 4:
        cells[at] = name(dice).encode("utf-8", "surrogatepass")
    else:
        cells[at], cells[0] = cells[0], cells[at]
    return separator.join(cells)
