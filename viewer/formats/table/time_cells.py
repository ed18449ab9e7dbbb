"""Parses cells with times as people and spreadsheets write them, never with a wrong amount.

Numbers may have an exponent (`1e3`), a decimal comma, and separators of thousands: points, commas,
apostrophes, underscores or spaces. `1,234` and `1.234` have two meanings. What the rest of the file
shows decides: one `0,5` or `1.234.567` is enough. A file that shows nothing, or both, is not read:
the user states the decimal separator. Only in a table separated by commas is `1.234` known without
this: where points separate thousands, commas separate decimals, and semicolons the columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.codecs.decimal_times import times_of
from viewer.dataclasses import dataclass
from viewer.formats.table.time_texts import EXPONENTS, IN_CELLS, time_text

# A time that is added to another one still fits int64.
LIMIT = 2**62 - 1
POINT, COMMA = "point", "comma"
# Meanings of a cell: one, or which separator is of decimals or of thousands.
_ONE, _OF_POINT, _OF_COMMA = 0, 1, 2
# Texts that mean one number only. 19 digits are the most that fit; others are parsed exactly, too.
_PLAIN = re.compile(rb"[0-9+\-.eE\n]*")
_TWICE = re.compile(r"\.[^\n]*\.|[+-][+-]")
_UNDECIDED = re.compile(r"^ *[+-]?[1-9][0-9]{0,2}\.[0-9]{3} *$", re.MULTILINE)
_SPACES = str.maketrans("", "", " \u00a0\u202f\u2009'’_")
_CLOCK = re.compile(r"[0-2]?[0-9]:[0-5][0-9]:[0-5][0-9]")
_DAY = 86400 * 10**9
_GROUPS = r"[0-9]{1,3}(?:(?P<gap>[ \u00a0\u202f\u2009'’_])[0-9]{3})(?:(?P=gap)[0-9]{3})*"
_NUMBER = re.compile(
    rf"(?P<sign>[+-]?)(?P<body>{_GROUPS}(?:[.,][0-9]*)?|[0-9][0-9.,]*|[.,][0-9]+)"
    r"(?P<exponent>[eE][+-]?[0-9]{1,3})?",
    re.ASCII,
)
_UNIT_AFTER = re.compile(r"(?<=[0-9.])\s*[^\W\d_]{0,6}[%°²]?[^\W\d_]{0,2}(?:/s)?\s*$")
_THOUSANDS = {
    sign: re.compile(rf"[1-9][0-9]{{0,2}}(?:{re.escape(sign)}[0-9]{{3}})+") for sign in ".,"
}
_OTHER = {".": ",", ",": "."}
_NAME = {".": POINT, ",": COMMA}
_MEANING = {".": _OF_POINT, ",": _OF_COMMA}


@dataclass(frozen=True, slots=True)
class Cells:
    """Times as ns + ps / 1000, with ps from 0 to 999. meaning: 0, or which separator is unclear.

    Where it is unclear, the value is that with separated thousands: 1,000 times the other.
    """

    ns: Ints
    ps: NDArray[np.int16]
    usable: Bools
    meaning: NDArray[np.int8]


class Numbers:
    """How the numbers of one file are written, as far as its cells have shown."""

    def __init__(self, separator: str, stated: str = "") -> None:
        """separator: of the table. stated: "point", "comma", or "" if not known."""
        self.stated = stated
        # The first text that shows each decimal separator, and that has two meanings.
        self.shown: dict[str, str] = {}
        self.unclear: dict[int, str] = {}
        self._point_is_decimal = stated == POINT or (separator == "," and not stated)
        self.zones: set[bool] = set()  # whether dates state none
        self.has_clocks = False  # times of day, without a date

    def parse(self, texts: Sequence[str], unit: str) -> Cells:
        """Parse distinct texts of a column in a unit such as "us"."""
        exponent = EXPONENTS.get(unit, 0)
        joined = "\n".join(texts)
        if " " in joined:
            texts = [text.strip() for text in texts]
            joined = "\n".join(texts)
        plain = joined.encode("utf-8", "replace")
        if (
            _PLAIN.fullmatch(plain)
            and self.stated != COMMA
            and unit != IN_CELLS
            and _TWICE.search(joined) is None
            and (self._point_is_decimal or _UNDECIDED.search(joined) is None)
        ):
            if "." in joined:
                self.shown.setdefault(POINT, next(text for text in texts if "." in text))
            # A plus sign is no part of a number in JSON.
            cells = plain.removeprefix(b"+").replace(b"\n+", b"\n").split(b"\n")
            if len(cells) == len(texts):  # no text has a line end
                return _limited(cells, exponent, np.zeros(len(texts), np.int8))
        meaning = np.zeros(len(texts), np.int8)
        cells = list[bytes]()
        for i, text in enumerate(texts):
            cell, meaning[i] = self._one(text)
            if not cell:
                cell, meaning[i] = self._with_unit(text, exponent)
            elif unit == IN_CELLS and cell.strip(b"+-0."):
                cell = b""  # no unit is known
            cells.append(cell)
        return _limited(cells, exponent, meaning)

    def amounts(self, texts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        """Numbers that are no times, nan for none, and their meanings.

        A unit may follow, as in "12 %".
        """
        cells = [self._one(_UNIT_AFTER.sub("", text)) for text in texts]
        values = [float(cell) if cell else np.nan for cell, _ in cells]
        return np.array(values, np.float64), np.array([m for _, m in cells], np.int8)

    def _with_unit(self, text: str, exponent: int) -> tuple[bytes, int]:
        """A time that states its unit, in a unit of 10**exponent ns; its meaning."""
        time_parts = time_text(text)
        if time_parts is None:
            return b"", _ONE
        number, power, is_zoneless = time_parts
        self.has_clocks = self.has_clocks or _CLOCK.match(text.strip()) is not None
        cell, meaning = self._one(number)
        if is_zoneless is not None:
            self.zones.add(is_zoneless)
        mantissa, _, exponent_text = cell.partition(b"e")
        return (
            b"%se%d" % (mantissa, int(exponent_text or 0) + power - exponent) if cell else b""
        ), meaning

    def _one(self, text: str) -> tuple[bytes, int]:
        """A text as a plain number, b"" if it is none, and its meaning."""
        match = _NUMBER.fullmatch(text.strip())
        if match is None:
            return b"", _ONE
        body = match["body"].translate(_SPACES)
        sign, exponent = match["sign"].removeprefix("+"), match["exponent"] or ""
        marks = [mark for mark in ".," if mark in body]
        if not marks:
            return f"{sign}{body}{exponent}".encode(), _ONE
        last = max(marks, key=body.rfind)
        if len(marks) == 2 or match["gap"]:
            return self._certain(sign, body, exponent, last, text)
        of_thousands = _THOUSANDS[last].fullmatch(body) is not None
        if body.count(last) > 1:  # only thousands can be separated more than once
            decimal = _OTHER[last]
            if not of_thousands or exponent or not self._fits(decimal, text):
                return b"", _ONE
            return f"{sign}{body.replace(last, '')}".encode(), _ONE
        if not of_thousands or exponent:
            return self._certain(sign, body, exponent, last, text)
        if last == "." and self._point_is_decimal:
            self._fits(last, text)
            return f"{sign}{body}".encode(), _ONE
        if self.stated:
            whole = body.replace(last, "." if _NAME[last] == self.stated else "")
            return f"{sign}{whole}".encode(), _ONE
        self.unclear.setdefault(_MEANING[last], text)
        return f"{sign}{body.replace(last, '')}".encode(), _MEANING[last]

    def _certain(
        self, sign: str, body: str, exponent: str, decimal: str, text: str
    ) -> tuple[bytes, int]:
        """A number whose decimal separator is certain."""
        whole, _, part = body.rpartition(decimal)
        other = _OTHER[decimal]
        if other in part or decimal in whole or not self._fits(decimal, text):
            return b"", _ONE
        if other in whole and not _THOUSANDS[other].fullmatch(whole):
            return b"", _ONE
        return f"{sign}{whole.replace(other, '') or '0'}.{part}{exponent}".encode(), _ONE

    def _fits(self, decimal: str, text: str) -> bool:
        """Whether a number with this decimal separator can be in this file."""
        name = _NAME[decimal]
        if self.stated:
            return name == self.stated
        self.shown.setdefault(name, text)
        return True

    @property
    def decimal(self) -> str:
        """The decimal separator of the file: "point" or "comma"; "" if it is not known."""
        if self.stated:
            return self.stated
        if len(self.shown) == 1:
            return next(iter(self.shown))
        return ""

    @property
    def question(self) -> str:
        """Why the decimal separator must be stated; "" if it need not be."""
        if len(self.shown) > 1 and not self.stated:
            point, other = (self.shown[name].strip() for name in (POINT, COMMA))
            return f'it has times with a decimal point ("{point}") and a decimal comma ("{other}")'
        if self.unclear and not self.decimal:
            mark = POINT if _OF_POINT in self.unclear else COMMA
            text = next(iter(self.unclear.values())).strip()
            return f'the {mark} in "{text}" may separate decimals or thousands'
        return ""

    def settle(self, ns: Ints, ps: NDArray[np.int16], meaning: NDArray[np.int8]) -> None:
        """Change times of unclear cells, in place, to what the file has shown."""
        if not self.unclear:
            return
        mark = _OF_POINT if self.decimal == POINT else _OF_COMMA
        index = np.flatnonzero(meaning == mark)
        # A thousandth, rounded to ps.
        whole, rest = np.divmod(ns[index], 1000)
        part = (rest * 1000 + ps[index] + 500) // 1000
        ns[index] = whole + (part == 1000)
        ps[index] = part % 1000

    def settle_amounts(self, values: NDArray[np.float64], meaning: NDArray[np.int8]) -> None:
        """Like `settle`, for amounts that are no times."""
        values[meaning == (_OF_POINT if self.decimal == POINT else _OF_COMMA)] /= 1000


def over_midnight(start: Ints, end: Ints) -> bool:
    """Add a day to times of day after midnight, in place; returns whether there are any.

    A slice that ends before it starts shows it. The times before the longest gap in a day are
    those after midnight, if the gap is longer than what is left.
    """
    times = np.unique(np.concatenate([start, end]))
    if not len(times) or times[0] < 0 or times[-1] >= _DAY or not (end < start).any():
        return False
    gaps = np.diff(times)
    widest = int(np.argmax(gaps))
    if 2 * gaps[widest] <= _DAY:
        return False
    for ticks in (start, end):
        ticks[ticks <= times[widest]] += _DAY
    return True


def _limited(cells: Sequence[bytes], exponent: int, meaning: NDArray[np.int8]) -> Cells:
    """The times of plain numbers, as far as they are within the limit."""
    times = times_of(cells, exponent)
    usable = times.usable & (np.abs(times.ns) <= LIMIT)
    return Cells(np.where(usable, times.ns, 0), times.ps, usable, meaning)
