"""Durations in the cells of tables: a number, with or without a unit."""

from __future__ import annotations

import re
from fractions import Fraction

from viewer.formats.runtimes.rows import amount
from viewer.formats.table.column_units import CYCLE, EXPONENTS, parse_unit

_CELL = re.compile(r"([0-9.,eE+\-]{1,40})\s*([A-Za-zµμ]{1,12})?")
_DECIMAL_COMMA = re.compile(r"[0-9]{1,18},[0-9]{1,18}")


def duration(cell: str, unit: str, *, comma: bool = False) -> tuple[Fraction, str] | None:
    """A duration and its unit, "ns" or `CYCLE`; None if a cell has none.

    unit: of cells that state none. comma: whether a comma separates decimals.
    """
    found = _CELL.fullmatch(cell.strip())
    if found is None:
        return None
    text, stated = found[1], (found[2] or "")
    if stated:
        unit = parse_unit(stated)
    if comma:
        text = text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text
    value = amount(text)
    if value is None or not unit:
        return None
    if unit == CYCLE:
        return value, CYCLE
    exponent = EXPONENTS[unit]
    return value * (Fraction(10) ** exponent), "ns"


def step_of(cell: str) -> Fraction:
    """The step of a written number: 1/1000 for "1.204"; 0 for one with an exponent."""
    found = re.search(r"[0-9](?:[.,]([0-9]+))?(?=\s*[A-Za-zµμ]*\s*$)", cell.strip())
    if found is None or re.search(r"[0-9][eE][+-]?[0-9]", cell):
        return Fraction(0)
    digits = re.search(r"[.,]([0-9]+)", cell)
    return Fraction(1, 10 ** len(digits[1])) if digits else Fraction(1)
