"""Colors by an argument of slices: one color for each text, and a ramp for numbers.

What an argument has over all open traces is its `ArgumentRange`, so that a color means the same in
each. The most frequent texts have different colors; of the others, several can have the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.statistics.slice_keys import ARGUMENT, argument
from viewer.arrays import Floats, Ints
from viewer.model.times import group_digits
from viewer.model.trace import Column, Trace
from viewer.render.palette import OPERATORS, PLAIN, RAMP, RAMP_STEPS, Palette, by_name

Numbers = NDArray[np.int32]

# Above this ratio of the largest number to the smallest, the steps of the ramp are a progression.
_MOST_LINEAR = 100


@dataclass(frozen=True, slots=True)
class ArgumentRange:
    """What an argument has: how often each frequent text, and its smallest and largest number."""

    texts: tuple[tuple[str, int], ...] = ()
    least: Fraction | None = None
    most: Fraction | None = None

    def steps(self) -> tuple[float, ...]:
        """Return the start of each step of the ramp, and its end; only one of equal numbers."""
        if self.least is None or self.most is None:
            return ()
        least, most = float(self.least), float(self.most)
        if least == most:
            return (least,)
        place = np.arange(1, RAMP_STEPS) / RAMP_STEPS
        is_linear = least <= 0 or most < _MOST_LINEAR * least
        inner = least + (most - least) * place if is_linear else least * (most / least) ** place
        return (least, *(float(f"{edge:.3g}") for edge in inner.tolist()), most)


NO_VALUES = ArgumentRange()


def range_of(trace: Trace, name: str) -> ArgumentRange:
    """Return what an argument has in a trace: one pass over its slices."""
    column = argument(trace, name)
    if column is None:
        return ArgumentRange()
    values = column.values if column.valid is None else column.values[column.valid]
    if column.strings is not None:
        count = np.bincount(values, minlength=len(column.strings))
        often = np.argsort(-count, kind="stable")[:OPERATORS]
        return ArgumentRange(tuple((column.strings[i], int(count[i])) for i in often if count[i]))
    numbers = values[np.isfinite(values)]
    if not len(numbers):
        return ArgumentRange()
    ends = (numbers.min().item(), numbers.max().item())
    return ArgumentRange((), *(Fraction(end) for end in ends))


def ranges_together(ranges: Iterable[ArgumentRange]) -> ArgumentRange:
    """Return what an argument has in several traces."""
    counts, ends = Counter[str](), list[Fraction]()
    for each in ranges:
        counts.update(dict(each.texts))
        ends += [end for end in (each.least, each.most) if end is not None]
    texts = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:OPERATORS]
    return ArgumentRange(tuple(texts), min(ends, default=None), max(ends, default=None))


@dataclass(frozen=True, slots=True, eq=False)
class ArgumentClasses:
    """The classes of an argument: one for each text or step, and the last for slices without it.

    titles, color: as in `Classes`. edges: the number at which each step but the first starts.
    """

    name: str
    titles: tuple[str, ...]
    color: Palette
    edges: Floats
    column: Column | None

    def of(self, trace: Trace, which: Ints | slice) -> Numbers:
        """Return the class of slices of the trace, or of a view of it."""
        column = argument(trace, self.name)
        missing = len(self.titles) - 1
        if column is None:
            return np.full(len(trace.slices.key[which]), missing, np.int32)
        values = column.values[which]
        if column.strings is None:
            numbers = np.searchsorted(self.edges, values, "right").astype(np.int32)
            has = np.isfinite(values)
        elif self.column is not None and column.strings is self.column.strings:
            numbers, has = values.astype(np.int32), np.ones(len(values), np.bool_)
        else:
            number = {title: i for i, title in enumerate(self.titles[:-1])}
            of_string = np.array([number.get(s, missing) for s in column.strings], np.int32)
            numbers, has = of_string[values], np.ones(len(values), np.bool_)
        if column.valid is not None:
            has &= column.valid[which]
        numbers[~has] = missing
        return numbers


def argument_classes(trace: Trace, scheme: str, together: ArgumentRange) -> ArgumentClasses:
    """Return the classes of a trace by the argument of a scheme: "arg:NAME"."""
    name = scheme.removeprefix(ARGUMENT)
    column, nothing = argument(trace, name), f"No {name}"
    if column is not None and column.strings is not None:
        color = np.append(by_name(column.strings), PLAIN).astype(np.uint8)
        return ArgumentClasses(name, (*column.strings, nothing), color, np.empty(0), column)
    steps = together.steps()
    titles = [f"{_text(a)} – {_text(b)}" for a, b in pairwise(steps)] or [_text(s) for s in steps]
    first = RAMP if len(titles) > 1 else RAMP + RAMP_STEPS - 1
    color = np.array([*range(first, first + len(titles)), PLAIN], np.uint8)
    return ArgumentClasses(name, (*titles, nothing), color, np.array(steps[1:-1]), column)


def _text(value: float) -> str:
    return group_digits(int(value)) if value == int(value) else f"{value:g}"
