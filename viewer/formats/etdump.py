"""Reads ETDump files, the profiles that the ExecuTorch runtime writes (.etdp, .etdump).

Specified by devtools/etdump/etdump_schema_flatcc.fbs of ExecuTorch; a flatbuffer with the
identifier "ED00", with a size prefix (as the runtime writes it) or without. Three generations of
the schema are read: G1 (release 0.1), whose runs have their fields one slot earlier, G2 (0.2, 0.3)
and G3 (0.4 and later). G2 and G3 differ in debug events alone and are "G2/G3" unless one tells.

Read: runs, and profile events with name, chain, instruction, delegate debug identifier, metadata
and times. Not drawn, only counted: allocation and debug events, which carry no time. Ignored:
bundled input index, allocator names, values of debug events.

What the file leaves open and how it is settled here:

* The unit of a tick. Taken as 1 ns, marked as assumed.
* The method of a run. Runs whose instructions contradict each other are different methods; see
  `_methods`. Each method is a scope and a thread; a load is drawn where its method is.
* Steps. Instructions that follow a load in its run are an inference of their own.
* Nesting. Events stand in order of completion, so an event's parent is the next one of a lower
  rank: framework scope 0, instruction 1, kernel or delegate event 2.
* Delegate events outside their call run on a clock of their own. They are placed inside the call
  for drawing only; the columns `native_start`, `native_dur` and `native_unit` keep what was logged.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from viewer.formats import Cancelled, Format, Progress, ReadCancelled, UnreadableFile
from viewer.formats.etdump_events import (
    DAMAGED,
    Codes32,
    Events,
    Runs,
    count_rows,
    load,
    read_events,
    read_runs,
    sniff,
)
from viewer.formats.flatbuffer import Malformed
from viewer.model.builder import TraceBuilder
from viewer.model.trace import Bools, Clock, Codes, Column, Ints, KeyKind, RunKind, Trace

_MOST_METHODS = 64  # no session had more than a handful; bounds the search for a run's method

_KINDS = tuple(KeyKind)
_CALLS = {"OPERATOR_CALL": KeyKind.OPERATOR_CALL, "DELEGATE_CALL": KeyKind.DELEGATE_CALL}
_CONTROL = frozenset({"MOVE_CALL", "JF_CALL", "FREE_CALL"})
EXECUTE = "Method::execute"
_INT64 = np.iinfo(np.int64)
_LOADS = frozenset({"Method::init", "Program::load_method"})
_UNITS = ("cycles", "us", "ns", "ticks")


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """Read one dump. Raises UnreadableFile or ReadCancelled."""
    buffer = load(path, progress, cancelled)
    builder = TraceBuilder(path, FORMAT.name, "", Clock("ns", assumed=True))
    try:
        runs = read_runs(buffer, builder)
        events = read_events(buffer, runs, builder, progress, cancelled)
    except Malformed as error:
        raise UnreadableFile(
            path, error.reason, where=f"byte {error.byte}", remedy=DAMAGED
        ) from error
    del buffer
    _compose(builder, os.path.basename(path), runs, events, cancelled)
    del events  # a fifth of the peak, were it kept while the builder sorts
    return builder.build()


FORMAT = Format("ETDump", (".etdp", ".etdump"), "trace", sniff, read)


def _compose(
    builder: TraceBuilder, process: str, runs: Runs, events: Events, cancelled: Cancelled
) -> None:
    empty = np.flatnonzero(runs.length == 0)
    builder.problem("run without events", len(empty), f"run {empty[0]}" if len(empty) else "")
    if not len(events):
        return
    kind = _kinds(events)
    loading = np.logical_or.reduce([_named(events, name) for name in sorted(_LOADS)])
    part = _parts(events, loading)
    filled, first = np.unique(part, return_index=True)
    events.run = part  # twice the number of the run, and 1 for what follows a load in it
    is_load = _loads(runs, filled, first, events, kind, loading)
    method, methods = _methods(events, kind, filled, first, is_load, builder)

    titles = ["Execute"] if methods == 1 else [f"Execute {m + 1}" for m in range(methods)]
    lane = method.copy()
    follows = np.append(method[1:], -1)
    lane[is_load] = 0 if methods == 1 else np.where(follows < 0, methods, follows)[is_load]
    if (lane == methods).any():
        titles.append("load")
    track = np.array([builder.track(process, title) for title in titles])[lane]
    scope_of = [builder.scope(title) for title in titles[:methods]]
    if is_load.any():
        scope_of.append(builder.scope("load"))  # found by method -1
    scope = np.array(scope_of)[method]

    count = np.diff(np.append(first, len(events)))
    depth, order, parent = _nest(events, kind)
    columns = _columns(events, _place_foreign(events, kind, parent, builder))
    if cancelled():
        raise ReadCancelled
    name, key = _identities(events, kind, np.repeat(scope, count), builder)
    builder.add(
        track=np.repeat(track, count)[order].astype(np.uint32),
        start=events.start[order],
        end=events.end[order],
        name=name[order],
        key=key[order],
        source_row=events.row[order].astype(np.uint32),
        levels=depth[order],
        columns={
            label: Column(c.values[order], None if c.valid is None else c.valid[order], c.strings)
            for label, c in columns.items()
        },
    )
    # A run is as long as its Method::execute: a counter that wrapped inside it stretches others.
    executes = _named(events, EXECUTE) & (events.chain < 0)
    has_one = np.logical_or.reduceat(executes, first)
    counted = executes | np.repeat(~has_one, count)
    stop = np.maximum(events.start, events.end)
    begin = np.minimum.reduceat(np.where(counted, events.start, _INT64.max), first).tolist()
    finish = np.maximum.reduceat(np.where(counted, stop, _INT64.min), first).tolist()
    number = [0] * len(titles)
    for i, run in enumerate(filled.tolist()):
        what = RunKind.LOAD if is_load[i] else RunKind.INFERENCE
        number[lane[i]] += not is_load[i]
        builder.run(
            what, 0 if is_load[i] else number[lane[i]], runs.names[run >> 1], int(track[i]),
            int(scope[i]), begin[i], finish[i], first_row=int(events.row[first[i]]),
        )  # fmt: skip


def _named(events: Events, name: str) -> Bools:
    """Which events have this name."""
    return np.array([*(n == name for n in events.names), False])[events.name]


def _kinds(events: Events) -> NDArray[np.uint8]:
    """The `KeyKind` of every event."""
    of_name = np.full(len(events.names) + 1, KeyKind.PLAIN, np.uint8)  # the last one: no name
    for i, name in enumerate(events.names):
        if name.startswith("native_call_"):
            of_name[i] = KeyKind.KERNEL
        elif name in _CONTROL:
            of_name[i] = KeyKind.CONTROL
        else:
            of_name[i] = _CALLS.get(name, KeyKind.PLAIN)
    kind = of_name[events.name]
    kind[events.chain < 0] = KeyKind.FRAMEWORK
    kind[(events.number != -1) | _filled(events.text, events.texts)] = KeyKind.DELEGATE_EVENT
    return kind


def _filled(codes: Codes32, texts: list[str]) -> Bools:
    """Where there is a text that is not empty."""
    return np.array([*map(bool, texts), False])[codes]


def _parts(events: Events, loading: Bools) -> Codes32:
    """Twice each event's run, plus 1 where instructions follow a load in one run.

    `Method::step` opens no event block, so its events land in that of the load before it.
    """
    at = np.flatnonzero(loading)
    last = np.full(int(events.run[-1]) + 1, len(events))
    last[events.run[at]] = at
    after = np.arange(len(events)) > last[events.run]
    stepped = np.zeros(len(last), np.bool_)
    stepped[events.run[after & (events.chain >= 0)]] = True
    return events.run * np.int32(2) + (after & stepped[events.run])


def _loads(
    runs: Runs,
    filled: Codes32,
    first: Ints,
    events: Events,
    kind: NDArray[np.uint8],
    loading: Bools,
) -> Bools:
    """Which of the filled runs load a method instead of executing one.

    A run "Default" without load scopes but with instructions is an execution: so it is named when
    a program logs without opening an event block of its own.
    """
    working = (events.chain >= 0) & (kind != KeyKind.DELEGATE_EVENT)
    loads: Bools = np.logical_or.reduceat(loading, first)
    works = np.logical_or.reduceat(working, first)
    default = np.array([runs.names[run >> 1] == "Default" for run in filled.tolist()])
    return loads | (default & ~works)


def _methods(
    events: Events, kind: NDArray[np.uint8], filled: Codes32, first: Ints, is_load: Bools,
    builder: TraceBuilder,
) -> tuple[Ints, int]:  # fmt: skip
    """The method of every filled run, counted by first appearance (-1 for loads), and how many.

    After one load there is one method. After several, a run belongs to the first method that it
    shares an instruction with and never contradicts: no instruction has another operator there.
    """
    method = np.where(is_load, -1, 0)
    if int(is_load.sum()) <= 1:
        return method, int(not is_load.all())
    calls = (kind == KeyKind.OPERATOR_CALL) | (kind == KeyKind.DELEGATE_CALL)
    # Per instruction one fact about the call and one about the kernel; a fact is a small number.
    about = events.instruction.astype(np.int64) * 2 + calls
    fact = np.where(calls, kind, events.name)
    known = calls | (kind == KeyKind.KERNEL)
    mixed = (about.astype(np.uint64) << np.uint64(32) | fact.astype(np.uint64)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    mixed ^= mixed >> np.uint64(29)
    signature = np.add.reduceat(np.where(known, mixed * mixed, 0), first).tolist()
    bounds = np.append(first, len(events)).tolist()
    facts_of: list[dict[int, set[int]]] = []
    seen: dict[int, int] = {}
    for i in np.flatnonzero(~is_load).tolist():
        if signature[i] not in seen:
            own = np.flatnonzero(known[bounds[i] : bounds[i + 1]]) + bounds[i]
            facts: dict[int, set[int]] = {}
            for a, f in zip(about[own].tolist(), fact[own].tolist(), strict=True):
                facts.setdefault(a, set()).add(f)
            seen[signature[i]] = _method_with(facts, facts_of)
        method[i] = seen[signature[i]]
    if len(facts_of) == _MOST_METHODS:
        builder.problem(f"more than {_MOST_METHODS} methods: the rest are shown as the last")
    return method, len(facts_of)


def _method_with(facts: dict[int, set[int]], facts_of: list[dict[int, set[int]]]) -> int:
    """The first method that agrees with the facts of a run, which join it; else a new one."""
    m = next((m for m, had in enumerate(facts_of) if _agree(facts, had)), len(facts_of))
    if m == len(facts_of) < _MOST_METHODS:
        facts_of.append({})
    m = min(m, _MOST_METHODS - 1)
    for about, values in facts.items():
        facts_of[m].setdefault(about, set()).update(values)
    return m


def _agree(one: dict[int, set[int]], other: dict[int, set[int]]) -> bool:
    shared = one.keys() & other.keys()
    return bool(shared) and not any(one[about].isdisjoint(other[about]) for about in shared)


def _nest(events: Events, kind: NDArray[np.uint8]) -> tuple[Codes32, Ints, Ints]:
    """Depth of every event, their preorder, and the index of each one's parent (-1 if none).

    An event's ancestors are the next events of lower rank in its run. A run that was cut off lacks
    some; its events then move up.
    """
    n, run = len(events), events.run
    rank = np.ones(n, np.int32)
    rank[(kind == KeyKind.KERNEL) | (kind == KeyKind.DELEGATE_EVENT)] = 2
    loose = np.flatnonzero((kind == KeyKind.FRAMEWORK) | (kind == KeyKind.PLAIN))
    instruction = rank == 1
    instruction[loose] = False
    call = _next(instruction, run)[loose]
    inside = (call >= 0) & (events.start[call] <= events.start[loose])
    rank[loose[inside]] = 2
    scopes = loose[~inside & (kind[loose] == KeyKind.FRAMEWORK)]
    for level in (0, 1):
        held = _lies_in_later(events.start[scopes], run[scopes])
        rank[scopes[~held]] = level
        scopes = scopes[held]
    rank[scopes] = 2

    outer = _next(rank == 0, run)
    outer[rank == 0] = -1
    above = _next(rank <= 1, run)
    above[rank < 2] = -1
    in_instruction = (above >= 0) & (rank[above] == 1)
    depth = (outer >= 0).astype(np.int32) + in_instruction
    # In order of completion a subtree ends with its root, so in preorder the root moves to where
    # its subtree begins, behind its ancestors.
    begin = np.arange(n)
    for level in (0, 1):
        own = np.flatnonzero(rank == level)
        ends = np.flatnonzero(rank <= level)
        before = np.searchsorted(ends, own) - 1
        begin[own] = np.where(before >= 0, ends[before] + 1, 0)
    begin = np.maximum(begin, np.searchsorted(run, run))
    order = np.empty(n, np.int64)
    order[begin + depth] = np.arange(n)
    return depth, order, np.where(above >= 0, above, outer)


def _next(marked: Bools, run: Codes32) -> Ints:
    """The index of the next marked event of the same run, -1 if there is none."""
    at = np.flatnonzero(marked)
    if not len(at):
        return np.full(len(run), -1)
    found: Ints = np.append(at, -1)[np.searchsorted(at, np.arange(len(run)), side="right")]
    return np.where((found >= 0) & (run[found] == run), found, -1)


def _lies_in_later(start: Ints, run: Codes32) -> Bools:
    """Which scopes, in order of completion, began no earlier than a later one of their run."""
    # Runs are kept apart by their rank: the minimum over all that follows is then the run's own.
    rank = np.unique(start, return_inverse=True)[1] + run.astype(np.int64) * (len(start) + 1)
    later = np.minimum.accumulate(rank[::-1])[::-1]
    held: Bools = np.append(later[1:] <= rank[:-1], False)[: len(start)]
    return held


def _place_foreign(
    events: Events, kind: NDArray[np.uint8], parent: Ints, builder: TraceBuilder
) -> tuple[Ints, Ints, Ints]:
    """Move delegate events that lie outside their call into it.

    Returns which they are, and their starts and lengths as logged.
    """
    by_chain = np.where(events.chain < 0, KeyKind.FRAMEWORK, KeyKind.DELEGATE_CALL)
    mine = (kind == KeyKind.DELEGATE_EVENT) & (parent >= 0) & (kind[parent] == by_chain)
    outside = (events.start < events.start[parent]) | (events.end > events.end[parent])
    stray = np.zeros(len(events), np.bool_)
    stray[parent[mine & outside]] = True
    foreign = np.flatnonzero(mine & stray[parent])
    logged = events.start[foreign]
    native = events.end[foreign] - logged
    if len(foreign):
        what = "delegate events on a clock of their own: placed inside their call for drawing only"
        count_rows(builder, what, events.row[foreign])
        call, first = np.unique(parent[foreign], return_index=True)
        group = np.repeat(np.arange(len(call)), np.diff(np.append(first, len(foreign))))
        length = np.clip(native, 0, (1 << 62) // len(foreign))  # so that no sum overflows
        total = np.add.reduceat(length, first)
        room = np.maximum(events.end[call] - events.start[call], 0)
        done = np.cumsum(length)
        done -= (done[first] - length[first])[group]
        shrink = np.minimum(room / np.maximum(total, 1), 1.0)[group]

        def placed(ticks: Ints) -> Ints:
            scaled = np.where(shrink < 1, (ticks * shrink).astype(np.int64), ticks)
            moved: Ints = events.start[call][group] + np.minimum(scaled, room[group])
            return moved

        events.start[foreign], events.end[foreign] = placed(done - length), placed(done)
    return foreign, logged, native


def _identities(
    events: Events, kind: NDArray[np.uint8], scope: Ints, builder: TraceBuilder
) -> tuple[Codes, Codes]:
    """Name and key of every slice, made once per distinct identity."""
    delegate = kind == KeyKind.DELEGATE_EVENT
    names, texts = events.names, events.texts
    number = np.unique(events.number, return_inverse=True)[1]
    # One number says what an event is called: [nothing | names | texts | integers].
    label = np.where(
        ~delegate, events.name + 1,
        np.where(events.number == -1, 1 + len(names) + events.text,
                 1 + len(names) + len(texts) + number),
    )  # fmt: skip
    instruction = np.where(events.chain < 0, -1, events.instruction)
    what = label.astype(np.uint64) << np.uint64(8) | kind
    what = what * np.uint64(_MOST_METHODS + 1) + scope.astype(np.uint64)
    if int(what.max()) >= 1 << 32:
        what = np.unique(what, return_inverse=True)[1].astype(np.uint64)
    what = what << np.uint64(32) | instruction.view(np.uint32)
    _, first, inverse = np.unique(what, return_index=True, return_inverse=True)
    name_of, key_of = np.empty(len(first), np.uint32), np.empty(len(first), np.uint32)
    order = np.argsort(first)
    at = first[order]
    # Read as lists: a dump may have as many identities as events.
    parts = (kind, scope, instruction, events.number, events.text, events.name)
    rows = zip(order.tolist(), *(part[at].tolist() for part in parts), strict=True)
    for i, its_kind, its_scope, its_instruction, own, text, named in rows:
        identifier: int | str | None = None
        if its_kind == KeyKind.DELEGATE_EVENT:
            identifier = own if own != -1 else texts[text]
            name = str(identifier)
        else:
            name = (names[named] if named >= 0 else "") or "event"
        name_of[i] = builder.intern(name)
        key_of[i] = builder.key(
            _KINDS[its_kind], name, scope=its_scope, instruction=its_instruction,
            identifier=identifier,
        )  # fmt: skip
    unnamed = ~delegate & ~_filled(events.name, names)
    count_rows(
        builder, 'event without a name: called "event"', events.row[unnamed].astype(np.int64)
    )
    return name_of[inverse], key_of[inverse]


def _columns(events: Events, foreign: tuple[Ints, Ints, Ints]) -> dict[str, Column]:
    n = len(events)
    of_chain = (events.chain >= 0) & (events.instruction >= 0)
    columns = {"instruction_id": Column(events.instruction.astype(np.int64), of_chain)}
    if (events.chain < -1).any() or (events.chain > 0).any():
        columns["chain"] = Column(events.chain.astype(np.int64))
    stated = _filled(events.metadata, events.metadatas)
    if stated.any():
        codes = np.where(stated, events.metadata, 0).astype(np.uint32)
        columns["metadata"] = Column.of_codes(codes, events.metadatas, stated)
    at, logged, native = foreign
    if len(at):
        own = np.zeros(n, np.bool_)
        own[at] = True
        for name, ticks in (("native_start", logged), ("native_dur", native)):
            values = np.zeros(n, np.int64)
            values[at] = ticks
            columns[name] = Column(values, own)
        unit = np.zeros(n, np.uint32)
        unit[at] = np.array([*map(_unit, events.texts), len(_UNITS) - 1])[events.text[at]]
        columns["native_unit"] = Column.of_codes(unit, _UNITS, own)
    return columns


def _unit(identifier: str) -> int:
    return next((i for i, unit in enumerate(_UNITS) if identifier.endswith(f"({unit})")), 3)
