"""Reads the profile events of an ETDump into columns: their tree, their kinds, names and keys.

Tables become parallel arrays and lists of distinct texts; an ETDump may have as many identities as
events, so everything but the distinct texts is array work. Offsets that lead outside the file raise
`Malformed`; other unexpected data is counted.

An event is written when it completes, so its contents come before it: the parent of an event is the
next one of a lower rank in its run. Ranks: framework scope 0, instruction 1, kernel or delegate
event 2. A run that was cut off lacks some events; their children move up. If several threads
logged, the next call may belong to another thread: a delegate's event is nested only in a call of
its own instruction. What is inside an instruction has no ranks: it follows one another, or some of
it is the scope of the rest, "VGF_EXECUTE" of "VGF_COPY_INPUTS". Where times overlap, `nest_inside`
makes it as deep as they show.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, flags_at
from viewer.codecs.flatbuffer import Buffer, Malformed, Tables, distinct_texts, elements
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.dataclasses import dataclass
from viewer.formats.executorch.schema import decoded
from viewer.model.building.builder import BACKWARDS, TraceBuilder
from viewer.model.recorded_names import (
    CONTROL,
    DELEGATE_CALL,
    KERNEL_PREFIX,
    OPERATOR_CALL,
    is_library_kernel,
)
from viewer.model.times import LAP
from viewer.model.trace import KeyKind

DAMAGED = "The file is damaged or truncated: copy it again, or record it again"
_IDENTIFIER = b"ED00"
_CHUNK = 1 << 16  # events per gather, so that their columns fit in the processor's cache
_READ = 1 << 22
# Minimum size in bytes: an offset and the head of a table; an event adds its inner table and
# offset.
_LEAST_RUN = 8
# 146 years in ns. Later times, as in damaged files, would not come back from a Perfetto export,
# whose clocks may be 2**40 ns off.
_LATEST = (1 << 62) - (1 << 40)
_LEAST_EVENT = 16
# Bytes of an event at the peak, besides the file, at least. Measured with RSS: 300 for 64 bytes in
# the file (200,000 timed events).
_EVENT_MEMORY = 200

Codes32 = NDArray[np.int32]


@dataclass(slots=True)
class ProfileEvents:
    """The profile events in file order; codes index the lists of distinct texts.

    row: position among all events of the file. number: integer identifier, -1 if none. metadatas:
    the bytes as logged.
    """

    run: Codes32
    row: Codes32
    name: Codes32
    chain: Codes32
    instruction: Codes32
    number: Codes32
    text: Codes32
    metadata: Codes32
    start: Ints
    end: Ints
    names: list[str]
    texts: list[str]
    metadatas: list[bytes]

    def __len__(self) -> int:
        return len(self.run)

    def named(self, *names: str) -> Bools:
        """Which events have one of the names."""
        is_named: Bools = np.array([*(name in names for name in self.names), False])[self.name]
        return is_named


@dataclass(slots=True)
class Runs:
    """The runs of a file: their names, and the position and length of their event lists.

    allocators: first element and length of each run's list of allocators. bundled_input: index of
    the bundled input that it ran on, -1 if none.
    """

    names: list[str]
    first: Ints
    length: Ints
    allocators: tuple[Ints, Ints]
    bundled_input: Codes32


def sniff(head: bytes) -> bool:
    """Whether it has the identifier of ETDumps, with or without a size prefix."""
    return head[4:8] == _IDENTIFIER or head[8:12] == _IDENTIFIER


def load(path: str, progress: Progress, cancelled: Cancelled) -> Buffer:
    """Read the whole file; this is half of the progress. Raises UnreadableFile, ReadCancelled."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(12)
            if not sniff(head):
                raise UnreadableFile(
                    path,
                    "this is not an ETDump (no ED00)",
                    where="byte 4",
                    remedy="Choose the .etdp file that the runtime wrote",
                )
            if size >= 1 << 32:
                raise UnreadableFile(path, f"a flatbuffer cannot have {size} bytes", remedy=DAMAGED)
            allowance().take(size)
            content = np.empty(size, np.uint8)
            room = content.data
            file.seek(0)
            done = 0
            while done < size and (got := file.readinto(room[done : done + _READ])):
                done += got
                progress(done // 2, size)
                stop_if(cancelled)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(path, reason) from error
    return Buffer(content[:done])


def read_runs(buffer: Buffer, builder: TraceBuilder) -> Runs:
    """Read the runs and set the builder's schema generation. Raises Malformed."""
    prefix = 0 if buffer.bytes[4:8].tobytes() == _IDENTIFIER else 4
    if prefix:
        stated = int(buffer.bytes[:4].view("<u4")[0]) + 4
        if stated > buffer.size:
            raise Malformed(buffer.size, f"the file ends here, but should have {stated} bytes")
        if stated < buffer.size:
            builder.problem("bytes after the end of the dump: ignored", 1, f"byte {stated}")
    start = prefix + int(buffer.bytes[prefix : prefix + 4].view("<u4")[0])
    root = Tables(buffer, np.array([start]), "root table")
    version = int(root.numbers(0, np.uint32, 0)[0])
    if version:
        builder.problem(f"version {version} is unknown: read as version 0")
    first, length = buffer.vectors(root.targets(1), 4, "list of runs")
    tables = Tables(buffer, elements(buffer, first, length, "runs", _LEAST_RUN), "run")
    slot, builder.generation = 3, "G2/G3"
    if not tables.has(3) and _holds_events(buffer, tables.targets(2)):
        slot, builder.generation = 2, "G1"
    codes, names = distinct_texts(buffer, tables.targets(0), "run names")
    texts = [*decoded(names, builder.problem), ""]  # code -1, no name, is the last entry
    first, length = buffer.vectors(tables.targets(slot), 4, "list of events")
    allocators = buffer.vectors(tables.targets(slot - 1), 4, "list of allocators")
    bundled = np.full(len(tables), -1, np.int32)
    if slot == 3:
        bundled = tables.numbers(1, np.int32, -1)
    return Runs([texts[c] for c in codes.tolist()], first, length, allocators, bundled)


def _holds_events(buffer: Buffer, lists: Ints) -> bool:
    """Whether the lists contain events, not allocators, whose only field is a name."""
    first, length = buffer.vectors(lists, 4, "list in a run")
    first_full = np.flatnonzero(length > 0)[:1]
    tables = Tables(
        buffer,
        elements(buffer, first[first_full], np.ones(len(first_full), np.int64), "list", 4),
        "list item",
    )
    if tables.has(1) or tables.has(2):
        return True
    target = tables.targets(0)
    if not target.any():
        return False
    size = int(buffer.u4(target)[0])
    end = int(target[0]) + 4 + size
    is_text = end < buffer.size and buffer.bytes[end] == 0
    return not (is_text and buffer.text(int(target[0])).decode("ascii", "replace").isprintable())


def read_events(
    buffer: Buffer,
    runs: Runs,
    builder: TraceBuilder,
    others: Callable[[Ints, Ints], None],
    progress: Progress,
    cancelled: Cancelled,
) -> ProfileEvents:
    """All profile events whose times fit int64, as logged: an end may be before its start.

    others: called with the other events, by position among all events and position in the file.
    Raises Malformed or ReadCancelled.
    """
    positions = elements(buffer, runs.first, runs.length, "events", _LEAST_EVENT)
    total = len(positions)
    allowance().take(buffer.size + total * _EVENT_MEMORY)
    numbers = {f: np.empty(total, np.int32) for f in ("row", "chain", "instruction", "number")}
    places = {f: np.empty(total, np.uint32) for f in ("name", "text", "metadata")}
    start, end = np.empty(total, np.int64), np.empty(total, np.int64)
    n = 0
    for low in range(0, total, _CHUNK):
        stop_if(cancelled)
        place = positions[low : low + _CHUNK]
        tables = Tables(buffer, place, "event")
        profile = tables.targets(0)
        rows = np.arange(low, low + len(place))
        if not profile.all():
            others(rows[profile == 0], place[profile == 0])
            rows, profile = rows[profile > 0], profile[profile > 0]
        events = Tables(buffer, profile, "profile event")
        s, e = events.numbers(6, np.uint64, 0), events.numbers(7, np.uint64, 0)
        fits = np.maximum(s, e) < np.uint64(_LATEST)
        keep: Ints | slice = slice(None)
        if not fits.all():
            count_rows(builder, "times of 2^62 and more: left out", rows[~fits])
            keep = np.flatnonzero(fits)
            rows, s, e = rows[keep], s[keep], e[keep]
        span = slice(n, n + len(rows))
        n += len(rows)
        start[span], end[span] = s, e
        numbers["row"][span] = rows
        for field, slot, default in (("chain", 1, 0), ("instruction", 2, -1), ("number", 3, -1)):
            numbers[field][span] = events.numbers(slot, np.int32, default)[keep]
        for field, slot in (("name", 0), ("text", 4), ("metadata", 5)):
            places[field][span] = events.targets(slot)[keep]
        progress((buffer.size + buffer.size * (low + len(place)) // total) // 2, buffer.size)
    del positions
    run = np.repeat(np.arange(len(runs.length), dtype=np.int32), runs.length)[numbers["row"][:n]]
    codes, texts = {}, {}
    for field, where in places.items():
        codes[field], texts[field] = distinct_texts(buffer, where[:n].astype(np.int64), field)
    progress(buffer.size, buffer.size)
    return ProfileEvents(
        run=run,
        **{field: column[:n] for field, column in numbers.items()},
        **codes,
        start=start[:n],
        end=end[:n],
        names=decoded(texts["name"], builder.problem),
        texts=decoded(texts["text"], builder.problem),
        metadatas=texts["metadata"],
    )


def correct_ends(builder: TraceBuilder, events: ProfileEvents) -> None:
    """Correct ends that are before the start, in place."""
    is_early = events.end < events.start
    if not is_early.any():
        return
    wrapped = is_early & (events.start < LAP)
    kind = "end before start: taken as a 32-bit counter that wrapped"
    count_rows(builder, kind, events.row[wrapped])
    events.end[wrapped] += LAP
    # Here already, so that durations on foreign clocks are not negative either.
    count_rows(builder, BACKWARDS, events.row[events.start > events.end])
    np.maximum(events.start, events.end, out=events.end)


def filled(codes: Ints | Codes32, texts: list[str] | list[bytes]) -> Bools:
    """Where codes (-1: none) refer to a non-empty text."""
    has: Bools = np.array([*map(bool, texts), False])[codes]
    return has


def count_rows(builder: TraceBuilder, kind: str, rows: Ints | Codes32) -> None:
    """Count a problem of events, given by their positions in the file."""
    builder.problem(kind, len(rows), f"event {rows[0]}" if len(rows) else "")


# The rank that events of a kind have; -1 if it depends on the events around them.
_RANK_OF = np.ones(len(KeyKind), np.int32)
_RANK_OF[[KeyKind.KERNEL, KeyKind.DELEGATE_EVENT]] = 2
_RANK_OF[[KeyKind.FRAMEWORK, KeyKind.PLAIN]] = -1


@dataclass(slots=True)
class CallTree:
    """How events nest; every array but `order` has one value per event.

    order: the events in preorder. parent: index of the framework scope or instruction that an event
    is in, -1 if none. innermost: whether it has rank 2. within: whether another innermost event is
    around it; its parent is still the instruction.
    """

    depth: Codes32
    order: Ints
    parent: Ints
    innermost: Bools
    within: Bools


def nest(events: ProfileEvents, kind: NDArray[np.uint8]) -> CallTree:
    """The tree by ranks alone, where no innermost event is within another."""
    n, run = len(events), events.run
    rank = _RANK_OF[kind]
    loose = (rank < 0).nonzero()[0]
    call = next_in_run(rank == 1, run)[loose]
    inside = (call >= 0) & (events.start[call] <= events.start[loose])
    is_scope = ~inside & (kind[loose] == KeyKind.FRAMEWORK)
    rank[loose] = np.where(inside, np.int32(2), np.int32(1))
    scopes = loose[is_scope]
    for level in (0, 1):
        if not len(scopes):
            break
        is_inside = _lies_in_later(events.start[scopes], run[scopes])
        rank[scopes[~is_inside]] = level
        scopes = scopes[is_inside]
    rank[scopes] = 2

    is_outermost, is_innermost = rank == 0, rank == 2
    outer = next_in_run(is_outermost, run)
    outer[is_outermost] = -1
    above = next_in_run(~is_innermost, run)
    above[~is_innermost] = -1
    in_instruction = (above >= 0) & (rank[above] == 1)
    depth = (outer >= 0).astype(np.int32) + in_instruction
    # In completion order, a subtree ends with its root. In preorder, the root moves to the start of
    # its subtree, after its ancestors.
    places = np.arange(n)
    subtree_start = places.copy()
    for level in (0, 1):
        ends = (rank <= level).nonzero()[0]
        is_level = rank[ends] == level
        starts = np.zeros(len(ends), np.int64)
        starts[1:] = ends[:-1] + 1
        subtree_start[ends[is_level]] = starts[is_level]
    subtree_start = np.maximum(subtree_start, run.searchsorted(run))
    order = np.empty(n, np.int64)
    order[subtree_start + depth] = places
    parent = np.where(above >= 0, above, outer)
    mismatched = in_instruction & (kind == KeyKind.DELEGATE_EVENT) & (events.chain >= 0)
    mismatched &= events.instruction != events.instruction[above]
    if mismatched.any():
        rows = np.flatnonzero(mismatched)
        calls = _own_calls(events, kind, rows)
        parent[rows] = np.where(calls >= 0, calls, outer[rows])
    return CallTree(depth, order, parent, is_innermost, np.zeros(n, np.bool_))


def nest_inside(events: ProfileEvents, tree: CallTree, apart: Ints) -> None:
    """Nest the innermost events of an instruction in each other where their times overlap.

    apart: the events on other clocks, whose times show nothing. Changes `tree`. Events that lie
    across each other, or that are not in the order of their ends, keep their places.
    """
    is_inner = tree.innermost & (tree.parent >= 0)
    is_inner[apart] = False
    rows = is_inner.nonzero()[0]
    rows = rows[tree.parent[rows].argsort(kind="stable")]
    of, start, end = tree.parent[rows], events.start[rows], events.end[rows]
    same = of[1:] == of[:-1]
    overlaps = same & (start[1:] < end[:-1])
    if not overlaps.any():  # most files: nothing more to compute
        return
    is_nested = flags_at(len(events), of[1:][overlaps])
    is_nested[of[1:][same & (end[1:] < end[:-1])]] = False
    here = np.flatnonzero(is_nested[of])
    rows, of, start, end = rows[here], of[here], start[here], end[here]
    if not len(rows):
        return
    first = _first_inside(of, start, end)
    # An event is within those after it whose first content is not after it.
    level = np.cumsum(np.bincount(first, minlength=len(rows))) - np.arange(1, len(rows) + 1)
    by = np.lexsort((level, first))
    is_across = (of[by][1:] == of[by][:-1]) & (start[by][1:] < start[by][:-1])
    is_nested[of[by][1:][is_across]] = False
    by = by[is_nested[of[by]]]
    sorted_rows = np.sort(by)
    # They have no contents of a higher rank, so they can change places among each other.
    place = np.empty(len(events), np.int64)
    place[tree.order] = np.arange(len(events))
    places = place[rows[sorted_rows]]
    tree.order[places[np.lexsort((places, of[sorted_rows]))]] = rows[by]
    tree.depth[rows] += np.where(is_nested[of], level, 0).astype(np.int32)
    tree.within[rows] = is_nested[of] & (level > 0)


def _first_inside(of: Ints, start: Ints, end: Ints) -> Ints:
    """The position of the first event inside each, its own if none is.

    of: the group of each, ascending; within a group, ends ascend. An event without a duration is
    not inside one that starts where it is: it comes before that.
    """
    times = np.sort(np.concatenate([start, end]))
    # Lift the times of each group above those of all earlier groups.
    lift = np.cumsum(np.append(0, of[1:] != of[:-1])) * len(times)
    ends = np.searchsorted(times, end) + lift
    starts = np.searchsorted(times, start) + lift
    first: Ints = np.minimum(np.searchsorted(ends, starts, side="right"), np.arange(len(of)))
    return first


def _own_calls(events: ProfileEvents, kind: NDArray[np.uint8], rows: Ints) -> Ints:
    """For events whose next call has another instruction: the call that contains them.

    That is the next call of their instruction in the same run, if it had started by then: one of
    another thread. -1 if their call was not logged.
    """
    calls = np.flatnonzero(kind == KeyKind.DELEGATE_CALL)
    place = events.instruction.astype(np.int64) * len(events) + np.arange(len(events))
    calls = calls[np.argsort(place[calls])]
    call_rows: Ints = np.append(calls, -1)[np.searchsorted(place[calls], place[rows])]
    is_own = (call_rows >= 0) & (events.run[call_rows] == events.run[rows])
    is_own &= events.instruction[call_rows] == events.instruction[rows]
    is_own &= events.start[call_rows] <= events.start[rows]
    return np.where(is_own, call_rows, -1)


def next_in_run(marked: Bools, run: Codes32) -> Ints:
    """The index of the next marked event in the same run, -1 if none."""
    marked_rows = marked.nonzero()[0]
    next_rows = np.full(len(run), -1)
    if not len(marked_rows):
        return next_rows
    # from each event to the next marked one; after the last one there is none
    until = int(marked_rows[-1])
    following = marked_rows[marked_rows.searchsorted(np.arange(until), side="right")]
    next_rows[:until] = np.where(run[following] == run[:until], following, -1)
    return next_rows


def _lies_in_later(start: Ints, run: Codes32) -> Bools:
    """Which scopes, in completion order, started no earlier than a later scope of their run."""
    if not (run[1:] == run[:-1]).any():
        return np.zeros(len(start), np.bool_)  # most runs have one
    # The rank keeps runs separate, so that the minimum over everything that follows is the run's
    # own.
    rank = np.unique(start, return_inverse=True)[1] + run.astype(np.int64) * (len(start) + 1)
    later = np.minimum.accumulate(rank[::-1])[::-1]
    is_inside: Bools = np.append(later[1:] <= rank[:-1], False)[: len(start)]
    return is_inside


_CALLS = {OPERATOR_CALL: KeyKind.OPERATOR_CALL, DELEGATE_CALL: KeyKind.DELEGATE_CALL}


def kinds(events: ProfileEvents) -> NDArray[np.uint8]:
    """The `KeyKind` of every event."""
    of_name = np.full(len(events.names) + 1, KeyKind.PLAIN, np.uint8)  # the last entry: no name
    for i, name in enumerate(events.names):
        if name.startswith(KERNEL_PREFIX):
            of_name[i] = KeyKind.KERNEL
        elif name in CONTROL:
            of_name[i] = KeyKind.CONTROL
        else:
            of_name[i] = _CALLS.get(name, KeyKind.PLAIN)
    kind = of_name[events.name]
    kind[events.chain < 0] = KeyKind.FRAMEWORK
    kind[(events.number != -1) | filled(events.text, events.texts)] = KeyKind.DELEGATE_EVENT
    kind[_library_kernels(events, kind)] = KeyKind.KERNEL
    return kind


def _library_kernels(events: ProfileEvents, kind: NDArray[np.uint8]) -> Bools:
    """The events that are kernels of their OPERATOR_CALL without the prefix in their name.

    The call around an event is the next one in its run, with the same instruction. If that call has
    a kernel with the prefix, the event is something else.
    """
    named = np.array([*map(is_library_kernel, events.names), False])
    if not named.any():
        return np.zeros(len(kind), np.bool_)
    call = next_in_run(kind == KeyKind.OPERATOR_CALL, events.run)
    has_kernel = flags_at(len(kind), call[(kind == KeyKind.KERNEL) & (call >= 0)])
    is_kernel: Bools = (
        (kind == KeyKind.PLAIN)
        & named[events.name]
        & (call >= 0)
        & (events.instruction == events.instruction[call])
        & (events.start >= events.start[call])
        & ~has_kernel[call]
    )
    return is_kernel


def identities(
    events: ProfileEvents, kind: NDArray[np.uint8], scope: Ints, builder: TraceBuilder
) -> tuple[Codes, Codes]:
    """The name and key of every slice, created once per identity, in order of appearance.

    scope: the number of each event's scope.
    """
    delegate = kind == KeyKind.DELEGATE_EVENT
    label, label_names, identifier = _labels(events, delegate)
    appears = np.full(len(label_names), len(events))
    appears[label[::-1]] = np.arange(len(events) - 1, -1, -1)  # the last assignment stays
    used = np.argsort(appears, kind="stable")[: int((appears < len(events)).sum())]
    name = np.zeros(len(label_names), np.uint32)
    name[used] = builder.intern_all([label_names[i] for i in used.tolist()])
    # Equal names are one name, but the identifiers 1 and "1" are different.
    is_integer = np.array([isinstance(i, int) for i in identifier], np.uint64)
    same = name.astype(np.uint64) * np.uint64(2) + is_integer
    instruction = np.where(events.chain < 0, -1, events.instruction)
    what = same[label] << np.uint64(8) | kind
    what = what * np.uint64(scope.max() + 1) + scope.astype(np.uint64)
    if int(what.max()) >= 1 << 32:
        what = np.unique(what, return_inverse=True)[1].astype(np.uint64)
    what = what << np.uint64(32) | instruction.view(np.uint32)
    _, first, inverse = np.unique(what, return_index=True, return_inverse=True)
    order = np.argsort(first)
    first_rows = first[order]
    key = np.empty(len(first), np.uint32)
    key[order] = builder.distinct_keys(
        kind[first_rows],
        name[label[first_rows]],
        scope[first_rows].astype(np.uint32),
        instruction[first_rows].astype(np.int64),
        identifier[label[first_rows]],
    )
    unnamed = ~delegate & ~filled(events.name, events.names)
    count_rows(
        builder, 'event without a name: called "event"', events.row[unnamed].astype(np.int64)
    )
    return name[label], key[inverse]


def _labels(
    events: ProfileEvents, delegate: Bools
) -> tuple[Ints | Codes32, list[str], NDArray[np.object_]]:
    """A label per event; per label, its name and its identifier (None if none).

    The labels are numbered [nothing | names | texts | integers].
    """
    names, texts = events.names, events.texts
    numbered = events.number != -1
    label = events.name + 1
    identifiers: list[str | int] = list(texts)
    if delegate.any():
        integers, number = np.unique(events.number[numbered], return_inverse=True)
        by_identifier = 1 + len(names) + events.text
        by_identifier[numbered] = 1 + len(names) + len(texts) + number
        label = np.where(delegate, by_identifier, label)
        identifiers += integers.tolist()
    label_names = ["event", *(name or "event" for name in names), *map(str, identifiers)]
    return label, label_names, np.array([*[None] * (len(names) + 1), *identifiers], object)
