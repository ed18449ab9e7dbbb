"""Reads XNNPACK's own graph from what its export prepared: nodes with debug handles, and outputs.

What was prepared starts with a header (magic "XH00" at byte 4) that states where its flatbuffer is;
constants follow it. The oldest exports wrote only the flatbuffer. Its identifier is "XN01"
(schema.fbs) or "XN00" (runtime_schema.fbs), both in backends/xnnpack/serialization of ExecuTorch.
In both, the nodes have the same slots; types were only ever added at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.codecs.flatbuffer import Buffer, Malformed
from viewer.formats.executorch.pte.program_tables import Problems, ProgramTables
from viewer.program.executable.executable import XnnpackNode

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
    """The nodes in the order in which XNNPACK runs them, and the number of results of a call."""

    nodes: tuple[XnnpackNode, ...]
    outputs: int


def read_graph(prepared: NDArray[np.uint8]) -> XnnpackGraph:
    """Read the graph of a delegate. Raises `Unread`."""
    graph = _flatbuffer(prepared)
    if len(graph) < _LEAST or graph[4:8].tobytes() not in _IDENTIFIERS:
        raise Unread("its data is not an XNNPACK graph (neither XN00 nor XN01)")
    try:
        tables = ProgramTables(Buffer(graph), Problems())
        root = tables.root()
        nodes = tables.children(root, _NODES, "list of XNNPACK nodes").tables
        outputs = tables.numbers(root, _OUTPUTS, "outputs of XNNPACK").values
        types, handles = nodes.numbers(0, np.uint8, 0), nodes.numbers(2, np.uint32, 0)
    except Malformed as error:
        raise Unread(f"{error.reason} (byte {error.byte} of its XNNPACK graph)") from error
    found = tuple(
        XnnpackNode(_TYPES[kind] if 0 < kind < len(_TYPES) else f"XNN type {kind}", handle)
        for kind, handle in zip(types.tolist(), handles.tolist(), strict=True)
    )
    return XnnpackGraph(found, len(outputs))


def _flatbuffer(prepared: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The flatbuffer of what was prepared."""
    if prepared[4:8].tobytes() != _HEADER:
        return prepared
    if len(prepared) < _LEAST_HEADER:
        raise Unread(f"its XNNPACK header has {len(prepared)} of {_LEAST_HEADER} bytes")
    start = int.from_bytes(prepared[10:14].tobytes(), "little")
    size = int.from_bytes(prepared[14:18].tobytes(), "little")
    if start + size > len(prepared):
        raise Unread(
            f"its XNNPACK graph should end at byte {start + size}, but there are only "
            f"{len(prepared)} bytes"
        )
    return prepared[start : start + size]
