"""Values that readers must survive: numbers around every limit, names of every kind."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Dice = random.Random

# Around the limits of 7, 8, 16, 31, 32, 53, 62, 63 and 64 bits.
EDGES = (
    0, 1, 2, 3, 5, 7, 100, 127, 128, 255, 256, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 5, 2**32 - 1,
    2**32, 2**53, 2**53 + 1, 2**61, 2**62, 2**62 + 1, 2**63 - 1, 2**63, 2**64 - 1,
)  # fmt: skip
NAMES = (
    "Method::execute", "OPERATOR_CALL", "DELEGATE_CALL", "native_call_add.out", "MOVE_CALL",
    "JF_CALL", "FREE_CALL", "Method::init", "Program::load_method", "model_run", "ProfilerStep#1",
    "ProfilerStep#2", "aten::conv2d", "nn.Module: Conv2d_0", "unattributed", "x", "y", "conv1",
    "", " ", "\t", "\0", "\r\n", '"', "'", "a,b;c\td", "=1+1", "-1", "畳み込み", "größe 🚀",
    "\u202e",
    "NaN", "null", "true", "0", "1e999", "%s{0}", "<b>&", "../../x", "x" * 300, "\ufeff", "\u2028",
)  # fmt: skip
HOSTILE: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 1.5, -0.0, 10**40, 2**63, -(2**63) - 1, "", "x", "9" * 30, "-7",
    [], {}, [[]], {"a": {}}, float("nan"), float("inf"), 1e308, "\ud800", "\0",
    "executorch_call_delegate", {"as_tensor": 5}, {"as_graph": {"graph": {"nodes": [{}]}}},
    {"$type": "as_tensor", "$value": {"name": "x"}}, 'File "x", line 99999999999999999999, in f',
    "a,b,c;" * 20, "(" * 300, "[" * 1500,
)  # fmt: skip


def tick(dice: Dice) -> int:
    """Return a time: mostly small, so that slices nest, sometimes at a limit."""
    if dice.random() < 0.85:
        return dice.randrange(200)
    return max(dice.choice(EDGES) + dice.choice((0, 0, -1, 1, dice.randrange(100))), 0)


def span(dice: Dice) -> tuple[int, int]:
    """Return a start and an end, in order in most cases."""
    start = tick(dice)
    how = dice.random()
    if how < 0.75:
        return start, start + dice.choice((0, 1, 5, dice.randrange(100)))
    return start, tick(dice)


def number(dice: Dice) -> int:
    """Return an integer of either sign, mostly small."""
    if dice.random() < 0.7:
        return dice.randrange(-2, 12)
    return dice.choice(EDGES) * dice.choice((1, 1, -1))


def name(dice: Dice) -> str:
    """Return a name that readers know, or a hostile one."""
    return dice.choice(NAMES)


def number_text(dice: Dice) -> str:
    """Return a number as written in a table: whole, decimal, padded, huge or none at all."""
    how = dice.random()
    if how < 0.7:
        return str(tick(dice))
    if how < 0.85:
        return str(number(dice))
    return dice.choice(
        ("", " 5", "5 ", "+5", "-0", "00", "1.5", "1e3", ".5", "0x10", "nan", "inf", "1,5",
            "9" * 18,
         "-" + "9" * 18, "9" * 40, "٣", "1_000", "True")
    )  # fmt: skip


def count(dice: Dice, most: int = 12) -> int:
    """Return how many of something: few, sometimes none."""
    return min(int(dice.expovariate(0.25)), most)


def some(dice: Dice, values: Sequence[Any], chance: float = 0.7) -> list[Any]:
    """Return some of the values, in order."""
    return [one for one in values if dice.random() < chance]
