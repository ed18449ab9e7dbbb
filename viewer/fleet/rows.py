"""The rows of the tables of a lake for one profile: figures that the rest of Opscope computes.

Operators have the cost of the cost panels, for the whole profile and for each inference. Sessions,
and the inferences that count, are those of a comparison. A cell is None where it is not known. Rows
of many profiles become one Arrow table at once: an array per column, not per column and profile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from viewer.analysis.comparison.evidence import without_address
from viewer.analysis.comparison.levels import NAME
from viewer.analysis.comparison.rollups import AND, rolled_times
from viewer.analysis.comparison.sessions import MethodTimes, Session, sessions_of
from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.coverage import coverage_of
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.sequence.wall_time import gaps_of
from viewer.arrays import Bools, Floats, Ints
from viewer.dataclasses import dataclass
from viewer.export.table_files import arrow_column, storable
from viewer.fleet.schemas import KEYS, TABLES, LakeTable
from viewer.model.queries import foreign
from viewer.model.times import RateOrigin, tick_to_ns, ticks_to_ns
from viewer.model.timing import ROUNDING_TICKS, UNMEASURED, Timing, timings
from viewer.model.trace import KeyKind, Problem, RunKind
from viewer.program.program import Program
from viewer.reports.summary import findings_facts
from viewer.tables.operators import costed_operator_columns
from viewer.tables.slices import SliceTableSource, shared_slice_columns, source_places
from viewer.workspace.workspace import Workspace

# A table of one profile: lists, or arrays of Arrow, of equal length, without the key columns.
Rows = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class _SetTexts:
    """What is displayed of a set of operators."""

    id: str
    label: str
    type: str
    module: str
    source: str


# Texts of sets of operators are the same in all profiles of a program.
_texts: WeakKeyDictionary[Program, dict[tuple[int, ...], _SetTexts]] = WeakKeyDictionary()


class ProfileRows:
    """The tables of the only profile of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        (self.trace,) = workspace.traces
        self._workspace = workspace
        self.table: LinkTable = workspace.links(self.trace)
        self.rate = workspace.clocks.rate(self.trace)

    def of(self, table: str) -> Rows:
        """Return the rows of a table by its name, `files` and `problems` excepted."""
        made: dict[str, Callable[[], Rows]] = {
            "operators": self._operators,
            "inference_operators": self._inference_operators,
            "inferences": self._inferences,
            "slices": self._slices,
            "findings": self._findings,
        }
        return made[table]()

    @cached_property
    def sessions(self) -> list[Session]:
        """The recordings in the profile, with the inferences that count."""
        return sessions_of(self.table, float(self.rate.ns_per_tick), unit=self.clock)

    @property
    def clock(self) -> str:
        """The unit of the clock: "ns", or "cycle" if only its rate is assumed."""
        return self.rate.unit if self.rate.origin is RateOrigin.ASSUMED else "ns"

    def file_facts(self) -> dict[str, object]:
        """Return the columns of `files` that are about the contents of the profile."""
        trace, coverage = self.trace, coverage_of(self.table)
        return {
            "format": trace.format,
            "generation": trace.generation or None,
            "record": self.table.program_path,
            "slices": len(trace.slices) - trace.slices.derived_count,
            "inferences": len(list(trace.inferences())),
            "sessions": len(self.sessions),
            "linkable": coverage["linkable"],
            "linked": coverage["linked"],
            "clock": self.clock,
            "ns_per_tick": float(self.rate.ns_per_tick),
        }

    def problems(self) -> list[tuple[str, str, Problem]]:
        """Return (about, file, problem) of the profile, of what it is linked to, and of links."""
        trace, program = self.trace, self.table.program
        found = [("profile", trace.path, problem) for problem in trace.problems]
        if program is not None and not program.is_recorded:
            found += [("record", program.path, problem) for problem in program.problems]
        warnings = self._workspace.warnings(trace)
        return [*found, *(("link", trace.path, Problem(text, 1, "")) for text in warnings)]

    # -- tables ------------------------------------------------------------------------------------

    def _operators(self) -> Rows:
        if self.table.program is None:
            return {}
        columns = costed_operator_columns(self.table, self.rate.ns_per_tick, self._costs)
        names = [name for name in TABLES["operators"].names if name in columns]
        return {name: columns[name].tolist() for name in names}

    def _inference_operators(self) -> Rows:
        parts = [
            (number, rows)
            for number, session in enumerate(self.sessions, start=1)
            for rows in self._of_session(session)
        ]
        if not parts:
            return {}
        joined: dict[str, list[Any]] = {name: [] for name in parts[0][1]}
        sessions: list[int] = []
        for number, rows in parts:
            sessions += [number] * len(rows["inference"])
            for name, values in rows.items():
                joined[name] += values
        return {"session": sessions, **joined, "clock": [self.clock] * len(sessions)}

    def _of_session(self, session: Session) -> list[dict[str, list[Any]]]:
        if session.program is not None:
            return [self._by_operators(session)]
        of_calls = [times for times in session.methods if times.parts]
        if of_calls:
            return [self._by_parts(session, times, "calls") for times in of_calls]
        return [self._by_parts(session, times, "names") for times in rolled_times(session, NAME)]

    def _by_operators(self, session: Session) -> dict[str, list[Any]]:
        """The rows of sets of operators that took time."""
        table, costs = self.table, self._costs
        ticks = np.zeros((len(session.runs), len(table.sets)), np.int64)
        by_nodes = costs.ticks_of_node_sets(session.runs)
        np.add.at(ticks.T, table.set_of_node_set, by_nodes.T)
        slices = costs.slices_of_sets(session.row_of_slices, len(session.runs))
        run, own_set = np.nonzero(ticks)
        ns = ticks_to_ns(ticks[run, own_set], self.rate.ns_per_tick)
        calls = slices[run, own_set]
        measured, grain = self._quality_of_sets(slices)
        texts = [self._set_texts(own) for own in table.sets]
        is_shared = np.array([len(own) > 1 for own in table.sets], np.bool_)[own_set]
        chosen = own_set.tolist()
        self_ns = np.where(is_shared, 0, ns).tolist()
        of_run = self._inference_texts(session, run)
        return {
            **of_run,
            "level": ["operators"] * len(chosen),
            "id": [texts[i].id for i in chosen],
            "label": [texts[i].label for i in chosen],
            "type": [texts[i].type for i in chosen],
            "module": [texts[i].module or None for i in chosen],
            "source": [texts[i].source or None for i in chosen],
            "backend": [self._backends[i] for i in chosen],
            "operators": [len(table.sets[i]) for i in chosen],
            "own_ns": self_ns,
            "self_ns": self_ns,
            "shared_ns": np.where(is_shared, ns, 0).tolist(),
            "calls": calls.tolist(),
            "grain_ns": grain[own_set].tolist(),
            "measured": measured[own_set].tolist(),
        }

    def _by_parts(self, session: Session, times: MethodTimes, level: str) -> dict[str, list[Any]]:
        """The rows of instructions, or of names, without operators."""
        # Events inside delegate calls are part of the calls: with both, times would count twice.
        is_call = np.array([part.id.event is None for part in times.parts], np.bool_)
        run, part = np.nonzero(np.isfinite(times.ticks) & is_call)
        # Whole ticks in float64 as ns, rounded down.
        ns = ticks_to_ns(times.ticks[run, part].astype(np.int64), self.rate.ns_per_tick)
        grain = times.grain * times.calls * session.ns_per_tick
        number = {id(run): i for i, run in enumerate(session.runs)}
        row = np.array([number[id(run)] for run in times.runs], np.int64)[run]
        chosen, count = part.tolist(), len(part)
        nothing: list[Any] = [None] * count
        labels = [part.name if level == "calls" else part.id.group[0] for part in times.parts]
        ids = [
            AND.join(part.id.group) if part.id.group else f"instruction {part.id.instruction}"
            for part in times.parts
        ]
        return {
            **self._inference_texts(session, row),
            "level": [level] * count,
            "id": [ids[i] for i in chosen],
            "label": [labels[i] for i in chosen],
            "type": [labels[i] for i in chosen],
            "module": nothing,
            "source": nothing,
            "backend": [times.parts[i].backend or None for i in chosen],
            "operators": [0] * count,
            "own_ns": ns.tolist(),
            "self_ns": ns.tolist(),
            "shared_ns": [0] * count,
            "calls": np.maximum(np.rint(times.calls[part]), 1).astype(np.int64).tolist(),
            "grain_ns": grain[part].tolist(),
            "measured": times.measured[part].tolist(),
        }

    def _inference_texts(self, session: Session, row: Ints) -> dict[str, list[Any]]:
        numbers = [run.number for run in session.runs]
        names = [None if session.is_whole else session.method_of(r.scope)[0] for r in session.runs]
        chosen = row.tolist()
        return {"method": [names[i] for i in chosen], "inference": [numbers[i] for i in chosen]}

    def _inferences(self) -> Rows:
        trace = self.trace
        runs = list(trace.inferences())
        of_session = {
            id(run): number
            for number, session in enumerate(self.sessions, start=1)
            for run in session.runs
        }
        start, end = (
            ticks_to_ns(np.array([getattr(run, side) for run in runs], np.int64),
                        self.rate.ns_per_tick)
            for side in ("start", "end")
        )  # fmt: skip
        scopes = [self.table.method_of_scope(run.scope) for run in runs]
        names = [trace.scopes[run.scope].name for run in runs]
        return {
            "session": [of_session.get(id(run)) for run in runs],
            "method": [a or b for a, b in zip(scopes, names, strict=True)],
            "inference": [run.number for run in runs],
            "start_ns": start.tolist(),
            "dur_ns": (end - start).tolist(),
            "finished": [run.finished for run in runs],
            "warm_up": [run.warms_up for run in runs],
            "count": [run.count for run in runs],
            "phase": [run.phase or None for run in runs],
            "gap_ns": [
                None if gap is None else tick_to_ns(gap, self.rate.ns_per_tick)
                for run, gap in zip(trace.runs, gaps_of(trace), strict=True)
                if run.kind is RunKind.INFERENCE
            ],
        }

    def _slices(self) -> Rows:
        processes = tuple(track.process for track in self.trace.tracks)
        source = SliceTableSource(self.table, self.rate.ns_per_tick, 0, processes)
        columns = shared_slice_columns(source)
        names = [name for name in TABLES["slices"].names if name in columns]
        return {name: arrow_column(columns[name]) for name in names}

    def _findings(self) -> Rows:
        (file,) = findings_facts(self._workspace)["files"]
        found = [{"rank": rank, **one} for rank, one in enumerate(file["findings"], 1)]
        names = TABLES["findings"].names[len(KEYS) :]
        return {name: [one[name] for one in found] for name in names}

    # -- sets of operators -------------------------------------------------------------------------

    @cached_property
    def _costs(self) -> Costs:
        return Costs(self.table)

    def _set_texts(self, operators: tuple[int, ...]) -> _SetTexts:
        program = self.table.program
        assert program is not None
        known = _texts.setdefault(program, {})
        if operators not in known:
            own = [program.operators[i] for i in operators]
            ids = [str(o.debug_handle) if o.debug_handle >= 0 else o.label for o in own]
            known[operators] = _SetTexts(
                "+".join(dict.fromkeys(map(without_address, ids))),
                AND.join(dict.fromkeys(without_address(o.label) for o in own)),
                AND.join(dict.fromkeys(without_address(o.op) for o in own)),
                AND.join(dict.fromkeys(o.module_path for o in own if o.module_path)),
                "; ".join(source_places(own)),
            )
        return known[operators]

    @cached_property
    def _backends(self) -> list[str | None]:
        """Per set of operators, the delegates that run it; None without any."""
        table, keys = self.table, self.trace.keys
        delegated = np.isin(keys.kind, (KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT))
        found: list[set[str]] = [set() for _ in table.sets]
        for key in np.flatnonzero(delegated & (table.set_of_key >= 0)).tolist():
            backend = table.links[key].backend
            if backend:
                found[int(table.set_of_key[key])].add(backend)
        return [AND.join(sorted(own)) or None for own in found]

    def _quality_of_sets(self, slices: Ints) -> tuple[Bools, Floats]:
        """Per set of operators, whether all its times are measured, and their grain in ns."""
        trace, count = self.trace, len(self.table.sets)
        own_set = self.table.set_of_key[trace.slices.key]
        kinds = timings(trace.slices)
        is_other = kinds & UNMEASURED > 0
        is_other[foreign(trace.slices)] = True
        measured = np.ones(count, np.bool_)
        measured[own_set[is_other & (own_set >= 0)]] = False
        ticks = np.ones(count)
        ticks[own_set[(kinds & Timing.ROUNDED > 0) & (own_set >= 0)]] = ROUNDING_TICKS
        calls = slices.sum(axis=0) / np.maximum((slices > 0).sum(axis=0), 1)
        grain: Floats = ticks * np.maximum(calls, 1) * float(self.rate.ns_per_tick)
        return measured, grain


def problem_rows(problems: Sequence[tuple[str, str, Problem]]) -> Rows:
    """Return the rows of `problems`, each (about, file, problem)."""
    return {
        "about": [about for about, _, _ in problems],
        "file": [file for _, file, _ in problems],
        "kind": [problem.kind for _, _, problem in problems],
        "count": [problem.count for _, _, problem in problems],
        "first": [problem.first or None for _, _, problem in problems],
    }


def row_counts(rows: Rows) -> int:
    """The number of rows of a table."""
    return len(next(iter(rows.values()), ()))


def tags_text(tags: Mapping[str, str]) -> str | None:
    """Tags as a JSON object with sorted names; None without any."""
    return json.dumps(dict(sorted(tags.items())), ensure_ascii=False) if tags else None


_FARTHEST = (1 << 63) - 1
_KEYS = frozenset(column.name for column in KEYS)
# The values of the key columns of a profile, with its rows of one table.
KeyedRows = tuple[Mapping[str, str | None], Rows]


def arrow_table(table: LakeTable, parts: Sequence[KeyedRows]) -> pa.Table:
    """Return the rows of profiles with the key columns in front; what they lack is null.

    Integers beyond int64 are clamped.
    """
    schema, types = _schema(table)
    counts = [row_counts(rows) for _, rows in parts]
    columns = [
        _repeated([keys.get(name) for keys, _ in parts], counts)
        if name in _KEYS
        else _joined([rows.get(name) for _, rows in parts], counts, kind)
        for name, kind in types
    ]
    return pa.Table.from_arrays(columns, schema=schema)


@lru_cache
def _schema(table: LakeTable) -> tuple[pa.Schema, tuple[tuple[str, pa.DataType], ...]]:
    schema = table.arrow()
    return schema, tuple((field.name, field.type) for field in schema)


def _repeated(texts: Sequence[str | None], counts: Sequence[int]) -> pa.Array:
    """A text per profile, for each of its rows."""
    distinct: dict[str, int] = {}
    of_profiles = [
        -1 if text is None else distinct.setdefault(storable(text), len(distinct)) for text in texts
    ]
    codes = np.repeat(np.array(of_profiles, np.int32), counts)
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=codes < 0), pa.array(list(distinct), pa.string())
    )


def _joined(parts: Sequence[Any], counts: Sequence[int], kind: pa.DataType) -> Any:
    """The values of a column of all profiles: one array, or one per profile for those of slices."""
    if not any(isinstance(part, pa.Array) for part in parts):
        every = [
            [None] * count if part is None else part
            for part, count in zip(parts, counts, strict=True)
        ]
        return _array(list(chain.from_iterable(every)), sum(counts), kind)
    arrays = [_array(part, count, kind) for part, count in zip(parts, counts, strict=True)]
    return pa.chunked_array(arrays, kind)


def _array(values: Any, count: int, kind: pa.DataType) -> pa.Array:
    if values is None:
        return pa.nulls(count, kind)
    if isinstance(values, pa.Array):
        return values.cast(kind)
    if pa.types.is_dictionary(kind):
        return _text_array(values)
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid):
        return pa.array([v if v is None else _clamped(v) for v in values], kind)


def _text_array(values: Sequence[Any]) -> pa.Array:
    try:
        array = pa.array(values, pa.string())
    except (UnicodeEncodeError, pa.ArrowInvalid, pa.ArrowTypeError):
        array = pa.array([v if v is None else storable(str(v)) for v in values], pa.string())
    return array.dictionary_encode()


def _clamped(value: Any) -> Any:
    return max(-_FARTHEST, min(int(value), _FARTHEST))
