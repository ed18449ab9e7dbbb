"""A counter: a step function of time, stored where its value changes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.model.times import NARROW_SPACE, group_digits

_RATES = (("GB/s", 1.0), ("MB/s", 1e-3), ("kB/s", 1e-6), ("B/s", 1e-9))


@dataclass(frozen=True, slots=True, eq=False)
class Counter:
    """A step function of one process: value[i] holds from tick[i] until tick[i + 1].

    process: as the tracks of the trace name it. tick: int64, ascending and distinct. value: int64
    or float64; 0 before the first tick, and the last one, normally 0, holds to the end. Neighbors
    differ. unit: "" for a number of things, "B", "%" or "GB/s". per_tick: the values are per tick
    of the file and become those of the unit once divided by its ns (see `scale`), since the rate of
    a clock may be a guess and be changed. note: what is not in it, or "".
    """

    process: str
    name: str
    unit: str
    tick: Ints
    value: NDArray[Any]
    per_tick: bool = False
    note: str = ""

    def scale(self, ns_per_tick: Fraction) -> float:
        """What the values are multiplied with to be in `unit`: a byte per ns is a GB/s."""
        return float(1 / ns_per_tick) if self.per_tick else 1.0

    def text(self, value: float, ns_per_tick: Fraction) -> str:
        """A stored value as it is shown: "3", "9 408 B", "3.803 GB/s", "85.7 %"."""
        if not self.unit and not float(value).is_integer():
            return f"{value:.6g}"
        if not self.unit:
            return group_digits(round(value))
        if self.unit == "B":
            return f"{group_digits(round(value))}{NARROW_SPACE}B"
        shown = value * self.scale(ns_per_tick)
        if self.unit == "%":
            return f"{shown:.1f}{NARROW_SPACE}%"
        if self.unit != _RATES[0][0]:
            return f"{shown:.6g}{NARROW_SPACE}{self.unit}"
        unit, size = next((u for u in _RATES if shown >= u[1]), _RATES[0])
        return f"{shown / size:.3f}{NARROW_SPACE}{unit}" if shown else "0"


def stated_counter(process: str, name: str, tick: Ints, value: NDArray[Any]) -> Counter:
    """A counter from samples in any order; of several at one time the last one counts."""
    order = np.argsort(tick, kind="stable")
    return Counter(process, name, "", *changes(tick[order], value[order]))


def changes(times: Ints, value: NDArray[Any]) -> tuple[Ints, NDArray[Any]]:
    """Of values from given times on, ascending, the last at each time, where it is another."""
    if not len(times):
        return times, value  # of units whose work has no length
    last = np.append(times[1:] != times[:-1], True)
    times, value = times[last], value[last]
    changed = np.append(value[:1] != 0, value[1:] != value[:-1])
    return times[changed], value[changed]
