"""What the official Inspector 1.5.1 answers for a dump and a record, its faults included.

For moving a script over and checking it: with `--compat` the numbers, the links and the order of
rows are the official ones. The faults, as far as they reach the table:

* the method is always `forward`; the record's other methods, or none called so, stop it;
* the same event twice in one run: the last occurrence replaces the others;
* start and end of a delegate event are scaled one by one and then subtracted, with float noise;
* a counter that wrapped at 32 bits comes out one tick short;
* scopes of the runtime (chain index -1) are looked up as instruction 0;
* an identifier is also looked up as a text that contains a key of the map: 10 under "1" and "0".

It works on columns: one step of Python per run and per row of the answer, none per event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.statistics.event_blocks import first_of, merge_runs
from viewer.arrays import Floats, Ints
from viewer.compat.inspector.official_errors import InspectorError
from viewer.compat.inspector.official_events import InspectorEvents, InspectorRun
from viewer.compat.inspector.official_record import Handles, InspectorRecord, LoadedRecord
from viewer.compat.inspector.table import METADATA, NUMBERS, AnswerTable, shown_ops
from viewer.compat.inspector.time_scales import MIXED, PER_SECOND, is_mixed
from viewer.formats.executorch.etdump.events import filled
from viewer.model.distributions import Statistics, grouped
from viewer.model.executorch_names import DELEGATE_CALL, EXECUTE, INIT, LOAD, OPERATOR_CALL

_MAX_UINT32 = (1 << 32) - 1
_WITHOUT_NODES = frozenset({INIT, LOAD, EXECUTE})


@dataclass(frozen=True, slots=True)
class OfficialEvent:
    """One row of the official answer, all but its six numbers.

    raw: one value per run in the target scale; start_time: raw ticks. Both empty without profile
    events. debug_handles, ops, backend: as the record says, None and empty without one.
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
    """All rows, block by block, with their statistics (one group a row) and the target scale."""

    events: list[OfficialEvent]
    statistics: Statistics
    scale: str

    def sheet(self, include_metadata: bool = False) -> AnswerTable:
        """The visible table: events whose name has "OPERATOR_CALL" in it are not shown."""
        shown = [i for i, e in enumerate(self.events) if OPERATOR_CALL not in e.name]
        events = [self.events[i] for i in shown]
        columns: dict[str, Sequence[object]] = {
            "event_block_name": [e.block for e in events],
            "event_name": [e.name for e in events],
        }
        timed = [bool(e.raw) for e in events]
        for name in NUMBERS:
            values = getattr(self.statistics, name)[shown].tolist()
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
    """What the Inspector makes of a dump; scales as in `time_scales`.

    Raises InspectorError, and UnreadableFile for a record whose maps are none.
    """
    if is_mixed(source, target):
        raise InspectorError("RuntimeError", MIXED)
    told = _Told(runs, events)
    if not told.blocks:
        raise InspectorError("ValueError", "No objects to concatenate (there is no event)")
    by_row = np.argsort(told.row, kind="stable")
    at, row = told.at[by_row], told.row[by_row]
    count = int(told.row_ptr[-1])
    first = at[np.searchsorted(row, np.arange(count))]
    timed = events.is_profile[at]
    at, row = at[timed], row[timed]
    values = _elapsed(events, at, PER_SECOND[source] / PER_SECOND[target])
    links = record.forward() if record is not None else None
    cut = np.searchsorted(row, np.arange(count + 1)).tolist()
    raw, start = values.tolist(), events.start[at].tolist()
    metadata = [events.metadatas[m] if m >= 0 else b"" for m in events.metadata[at].tolist()]
    block_of_row = np.repeat(np.arange(len(told.blocks)), np.diff(told.row_ptr)).tolist()
    texts = [*events.texts, ""]
    found = []
    for i, e in enumerate(first.tolist()):
        number, text = int(events.number[e]), texts[int(events.text[e])]
        identifier: int | str | None = number if number != -1 else text or None
        name = texts[int(events.name[e])] if events.is_profile[e] else ""
        name = str(identifier) if identifier is not None else told.debug_name(e) or name
        own = slice(cut[i], cut[i + 1])
        given = [m or "" for m in metadata[own]]
        found.append(
            OfficialEvent(
                told.blocks[block_of_row[i]],
                name,
                identifier,
                int(events.instruction[e]),
                raw[own],
                start[own],
                given if any(given) else [],
                *_resolved(links, name, identifier, int(events.instruction[e])),
            )
        )
    return OfficialAnswer(found, grouped(values, row, count), target)


class _Told:
    """The events that become values, and the blocks and rows that they fall into.

    at: positions in the events, those of one run together; row: of each; blocks: their names.
    """

    def __init__(self, runs: list[InspectorRun], events: InspectorEvents) -> None:
        # What an instruction logged is told together, where the first of it stands, outputs of the
        # run included although they are not told themselves.
        instruction = _numbered(events.instruction, events.chain, events.number, events.text)
        lead = first_of(events.run, instruction)
        self._names = [*events.texts, ""]
        name = self._code_of_name(events.name)
        inner = np.flatnonzero(~events.is_profile & ~events.is_output)
        self._debug = np.full(len(events), -1)
        self._debug[lead[inner[::-1]]] = name[inner[::-1]]  # the first one of each instruction
        self._debug = self._debug[lead]
        # An instruction with debug events alone is one row, told where it begins.
        has_profile = np.zeros(len(events), np.bool_)
        has_profile[lead[events.is_profile]] = True
        lone = inner[~has_profile[lead[inner]]]
        lone = lone[np.unique(lead[lone], return_index=True)[1]]
        at = np.sort(np.concatenate([np.flatnonzero(events.is_profile), lone]))
        at = at[np.argsort(lead[at], kind="stable")]
        # The chain index is no part of what makes a row.
        signature = _numbered(
            events.instruction,
            events.number,
            self._code_of_name(events.text),
            np.where(events.is_profile, name, -1),
            self._debug,
        )
        self._check(runs, events.run[at])
        kinds = [(run.name, run.bundled_input_index) for run in runs]
        merged = merge_runs(events.run[at], signature[at], kinds)
        n = len(at)
        last = n - 1 - first_of(events.run[at][::-1], merged.row[::-1])[::-1]
        kept = last == np.arange(n)
        self.at, self.row, self.row_ptr = at[kept], merged.row[kept], merged.row_ptr
        self.blocks = [runs[int(members[0])].name for members in merged.runs]

    def debug_name(self, event: int) -> str:
        """What the first debug event of the same instruction and run is called, "" if nothing."""
        return self._names[int(self._debug[event])]

    def _code_of_name(self, codes: Ints) -> Ints:
        """Absent and empty texts are one."""
        return np.array([n if text else -1 for n, text in enumerate(self._names)])[codes]

    @staticmethod
    def _check(runs: list[InspectorRun], told: Ints) -> None:
        filled = set(np.unique(told).tolist())
        if any(run.has_events and i not in filled for i, run in enumerate(runs)):
            raise InspectorError("ValueError", "No objects to concatenate (a run has no events)")


def _numbered(*columns: Ints) -> Ints:
    """One number for each distinct combination of values."""
    combined = np.unique(columns[0], return_inverse=True)[1]
    for column in columns[1:]:
        values, codes = np.unique(column, return_inverse=True)
        if len(values) > 1:
            combined = np.unique(combined * len(values) + codes, return_inverse=True)[1]
    return combined.astype(np.int64)


def _elapsed(events: InspectorEvents, at: Ints, scale: float) -> Floats:
    """Durations in the target scale: of delegate events the difference of two scaled times."""
    start, end = events.start[at], events.end[at]
    is_delegated = (events.number[at] != -1) | filled(events.text[at], events.texts)
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
    took: NDArray[Any] = np.where(wrapped, (limit - start) + end, end - start)
    return took


def _resolved(
    record: InspectorRecord | None, name: str, identifier: int | str | None, instruction: int
) -> tuple[Handles | None, list[str], str | None]:
    """Debug handles, operators and backend of one row."""
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


def _of_identifier(known: dict[str, Handles], identifier: int | str) -> Handles | None:
    """What the map has for an identifier, or for the last key that is a part of its text."""
    text = str(identifier)
    if isinstance(identifier, str) and text in known:
        return known[text]
    found = known.get(text)
    for key, handles in known.items():
        if key in text:
            found = handles
    return found
