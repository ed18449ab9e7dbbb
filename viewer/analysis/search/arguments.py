"""Arguments of slices in queries: their form, and how values compare."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from viewer.model.times import MINUS

ARGUMENT = "arg"
FORM = re.compile(rf'{ARGUMENT}:(?:"([^"]+)"|([^\s()"<>=:]+))(?:\s*(>=|<=|>|<|=)|(:))?', re.I)
_NUMBER = re.compile(rf"[-{MINUS}]?[0-9]+(?:\.[0-9]*)?|[-{MINUS}]?\.[0-9]+")
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a slice that has any value (sign ""), or one that compares with a text.

    name, text: casefolded. sign: one of < <= = >= >, or ":" for a value that contains the text.
    number: the text as a number, None if it is none; always one for an order.
    """

    name: str
    sign: str = ""
    text: str = ""
    number: Fraction | None = None


def named_number(text: str) -> Fraction | None:
    """Return a text such as "-2.5" as a number, None if it is none."""
    match = _NUMBER.fullmatch(text)
    return None if match is None else Fraction(text.replace(MINUS, "-").rstrip("."))


def compares(text: str, node: Argument) -> bool:
    """Return whether a casefolded value compares as asked, as a number if both are numbers."""
    if node.sign == ":":
        return node.text in text
    number = named_number(text)
    if node.number is None or number is None:
        return node.sign == "=" and text == node.text
    return bool(COMPARED[node.sign](number, node.number))
