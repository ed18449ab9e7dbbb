"""Derives a trace in which some inferences of a scope have a separate scope, and so another method.

An ETDump distinguishes methods by their instructions, so methods with the same instructions share a
scope. If the user states the methods of inferences, each group becomes a separate scope with its
own keys: links, match and costs need no exception then. Slices, tracks, times and the numbers of
the inferences do not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from viewer.arrays import Codes, Ints
from viewer.model.queries import run_of_slices
from viewer.model.trace import Keys, Run, RunKind, Trace
from viewer.model.warm_up import with_warm_up


@dataclass(frozen=True, slots=True)
class ScopePart:
    """Some inferences of a scope: its index in `Trace.scopes`, and their `Run.number`s."""

    scope: int
    numbers: frozenset[int]

    def has(self, run: Run) -> bool:
        """Return whether a run is one of these inferences."""
        is_inference = run.kind is RunKind.INFERENCE
        return is_inference and run.scope == self.scope and run.number in self.numbers


def split_scopes(trace: Trace, parts: Sequence[ScopePart]) -> Trace:
    """Return the trace with one more scope per part, after those of the trace and in their order.

    A new scope has the name of the one that it is split from. Its inferences followed the same
    load, so those that warm up do not change, unless their methods were open. parts: disjoint;
    their scopes exist.
    """
    part = np.array([*(_part_of(run, parts) for run in trace.runs), -1], np.int64)
    slices, old = trace.slices, trace.slices.key.astype(np.int64)
    of_slice: Ints = part[run_of_slices(trace)]
    # Only identities of the inference's own instructions.
    scope_of_part = np.array([*(scope_part.scope for scope_part in parts), -1], np.int64)
    of_slice[scope_of_part[of_slice] != trace.keys.scope[old]] = -1
    # Counting is several times faster than sorting, and there are few parts.
    width = len(parts) + 1
    pair = old * width + of_slice + 1
    used = np.flatnonzero(np.bincount(pair, minlength=len(trace.keys) * width))
    number = np.empty(len(trace.keys) * width, np.uint32)
    number[used] = np.arange(len(used), dtype=np.uint32)
    key: Codes = number[pair]
    key.flags.writeable = False
    first = len(trace.scopes)
    runs = [
        run if number < 0 else replace(run, scope=first + number, load=0)
        for run, number in zip(trace.runs, part[:-1].tolist(), strict=True)
    ]
    if any(run.load for run in trace.runs):
        # What warms up was decided for each load, or for no run where several could be its own.
        runs = list(with_warm_up(runs, [track.process for track in trace.tracks]))
    return replace(
        trace,
        scopes=(*trace.scopes, *(trace.scopes[scope_part.scope] for scope_part in parts)),
        keys=_keys(trace.keys, used // width, used % width - 1, first),
        slices=replace(slices, key=key),
        runs=tuple(runs),
        calls=None,
    )


def _part_of(run: Run, parts: Sequence[ScopePart]) -> int:
    return next((i for i, part in enumerate(parts) if part.has(run)), -1)


def _keys(keys: Keys, old: Ints, part: Ints, first: int) -> Keys:
    """Return copies of some keys; those with a part (not -1) are in the scope `first` + part."""
    copy = Keys(
        kind=keys.kind[old],
        scope=np.where(part < 0, keys.scope[old], first + part).astype(np.uint32),
        name=keys.name[old],
        instruction=keys.instruction[old],
        identifier=keys.identifier[old],
        location=keys.location[old],
    )
    for array in (
        copy.kind, copy.scope, copy.name, copy.instruction, copy.identifier, copy.location,
    ):  # fmt: skip
        array.flags.writeable = False
    return copy
