"""Event blocks: runs that logged the same events in the same order, merged for comparison.

A run is identified by its distinct event codes in order of first appearance. So a run that repeats
an event more often than another still belongs to the same block; another branch of a torch.cond is
another block. All array code, except for one step per run.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from viewer.arrays import Ints

# A lookup table may have this many cells per event; beyond that, pairs are numbered first, which
# needs a sort.
_CELLS_PER_EVENT = 8


@dataclass(frozen=True, slots=True, eq=False)
class EventBlocks:
    """Blocks in order of first appearance, and their rows: one row per distinct code.

    runs: per block its runs. row_ptr: offsets into row_code (blocks + 1). row: per input event the
    row that it belongs to.
    """

    runs: tuple[Ints, ...]
    row_ptr: Ints
    row_code: Ints
    row: Ints


def merge_runs(run: Ints, code: Ints, kinds: Sequence[Hashable]) -> EventBlocks:
    """Merge runs of equal kind that logged equal sequences of distinct codes.

    run: per event its run, ascending. code: per event its identity, >= 0. Both are in output order.
    kinds: per run what else must be equal. Runs without events are in no block.
    """
    n = len(run)
    first = first_of(run, code)
    is_first = first == np.arange(n)
    first_events = np.flatnonzero(is_first)
    sequence, run_of_first = code[first_events], run[first_events]
    number = np.searchsorted(first_events, first)
    bounds = np.searchsorted(run_of_first, np.arange(len(kinds) + 1))
    found: dict[Hashable, list[int]] = {}
    for i in np.flatnonzero(np.diff(bounds)).tolist():
        same = (kinds[i], sequence[bounds[i] : bounds[i + 1]].tobytes())
        found.setdefault(same, []).append(i)
    runs = tuple(np.array(members) for members in found.values())
    leader = [int(members[0]) for members in runs]
    sizes = [int(bounds[i + 1] - bounds[i]) for i in leader]
    row_ptr = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    parts = [sequence[bounds[i] : bounds[i + 1]] for i in leader]
    offset = np.zeros(len(kinds), np.int64)
    for block, members in enumerate(runs):
        offset[members] = row_ptr[block] - bounds[members]
    row_code = np.concatenate([*parts, np.empty(0, np.int64)])
    return EventBlocks(runs, row_ptr, row_code, number + offset[run])


def first_of(run: Ints, code: Ints) -> Ints:
    """Return per event the position of the first event of the same run and code."""
    n = len(run)
    if not n:
        return np.empty(0, np.int64)
    width = int(code.max()) + 1
    pair = run * width + code
    cells = (int(run.max()) + 1) * width
    if cells > _CELLS_PER_EVENT * n:
        _, at, inverse = np.unique(pair, return_index=True, return_inverse=True)
        first: Ints = at[inverse]
        return first
    table = np.empty(cells, np.int64)
    # The last assignment to a cell wins: in reverse order, that is the first event.
    table[pair[::-1]] = np.arange(n - 1, -1, -1)
    found: Ints = table[pair]
    return found
