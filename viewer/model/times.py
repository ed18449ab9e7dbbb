"""Converts between ticks and nanoseconds, and formats and parses times. The only place that does.

A tick is the unit in which a file counts. `Clock.ns_per_tick` is exact, so a conversion floors once
and never drifts. A formatted duration has three decimals, and the unit that suits it.
"""

from __future__ import annotations

import re
from enum import StrEnum
from fractions import Fraction
from math import ceil, log10
from typing import TYPE_CHECKING

from viewer.dataclasses import dataclass

if TYPE_CHECKING:
    from viewer.arrays import Ints

NARROW_SPACE = "\u202f"
THIN_SPACE = "\u2009"
MINUS = "\u2212"

LAP = 1 << 32  # ticks, after which a counter of 32 bits is at 0 again
_FARTHEST = (1 << 63) - 1
_US = 1_000
_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000), ("ns", 1))
_UNIT_NS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_TIME = re.compile(r"\s*(-?\d+(?:\.\d*)?|-?\.\d+)\s*(ns|us|µs|ms|s)?\s*")
_HZ = {"hz": 1, "khz": 1_000, "mhz": 1_000_000, "ghz": 1_000_000_000}
_RATIO = re.compile(r"([0-9]{1,20})(?:/([0-9]{1,20}))?", re.ASCII)
_RATE_UNITS = (("GHz", 1_000_000_000), ("MHz", 1_000_000), ("kHz", 1_000), ("Hz", 1))
_RATE = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})\s*([kmg]?hz)\s*", re.I)
# Faster clocks could overflow int64 when the numerator of ns per tick is multiplied by its
# denominator.
_FASTEST_HZ = 9_000_000_000
# Maps the characters of formatted texts to those that keyboards have.
_TYPED = str.maketrans({MINUS: "-", "μ": "µ", THIN_SPACE: None, NARROW_SPACE: None})


class RateOrigin(StrEnum):
    """Where the duration of a clock's ticks comes from."""

    STATED = "stated"  # by the file
    ASSUMED = "assumed"  # by Opscope: the usual rate of such clocks
    CHOSEN = "chosen"  # by the user


# Units of ticks that are no times: a profile of samples that states only how many there were.
WEIGHTS = frozenset(("sample", "byte"))


@dataclass(frozen=True, slots=True)
class ClockRate:
    """The duration of a file's ticks, and its origin. `unit` names one tick, as in `Clock`."""

    unit: str
    ns_per_tick: Fraction
    origin: RateOrigin = RateOrigin.STATED

    @property
    def tick_text(self) -> str:
        """The duration of one tick: "1 tick = 1 ns", "1 cycle = 1.25 ns"."""
        tick = self.unit if self.unit == "cycle" or self.unit in WEIGHTS else "tick"
        return f"1 {tick} = {float(self.ns_per_tick):g}{NARROW_SPACE}ns"

    @property
    def text(self) -> str:
        """The rate, with its origin unless the file states it.

        "800 MHz assumed" for cycles, "1 tick = 1 ns" for other units.
        """
        rate = format_rate(self.ns_per_tick) if self.unit == "cycle" else self.tick_text
        return rate if self.origin is RateOrigin.STATED else f"{rate} {self.origin}"

    @property
    def weight(self) -> str:
        """What a tick is, if it is no time and nobody stated how long it is; else ""."""
        return self.unit if self.unit in WEIGHTS and self.origin is RateOrigin.ASSUMED else ""


def ticks_to_ns(ticks: Ints, ns_per_tick: Fraction) -> Ints:
    """Floor of ticks * ns_per_tick, exact in int64 (the full product is never computed).

    Values beyond int64 ns (292 years) are clamped.
    """
    n, d = ns_per_tick.numerator, ns_per_tick.denominator
    if n == d:
        return ticks
    # Imported here, because texts of the first window need this module: numpy takes 70 ms.
    import numpy as np

    whole, rest = np.divmod(ticks, np.int64(d))
    whole = np.clip(whole, -_FARTHEST // n, _FARTHEST // n)
    return whole * np.int64(n) + rest * np.int64(n) // np.int64(d)


def tick_to_ns(tick: int | Fraction, ns_per_tick: Fraction) -> int:
    """Like `ticks_to_ns` for one tick, with unbounded integers; also for half a tick."""
    return tick * ns_per_tick.numerator // ns_per_tick.denominator


def ns_to_tick(ns: int, ns_per_tick: Fraction) -> int:
    """The first tick not before `ns`. Inverts `tick_to_ns` if a tick lasts at least 1 ns."""
    return -(-ns * ns_per_tick.denominator // ns_per_tick.numerator)


def plain_spaces(text: str) -> str:
    """Replace narrow and thin spaces by ordinary ones, for terminals and scripts."""
    return text.replace(NARROW_SPACE, " ").replace(THIN_SPACE, " ")


def group_digits(value: int) -> str:
    """Format 1234567 as "1 234 567", with thin spaces and a Unicode minus sign."""
    return f"{value:,}".replace(",", THIN_SPACE).replace("-", MINUS)


def nice_step(least: int) -> tuple[int, int]:
    """The smallest 1, 2 or 5 times a power of ten that is >= `least`, and which of the three."""
    power = 10 ** (len(str(max(least, 1))) - 1)
    digit = next((d for d in (1, 2, 5) if d * power >= least), 0)
    return (digit * power, digit) if digit else (10 * power, 1)


def counted(count: int, thing: str) -> str:
    """A count with its noun: "1 slice", "1 234 slices"."""
    return f"{group_digits(count)} {thing}{'' if count == 1 else 's'}"


def with_computed(slices: str, computed: int) -> str:
    """Append the number of derived slices, if any: "627 slices (+100 derived)"."""
    return f"{slices} (+{group_digits(computed)} derived)" if computed else slices


_LEAST_OF_THREE = 0.0005  # what three decimals do not round to 0
_MOST_DECIMALS = 15


def unit_for(ns: float) -> tuple[str, int]:
    """The best unit to display a duration, and its size in ns."""
    size = abs(ns)
    # A duration that rounds up to the next unit uses that unit: 1.000 s.
    return next(((u, f) for u, f in _UNITS if size >= f or round(size / f, 6) >= 1), _UNITS[-1])


def format_in(ns: float, factor: int, decimals: int | None = None) -> str:
    """Format a time without its unit, for columns that share one; `factor` is the unit's ns.

    decimals: by default three. A time that they would round to 0 has up to three digits that are
    not leading zeros: "0.00005".
    """
    if ns == 0:
        return "0"
    if factor == 1 and float(ns).is_integer():
        return group_digits(int(ns))
    size = abs(ns) / factor
    if decimals is None and size < _LEAST_OF_THREE:
        number = f"{ns / factor:.{min(ceil(-log10(size)) + 2, _MOST_DECIMALS)}f}".rstrip("0")
    else:
        number = f"{ns / factor:,.{3 if decimals is None else decimals}f}"
    whole, _, rest = number.partition(".")
    text = whole.replace(",", THIN_SPACE).replace("-", MINUS)
    return f"{text}.{rest}" if rest else text


def format_time(ns: float) -> str:
    """Format a time with its unit: "1.643 µs", "55.212 µs", "385 ns", "0"."""
    if ns == 0:
        return "0"
    unit, factor = unit_for(ns)
    return f"{format_in(ns, factor)}{NARROW_SPACE}{unit}"


def format_bounded(ns: float, zeros: int, rounding_ns: float) -> str:
    """Format a time; if it is 0, the sum of events whose durations are cut to 0, its bound.

    "< 1 µs" for one event that is cut to whole µs, "< 3 µs" for three, "0" for none.

    zeros: how many events were cut to 0. rounding_ns: what each is shorter than.
    """
    if ns or not zeros:
        return format_time(ns)
    bound = zeros * rounding_ns
    if bound % _US or bound >= _US * _US:
        return f"<{NARROW_SPACE}{format_time(bound)}"
    return f"<{NARROW_SPACE}{group_digits(int(bound // _US))}{NARROW_SPACE}µs"


def format_briefly(ns: float) -> str:
    """Format a time with three digits, for places without room for more: "68.8 µs", "123 µs"."""
    rounded = float(f"{ns:.2e}")
    unit, factor = unit_for(rounded)
    whole = len(str(int(abs(rounded) / factor)))  # digits before the decimal point
    return f"{format_in(rounded, factor, max(3 - whole, 0))}{NARROW_SPACE}{unit}"


def format_ratio(ratio: float) -> str:
    """Format a ratio of two times: "1.79×"."""
    return f"{ratio:.2f}×" if ratio < 100 else f"{group_digits(round(ratio))}×"


_IN_NS = f"{NARROW_SPACE}ns"


def split_time(text: str) -> tuple[str, str]:
    """Split a formatted time into number and unit; the unit is "" for other texts, and for "0"."""
    number, space, unit = text.rpartition(NARROW_SPACE)
    return (number, unit) if space and unit in _UNIT_NS else (text, "")


def is_fraction_of_ns(text: str) -> bool:
    """Whether a formatted time is in ns and has decimals: "385.500 ns"."""
    return text.endswith(_IN_NS) and "." in text


def format_fixed(ns: int, factor: int, decimals: int) -> str:
    """Format a time without its unit, rounded to some decimals; exact for any integer.

    factor: the ns of the unit. The decimals are grouped in threes: "3.876 412 385".
    """
    scaled = (2 * abs(ns) * 10**decimals + factor) // (2 * factor)
    whole, rest = divmod(scaled, 10**decimals)
    text = (MINUS if ns < 0 else "") + group_digits(whole)
    if not decimals:
        return text
    digits = f"{rest:0{decimals}d}"
    return f"{text}.{THIN_SPACE.join(digits[i : i + 3] for i in range(0, decimals, 3))}"


def format_position(ns: int, resolution_ns: float = 1) -> str:
    """Format a position with the decimals that distinguish its neighbors: "3.876 412 385 s".

    resolution_ns: the distance of neighbors, such as the ns per pixel of a view; by default 1,
    which shows whole ns. There are three decimals at least.
    """
    if ns == 0:
        return "0"
    units = ((unit, factor, _decimals(factor, resolution_ns)) for unit, factor in _UNITS)
    # Of the units in which it rounds to 1 or more, the greatest.
    unit, factor, decimals = next(
        (unit, factor, decimals)
        for unit, factor, decimals in units
        if 2 * abs(ns) * 10**decimals + factor >= 2 * factor * 10**decimals
    )
    return f"{format_fixed(ns, factor, decimals)}{NARROW_SPACE}{unit}"


def _decimals(factor: int, resolution_ns: float) -> int:
    """Return how many decimals of a unit resolve some ns, at least three (of ns none)."""
    whole_ns = len(str(factor)) - 1
    return max(whole_ns - len(str(max(int(resolution_ns), 1))) + 1, min(whole_ns, 3))


def format_share(part: float, whole: float) -> str:
    """Format a ratio as a percentage: "85.7 %", or "< 0.1 %" for what would round to 0."""
    return f"{percent_digits(part / whole)}{NARROW_SPACE}%"


def percent_digits(share: float) -> str:
    """Format a fraction (1.0 is 100 %) without the sign: "85.7", or "< 0.1" for what is not 0."""
    digits = f"{100 * share:.1f}"
    return f"<{NARROW_SPACE}0.1" if digits == "0.0" and share > 0 else digits


def format_span(first: int, last: int) -> str:
    """Both ends of a range in one unit, with enough decimals to distinguish them."""
    ends, unit = _span_ends(first, last)
    return f"{' – '.join(ends)}{NARROW_SPACE}{unit}"


def format_from_to(first: int, last: int) -> str:
    """Both ends of a range as words, without zeros at the end: "0 to 200 µs", "1.2 to 1.4 ms".

    One time if both ends are the same: "1.2 ms".
    """
    ends, unit = _span_ends(first, last)
    short = (end.rstrip(f"0{THIN_SPACE}").rstrip(".") if "." in end else end for end in ends)
    return f"{' to '.join(dict.fromkeys(short))}{NARROW_SPACE}{unit}"


def _span_ends(first: int, last: int) -> tuple[list[str], str]:
    """Return both ends of a range as numbers of one unit, and the unit."""
    unit, factor = unit_for(max(abs(first), abs(last)))
    decimals = 3
    while decimals < 9 and factor > 1 and (last - first) * 10**decimals < 100 * factor:
        decimals += 1
    decimals = min(decimals, len(str(factor)) - 1)
    ends = ["0" if ns == 0 else format_fixed(ns, factor, decimals) for ns in (first, last)]
    return ends, unit


def parse_time(text: str) -> int:
    """Parse "1.5ms", "20us" or a plain number of ns as whole ns.

    Raises ValueError with the accepted forms.
    """
    match = _TIME.fullmatch(text.translate(_TYPED))
    if match is None:
        raise ValueError(f"{text!r} is not a time: write 1500, 1500ns, 20us, 1.5ms or 2s")
    return int(Fraction(match[1]) * _UNIT_NS[match[2] or "ns"])


def parse_ratio(text: str) -> Fraction:
    """Parse a positive ratio of a file, "5/4" or "1000", as `str(Fraction)` writes it.

    Both numbers have at most 20 digits: a ratio like "1e999999999" would take forever. Raises
    ValueError.
    """
    match = _RATIO.fullmatch(text)
    if match is None or not int(match[1]) or not int(match[2] or 1):
        raise ValueError(f"{text[:40]!r} is not a positive ratio: write 5/4 or 1000")
    return Fraction(int(match[1]), int(match[2] or 1))


def parse_rate(text: str) -> Fraction:
    """Parse "800 MHz", "1.2 GHz" or "32.768kHz" as exact ns per tick.

    Raises ValueError with the accepted forms.
    """
    match = _RATE.fullmatch(text.translate(_TYPED))
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a clock rate: write 800 MHz, 1.2 GHz or 32.768 kHz")
    hz = Fraction(match[1]) * _HZ[match[2].lower()]
    if hz.denominator != 1 or not 1 <= hz <= _FASTEST_HZ:
        raise ValueError(f"{text.strip()} is not a whole number of Hz between 1 Hz and 9 GHz")
    return Fraction(1_000_000_000) / hz


def format_rate(ns_per_tick: Fraction) -> str:
    """Format a clock rate: "800 MHz", "1.2 GHz"; 6 digits if nine decimals are not exact."""
    hz = 1_000_000_000 / ns_per_tick
    unit, factor = next((u, f) for u, f in _RATE_UNITS if hz >= f or f == 1)
    scaled = hz / factor
    exact = f"{float(scaled):.9f}".rstrip("0").rstrip(".")
    number = exact if Fraction(exact) == scaled else f"{float(scaled):.6g}"
    return f"{number}{NARROW_SPACE}{unit}"


def parse_range(text: str) -> tuple[int, int]:
    """Parse "START:END" as ns from the start of the trace; `parse_time` defines the times.

    Raises ValueError with the accepted form, or if the range is empty.
    """
    first, colon, last = text.partition(":")
    if not colon:
        raise ValueError(f"{text!r} is not a range: write START:END, for example 1.5ms:2ms")
    start, end = parse_time(first), parse_time(last)
    if end <= start:
        raise ValueError(f"the range {text!r} ends before it begins")
    return start, end
