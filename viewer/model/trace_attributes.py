"""What a trace states next to its slices: counters, calls around them, its unit of work, origin.

Texts are written for inferences; `WorkUnit.worded` says them with the noun of a file, which no
other module decides. The Python functions and modules around an operator of a PyTorch profile state
which module and line it belongs to.

Files that Opscope exported have metadata (`Trace.provenance`): facts about the file ("origin_ns")
and about its n-th source ("source1.file"). In a Perfetto file, all names start with `PREFIX`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass
from viewer.model.recorded_names import PROFILER_STEP
from viewer.model.times import NARROW_SPACE, counted, group_digits

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


@dataclass(frozen=True, slots=True, eq=False)
class CallStacks:
    """Python call stacks, and the stack that the slices of each key ran in.

    A stack is a frame and the stack that called it. stack_name: the frame's name, an index into
    `Trace.strings`; stack_parent: the calling stack, -1 for an outermost frame; a stack has a
    larger number than its parent. One value per stack.

    stack: the stack of a key, which for a frame ends with the frame itself; -1 if it has none.
    backward: whether it is part of the backward pass; then the stack is that of the forward call.
    first: a slice that has the key. One value per key of the trace. All int64.
    """

    stack_name: Ints
    stack_parent: Ints
    stack: Ints
    backward: Bools
    first: Ints


# What files call the runs whose series has this name; others are inferences.
_NOUNS = {
    PROFILER_STEP.lower(): "step",
    **{noun: noun for noun in ("step", "iteration", "frame", "request")},
    "iter": "iteration",
}
_DECODE = "decode"
_WORD = re.compile(r"\b(?:([Aa])n )?([Ii])nference(?=s?\b)")


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """One pass of the work of a file, by its noun in singular."""

    noun: str = "inference"

    @property
    def plural(self) -> str:
        """Several of them: "steps"."""
        return f"{self.noun}s"

    @property
    def label(self) -> str:
        """The noun in names of tracks and rows, which files and scripts have: "run 2 of 5"."""
        return "run" if self == INFERENCE else self.noun

    @property
    def title(self) -> str:
        """The noun with a capital letter."""
        return self.noun.capitalize()

    @property
    def with_article(self) -> str:
        """One of them: "an inference", "a step"."""
        return f"{'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}"

    def counted(self, count: int) -> str:
        """Return a count with the noun: "5 steps"."""
        return counted(count, self.noun)

    def worded(self, text: str) -> str:
        """Return a text about inferences with this noun: "All steps" of "All inferences".

        Only for texts of Opscope: the names in a file may contain the word too.
        """
        return text if self == INFERENCE else _WORD.sub(self._word, text)

    def _word(self, match: re.Match[str]) -> str:
        noun = self.title if match[2] == "I" else self.noun
        if not match[1]:
            return noun
        article = f"{match[1]}n" if noun[0].lower() in "aeiou" else match[1]
        return f"{article} {noun}"

    def in_phase(self, phase: str) -> WorkUnit:
        """Return the unit of one phase: a decode step of a language model is one token."""
        is_decode = phase == _DECODE or phase.endswith(f", {_DECODE}")
        return STEP if is_decode else self


INFERENCE, STEP = WorkUnit(), WorkUnit("step")


def unit_of_series(series: str) -> WorkUnit:
    """Return the unit of the runs of a series, by the name that the file has for them."""
    noun = _NOUNS.get(series.lower())
    return INFERENCE if noun is None else WorkUnit(noun)


def common_unit(units: Iterable[WorkUnit]) -> WorkUnit:
    """Return the unit of several files: theirs if it is the same in all, else inferences."""
    different = set(units)
    return different.pop() if len(different) == 1 else INFERENCE


PREFIX = "org.opscope."
FIRST, _SECOND = "source1.", "source2."

Provenance = Mapping[str, int | str]


def is_of_one_file(stated: Provenance) -> bool:
    """Whether the metadata belongs to an export of one file; False if it is empty."""
    return bool(stated) and not any(name.startswith(_SECOND) for name in stated)


def of_source(stated: Provenance) -> dict[str, int | str]:
    """The facts about the first source, without the prefix "source1."."""
    return {k.removeprefix(FIRST): v for k, v in stated.items() if k.startswith(FIRST)}


def first_ns(stated: Provenance) -> int | None:
    """The ns in the source at which the exported times start; None if a value is not a number.

    Missing values count as 0. Only the difference of origin and offset matters.
    """
    try:
        return int(stated.get("origin_ns") or 0) - int(stated.get(f"{FIRST}offset_ns") or 0)
    except ValueError:
        return None
