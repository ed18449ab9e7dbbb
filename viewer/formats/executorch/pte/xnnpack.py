"""Reads XNNPACK's own graph from what its export prepared: nodes with debug handles, and constants.

What was prepared starts with a header (magic "XH00" at byte 4) that states where its flatbuffer is,
and where the constants that follow it start. The oldest exports wrote only the flatbuffer. Its
identifier is "XN01" (schema.fbs) or "XN00" (runtime_schema.fbs), both in
backends/xnnpack/serialization of ExecuTorch. In both, the nodes have the same slots; types were
only ever added at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.codecs.flatbuffer import Buffer, Malformed, Tables
from viewer.formats.executorch.pte.program_tables import (
    MOST_CONSTANTS,
    Lists,
    Problems,
    ProgramTables,
)
from viewer.formats.executorch.scalar_types import MOST_DIMENSIONS
from viewer.program.executable.executable import XnnpackConstant, XnnpackNode

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
_VALUES, _INLINE, _CONSTANTS = 2, 6, 8  # slots of the graph
_QUANTIZED = 2  # type of a value
_PER_CHANNEL, _PER_GROUP = 1, 4  # types of quantization
_SCALES = {_PER_CHANNEL: (2, 3), _PER_GROUP: (4, 5)}  # slots of the index and the number of scales
_NAMED = (1 << 64) - 1  # instead of an offset
_WEIGHT, _BIAS, _SCALE = "weight", "bias", "scale"
_WIDE = {2: "bf16", 4: "f32"}  # bytes of a scale

_DTYPES = (
    "", "f32", "f16", "qi8", "qu8", "qi32", "qi8 per channel", "qi32 per channel",
    "qi4 per channel", "qi8 dynamic", "qi4 per block", "qi8 packed", "i32", "f32 packed", "bf16",
)  # fmt: skip

# Type of a node -> slots of the values that it reads; all others read only the value in slot 0.
_CONVOLUTION, _POOLING = (15, 16, 17), (10,)
_SLOTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        ("XNNAdd", "XNNDiv", "XNNMinimum", "XNNMaximum", "XNNMultiply", "XNNSubtract", "XNNPReLU",
         "XNNBatchMatrixMultiply"),
        (0, 1),
    ),
    "XNNFullyConnected": (0, 1, 2),
    "XNNScaledDotProductAttention": (0, 1, 2, 3, 4),
    **dict.fromkeys(("XNNConv2d", "XNNDepthwiseConv2d", "XNNConvTranspose2d"), _CONVOLUTION),
    **dict.fromkeys(("XNNAvgPooling2d", "XNNMaxPooling2d"), _POOLING),
    **dict.fromkeys(("XNNLeakyReLU", "XNNELU"), (1,)),
    **dict.fromkeys(("XNNStaticTranspose", "XNNStaticResizeBilinear2D", "XNNStaticReshape"), (2,)),
    **dict.fromkeys(("XNNStaticConstantPad", "XNNStaticSlice"), (3,)),
    "XNNArgMaxPooling2d": (6,),
    "XNNConcatenate2": (1, 2),
    "XNNConcatenate3": (1, 2, 3),
    "XNNConcatenate4": (1, 2, 3, 4),
    "XNNConcatenate5": (1, 2, 3, 4, 7),
}  # fmt: skip
# Type of a node -> slot -> what its value is.
_ROLES: dict[str, dict[int, str]] = {
    "XNNFullyConnected": {1: _WEIGHT, 2: _BIAS},
    "XNNPReLU": {1: _WEIGHT},
    "XNNConv2d": {16: _WEIGHT, 17: _BIAS},
    "XNNDepthwiseConv2d": {16: _WEIGHT, 17: _BIAS},
    "XNNConvTranspose2d": {16: _WEIGHT, 17: _BIAS},
}


class Unread(Exception):
    """The nodes of a delegate cannot be read; the text is the reason."""


@dataclass(frozen=True, slots=True)
class XnnpackGraph:
    """The nodes in the order in which XNNPACK runs them, and their constants.

    outputs: the number of results of a call.
    """

    nodes: tuple[XnnpackNode, ...]
    outputs: int
    constants: tuple[XnnpackConstant, ...]


def read_graph(prepared: NDArray[np.uint8], at: int = 0) -> XnnpackGraph:
    """Read the graph of a delegate. at: where `prepared` is in the file. Raises `Unread`."""
    start, graph, after = _flatbuffer(prepared)
    if len(graph) < _LEAST or graph[4:8].tobytes() not in _IDENTIFIERS:
        raise Unread("its data is not an XNNPACK graph (neither XN00 nor XN01)")
    try:
        tables = ProgramTables(Buffer(graph), Problems())
        root = tables.root()
        nodes = tables.children(root, _NODES, "list of XNNPACK nodes").tables
        outputs = tables.numbers(root, _OUTPUTS, "outputs of XNNPACK").values
        types, handles = nodes.numbers(0, np.uint8, 0), nodes.numbers(2, np.uint32, 0)
        place = Place(at + start, at + after, at + len(prepared))
        names = [_name(kind) for kind in range(int(types.max(initial=0)) + 1)]
        constants = read_constants(tables, root, nodes, names, place)
    except Malformed as error:
        raise Unread(f"{error.reason} (byte {error.byte} of its XNNPACK graph)") from error
    found = tuple(
        XnnpackNode(names[kind], handle)
        for kind, handle in zip(types.tolist(), handles.tolist(), strict=True)
    )
    return XnnpackGraph(found, len(outputs), constants)


def _name(kind: int) -> str:
    return _TYPES[kind] if 0 < kind < len(_TYPES) else f"XNN type {kind}"


def _flatbuffer(prepared: NDArray[np.uint8]) -> tuple[int, NDArray[np.uint8], int]:
    """Where the flatbuffer of what was prepared starts, its bytes, and where constants start."""
    if prepared[4:8].tobytes() != _HEADER:
        return 0, prepared, len(prepared)
    if len(prepared) < _LEAST_HEADER:
        raise Unread(f"its XNNPACK header has {len(prepared)} of {_LEAST_HEADER} bytes")
    start, size, constants = (
        int.from_bytes(prepared[at : at + 4].tobytes(), "little") for at in (10, 14, 18)
    )
    if start + size > len(prepared):
        raise Unread(
            f"its XNNPACK graph should end at byte {start + size}, but there are only "
            f"{len(prepared)} bytes"
        )
    return start, prepared[start : start + size], constants


# Reads the constants of an XNNPACK graph: where they are, what they are, and which nodes use them.
#
# The graph lists its constants; values refer to them by index, and so do the scales of values that
# are quantized per channel or per block. Nodes refer to values by id. Newer exports store constants
# as named data of the program, so that delegates can share them; older ones after the graph, and
# the oldest inside it. Slots are those of schema.fbs and runtime_schema.fbs in
# backends/xnnpack/serialization of ExecuTorch.


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


@dataclass(frozen=True, slots=True)
class _Values:
    """The values that are constants or have scales that are; a row each.

    id: by which nodes refer to it. data, scale: indexes into the constants, 0 for none. dtype: of
    XNNPACK. scales: how many it has.
    """

    id: Ints
    data: Ints
    scale: Ints
    scales: Ints
    dtype: Ints
    shape: Lists


def read_constants(
    tables: ProgramTables, root: Tables, nodes: Tables, names: Sequence[str], place: Place
) -> tuple[XnnpackConstant, ...]:
    """Read the constants of a graph; row 0, which is reserved, is left out. Raises Malformed.

    names: of the types of nodes, by number.
    """
    data = _listed(tables, root, place)
    if len(data.size) <= 1:
        return ()
    values = _values(tables, root, len(data.size))
    row, node, role = _uses(tables, nodes, names, values)
    found = []
    of_data = _users(values.data, row, node, len(data.size))
    of_scale = _users(values.scale, row, node, len(data.size))
    value_of = _first(values.data, len(data.size))
    scaled = _first(values.scale, len(data.size))
    role_of = dict(zip(row[::-1].tolist(), role[::-1], strict=True))
    for i in range(1, len(data.size)):
        value, size = value_of[i], int(data.size[i])
        dtype, what, users = "", "", of_data.get(i, ())
        shape: tuple[int, ...] = ()
        if value >= 0:
            number = int(values.dtype[value])
            dtype = _DTYPES[number] if number < len(_DTYPES) else f"XNN data type {number}"
            shape, what = values.shape.of(value)[:MOST_DIMENSIONS], role_of.get(value, "")
        elif scaled[i] >= 0:
            count = int(values.scales[scaled[i]])
            dtype = _WIDE.get(size // count if count and size % count == 0 else 0, "")
            shape, what, users = (count,), _SCALE, of_scale.get(i, ())
        key = int(data.key[i])
        found.append(
            XnnpackConstant(
                data.keys[key] if key >= 0 else "",
                int(data.start[i]),
                size,
                dtype,
                shape,
                what,
                users,
            )
        )
    return tuple(found)


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


def _values(tables: ProgramTables, root: Tables, count: int) -> _Values:
    """The values of a graph that are constants. count: of constants."""
    values = tables.children(root, _VALUES, "list of XNNPACK values").tables
    types, contents = values.numbers(0, np.uint8, 0), values.targets(1)
    is_quantized = (types == _QUANTIZED) & (contents > 0)
    quantized = tables.of(contents[is_quantized], "quantized XNNPACK value")
    at = contents.copy()
    at[is_quantized] = quantized.targets(0)
    scale, scales = (np.zeros(len(at), np.int64) for _ in range(2))
    how, what = quantized.numbers(1, np.uint8, 0), quantized.targets(2)
    for kind, slots in _SCALES.items():
        own = (how == kind) & (what > 0)
        rows = np.flatnonzero(is_quantized)[own]
        parameters = tables.of(what[own], "scales of an XNNPACK value")
        scale[rows], scales[rows] = (
            parameters.numbers(slot, np.uint32, 0).astype(np.int64) for slot in slots
        )
    has = np.flatnonzero(at > 0)
    tensors = tables.of(at[has], "XNNPACK value")
    data = tensors.numbers(3, np.uint32, 0).astype(np.int64)
    data[data >= count] = 0
    scale[scale >= count] = 0
    keep = np.flatnonzero((data > 0) | (scale[has] > 0))
    kept = tables.of(at[has][keep], "XNNPACK value")
    return _Values(
        kept.numbers(6, np.uint32, 0).astype(np.int64),
        data[keep],
        scale[has][keep],
        scales[has][keep],
        kept.numbers(0, np.uint8, 0).astype(np.int64),  # two bytes, of which the second is 0
        tables.numbers(kept, 2, "sizes of an XNNPACK value"),
    )


def _uses(
    tables: ProgramTables, nodes: Tables, names: Sequence[str], values: _Values
) -> tuple[Ints, Ints, list[str]]:
    """Which rows of `values` which nodes read, and as what; in the order of the nodes."""
    types, contents = nodes.numbers(0, np.uint8, 0), nodes.targets(1)
    order = np.argsort(values.id, kind="stable")
    ids = values.id[order]
    found_rows, found_nodes, roles = [np.empty(0, np.int64)], [np.empty(0, np.int64)], list[str]()
    for kind in np.unique(types).tolist():
        own = np.flatnonzero((types == kind) & (contents > 0))
        made = tables.of(contents[own], f"XNNPACK node of type {kind}")
        for slot in _SLOTS.get(names[kind], (0,)):
            read = made.numbers(slot, np.uint32, 0).astype(np.int64)
            at = np.searchsorted(ids, read)
            is_known = (at < len(ids)) & (np.append(ids, -1)[at] == read)
            found_rows.append(order[at[is_known]])
            found_nodes.append(own[is_known])
            roles += [_ROLES.get(names[kind], {}).get(slot, "")] * int(is_known.sum())
    row, node = np.concatenate(found_rows), np.concatenate(found_nodes)
    by_node = np.argsort(node, kind="stable")
    return row[by_node], node[by_node], [roles[i] for i in by_node.tolist()]


def _users(data: Ints, row: Ints, node: Ints, count: int) -> dict[int, tuple[int, ...]]:
    """Constant -> the nodes that use it, ascending. data: the constant of each row of values."""
    found: dict[int, dict[int, None]] = {}
    for constant, user in zip(data[row].tolist(), node.tolist(), strict=True):
        if 0 < constant < count:
            found.setdefault(constant, {})[user] = None
    return {constant: tuple(users) for constant, users in found.items()}


def _first(data: Ints, count: int) -> list[int]:
    """Per constant, the first row of values that has it; -1 for none."""
    found = np.full(count, -1)
    found[data[::-1]] = np.arange(len(data))[::-1]
    found[0] = -1
    return list(found.tolist())
