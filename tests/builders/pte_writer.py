"""Writes ExecuTorch program files of any release: `Method` and `write_program`, and XNNPACK graphs.

Slots are those of schema/program.fbs and backends/xnnpack/serialization/schema.fbs of ExecuTorch.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import flatbuffers
import numpy as np

KERNEL, DELEGATE, MOVE, JUMP, FREE = 1, 2, 3, 4, 5
TENSOR = 5


Place = tuple[int, int, int] | None


@dataclass
class Method:
    """instructions: (type, its two fields); the second of a call are its arguments.

    tensors: (scalar type, sizes, (memory, low, high) or None), and the index of its data if it has
    any. delegates: (backend, in a segment, index). memories: sizes.
    """

    name: str = "forward"
    instructions: Sequence[tuple[int, object, object]] = ()
    operators: Sequence[tuple[str, str]] = (("aten::add", "out"),)
    tensors: Sequence[tuple[int, Sequence[int], Place] | tuple[int, Sequence[int], Place, int]] = ()
    delegates: Sequence[tuple[str, bool, int]] = ()
    memories: Sequence[int] = (0,)
    inputs: Sequence[int] = ()
    more_chains: Sequence[Sequence[tuple[int, object, object]]] = field(default_factory=list)


class _Builder(flatbuffers.Builder):
    def table(self, **slots: Callable[[], None]) -> int:
        """A table of prepared fields: slot number -> what adds it."""
        self.StartObject(max((int(slot[1:]) for slot in slots), default=-1) + 1)
        for add in slots.values():
            add()
        return self.EndObject()

    def offset(self, slot: int, at: int) -> Callable[[], None]:
        return lambda: self.PrependUOffsetTRelativeSlot(slot, at, 0)

    def number(self, slot: int, value: int, width: int = 4) -> Callable[[], None]:
        prepend = {
            1: self.PrependUint8Slot, 4: self.PrependUint32Slot, 8: self.PrependUint64Slot
        }[width]  # fmt: skip
        return lambda: prepend(slot, value & ((1 << 8 * width) - 1), 0)

    def numbers(self, values: Sequence[int], dtype: type = np.int32) -> int:
        if not len(values):
            self.StartVector(4, 0, 4)
            return self.EndVector()
        return self.CreateNumpyVector(np.array(values, dtype))

    def tables(self, offsets: Sequence[int]) -> int:
        self.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.PrependUOffsetTRelative(offset)
        return self.EndVector()


def program(
    *methods: Method,
    segments: Sequence[bytes] = (),
    inline: Sequence[bytes] = (),
    constants: Sequence[bytes] = (),
    constant_segment: tuple[int, Sequence[int]] | None = None,
    states: Sequence[tuple[int, Sequence[int]]] = (),
    named: Sequence[tuple[str, int]] = (),
    header: int = 32,
    version: int = 0,
) -> bytes:
    """The bytes of a program. header: length of the extended header, 0 for none.

    constant_segment, states: a segment and the offsets in it. named: names and their segments.
    """
    b = _Builder(1024)
    b.ForceDefaults(True)
    plans = b.tables([_method(b, method) for method in methods])
    data = b.tables([b.table(s0=b.offset(0, b.CreateByteVector(each))) for each in inline])
    buffers = b.tables([b.table(s0=b.offset(0, b.CreateByteVector(each))) for each in constants])
    placed, at = [], 0
    for each in segments:
        placed.append(b.table(s0=b.number(0, at, 8), s1=b.number(1, len(each), 8)))
        at += -(-len(each) // 16) * 16
    places = b.tables(placed)
    more = {}
    if constant_segment is not None:
        more["s5"] = b.offset(5, _offsets(b, *constant_segment))
    if states:
        more["s6"] = b.offset(6, b.tables([_offsets(b, *each) for each in states]))
    if named:
        keys = [(b.CreateString(name), segment) for name, segment in named]
        listed = [b.table(s0=b.offset(0, key), s1=b.number(1, i)) for key, i in keys]
        more["s7"] = b.offset(7, b.tables(listed))
    root = b.table(
        s0=b.number(0, version),
        s1=b.offset(1, plans),
        s2=b.offset(2, buffers),
        s3=b.offset(3, data),
        s4=b.offset(4, places),
        **more,
    )
    b.Finish(root, file_identifier=b"ET12")
    made = bytes(b.Output())
    if header:
        start = struct.unpack("<I", made[:4])[0] + 32
        size = len(made) + 32
        base = -(-size // 16) * 16
        fields = struct.pack("<4sIQQQ", b"eh00", header, size, base, at)
        made = struct.pack("<I", start) + made[4:8] + fields + made[8:]
        made = made.ljust(base, b"\0") if segments else made
    return made + b"".join(each.ljust(-(-len(each) // 16) * 16, b"\0") for each in segments)


def _offsets(b: _Builder, segment: int, offsets: Sequence[int]) -> int:
    at = b.numbers(offsets, np.uint64)
    return b.table(s0=b.number(0, segment), s1=b.offset(1, at))


def _method(b: _Builder, method: Method) -> int:
    name = b.CreateString(method.name)
    values = b.tables([_tensor(b, *tensor) for tensor in method.tensors])
    inputs = b.numbers(method.inputs)
    chains = [_chain(b, chain) for chain in (method.instructions, *method.more_chains)]
    chains_at = b.tables(chains)
    operators = []
    for operator, overload in method.operators:
        a, o = b.CreateString(operator), b.CreateString(overload)
        operators.append(b.table(s0=b.offset(0, a), s1=b.offset(1, o)))
    operators_at = b.tables(operators)
    delegates = []
    for backend, in_segment, index in method.delegates:
        where = b.table(s0=b.number(0, in_segment, 1), s1=b.number(1, index))
        text = b.CreateString(backend)
        delegates.append(b.table(s0=b.offset(0, text), s1=b.offset(1, where)))
    delegates_at = b.tables(delegates)
    memories = b.numbers(method.memories, np.int64)
    return b.table(
        s0=b.offset(0, name),
        s2=b.offset(2, values),
        s3=b.offset(3, inputs),
        s5=b.offset(5, chains_at),
        s6=b.offset(6, operators_at),
        s7=b.offset(7, delegates_at),
        s8=b.offset(8, memories),
    )


def _tensor(b: _Builder, dtype: int, sizes: Sequence[int], planned: Place, data: int = 0) -> int:
    shape = b.numbers(sizes)
    slots = {"s0": b.number(0, dtype, 1), "s2": b.offset(2, shape)}
    if data:
        slots["s5"] = b.number(5, data)
    if planned is not None:
        memory, low, high = planned
        at = b.table(s0=b.number(0, memory), s1=b.number(1, low), s2=b.number(2, high))
        slots["s6"] = b.offset(6, at)
    tensor = b.table(**slots)
    return b.table(s0=b.number(0, TENSOR, 1), s1=b.offset(1, tensor))


def _chain(b: _Builder, instructions: Sequence[tuple[int, object, object]]) -> int:
    made = []
    for kind, first, second in instructions:
        if kind in (KERNEL, DELEGATE):
            arguments = b.numbers(second)
            inner = b.table(s0=b.number(0, first), s1=b.offset(1, arguments))
        else:
            inner = b.table(s0=b.number(0, first), s1=b.number(1, second))
        made.append(b.table(s0=b.number(0, kind, 1), s1=b.offset(1, inner)))
    listed = b.tables(made)
    return b.table(s2=b.offset(2, listed))


def xnnpack_graph(
    nodes: Sequence[tuple[int, int] | tuple[int, int, dict[int, int]]],
    identifier: bytes = b"XN01",
    *,
    header: bool = True,
    outputs: int = 1,
    constants: Sequence[tuple[int, int] | str | bytes] = (),
    values: Sequence[tuple[int, int, Sequence[int], int]] = (),
) -> bytes:
    """What XNNPACK's export prepares for nodes of (type, debug handle), constants of 64 bytes.

    A node may have the slots of the values that it reads: slot -> value. constants: those after the
    reserved one, as (offset, size) after the graph, names of named data, or bytes inside the graph.
    values: (data type, index of the constant, sizes, index of the constant with its scales); the id
    of each is its position.
    """
    b = _Builder(256)
    b.ForceDefaults(True)
    more = _xnnpack_constants(b, constants) | _xnnpack_values(b, values)
    made = []
    for kind, handle, *reads in nodes:
        slots = reads[0] if reads else {0: 1}
        inner = b.table(**{f"s{slot}": b.number(slot, slots[slot]) for slot in sorted(slots)})
        made.append(b.table(s0=b.number(0, kind, 1), s1=b.offset(1, inner), s2=b.number(2, handle)))
    listed = b.tables(made)
    results = b.numbers(range(outputs), np.uint32)
    graph_table = b.table(s1=b.offset(1, listed), s5=b.offset(5, results), **more)
    b.Finish(graph_table, file_identifier=identifier)
    graph = bytes(b.Output())
    if not header:
        return graph
    start, after = 32, 32 + len(graph)
    return (
        struct.pack("<4s4sHIIIQ", bytes(4), b"XH00", 30, start, len(graph), after, 64)
        + bytes(2)
        + graph
        + bytes(64)
    )


def _xnnpack_constants(
    b: _Builder, constants: Sequence[tuple[int, int] | str | bytes]
) -> dict[str, Callable[[], None]]:
    if not constants:
        return {}
    if isinstance(constants[0], bytes):
        stored = [b.CreateByteVector(each) for each in (b"", *constants)]
        return {"s6": b.offset(6, b.tables([b.table(s0=b.offset(0, each)) for each in stored]))}
    made = []
    for each in ((0, 0), *constants):
        offset, size = ((1 << 64) - 1, 0) if isinstance(each, str) else each
        key = b.CreateString(each if isinstance(each, str) else "")
        made.append(
            b.table(s0=b.number(0, offset, 8), s1=b.number(1, size, 8), s2=b.offset(2, key))
        )
    return {"s8": b.offset(8, b.tables(made))}


def _xnnpack_values(
    b: _Builder, values: Sequence[tuple[int, int, Sequence[int], int]]
) -> dict[str, Callable[[], None]]:
    if not values:
        return {}
    made = []
    for number, (dtype, constant, sizes, scale) in enumerate(values):
        shape = b.numbers(sizes, np.uint32)
        tensor = b.table(
            s0=b.number(0, dtype, 1),
            s2=b.offset(2, shape),
            s3=b.number(3, constant),
            s6=b.number(6, number),
        )
        if scale:
            scales = b.table(s2=b.number(2, scale), s3=b.number(3, sizes[0]))
            tensor = b.table(s0=b.offset(0, tensor), s1=b.number(1, 1, 1), s2=b.offset(2, scales))
        made.append(b.table(s0=b.number(0, 2 if scale else 1, 1), s1=b.offset(1, tensor)))
    return {"s2": b.offset(2, b.tables(made))}


def write_program(path: Path, *methods: Method, **given: object) -> Path:
    """Write a program to a file."""
    path.write_bytes(program(*methods, **given))
    return path
