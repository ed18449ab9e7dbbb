"""The output of the official Inspector 1.5.1 for an ETDump and an ETRecord, including its bugs.

For migrating a script and verifying the result (`--compat`). Its bugs, as far as they affect the
table:

* the method is always `forward`; other methods in the ETRecord, or none of that name, stop it;
* a run whose bundled input has no reference output in the ETRecord stops it;
* the same event twice in one run: the last occurrence replaces the others;
* start and end of a delegate event are scaled separately and then subtracted, with float noise;
* a counter that wrapped at 32 bits comes out one tick short;
* runtime scopes (chain index -1) are looked up as instruction 0;
* an identifier also matches a key of the map that is a substring of it: 10 matches "1" and "0".

The Inspector reads an ETDump through `flatc --json`, so what that rejects is rejected here: an
ETDump without size prefix, of the first schema (release 0.1), with text that is not UTF-8, without
runs, or with a run without a name. Nothing is repaired: a wrapped end stays before its start, and
metadata stays bytes. The Inspector fails with an AssertionError if the values of debug events
differ between runs; this module ignores them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.statistics.events import first_of, merge_runs
from viewer.arrays import Bools, Floats, Ints, flags_at
from viewer.codecs.flatbuffer import Buffer, Tables, damage_of, distinct_texts, elements
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.compat.inspector.answers import (
    METADATA,
    MIXED,
    NUMBERS,
    PER_SECOND,
    AnswerTable,
    is_mixed,
    shown_ops,
)
from viewer.compat.inspector.official_record import (
    Handles,
    InspectorError,
    InspectorRecord,
    LoadedRecord,
)
from viewer.dataclasses import dataclass
from viewer.formats import within_memory
from viewer.formats.executorch.etdump.events import DAMAGED, filled, load
from viewer.model.quantiles import Statistics, grouped
from viewer.model.recorded_names import DELEGATE_CALL, EXECUTE, INIT, LOAD, OPERATOR_CALL

_PREFIXED = 8  # offset of the file identifier after a size prefix
_LEAST = 8  # minimum bytes per run or event in a file
_SLOTS_OF_FIRST_SCHEMA = 3


@dataclass(frozen=True, slots=True, eq=False)
class InspectorEvents:
    """All profile and debug events in file order, as parallel columns.

    name, text: codes into `texts`, -1 if the field is absent. metadata: code into `metadatas`.
    start, end: raw ticks, 0 for debug events. is_output: a debug event that holds an output.
    """

    run: Ints
    is_profile: Bools
    is_output: Bools
    name: Ints
    chain: Ints
    instruction: Ints
    number: Ints
    text: Ints
    metadata: Ints
    start: NDArray[np.uint64]
    end: NDArray[np.uint64]
    texts: list[str]
    metadatas: list[bytes]

    def __len__(self) -> int:
        return len(self.run)


@dataclass(frozen=True, slots=True)
class InspectorRun:
    """One run; `has_events` is False if the list itself is absent, in which case it is skipped."""

    name: str
    bundled_input_index: int
    has_events: bool


def read(path: str) -> tuple[list[InspectorRun], InspectorEvents]:
    """Return the runs and events of an ETDump. Raises UnreadableFile or InspectorError."""
    with within_memory(path):
        buffer = load(path, no_progress, never_cancelled)
    if buffer.bytes[_PREFIXED : _PREFIXED + 4].tobytes() != b"ED00":
        raise InspectorError("CalledProcessError", "flatc takes dumps with a size prefix alone")
    with damage_of(path, DAMAGED):
        runs, first, length = _runs(buffer)
        return runs, _events(buffer, first, length)


def _runs(buffer: Buffer) -> tuple[list[InspectorRun], Ints, Ints]:
    start = 4 + int(buffer.u4(np.array([4]))[0])
    listed = Tables(buffer, np.array([start]), "root table").targets(1)
    if not listed.any():
        raise InspectorError("TypeError", "the dump has no list of runs (run_data)")
    first, length = buffer.vectors(listed, 4, "list of runs")
    tables = Tables(buffer, elements(buffer, first, length, "runs", _LEAST), "run")
    if (tables.fields(2) > 0).any() and not tables.fields(_SLOTS_OF_FIRST_SCHEMA).any():
        raise InspectorError("CalledProcessError", "flatc does not know the schema of release 0.1")
    codes, names = distinct_texts(buffer, tables.targets(0), "run names")
    if (codes < 0).any():
        raise InspectorError("TypeError", "a run has no name")
    texts = _decoded(names)
    events = tables.targets(3)
    index = tables.numbers(1, np.int32, -1).tolist()
    fields = zip(codes.tolist(), index, events.tolist(), strict=True)
    first, length = buffer.vectors(events, 4, "list of events")
    return [InspectorRun(texts[c], i, target > 0) for c, i, target in fields], first, length


def _events(buffer: Buffer, first: Ints, length: Ints) -> InspectorEvents:
    positions = elements(buffer, first, length, "events", _LEAST)
    tables = Tables(buffer, positions, "event")
    inner, other = tables.targets(0), tables.targets(2)
    is_profile = inner > 0
    if (~is_profile & (other == 0)).any():
        raise InspectorError("ValueError", "Unable to find populated event (an allocation event)")
    profile = Tables(buffer, inner[is_profile], "profile event")
    debug = Tables(buffer, other[~is_profile], "debug event")

    def column(of_profile: NDArray[np.generic], of_debug: NDArray[np.generic]) -> Ints:
        values = np.empty(len(positions), np.int64)
        values[is_profile], values[~is_profile] = of_profile, of_debug
        return values

    def both(read: Callable[[Tables, int], NDArray[np.generic]], slots: tuple[int, int]) -> Ints:
        return column(read(profile, slots[0]), read(debug, slots[1]))

    def number(tables: Tables, slot: int) -> NDArray[np.generic]:
        return tables.numbers(slot, np.int32, -1)

    # The chain index is signed in profile events and unsigned in debug events.
    chain = np.minimum(debug.numbers(0, np.uint64, 0), np.uint64(1 << 62)).astype(np.int64)
    name, text = both(Tables.targets, (0, 5)), both(Tables.targets, (4, 4))
    codes, raw = distinct_texts(buffer, np.concatenate([name, text]), "text")
    metadata, metadatas = distinct_texts(buffer, profile.targets(5), "metadata")
    ticks = np.zeros((2, len(positions)), np.uint64)
    for i, slot in enumerate((6, 7)):
        ticks[i, is_profile] = profile.numbers(slot, np.uint64, 0)
    is_output = np.zeros(len(positions), np.bool_)
    is_output[~is_profile] = _outputs(buffer, debug)
    return InspectorEvents(
        run=np.repeat(np.arange(len(length)), length),
        is_profile=is_profile,
        is_output=is_output,
        name=codes[: len(positions)].astype(np.int64),
        chain=column(profile.numbers(1, np.int32, 0), chain),
        instruction=both(number, (2, 1)),
        number=both(number, (3, 3)),
        text=codes[len(positions) :].astype(np.int64),
        metadata=column(metadata, np.full(len(debug), -1)),
        start=ticks[0],
        end=ticks[1],
        texts=_decoded(raw),
        metadatas=metadatas,
    )


def _outputs(buffer: Buffer, debug: Tables) -> Bools:
    """Return which debug events hold an output of the run.

    That is slot 7 of their value, a table with one bool.
    """
    entries = debug.targets(2)
    if not entries.all():
        raise InspectorError("TypeError", "a debug event has no value (debug_entry)")
    output = Tables(buffer, entries, "value").targets(7)
    marked = output > 0
    positions = Tables(buffer, output[marked], "output mark").fields(0)
    buffer.check(positions, 1, "output mark")
    is_output = np.zeros(len(debug), np.bool_)
    is_output[marked] = (positions > 0) & (buffer.bytes[positions] != 0)
    return is_output


def _decoded(texts: list[bytes]) -> list[str]:
    try:
        return [text.decode() for text in texts]
    except UnicodeDecodeError as error:
        raise InspectorError("CalledProcessError", "flatc takes UTF-8 text alone") from error


_MAX_UINT32 = (1 << 32) - 1
_WITHOUT_NODES = frozenset({INIT, LOAD, EXECUTE})


@dataclass(frozen=True, slots=True)
class OfficialEvent:
    """One row of the official output, without its six numbers.

    raw: one value per run in the target scale; start_time: raw ticks. Both are empty without
    profile events. debug_handles, ops, backend: from the ETRecord, None and empty without one.
    """

    block: str
    name: str
    identifier: int | str | None
    instruction: int
    raw: list[float]
    start_time: list[int]
    metadata: list[bytes | str]
    debug_handles: Handles | None
    ops: list[str]
    backend: str | None


@dataclass(frozen=True, slots=True)
class OfficialAnswer:
    """All rows, block by block, with their statistics (one group per row) and the target scale."""

    events: list[OfficialEvent]
    statistics: Statistics
    scale: str

    def sheet(self, include_metadata: bool = False) -> AnswerTable:
        """Return the visible table, without events whose name contains "OPERATOR_CALL"."""
        visible = [i for i, e in enumerate(self.events) if OPERATOR_CALL not in e.name]
        events = [self.events[i] for i in visible]
        columns: dict[str, Sequence[object]] = {
            "event_block_name": [e.block for e in events],
            "event_name": [e.name for e in events],
        }
        timed = [bool(e.raw) for e in events]
        for name in NUMBERS:
            values = getattr(self.statistics, name)[visible].tolist()
            columns[f"{name} ({self.scale})"] = [
                v if has else None for v, has in zip(values, timed, strict=True)
            ]
        columns |= {
            "op_types": [shown_ops(e.ops) for e in events],
            "is_delegated_op": [e.identifier is not None for e in events],
            "delegate_backend_name": [e.backend for e in events],
            "start_time": [e.start_time or None for e in events],
        }
        if include_metadata and any(any(e.metadata) for e in self.events):
            columns[METADATA] = [e.metadata if any(e.metadata) else None for e in events]
        return AnswerTable(columns)

    def as_json(self) -> list[dict[str, Any]]:
        """Every row with every field, the hidden ones included, for scripts."""
        numbers = {name: getattr(self.statistics, name).tolist() for name in NUMBERS}
        return [
            {
                "event_block_name": e.block,
                "event_name": e.name,
                "raw": e.raw,
                **{name: values[i] if e.raw else None for name, values in numbers.items()},
                "op_types": e.ops,
                "debug_handles": e.debug_handles,
                "delegate_debug_identifier": e.identifier,
                "is_delegated_op": e.identifier is not None,
                "delegate_backend_name": e.backend,
                "start_time": e.start_time,
                METADATA: [m if isinstance(m, str) else repr(m) for m in e.metadata],
            }
            for i, e in enumerate(self.events)
        ]


def answer(
    runs: list[InspectorRun],
    events: InspectorEvents,
    record: LoadedRecord | None,
    source: str = "ns",
    target: str = "ms",
) -> OfficialAnswer:
    """Return the Inspector's result for an ETDump; scales as in `time_scales`.

    Raises InspectorError, and UnreadableFile for an ETRecord with malformed maps.
    """
    if is_mixed(source, target):
        raise InspectorError("RuntimeError", MIXED)
    layout = _Told(runs, events)
    if not layout.blocks:
        raise InspectorError("ValueError", "No objects to concatenate (there is no event)")
    by_row = np.argsort(layout.row, kind="stable")
    event, row = layout.at[by_row], layout.row[by_row]
    count = int(layout.row_ptr[-1])
    first = event[np.searchsorted(row, np.arange(count))]
    timed = events.is_profile[event]
    event, row = event[timed], row[timed]
    values = _elapsed(events, event, PER_SECOND[source] / PER_SECOND[target])
    links = record.forward() if record is not None else None
    if links is not None:
        for index in layout.bundled_inputs:
            links.check_reference(index)
    cut = np.searchsorted(row, np.arange(count + 1)).tolist()
    raw, start = values.tolist(), events.start[event].tolist()
    metadata = [events.metadatas[m] if m >= 0 else b"" for m in events.metadata[event].tolist()]
    block_of_row = np.repeat(np.arange(len(layout.blocks)), np.diff(layout.row_ptr)).tolist()
    texts = [*events.texts, ""]
    official_events = []
    for i, e in enumerate(first.tolist()):
        number, text = int(events.number[e]), texts[int(events.text[e])]
        identifier: int | str | None = number if number != -1 else text or None
        name = texts[int(events.name[e])] if events.is_profile[e] else ""
        name = str(identifier) if identifier is not None else layout.debug_name(e) or name
        span = slice(cut[i], cut[i + 1])
        row_metadata = [m or "" for m in metadata[span]]
        block, instruction = layout.blocks[block_of_row[i]], int(events.instruction[e])
        linked = _resolved(links, name, identifier, instruction)
        if not any(row_metadata):
            row_metadata = []
        columns = raw[span], start[span], row_metadata
        official_events.append(
            OfficialEvent(block, name, identifier, instruction, *columns, *linked)
        )
    return OfficialAnswer(official_events, grouped(values, row, count), target)


class _Told:
    """The events that become values, and their blocks and rows.

    at: positions of the events, grouped by run; row: the row of each; blocks: the block names;
    bundled_inputs: the index of each block's bundled input, -1 if none.
    """

    def __init__(self, runs: list[InspectorRun], events: InspectorEvents) -> None:
        # Events of an instruction are listed together, at the position of the first of them.
        # Outputs of the run count for that position, although they are not listed themselves.
        instruction = _numbered(events.instruction, events.chain, events.number, events.text)
        lead = first_of(events.run, instruction)
        self._names = [*events.texts, ""]
        name = self._code_of_name(events.name)
        inner = np.flatnonzero(~events.is_profile & ~events.is_output)
        self._debug = np.full(len(events), -1)
        self._debug[lead[inner[::-1]]] = name[inner[::-1]]  # the first one of each instruction
        self._debug = self._debug[lead]
        # An instruction with only debug events is one row, at its first event.
        has_profile = flags_at(len(events), lead[events.is_profile])
        lone = inner[~has_profile[lead[inner]]]
        lone = lone[np.unique(lead[lone], return_index=True)[1]]
        event = np.sort(np.concatenate([np.flatnonzero(events.is_profile), lone]))
        event = event[np.argsort(lead[event], kind="stable")]
        # The chain index does not distinguish rows.
        text, label = self._code_of_name(events.text), np.where(events.is_profile, name, -1)
        signature = _numbered(events.instruction, events.number, text, label, self._debug)
        self._check(runs, events.run[event])
        kinds = [(run.name, run.bundled_input_index) for run in runs]
        merged = merge_runs(events.run[event], signature[event], kinds)
        n = len(event)
        last = n - 1 - first_of(events.run[event][::-1], merged.row[::-1])[::-1]
        is_last = last == np.arange(n)
        self.at, self.row, self.row_ptr = event[is_last], merged.row[is_last], merged.row_ptr
        of_blocks = [runs[int(members[0])] for members in merged.runs]
        self.blocks = [run.name for run in of_blocks]
        self.bundled_inputs = [run.bundled_input_index for run in of_blocks]

    def debug_name(self, event: int) -> str:
        """Return the name of the first debug event of the same instruction and run, or ""."""
        return self._names[int(self._debug[event])]

    def _code_of_name(self, codes: Ints) -> Ints:
        """Return the codes with absent and empty texts unified."""
        return np.array([n if text else -1 for n, text in enumerate(self._names)])[codes]

    @staticmethod
    def _check(runs: list[InspectorRun], run_of_event: Ints) -> None:
        filled = set(np.unique(run_of_event).tolist())
        if any(run.has_events and i not in filled for i, run in enumerate(runs)):
            raise InspectorError("ValueError", "No objects to concatenate (a run has no events)")


def _numbered(*columns: Ints) -> Ints:
    """Return one number for each distinct combination of values."""
    combined = np.unique(columns[0], return_inverse=True)[1]
    for column in columns[1:]:
        values, codes = np.unique(column, return_inverse=True)
        if len(values) > 1:
            combined = np.unique(combined * len(values) + codes, return_inverse=True)[1]
    return combined.astype(np.int64)


def _elapsed(events: InspectorEvents, index: Ints, scale: float) -> Floats:
    """Return durations in the target scale; delegate events subtract two scaled times."""
    start, end = events.start[index], events.end[index]
    is_delegated = (events.number[index] != -1) | filled(events.text[index], events.texts)
    plain = _difference(start, end).astype(np.float64) / scale
    scaled = _difference(start / scale, end / scale, is_delegated)
    return np.where(is_delegated, scaled, plain)


def _difference(
    start: NDArray[Any], end: NDArray[Any], only: NDArray[np.bool_] | None = None
) -> NDArray[Any]:
    wrapped = start > end
    if only is not None:
        wrapped &= only
    bad = wrapped & ((start > _MAX_UINT32) | (end > _MAX_UINT32))
    if bad.any():
        i = int(np.argmax(bad))
        raise InspectorError(
            "ValueError",
            f"Expected start_time ({start[i]}) and end_time ({end[i]}) to be less than "
            f"{_MAX_UINT32} for cases where there is wrap-around of time values.",
        )
    limit = start.dtype.type(_MAX_UINT32)
    elapsed: NDArray[Any] = np.where(wrapped, (limit - start) + end, end - start)
    return elapsed


def _resolved(
    record: InspectorRecord | None, name: str, identifier: int | str | None, instruction: int
) -> tuple[Handles | None, list[str], str | None]:
    """Return debug handles, operators and backend of one row."""
    key = str(instruction)
    if record is None or key not in record.handles:
        return None, [], None
    handles: Handles | None = record.handles[key]
    backend = None
    delegate = record.delegates.get(key)
    if delegate is not None and (identifier is not None or name == DELEGATE_CALL):
        backend = delegate.backend
    if delegate is not None and identifier is not None:
        handles = _of_identifier(delegate.entries, identifier)
    if name in _WITHOUT_NODES or handles is None:
        return handles, [], backend
    listed = [handles] if isinstance(handles, int) else handles
    return handles, [op for handle in listed for op in record.ops.get(handle, ())], backend


def _of_identifier(handles_by_text: dict[str, Handles], identifier: int | str) -> Handles | None:
    """Return the map's entry for an identifier, or for the last key that is part of its text."""
    text = str(identifier)
    if isinstance(identifier, str) and text in handles_by_text:
        return handles_by_text[text]
    handles_of_text = handles_by_text.get(text)
    for key, handles in handles_by_text.items():
        if key in text:
            handles_of_text = handles
    return handles_of_text
