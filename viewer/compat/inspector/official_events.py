"""The events of an ETDump as the official Inspector reads them: raw, and with debug events.

The Inspector reads an ETDump through `flatc --json`, so this module rejects what that tool or its
data classes reject: an ETDump without size prefix, of the first schema (release 0.1), with text
that is not UTF-8, without runs, or with a run without a name. Unlike in
`viewer.formats.executorch.etdump.events`, nothing is repaired, dropped or converted to text: a
wrapped end stays before its start, and metadata stays bytes.

The values of debug events are ignored. The Inspector fails with an AssertionError if they differ
between runs; this module does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.codecs.flatbuffer import Buffer, Tables, damage_of, distinct_texts, elements
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.compat.inspector.official_errors import InspectorError
from viewer.formats import within_memory
from viewer.formats.executorch.etdump.events import DAMAGED, load

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
