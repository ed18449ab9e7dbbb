"""Converts the rows of a table to slices: tracks, names, identities, arguments and inferences.

The readers of this package decide which rows are slices, and when they start and end. Everything
else is in columns of texts, by the names that `viewer.formats.table.reader` lists. A table of
slices that Opscope exported has every column of `viewer.tables.slices.SLICES`; some of them, such
as `module`, may be an argument in a CSV of another tool and are only skipped in a table of ours.
Texts that the writer changed for spreadsheets are changed back, only in tables that it marked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Codes, Ints, flags_at, numbers_at, parts_of
from viewer.codecs.json_values import whole_number
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, stop_if
from viewer.codecs.spreadsheet_cells import original
from viewer.formats.text_rows import (
    WHOLE,
    DistinctTexts,
    GrowingColumn,
    TextColumn,
    argument_column,
    numbers_of,
)
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import (
    CONTROL,
    DELEGATE_CALL,
    EXECUTE,
    GPU_COPY,
    KERNEL_PREFIX,
    LOAD,
    MODEL_RUN,
    PROFILER_STEP,
    is_library_kernel,
)
from viewer.model.recorded_names import RUNTIME_SCOPES as SCOPES
from viewer.model.timing import parse_timing
from viewer.model.trace import UNATTRIBUTED, KeyKind, RunKind, Trace

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


# Columns that are no arguments.
PLACE = ("process", "thread", "name", "start_ns", "dur_ns")
IDENTITY = ("method", "instruction_id", "identifier")
DERIVED = "derived"
# Bytes at the peak of a row, of a text in it, and of a distinct text. Measured with RSS, in bytes a
# row: 145 with three texts (2 M rows of 18 bytes), 146 (2 and 10 M rows of 115 bytes), 200 with
# five texts in quotes, 371 with 13 texts; 818 with four texts, two of which every row has of its
# own (1 M rows each).
_ROW_MEMORY, _CELL_MEMORY, _TEXT_MEMORY = 70, 22, 250
RUN_SCOPES = {LOAD: RunKind.LOAD, EXECUTE: RunKind.INFERENCE}
_CALLS = {
    DELEGATE_CALL: KeyKind.DELEGATE_CALL,
    **dict.fromkeys(CONTROL, KeyKind.CONTROL),
}


class SliceRows:
    """The texts of the rows read so far, as columns; `trace` converts the rows to slices."""

    def __init__(
        self,
        builder: TraceBuilder,
        columns: Sequence[str],
        *,
        is_own: bool = False,
        is_changed: bool = False,
    ) -> None:
        """Start with no rows.

        columns: the names of the text columns. is_own: whether Opscope exported the table.
        is_changed: whether its texts were changed for spreadsheets.
        """
        self.builder = builder
        self.rows = 0  # read so far
        self._is_own, self._is_changed = is_own, is_changed
        # The first text of an argument is "", which is no value.
        self._tables = {name: DistinctTexts({"": 0}) for name in columns}
        self._tables["name"] = DistinctTexts()
        self._codes = {name: GrowingColumn(np.uint32) for name in columns}
        self._rows = GrowingColumn(np.uint32)

    def expected(self, count: int, share: float) -> int:
        """Estimate how many rows the file has, from those read and the `count` next ones.

        share: of the file, with them. Two percent more than they suggest, because rows with later
        times are longer.
        """
        rows = self.rows + count
        return min(int(rows / max(share, 1e-6) * 1.02), 100 * rows)

    def add(
        self, texts: Mapping[str, TextColumn], keep: Ints | slice, count: int, expected: int
    ) -> None:
        """Add the rows `keep` of the next `count` rows."""
        read = self.rows + count
        self._rows.add(np.arange(self.rows, read, dtype=np.uint32)[keep], expected)
        for name, table in self._tables.items():
            self._codes[name].add(table.codes_of(texts[name])[keep], expected)
        self.rows = read

    def codes(self, name: str) -> Codes:
        """The codes of the texts of a column, of all rows added."""
        return self._codes[name].values

    def code(self, name: str, text: str) -> int:
        """The code of a text in a column, -1 if no row has it."""
        return self._tables[name].get(text, -1)

    def keep(self, index: Ints) -> None:
        """Keep only these of the rows added."""
        for column in (*self._codes.values(), self._rows):
            column.add(column.take()[index], len(index))

    def reserve(self, share: float, position: int, ratio: float = 1.0) -> None:
        """Reserve the memory for all rows, by the share of the file that was read.

        position: bytes read, unpacked. ratio: unpacked bytes per byte of the file. Raises
        NotEnoughMemory.
        """
        rows = self.rows * (_ROW_MEMORY + _CELL_MEMORY * len(self._tables))
        texts = sum(map(len, self._tables.values())) * _TEXT_MEMORY
        allowance().expect(rows, share, position, fixed=texts, ratio=ratio)

    def trace(self, times: Callable[[], tuple[Ints, Ints]], cancelled: Cancelled) -> Trace:
        """Return the slices of all rows added. Raises ReadCancelled.

        times: returns their starts and ends, in ticks, and releases them.
        """

        def step() -> None:
            stop_if(cancelled)

        builder = self.builder
        start, end = times()
        row = self._rows.take()
        if not len(start):
            return builder.build()
        step()
        codes = {name: column.values for name, column in self._codes.items()}
        self._codes.clear()
        strings = {name: tuple(table) for name, table in self._tables.items()}
        if self._is_changed:
            strings = {name: originals(texts) for name, texts in strings.items()}
        track = self._tracks(codes, strings)
        names = strings["name"] if self._is_changed else self._tables["name"]
        numbers = self.builder.intern_all(names)  # a new builder numbers them like the texts
        name = codes["name"]
        name = name if np.array_equal(numbers, np.arange(len(numbers))) else numbers[name]
        key = self._keys(codes, strings, name)
        self._runs(track, start, end, codes, strings)
        inferred = {INFERENCE, TIMING} if self._is_own else set()
        columns = {
            column: argument_column(codes[column], strings[column])
            for column in strings
            if column not in (*PLACE, *IDENTITY, "depth", DERIVED, *inferred)
            and (len(strings[column]) > 1 or not self._is_own)
        }

        derived = None
        if DERIVED in codes:
            derived = np.array([text == "true" for text in strings[DERIVED]])[codes[DERIVED]]

        timing = None
        if self._is_own:
            of_timing = codes[TIMING], strings[TIMING]
            timing = stated_timing(builder, *of_timing)

        def add(index: Ints | slice, levels: Ints | None) -> None:
            if len(start[index]):
                own_name = name[index]
                builder.add(
                    track=track[index],
                    start=start[index],
                    end=end[index],
                    name=own_name,
                    key=own_name if key is name else key[index],
                    source_row=row[index],
                    levels=None if levels is None else levels[index].astype(np.int32),
                    derived=None if derived is None else derived[index],
                    columns={n: column.taken(index) for n, column in columns.items()},
                    timing=None if timing is None else timing[index],
                )

        if "depth" not in codes:
            add(slice(None), None)
            # The builder has them now: two copies of a large file's columns would fill memory.
            del start, end, row, codes, track, name, key, columns, derived, timing
            return builder.build(step)
        level = levels_of(codes["depth"], strings["depth"])
        is_partial = np.bincount(track, level < 0) > 0
        is_mixed = is_partial & (np.bincount(track, level >= 0) > 0)
        builder.problem("track with a depth on some rows only: nested by time", int(is_mixed.sum()))
        add(np.flatnonzero(is_partial[track]), None)
        add(preorder(np.flatnonzero(~is_partial[track]), track, start, end, level), level)
        return builder.build(step)

    def _runs(
        self,
        track: Codes,
        start: Ints,
        end: Ints,
        codes: dict[str, Codes],
        strings: dict[str, tuple[str, ...]],
    ) -> None:
        """Add the loads and inferences of an exported ETDump.

        By name, if methods are stated; inferences by their numbers in a table of ours.
        """
        methods = strings.get("method", ())
        if self._is_own:
            add_inferences(self.builder, track, start, end, codes, strings)
        for name, kind in RUN_SCOPES.items():
            if self._is_own and kind is RunKind.INFERENCE:
                continue
            if name not in strings["name"] or not any(methods):
                continue
            rows = np.flatnonzero(codes["name"] == strings["name"].index(name))
            for i in rows[np.lexsort((start[rows], track[rows]))].tolist():
                method = methods[codes["method"][i]]
                self.builder.run(
                    kind,
                    name,
                    int(track[i]),
                    self.builder.scope(method or "file", method or None),
                    int(start[i]),
                    int(end[i]),
                )

    def _tracks(self, codes: dict[str, Codes], strings: dict[str, tuple[str, ...]]) -> Codes:
        process, thread = codes["process"], codes["thread"]

        def number(row: int) -> int:
            return self.builder.track(
                strings["process"][process[row]], strings["thread"][thread[row]]
            )

        return numbers_of([process, thread], number)

    def _keys(
        self, codes: dict[str, Codes], strings: dict[str, tuple[str, ...]], name: Codes
    ) -> Codes:
        """The key of every row, created once per identity; `name` is the number of its name."""
        parts = ["name"] + [name for name in (*IDENTITY, DERIVED) if len(strings.get(name, ())) > 1]
        if parts == ["name"] and not self._is_own:
            return self._keys_by_name(name, len(strings["name"]))

        def number(row: int) -> int:
            cell = {name: strings[name][codes[name][row]] for name in parts}
            text = cell.get("name", "")
            if self._is_own and is_step(text):
                return self.builder.key(KeyKind.FRAMEWORK, PROFILER_STEP)  # one for all steps
            return self._key(
                text,
                cell.get("method", ""),
                cell.get("instruction_id", "").strip(),
                cell.get("identifier", ""),
                cell.get(DERIVED) == "true",
            )

        return numbers_of([codes[name] for name in parts], number)

    def _keys_by_name(self, name: Codes, names: int) -> Codes:
        """The key of every row if its name is its identity: there can be as many as rows.

        names: the number of names.
        """
        is_used = np.zeros(names, np.bool_)
        for part in parts_of(len(name)):
            is_used[name[part]] = True
        used = np.flatnonzero(is_used)
        scopes = [self.builder.intern(scope) for scope in sorted(SCOPES)]
        kind = np.where(np.isin(used, scopes), KeyKind.FRAMEWORK, KeyKind.PLAIN).astype(np.uint8)
        numbers = self.builder.distinct_keys(
            kind,
            used.astype(np.uint32),
            np.full(len(used), self.builder.scope("file"), np.uint32),
            np.full(len(used), -1, np.int64),
            np.full(len(used), None, object),
        )
        if np.array_equal(numbers, np.arange(names)):
            return name  # the same array, so that the trace has it once
        key = np.zeros(names, np.uint32)
        key[used] = numbers
        return key.take(name)

    def _key(
        self, name: str, method: str, instruction_id: str, identifier: str, derived: bool
    ) -> int:
        instruction = -1
        if WHOLE.fullmatch(instruction_id):
            instruction = max(-1, int(instruction_id))
        elif instruction_id:
            self.builder.problem("instruction_id that is not a number", 1, repr(instruction_id))
        if derived and name == UNATTRIBUTED:
            kind = KeyKind.UNATTRIBUTED
        elif identifier:
            kind = KeyKind.DELEGATE_EVENT
        elif instruction < 0:
            kind = KeyKind.FRAMEWORK if name in SCOPES else KeyKind.PLAIN
        elif name.startswith(KERNEL_PREFIX) or is_library_kernel(name):
            kind = KeyKind.KERNEL
        else:
            kind = _CALLS.get(name, KeyKind.OPERATOR_CALL)
        return self.builder.key(
            kind,
            name,
            scope=self.builder.scope(method or "file", method or None),
            instruction=instruction,
            identifier=identifier or None,
        )


# The levels that a profile CSV states for its rows, and the order of rows that they imply.


def levels_of(codes: Codes, strings: Sequence[str]) -> Ints:
    """Depths, -1 for cells that are not one."""
    depth = [int(t.strip()) if re.fullmatch(r"\s*[0-9]{1,6}\s*", t) else -1 for t in strings]
    return np.array(depth, np.int64)[codes]


def preorder(rows: Ints, track: Codes, start: Ints, end: Ints, level: Ints) -> Ints:
    """The rows of each track with parents before children, as far as times and levels show it.

    Rows with the same start are ambiguous, because one without duration may be the last child of a
    slice or come before the next one. File order is tried first, then by depth, then slices without
    duration first. A track uses the first order without a fault.
    """
    is_long = end > start
    done: list[Ints] = []
    for keys in ((), (is_long, level), (level, is_long)):
        by = np.lexsort((rows, *(key[rows] for key in keys), start[rows], track[rows]))
        ordered = rows[by]
        faulty = np.isin(track[ordered], _faulty_tracks(ordered, track, start, end, level))
        done.append(ordered[~faulty])
        rows = ordered[faulty]
        if not len(rows):
            break
    return np.concatenate([*done, rows])


def _faulty_tracks(rows: Ints, track: Codes, start: Ints, end: Ints, level: Ints) -> Codes:
    """The tracks of rows that, in this order, skip a level or overlap on one."""
    track_of_row, depth = track[rows], level[rows]
    begins = np.append(True, track_of_row[1:] != track_of_row[:-1])
    skips = np.where(begins, depth != 0, np.diff(depth, prepend=0) > 1)
    by_depth = np.lexsort((np.arange(len(rows)), depth, track_of_row))
    before, after = rows[by_depth[:-1]], rows[by_depth[1:]]
    same_level = (track[before] == track[after]) & (level[before] == level[after])
    overlaps = same_level & (start[after] < end[before])
    return np.concatenate([track_of_row[skips], track[after[overlaps]]])
