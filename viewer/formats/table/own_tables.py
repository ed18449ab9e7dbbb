"""Tables that Opscope exported: which columns they have, and their inferences.

A table of slices has every column of `viewer.tables.slices.SLICES`. Some of them may be an
argument in a CSV of another tool, such as `module`; they are only skipped in a table of ours. Texts
that the writer changed for spreadsheets are changed back, only in tables that it marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Codes, Ints, flags_at, numbers_at
from viewer.codecs.json_values import whole_number
from viewer.codecs.spreadsheet_cells import original
from viewer.model.building.builder import TraceBuilder
from viewer.model.names.executorch import EXECUTE
from viewer.model.names.profilers import GPU_COPY, MODEL_RUN, PROFILER_STEP
from viewer.model.timing import parse_timing
from viewer.model.trace import RunKind

INFERENCE, TIMING = "inference", "timing"
# Links are created again, and the file does not contain the clock rate.
_OF_ANY_TOOL = frozenset(
    ("debug_handles", "operators", "source", "link_reason", "start_ticks", "dur_ticks")
)
_OURS = frozenset(("node", "op_type", "module"))
# Only some tables have them, and those of earlier versions no called_from. Times are read in
# whole ns.
_OF_SOME = frozenset(("start_ns_fraction", "dur_ns_fraction", "called_from"))
_MARKS = _OURS | _OF_ANY_TOOL | {INFERENCE, TIMING, "derived"}


def is_own(names: Iterable[str]) -> bool:
    """Whether columns are those of a table of slices that Opscope exported."""
    return _MARKS.issubset(names)


def skipped(names: Sequence[str]) -> frozenset[str]:
    """The columns that only an export writes, which are not read."""
    return _OF_ANY_TOOL | _OURS | _OF_SOME if is_own(names) else _OF_ANY_TOOL


def is_changed(line: str, separator: str, names: Sequence[str]) -> bool:
    """Whether the writer changed texts of a table of ours for spreadsheets.

    line: the header. Only then is its first name in quotes and the second not; tables with raw
    texts have none in quotes, and programs that save a table again quote all names or none.
    """
    return is_own(names) and line.startswith(f'"process"{separator}thread{separator}')


def originals(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the texts that the writer changed as they were.

    Distinct texts stay distinct: if some would become equal, the writer did not write them, and all
    stay as they are.
    """
    names = tuple(map(original, texts))
    return names if len(set(names)) == len(set(texts)) else tuple(texts)


def stated_timing(builder: TraceBuilder, codes: Codes, strings: Sequence[str]) -> NDArray[np.uint8]:
    """Return the `Timing` of every row; unknown texts are counted and taken as measured."""
    timings = [parse_timing(text) for text in strings]
    unknown = np.array([timing is None for timing in timings])[codes]
    if unknown.any():
        first = strings[int(codes[np.argmax(unknown)])]
        builder.problem("unknown timing: taken as measured", int(unknown.sum()), first)
    return np.array([timing or 0 for timing in timings], np.uint8)[codes]


def add_inferences(
    builder: TraceBuilder,
    track: Codes,
    start: Ints,
    end: Ints,
    codes: dict[str, Codes],
    strings: dict[str, tuple[str, ...]],
) -> None:
    """Add the inferences of a table of ours, with the numbers that it states.

    An inference is the slices of one track and method with one number. It spans its
    Method::execute, or all of them if it has none; then it did not finish, unless no inference of
    the file has one. Steps of PyTorch and runs of ONNX Runtime span theirs; if all are on one
    track, they cover the slices of other tracks with their number too.
    """
    number = np.array([whole_number(text) or 0 for text in strings[INFERENCE]], np.int64)
    of_row = number[codes[INFERENCE]]
    rows = np.flatnonzero(of_row > 0)
    if not len(rows):
        return
    place = np.stack([track[rows].astype(np.int64), codes["method"][rows], of_row[rows]])
    group, which = np.unique(place, axis=1, return_inverse=True)
    which = which.reshape(-1)
    name = codes["name"][rows]
    is_whole = np.array([_spans(text) for text in strings["name"]])[name]
    if GPU_COPY in strings.get("category", ()):
        is_whole &= codes["category"][rows] != strings["category"].index(GPU_COPY)
    has_whole = flags_at(group.shape[1], which[is_whole])
    name_of = numbers_at(group.shape[1], which[is_whole], name[is_whole])
    is_timed = any(strings["name"][i] == EXECUTE for i in name_of[has_whole].tolist())
    everything = not is_timed and len(np.unique(group[0, has_whole])) == 1
    covered = set(map(tuple, group[1:, has_whole].T.tolist())) if everything else set()
    use = is_whole | ~has_whole[which]
    first = np.full(group.shape[1], np.iinfo(np.int64).max)
    last = np.full(group.shape[1], np.iinfo(np.int64).min)
    np.minimum.at(first, which[use], start[rows[use]])
    np.maximum.at(last, which[use], end[rows[use]])
    for i in np.lexsort((first, group[0])).tolist():
        if not has_whole[i] and tuple(group[1:, i].tolist()) in covered:
            continue
        method = strings["method"][int(group[1, i])]
        builder.run(
            RunKind.INFERENCE,
            strings["name"][int(name_of[i])] if has_whole[i] else EXECUTE,
            int(group[0, i]),
            builder.scope(method or "file", method or None),
            int(first[i]),
            int(last[i]),
            finished=bool(has_whole[i] or not has_whole.any()),
            number=int(group[2, i]),
            all_tracks=everything and bool(has_whole[i]),
        )


def _spans(name: str) -> bool:
    """Return whether slices of a name span a whole inference."""
    return name in (EXECUTE, MODEL_RUN) or is_step(name)


def is_step(name: str) -> bool:
    """Return whether a slice is a step of PyTorch, or its copy on a GPU."""
    return name.startswith(f"{PROFILER_STEP}#")
