"""The debug buffer of an ETDump: finds the file, and the tensors in it that debug events point to.

It has no header. The runtime aligns each tensor in its own memory, so offsets in the file may have
any alignment. `write_etdump_result_to_file` writes the whole buffer, used or not; a FileDataSink
writes only what is used. See devtools/etdump/data_sinks of ExecuTorch. How a tensor is stored is
read from the ETDump when it is asked for, and joined to the events by their position in the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from viewer.analysis.numbers.logged_values import LoggedTensors
from viewer.arrays import Ints
from viewer.codecs.file_bytes import FileBytes
from viewer.codecs.flatbuffer import Buffer, Tables, damage_of, elements
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import UnreadableFile, never_cancelled, no_progress
from viewer.codecs.tensor_values import TensorLayout
from viewer.formats import choose, head_of, within_memory
from viewer.formats.executorch.etdump.events import DAMAGED, load, read_runs
from viewer.formats.executorch.schema import MOST_DIMENSIONS, scalar_type
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, ValueType

_LEAST_EVENT, _LEAST_TENSOR = 16, 8  # bytes in the file
_CHUNK = 1 << 16
# Bytes of a tensor in the columns at the peak. Not measured.
_TENSOR_MEMORY = 150
_SIZES, _STRIDES, _OFFSET = 1, 2, 3  # slots of a tensor
_LISTS = "tensor lists overlap: their tensors are left out"


def read_debug_tensors(path: str) -> LoggedTensors:
    """Read where the tensors of all debug events are. Raises UnreadableFile."""
    with within_memory(path), damage_of(path, DAMAGED):
        return _tensors(load(path, no_progress, never_cancelled), path)


def _tensors(buffer: Buffer, path: str) -> LoggedTensors:
    builder = TraceBuilder(path, "ETDump", "", Clock("ns", assumed=True))
    runs = read_runs(buffer, builder)
    if builder.generation == "G1":  # states no values
        return LoggedTensors.none()
    positions = elements(buffer, runs.first, runs.length, "events", _LEAST_EVENT)
    places, rows, members, problems = [], [], [], []
    for low in range(0, len(positions), _CHUNK):
        events = Tables(buffer, positions[low : low + _CHUNK], "event")
        debug = events.targets(2)
        here = np.flatnonzero((debug > 0) & (events.targets(0) == 0) & (events.targets(1) == 0))
        if not len(here):
            continue
        entries = Tables(buffer, debug[here], "debug event").targets(2)
        row, values = low + here[entries > 0], Tables(buffer, entries[entries > 0], "value")
        type = values.numbers(0, np.uint8, 0).astype(np.int64) + 1
        for stored in _stored(buffer, values, type):
            if stored is None:
                problems.append(_LISTS)
                continue
            index, member, place = stored
            rows.append(row[index])
            members.append(member)
            places.append(place)
    return _read(buffer, rows, members, places, tuple(dict.fromkeys(problems)))


def _stored(buffer: Buffer, values: Tables, type: Ints) -> Iterator[tuple[Ints, Ints, Ints] | None]:
    """Yield which values have tensors, the number of each in its value, and its position.

    Yields None in place of lists that claim more tensors than the file has room for.
    """
    place = values.targets(1)
    rows = np.flatnonzero((type == ValueType.TENSOR) & (place > 0))
    yield rows, np.zeros(len(rows), np.int64), place[rows]
    place = values.targets(2)
    rows = np.flatnonzero((type == ValueType.TENSOR_LIST) & (place > 0))
    if not len(rows):
        return
    lists = Tables(buffer, place[rows], "tensor list").targets(0)
    first, length = buffer.vectors(lists, 4, "tensors of a list")
    if int(length.sum()) * _LEAST_TENSOR > buffer.size:
        yield None
        return
    allowance().take(buffer.size + int(length.sum()) * _TENSOR_MEMORY)
    tensors = elements(buffer, first, length, "tensors of lists", _LEAST_TENSOR)
    number = np.arange(len(tensors)) - np.repeat(np.cumsum(length) - length, length)
    yield np.repeat(rows, length), number, tensors


def _read(
    buffer: Buffer,
    rows: list[Ints],
    members: list[Ints],
    places: list[Ints],
    problems: tuple[str, ...],
) -> LoggedTensors:
    """The tensors at some positions, in the order of their events."""
    row, member, positions = (
        np.concatenate([np.empty(0, np.int64), *x]) for x in (rows, members, places)
    )
    order = np.lexsort((member, row))
    row, member, positions = row[order], member[order], positions[order]
    allowance().take(buffer.size + len(positions) * _TENSOR_MEMORY)
    tables = Tables(buffer, positions, "tensor")
    dtype = tables.numbers(0, np.uint8, 0)
    sizes, rank = _dimensions(buffer, tables, _SIZES)
    strides, rank_of_strides = _dimensions(buffer, tables, _STRIDES)
    count = min(len(sizes), len(strides))
    strides = np.concatenate(
        [strides[:count], np.zeros((len(sizes) - count, len(positions)), np.int64)]
    )
    has = (rank_of_strides == rank) & (rank <= MOST_DIMENSIONS)
    columns = np.stack([dtype, rank, has, *sizes, *strides]).astype(np.int64)
    _, first, codes = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    layouts = [
        _layout(int(dtype[i]), int(rank[i]), sizes[:, i].tolist(), strides[:, i].tolist(), has[i])
        for i in first.tolist()
    ]
    offset = tables.numbers(_OFFSET, np.int64, 0)
    return LoggedTensors(row, member, codes.reshape(-1), offset, tuple(layouts), problems)


def _dimensions(buffer: Buffer, tables: Tables, slot: int) -> tuple[Ints, Ints]:
    """The numbers in a slot, of shape (dimensions, tensors), and how many each tensor has."""
    first, rank = buffer.vectors(tables.targets(slot), 8, "sizes and strides of a tensor")
    shown_rank = np.where(rank > MOST_DIMENSIONS, 0, rank)
    numbers = np.zeros((int(shown_rank.max(initial=0)), len(tables)), np.int64)
    for dimension in range(len(numbers)):
        live = np.flatnonzero(shown_rank > dimension)
        numbers[dimension, live] = buffer.u8(first[live] + 8 * dimension).view(np.int64)
    return numbers, rank


def _layout(
    dtype: int, rank: int, sizes: list[int], strides: list[int], has_strides: bool
) -> TensorLayout:
    if rank > MOST_DIMENSIONS:
        return TensorLayout(f"tensor of {rank} dimensions", ())
    layout = TensorLayout(scalar_type(dtype)[0], tuple(sizes[:rank]))
    if not has_strides or not layout.count:
        return layout
    dense, step = [], 1
    for size in reversed(layout.sizes):
        dense.append(step)
        step *= size
    tensor_strides = tuple(strides[:rank])
    pairs = zip(layout.sizes, tensor_strides, reversed(dense), strict=True)
    if all(size == 1 or stride == usual for size, stride, usual in pairs):
        return layout
    return TensorLayout(layout.dtype, layout.sizes, tensor_strides)


SUFFIX = ".bin"
# What is added to the name of an ETDump, or replaces its suffix.
_ENDS = (".bin", ".debug.bin", "_debug.bin", ".buffer.bin", "_buffer.bin", "_debug_buffer.bin")


def is_debug_buffer(path: str) -> bool:
    """Whether a file can be one: it is named .bin and is of no other format."""
    if not path.lower().endswith(SUFFIX):
        return False
    try:
        head = head_of(path)
    except UnreadableFile:
        return False
    try:
        choose(head, path)
    except UnreadableFile:
        return bool(head)
    return False


def open_debug_buffer(path: str) -> FileBytes:
    """Open a debug buffer. Raises UnreadableFile."""
    head_of(path)
    try:
        return FileBytes(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(path, f"it cannot be read ({reason})") from error


def buffers_next_to(path: str) -> list[tuple[str, ...]]:
    """Return the files next to an ETDump that may be its debug buffer, those to prefer first.

    Those with its own name come before all others named debug.
    """
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    # "run.debug.etdp", and "run_debug.etdp" next to "run.bin"
    likely_names = {f"{start}{end}" for start in (name, stem) for end in _ENDS}
    try:
        inside = sorted(os.listdir(folder or "."))
    except OSError:
        return []
    paths = [os.path.join(folder, other) for other in inside if other.lower().endswith(SUFFIX)]
    tiers = (
        tuple(file for file in paths if os.path.basename(file) in likely_names),
        tuple(file for file in paths if "debug" in os.path.basename(file).lower()),
    )
    return [files for tier in tiers if (files := tuple(filter(is_debug_buffer, tier)))]
