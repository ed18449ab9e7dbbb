"""Counters: step functions of time, stored where the value changes."""

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

    process: the process of a track. tick: int64, ascending and distinct. value: int64 or float64.
    It is drawn as 0 before the first tick, and the last one, normally 0, holds to the end.
    Neighboring values differ; the first one may be 0, if a file states that. unit: "" for a count,
    "B", "%" or "GB/s". per_tick: the values are per tick and must be divided by the ns of a tick
    (see `scale`); they are stored this way because the clock rate may be assumed and change. note:
    what the counter leaves out or is derived from, or "".
    limit: what its values cannot exceed, such as a capacity; 0 if nothing is known.
    """

    process: str
    name: str
    unit: str
    tick: Ints
    value: NDArray[Any]
    per_tick: bool = False
    note: str = ""
    limit: int = 0

    def scale(self, ns_per_tick: Fraction) -> float:
        """The factor that converts values to `unit`: one byte per ns is 1 GB/s."""
        return float(1 / ns_per_tick) if self.per_tick else 1.0

    def text(self, value: float, ns_per_tick: Fraction) -> str:
        """Format a stored value for display: "3", "9 408 B", "3.803 GB/s", "85.7 %"."""
        if not self.unit and not float(value).is_integer():
            return f"{value:.6g}"
        if not self.unit:
            return group_digits(round(value))
        if self.unit == "B":
            return f"{group_digits(round(value))}{NARROW_SPACE}B"
        scaled = value * self.scale(ns_per_tick)
        if self.unit == "%":
            return f"{scaled:.1f}{NARROW_SPACE}%"
        if self.unit != _RATES[0][0]:
            return f"{scaled:.6g}{NARROW_SPACE}{self.unit}"
        unit, size = next((u for u in _RATES if scaled >= u[1]), _RATES[0])
        return f"{scaled / size:.3f}{NARROW_SPACE}{unit}" if scaled else "0"


def stated_counter(process: str, name: str, tick: Ints, value: NDArray[Any]) -> Counter:
    """A counter from samples in any order. If several have the same time, the last one counts."""
    order = np.argsort(tick, kind="stable")
    return Counter(process, name, "", *stated_changes(tick[order], value[order]))


def stated_changes(times: Ints, value: NDArray[Any]) -> tuple[Ints, NDArray[Any]]:
    """Remove repeated samples: keep the first one, and the last one of each time where it changes.

    times must ascend. Also a first sample of 0 says something: before it, nothing was measured.
    """
    last = np.append(times[1:] != times[:-1], True)[: len(times)]
    times, value = times[last], value[last]
    changed = np.append(True, value[1:] != value[:-1])[: len(times)]
    return times[changed], value[changed]


def changes(times: Ints, value: NDArray[Any]) -> tuple[Ints, NDArray[Any]]:
    """Remove repeated values of a computed counter, which is 0 before its first time.

    Keeps the last value at each time, only where it changes. times must ascend.
    """
    times, value = stated_changes(times, value)
    first = int(len(value) > 0 and value[0] == 0)
    return times[first:], value[first:]
