"""Amounts as people read them: with a decimal prefix, "110.592 kFLOP", "1.234 GB/s"."""

from __future__ import annotations

from viewer.model.times import group_digits

_PREFIXES = (("P", 10**15), ("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3))


def amount_in_unit(value: float, unit: str) -> tuple[str, str]:
    """The number and its unit: whole numbers below 1000 as they are, else with three decimals."""
    for prefix, factor in _PREFIXES:
        # What three decimals round up to the next prefix is told with that one: 1.000 k.
        if round(value / factor, 6) >= 1:
            return f"{value / factor:.3f}", prefix + unit
    if float(value).is_integer():
        return group_digits(int(value)), unit
    return f"{value:.3f}", unit
