"""Reads XNNPACK's own graph from what its export prepared: nodes with debug handles, values, data.

What was prepared starts with a header (magic "XH00" at byte 4) that states where its flatbuffer is,
and where the constants that follow it start. The oldest exports wrote only the flatbuffer. Its
identifier is "XN01" (schema.fbs) or "XN00" (runtime_schema.fbs), both in
backends/xnnpack/serialization of ExecuTorch. In both, the nodes have the same slots.

Nodes refer to values by id, values to constants by index, and so do the scales of values that are
quantized per channel or per block. Newer exports store constants as named data of the program, so
that delegates can share them; older ones after the graph, and the oldest inside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, numbers_at
from viewer.codecs.file_bytes import LazyBytes
from viewer.codecs.flatbuffer import Buffer, Malformed, Tables
from viewer.dataclasses import dataclass
from viewer.formats.executorch.pte.program_file import (
    MOST_CONSTANTS,
    Problems,
    ProgramTables,
)
from viewer.formats.executorch.schema import MOST_DIMENSIONS
from viewer.program.executables import OUTPUT, XnnpackConstant, XnnpackDataflow, XnnpackNode

_VALUES = 2  # slot of the graph
_QUANTIZED = 2  # type of a value
_PER_CHANNEL, _PER_GROUP = 1, 4  # types of quantization
_SCALES = {_PER_CHANNEL: (2, 3), _PER_GROUP: (4, 5)}  # slots of the index and the number of scales
_INPUT, _OUTPUT = 1, 2  # flags of a value
_NO_VALUE = (1 << 32) - 1  # instead of an id
_DENSE = 4  # ids below so many times the number of values
_RANGE = 3  # slot of a node
_TRANSPOSE, _ORDER = "XNNStaticTranspose", 1  # and the slot of its order of dimensions
_RESHAPE, _SIZES = "XNNStaticReshape", 1  # and the slot of its sizes, 0 if not stated

# Type of a node -> slots of the values that it reads, and of those that it writes. All others read
# the value in slot 0 and write that in slot 1.
_PAIR, _CONVOLUTION, _POOLING = ((0, 1), (2,)), ((15, 16, 17), (18,)), ((10,), (11,))
_SECOND, _THIRD, _FOURTH = ((1,), (2,)), ((2,), (3,)), ((3,), (4,))
_ONE = ((0,), (1,))
_SLOTS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    **dict.fromkeys(
        ("XNNAdd", "XNNDiv", "XNNMinimum", "XNNMaximum", "XNNMultiply", "XNNSubtract", "XNNPReLU",
         "XNNBatchMatrixMultiply"),
        _PAIR,
    ),
    "XNNFullyConnected": ((0, 1, 2), (3,)),
    "XNNScaledDotProductAttention": ((0, 1, 2, 3, 4), (5,)),
    **dict.fromkeys(("XNNConv2d", "XNNDepthwiseConv2d", "XNNConvTranspose2d"), _CONVOLUTION),
    **dict.fromkeys(("XNNAvgPooling2d", "XNNMaxPooling2d"), _POOLING),
    **dict.fromkeys(("XNNLeakyReLU", "XNNELU"), _SECOND),
    **dict.fromkeys((_TRANSPOSE, "XNNStaticResizeBilinear2D", _RESHAPE), _THIRD),
    **dict.fromkeys(("XNNStaticConstantPad", "XNNStaticSlice"), _FOURTH),
    "XNNArgMaxPooling2d": ((6,), (7, 8)),
    "XNNConcatenate2": ((1, 2), (5,)),
    "XNNConcatenate3": ((1, 2, 3), (5,)),
    "XNNConcatenate4": ((1, 2, 3, 4), (5,)),
    "XNNConcatenate5": ((1, 2, 3, 4, 7), (5,)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Values:
    """All values of a graph, a row each.

    id: by which nodes refer to it. data, scale: indexes into the constants, 0 for none. dtype: of
    XNNPACK. scales: how many it has. at: its table in the file.
    """

    id: Ints
    data: Ints
    scale: Ints
    scales: Ints
    dtype: NDArray[np.uint8]
    flags: NDArray[np.uint32]
    at: Ints


@dataclass(frozen=True, slots=True)
class Uses:
    """Which nodes use which values, in the order of the nodes.

    slot: of the node's own table. value: its id. position: among the inputs, or `OUTPUT`. swaps,
    whole: per node, see `XnnpackDataflow`.
    """

    node: Ints
    slot: Ints
    value: Ints
    position: Ints
    swaps: Bools
    whole: Bools


def read_values(tables: ProgramTables, root: Tables) -> Values:
    """Read the values of a graph. Raises Malformed."""
    values = tables.children(root, _VALUES, "list of XNNPACK values").tables
    positions = values.targets(1)
    scale, scales = np.zeros(len(positions), np.int64), np.zeros(len(positions), np.int64)
    is_quantized = (values.numbers(0, np.uint8, 0) == _QUANTIZED) & (positions > 0)
    if is_quantized.any():
        quantized = tables.of(positions[is_quantized], "quantized XNNPACK value")
        positions = positions.copy()
        positions[is_quantized] = quantized.targets(0)
        how, what = quantized.numbers(1, np.uint8, 0), quantized.targets(2)
        for kind, slots in _SCALES.items():
            mask = (how == kind) & (what > 0)
            rows = np.flatnonzero(is_quantized)[mask]
            parameters = tables.of(what[mask], "scales of an XNNPACK value")
            scale[rows], scales[rows] = (
                parameters.numbers(slot, np.uint32, 0).astype(np.int64) for slot in slots
            )
    if not positions.all():
        has = np.flatnonzero(positions)
        positions, scale, scales = positions[has], scale[has], scales[has]
    value_tables = tables.of(positions, "XNNPACK value")
    return Values(
        value_tables.numbers(6, np.uint32, 0).astype(np.int64),
        value_tables.numbers(3, np.uint32, 0).astype(np.int64),
        scale,
        scales,
        value_tables.numbers(0, np.uint8, 0),  # two bytes, of which the second is 0
        value_tables.numbers(5, np.uint32, 0),
        positions,
    )


def read_uses(tables: ProgramTables, nodes: Tables, names: Sequence[str]) -> Uses:
    """Read which values nodes use, and what is known of transposes and reshapes.

    names: of the types of nodes, by number. Raises Malformed.
    """
    types, contents = nodes.numbers(0, np.uint8, 0), nodes.targets(1)
    nodes_of, values = list[Ints](), list[NDArray[np.uint32]]()
    slots, positions, counts = list[int](), list[int](), list[int]()
    swaps, whole = np.zeros(len(types), np.bool_), np.zeros(len(types), np.bool_)
    for kind in np.unique(types).tolist():
        index = np.flatnonzero((types == kind) & (contents > 0))
        node_tables = tables.of(contents[index], f"XNNPACK node of type {kind}")
        if names[kind] == _TRANSPOSE:
            swaps[index] = _swaps_matrix(tables, node_tables)
        elif names[kind] == _RESHAPE:
            whole[index] = _is_whole(tables, node_tables)
        reads, writes = _SLOTS.get(names[kind], _ONE)
        for position, slot in (*enumerate(reads), *((OUTPUT, slot) for slot in writes)):
            nodes_of.append(index)
            values.append(node_tables.numbers(slot, np.uint32, 0))
            slots.append(slot)
            positions.append(position)
            counts.append(len(index))
    if not values:
        none = np.empty(0, np.int64)
        return Uses(none, none, none, none, swaps, whole)
    node, value = np.concatenate(nodes_of), np.concatenate(values).astype(np.int64)
    order = np.argsort(node, kind="stable")
    order = order[value[order] != _NO_VALUE]
    return Uses(
        node[order],
        np.repeat(slots, counts)[order],
        value[order],
        np.repeat(positions, counts)[order],
        swaps,
        whole,
    )


def _swaps_matrix(tables: ProgramTables, transposes: Tables) -> Bools:
    """Return which transposes swap the last two dimensions and nothing else."""
    order = tables.numbers(transposes, _ORDER, "dimensions of an XNNPACK transpose")
    count = np.diff(order.bounds)
    place = np.arange(len(order.values)) - np.repeat(order.bounds[:-1], count)
    left = np.repeat(count, count) - place  # 1 for the last dimension
    expected = place + np.where(left == 1, -1, np.where(left == 2, 1, 0))
    wrong = np.bincount(order.parent, order.values != expected, len(count))
    swaps: Bools = (wrong == 0) & (count >= 2)
    return swaps


def _is_whole(tables: ProgramTables, reshapes: Tables) -> Bools:
    """Return which reshapes state all sizes."""
    sizes = tables.numbers(reshapes, _SIZES, "sizes of an XNNPACK reshape")
    is_whole: Bools = np.bincount(sizes.parent, sizes.values == 0, len(reshapes)) == 0
    return is_whole


def dataflow(tables: ProgramTables, nodes: Tables, uses: Uses, values: Values) -> XnnpackDataflow:
    """What connects the nodes of a graph. Raises Malformed."""
    count = len(values.id)
    value, has_value = _rows(values.id, uses.value)
    dtype, flags, data = values.dtype, values.flags, values.data
    if not has_value.all():
        # A value that the graph does not list is one of its own, of which nothing is known.
        missing, missing_index = np.unique(uses.value[~has_value], return_inverse=True)
        value[~has_value] = count + missing_index.reshape(-1)
        more = np.zeros(len(missing), np.uint8)
        dtype, flags, data = np.append(dtype, more), np.append(flags, more), np.append(data, more)
    return XnnpackDataflow(
        uses.node,
        value,
        uses.position,
        dtype,
        (flags & _INPUT) > 0,
        (flags & _OUTPUT) > 0,
        data > 0,
        _is_bounded(tables, nodes),
        uses.swaps,
        uses.whole,
    )


def _rows(ids: Ints, wanted: Ints) -> tuple[Ints, Bools]:
    """Return the first row of each wanted id, and whether there is any."""
    if not len(ids) or not len(wanted):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    most = int(ids.max())
    if most < _DENSE * (len(ids) + 1):  # as export numbers them: faster than sorting
        row_of = numbers_at(most + 1, ids[::-1], np.arange(len(ids))[::-1], -1)
        first_rows = row_of[np.minimum(wanted, most)]
        return first_rows, (wanted <= most) & (first_rows >= 0)
    distinct, first = np.unique(ids, return_index=True)
    index = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
    rows: Ints = first[index].astype(np.int64)
    return rows, distinct[index] == wanted


def _is_bounded(tables: ProgramTables, nodes: Tables) -> Bools:
    """Return which nodes limit their output to a range."""
    is_bounded = np.zeros(len(nodes), np.bool_)
    if not nodes.has(_RANGE):
        return is_bounded
    place = nodes.targets(_RANGE)
    has = np.flatnonzero(place > 0)
    ranges = tables.of(place[has], "output range of an XNNPACK node")
    low, high = ranges.numbers(0, np.float32, 0), ranges.numbers(1, np.float32, 0)
    is_bounded[has] = ~((low == -np.inf) & (high == np.inf))
    return is_bounded


_INLINE, _CONSTANTS = 6, 8  # slots of the graph
_NAMED = (1 << 64) - 1  # instead of an offset
_WEIGHT, _BIAS, _SCALE = "weight", "bias", "scale"
_WIDE = {2: "bf16", 4: "f32"}  # bytes of a scale

_DTYPES = (
    "", "f32", "f16", "qi8", "qu8", "qi32", "qi8 per channel", "qi32 per channel",
    "qi4 per channel", "qi8 dynamic", "qi4 per block", "qi8 packed", "i32", "f32 packed", "bf16",
)  # fmt: skip

# Type of a node -> slot -> what its value is.
_ROLES: dict[str, dict[int, str]] = {
    "XNNFullyConnected": {1: _WEIGHT, 2: _BIAS},
    "XNNPReLU": {1: _WEIGHT},
    "XNNConv2d": {16: _WEIGHT, 17: _BIAS},
    "XNNDepthwiseConv2d": {16: _WEIGHT, 17: _BIAS},
    "XNNConvTranspose2d": {16: _WEIGHT, 17: _BIAS},
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a graph is in its file: its first byte, that of the constants after it, and the end."""

    graph: int
    constants: int
    end: int


@dataclass(frozen=True, slots=True)
class _Data:
    """The constants as listed. start: in the file, -1 for named data. key: index into `keys`."""

    start: Ints
    size: Ints
    key: Ints
    keys: list[str]


def read_constants(
    tables: ProgramTables,
    root: Tables,
    values: Values,
    uses: Uses,
    types: Sequence[str],
    place: Place,
) -> tuple[XnnpackConstant, ...]:
    """Read the constants of a graph; row 0, which is reserved, is left out. Raises Malformed.

    types: of its nodes.
    """
    data = _listed(tables, root, place)
    count = len(data.size)
    if count <= 1:
        return ()
    content, scale = (np.where(of < count, of, 0) for of in (values.data, values.scale))
    used = np.flatnonzero((content > 0) | (scale > 0))  # values with constants, or scales that are
    content, scale, scales = content[used], scale[used], values.scales[used]
    kinds = values.dtype[used]
    sizes = tables.of(values.at[used], "XNNPACK value")
    shapes = tables.numbers(sizes, 2, "sizes of an XNNPACK value")
    row, is_read = _rows(values.id[used], uses.value)
    is_read &= uses.position != OUTPUT
    row, node = row[is_read], uses.node[is_read]
    of_content, of_scale = (_users(of, row, node) for of in (content, scale))
    value_of, scaled = _first(content, count), _first(scale, count)
    roles = (
        _ROLES.get(types[user], {}).get(slot, "")
        for user, slot in zip(node.tolist(), uses.slot[is_read].tolist(), strict=True)
    )
    role_of: dict[int, str] = {}
    for of, role in zip(row.tolist(), roles, strict=True):
        role_of.setdefault(of, role)
    xnnpack_constants = []
    for i in range(1, count):
        value, size = value_of[i], int(data.size[i])
        dtype, what, users = "", "", of_content.get(i, ())
        shape: tuple[int, ...] = ()
        if value >= 0:
            number = int(kinds[value])
            dtype = _DTYPES[number] if number < len(_DTYPES) else f"XNN data type {number}"
            shape, what = shapes.of(value)[:MOST_DIMENSIONS], role_of.get(value, "")
        elif scaled[i] >= 0:
            several = int(scales[scaled[i]])
            dtype = _WIDE.get(size // several if several and size % several == 0 else 0, "")
            shape, what, users = (several,), _SCALE, of_scale.get(i, ())
        key = int(data.key[i])
        name = data.keys[key] if key >= 0 else ""
        xnnpack_constants.append(
            XnnpackConstant(name, int(data.start[i]), size, dtype, shape, what, users)
        )
    return tuple(xnnpack_constants)


def _listed(tables: ProgramTables, root: Tables, place: Place) -> _Data:
    listed = tables.children(root, _CONSTANTS, "list of XNNPACK constants", MOST_CONSTANTS).tables
    if not len(listed):
        inline = tables.children(root, _INLINE, "list of XNNPACK data", MOST_CONSTANTS).tables
        start, size = tables.buffer.vectors(inline.targets(0), 1, "XNNPACK data")
        return _Data(start + place.graph, size, np.full(len(size), -1), [])
    offset, stated = listed.numbers(0, np.uint64, 0), listed.numbers(1, np.uint64, 0)
    key, keys = tables.texts(listed.targets(2), "keys of XNNPACK constants")
    is_named = offset == np.uint64(_NAMED)
    room = np.uint64(max(place.end - place.constants, 0))
    inside = np.minimum(offset, room)
    size = np.minimum(stated, np.where(is_named, np.uint64(1 << 62), room - inside))
    start = np.where(is_named, -1, inside.astype(np.int64) + place.constants)
    return _Data(start, size.astype(np.int64), np.where(is_named, key, -1), keys)


def _users(constant: Ints, row: Ints, node: Ints) -> dict[int, tuple[int, ...]]:
    """Constant -> the nodes that use it, ascending. constant: of each row of values, 0 for none."""
    users_of: dict[int, dict[int, None]] = {}
    for each, user in zip(constant[row].tolist(), node.tolist(), strict=True):
        if each:
            users_of.setdefault(each, {})[user] = None
    return {each: tuple(users) for each, users in users_of.items()}


def _first(data: Ints, count: int) -> list[int]:
    """Per constant, the first row of values that has it; -1 for none."""
    first_index = numbers_at(count, data[::-1], np.arange(len(data))[::-1], -1)
    first_index[0] = -1
    return list(first_index.tolist())


_HEADER, _LEAST_HEADER = b"XH00", 30
_IDENTIFIERS = (b"XN00", b"XN01")
_NODES, _OUTPUTS = 1, 5  # slots of the graph
_LEAST = 16  # bytes of the smallest flatbuffer with an identifier and a root table

# The types of nodes, numbered from 1.
_TYPES = (
    "", "XNNAdd", "XNNFullyConnected", "XNNSoftmax", "XNNSigmoid", "XNNStaticTranspose",
    "XNNClamp", "XNNConv2d", "XNNDiv", "XNNStaticResizeBilinear2D", "XNNStaticConstantPad",
    "XNNAvgPooling2d", "XNNMinimum", "XNNDepthwiseConv2d", "XNNMaxPooling2d", "XNNMultiply",
    "XNNSubtract", "XNNFloor", "XNNConvert", "XNNGlobalAvgPooling2d", "XNNStaticReshape",
    "XNNArgMaxPooling2d", "XNNSquareRoot", "XNNCeiling", "XNNHardswish", "XNNLeakyReLU",
    "XNNMaximum", "XNNNegate", "XNNSquare", "XNNELU", "XNNAbs", "XNNPReLU", "XNNConcatenate2",
    "XNNConcatenate3", "XNNConcatenate4", "XNNStaticSlice", "XNNScaledDotProductAttention",
    "XNNBatchMatrixMultiply", "XNNConcatenate5", "XNNConvTranspose2d", "XNNReciprocalSquareRoot",
    "XNNLog", "XNNGelu", "XNNTanh", "XNNExp", "XNNSin", "XNNCopy", "XNNCos",
)  # fmt: skip


class Unread(Exception):
    """The nodes of a delegate cannot be read; the text is the reason."""


@dataclass(frozen=True, slots=True)
class XnnpackGraph:
    """The nodes in the order in which XNNPACK runs them, what connects them, and their constants.

    outputs: the number of results of a call.
    """

    nodes: tuple[XnnpackNode, ...]
    outputs: int
    constants: tuple[XnnpackConstant, ...]
    dataflow: XnnpackDataflow


def read_graph(prepared: LazyBytes, position: int = 0) -> XnnpackGraph:
    """Read the graph of a delegate. position: where `prepared` is in the file. Raises `Unread`."""
    start, graph, after = _flatbuffer(prepared)
    if len(graph) < _LEAST or graph.raw(4, 8) not in _IDENTIFIERS:
        raise Unread("its data is not an XNNPACK graph (neither XN00 nor XN01)")
    try:
        tables = ProgramTables(Buffer(graph), Problems())
        root = tables.root()
        nodes = tables.children(root, _NODES, "list of XNNPACK nodes").tables
        outputs = tables.numbers(root, _OUTPUTS, "outputs of XNNPACK").values
        types, handles = nodes.numbers(0, np.uint8, 0), nodes.numbers(2, np.uint32, 0)
        place = Place(position + start, position + after, position + len(prepared))
        names = [_name(kind) for kind in range(int(types.max(initial=0)) + 1)]
        uses = read_uses(tables, nodes, names)
        values = read_values(tables, root)
        node_names = [names[kind] for kind in types.tolist()]
        constants = read_constants(tables, root, values, uses, node_names, place)
        flow = dataflow(tables, nodes, uses, values)
    except Malformed as error:
        raise Unread(f"{error.reason} (byte {error.byte} of its XNNPACK graph)") from error
    xnnpack_nodes = tuple(
        XnnpackNode(name, handle) for name, handle in zip(node_names, handles.tolist(), strict=True)
    )
    return XnnpackGraph(xnnpack_nodes, len(outputs), constants, flow)


def _name(kind: int) -> str:
    return _TYPES[kind] if 0 < kind < len(_TYPES) else f"XNN type {kind}"


def _flatbuffer(prepared: LazyBytes) -> tuple[int, LazyBytes, int]:
    """Where the flatbuffer of what was prepared starts, its bytes, and where constants start."""
    if prepared.raw(4, 8) != _HEADER:
        return 0, prepared, len(prepared)
    if len(prepared) < _LEAST_HEADER:
        raise Unread(f"its XNNPACK header has {len(prepared)} of {_LEAST_HEADER} bytes")
    start, size, constants = (
        int.from_bytes(prepared.raw(position, position + 4), "little") for position in (10, 14, 18)
    )
    if start + size > len(prepared):
        raise Unread(
            f"its XNNPACK graph should end at byte {start + size}, but there are only "
            f"{len(prepared)} bytes"
        )
    return start, prepared.part(start, start + size), constants
