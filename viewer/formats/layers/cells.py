"""Durations in the cells of tables: a number, with or without a unit, or a text such as 0:00:01.5.

A column decides which sign separates decimals: `0,5` shows a comma, `1.5` a point. Where neither
is shown, points separate decimals and commas thousands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from viewer.formats.runtimes.rows import amount
from viewer.formats.table.column_units import CYCLE, EXPONENTS, parse_unit
from viewer.formats.table.time_texts import time_text

_SPACES = " \u00a0\u202f\u2009'’_"
_CELL = re.compile(rf"([0-9.,][0-9.,eE+\-{_SPACES}]{{0,39}}?)\s*([A-Za-zµμ]{{1,12}})?")
_GROUPS = re.compile(rf"[1-9][0-9]{{0,2}}(?:[{_SPACES}][0-9]{{3}})+(?:[.,][0-9]*)?")
_GAPS = re.compile(f"[{_SPACES}]")
_COMMA = re.compile(r"([0-9]+|[1-9][0-9]{0,2}(?:\.[0-9]{3})+)(?:,([0-9]*))?([eE][+\-]?[0-9]+)?")
_UNCLEAR = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
_NO_NUMBER = re.compile(r"\s*[A-Za-zµμ]*\s*$")


def duration(cell: str, unit: str, *, comma: bool = False) -> tuple[Fraction, str] | None:
    """A duration and its unit, "ns" or `CYCLE`; None if a cell has none.

    unit: of cells that state none. comma: whether a comma separates decimals.
    """
    cell = cell.strip()
    match = _CELL.fullmatch(cell)
    cell_unit = parse_unit(match[2] or "") if match else ""
    if match is None or (match[2] and not cell_unit):
        return _of_text(cell)
    value, unit = _number(match[1].strip(), comma), cell_unit or unit
    if value is None or not unit:
        return None
    if unit == CYCLE:
        return value, CYCLE
    return value * Fraction(10) ** EXPONENTS[unit], "ns"


def is_duration(cell: str, unit: str) -> bool:
    """Whether a cell has a duration, whichever sign separates its decimals."""
    return any(duration(cell, unit, comma=comma) is not None for comma in (False, True))


def decimals_of(cells: Iterable[str]) -> tuple[str, str]:
    """The sign before the decimals of a column, and a cell that may be 1,000 times as much.

    Points of tools that write three decimals are in all cells, so that none is a whole number.
    """
    marks, unclear, has_whole = set[str](), "", False
    for cell in cells:
        text = _NO_NUMBER.sub("", cell.strip())
        if _GROUPS.fullmatch(text):
            text = _GAPS.sub("", text)
        has_whole = has_whole or text.isdecimal()
        last = max(".,", key=text.rfind)
        if _UNCLEAR.fullmatch(text):
            unclear = text if not unclear or last == "," else unclear
        elif text.count(last) > 1:  # only thousands are separated more than once
            marks.add("," if last == "." else ".")
        elif last in text:
            marks.add(last)
    if marks or ("." in unclear and not has_whole):
        unclear = ""
    return "," if marks == {","} else ".", unclear


def _of_text(cell: str) -> tuple[Fraction, str] | None:
    """A duration that states its unit as a clock or in several parts."""
    time_parts = time_text(cell)
    if time_parts is None or time_parts[2] is not None or not (value := amount(time_parts[0])):
        return None
    return value * Fraction(10) ** time_parts[1], "ns"


def _number(text: str, comma: bool) -> Fraction | None:
    if _GROUPS.fullmatch(text):
        text = _GAPS.sub("", text)
    if comma:
        match = _COMMA.fullmatch(text)
        if match is None:
            return None
        text = f"{match[1].replace('.', '')}.{match[2] or '0'}{match[3] or ''}"
    return amount(text)


def step_of(cell: str) -> Fraction:
    """The step of a written number: 1/1000 for "1.204"; 0 for one with an exponent."""
    match = re.search(r"[0-9](?:[.,]([0-9]+))?(?=\s*[A-Za-zµμ]*\s*$)", cell.strip())
    if match is None or re.search(r"[0-9][eE][+-]?[0-9]", cell):
        return Fraction(0)
    digits = re.search(r"[.,]([0-9]+)(?!.*[.,])", cell)
    return Fraction(1, 10 ** len(digits[1])) if digits else Fraction(1)
