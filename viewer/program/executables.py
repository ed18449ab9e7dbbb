"""An executable: what the runtime loaded and ran, instruction by instruction.

The instruction list of a method is what the `instruction_id` of an ETDump counts. Its values are
numbered per method; its tensors are columns.

`StoredData` has the byte ranges of constants, delegates and named blobs; nothing of it is read.
Positions count from the start of the file, also of a program in a bundle.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.dataclasses import dataclass, field
from viewer.model.trace import Problem

OUTPUT = -1  # instead of a position among the inputs


class DataType(IntEnum):
    """The data type of a value, numbered as in the schema."""

    UNKNOWN = 0
    F32 = 1
    F16 = 2
    QINT8 = 3
    QUINT8 = 4
    QINT32 = 5
    QCINT8 = 6
    QCINT32 = 7
    QCINT4 = 8
    QDINT8 = 9  # quantized at run time
    QBINT4 = 10
    QPINT8 = 11
    INT32 = 12
    PF32 = 13
    BF16 = 14


@dataclass(frozen=True, slots=True, eq=False)
class XnnpackDataflow:
    """The uses of values by nodes, node after node, and what is known of values and nodes.

    node, value, position: of each use; the last is the position among the node's inputs, or
    `OUTPUT`. dtype: the `DataType` of each value. is_input, is_output: whether a value is one of
    the whole graph. is_constant: whether the file has its data. is_bounded: whether a node limits
    its output to a range, as a fused relu does. swaps_matrix: whether a node is a transpose of the
    last two dimensions alone. is_whole: whether a node is a reshape that states all sizes.
    """

    node: Ints
    value: Ints
    position: Ints
    dtype: NDArray[np.uint8]
    is_input: Bools
    is_output: Bools
    is_constant: Bools
    is_bounded: Bools
    swaps_matrix: Bools
    is_whole: Bools

    @classmethod
    def unknown(cls, nodes: int) -> XnnpackDataflow:
        """Nothing is known of some nodes but their types."""
        none, no = np.empty(0, np.int64), np.empty(0, np.bool_)
        flags = np.zeros(nodes, np.bool_)
        return cls(none, none, none, np.empty(0, np.uint8), no, no, no, flags, flags, flags)


NONE = -1  # no memory, no constant data, no name, or an unknown size


class Dynamism(IntEnum):
    """How fixed the sizes of a tensor are; as in the file."""

    STATIC = 0
    BOUND = 1  # the sizes are upper bounds
    UNBOUND = 2  # the sizes mean nothing


@dataclass(frozen=True, slots=True, eq=False)
class Tensors:
    """The tensors among the values of a method, in the order of the values.

    value: the index among the values. dtype: index into `dtypes`. first: tensors + 1 offsets into
    `extents`, the sizes of all dimensions. size: bytes by dtype and sizes, the most bytes for a
    bound; `NONE` if not known. memory: the id of the planned memory, which is the index into the
    method's `buffer_sizes`, with the 64-bit `offset` in it in bytes; both `NONE` for a tensor that
    is not planned. constant: the row of its data in `StoredData.constants`; with planned memory, of
    its initial state in `StoredData.states`; `NONE` if it has no data there. is_external: whether
    its data is in another file, under its name. name: index into `names`, `NONE` without one.
    is_input, is_output: of the method. dynamism: a `Dynamism`.
    """

    value: Ints
    dtype: Codes
    first: Ints
    extents: Ints
    size: Ints
    memory: Ints
    offset: Ints
    constant: Ints
    is_external: Bools
    name: Ints
    is_input: Bools
    is_output: Bools
    dynamism: NDArray[np.uint8]
    dtypes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.value)

    def shape(self, i: int) -> tuple[int, ...]:
        """The sizes of the dimensions of tensor i; empty for a scalar."""
        return tuple(self.extents[self.first[i] : self.first[i + 1]].tolist())

    def text(self, i: int) -> str:
        """The dtype and shape of tensor i: "f32 1 × 8", "i64 scalar", "f32 up to 4 × 8"."""
        dtype = self.dtypes[int(self.dtype[i])]
        sizes = " × ".join(map(str, self.shape(i))) or "scalar"
        dynamism = int(self.dynamism[i])
        if dynamism == Dynamism.UNBOUND:
            return f"{dtype}, any shape"
        bound = "up to " if dynamism == Dynamism.BOUND else ""
        return f"{dtype} {bound}{sizes}"

    def named(self, i: int) -> str:
        """The recorded name of tensor i, "" without one."""
        return "" if self.name[i] == NONE else self.names[int(self.name[i])]

    @staticmethod
    def empty() -> Tensors:
        """No tensors."""
        ints, flags = np.empty(0, np.int64), np.empty(0, np.bool_)
        return Tensors(
            value=ints,
            dtype=np.empty(0, np.uint32),
            first=np.zeros(1, np.int64),
            extents=ints,
            size=ints,
            memory=ints,
            offset=ints,
            constant=ints,
            is_external=flags,
            name=ints,
            is_input=flags,
            is_output=flags,
            dynamism=np.empty(0, np.uint8),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Byte ranges of a file, as columns. start: of the first byte. size: of the bytes there."""

    start: Ints
    size: Ints

    def __len__(self) -> int:
        return len(self.start)

    @staticmethod
    def empty() -> Ranges:
        """No ranges."""
        return Ranges(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class StoredData:
    """The ranges of what is stored.

    program: one range, the flatbuffer. content: one range, the program with its segments; in a
    bundle, the rest are test inputs. constants, states: what `Tensors.constant` counts, of tensors
    without and with planned memory; row 0 of `constants` is reserved. Each range ends where the
    next one starts, so it may have padding. delegates: of all methods, method after method; some
    may share a range. named: blobs with the names of the same rows in `names`, of which several may
    share a range. segments: all segments.
    """

    program: Ranges
    content: Ranges
    constants: Ranges
    states: Ranges
    delegates: Ranges
    named: Ranges
    segments: Ranges
    names: tuple[str, ...] = ()

    @staticmethod
    def empty() -> StoredData:
        """Nothing is known."""
        none = Ranges.empty()
        return StoredData(none, none, none, none, none, none, none)


XNNPACK = "XnnpackBackend"  # the backend whose delegates have readable nodes
INSERTED = 65535  # the debug handle of a node that XNNPACK's export inserted: no operator has it


class InstructionKind(IntEnum):
    """What an instruction does; numbered as in the file, from 0."""

    UNKNOWN = -1
    KERNEL_CALL = 0
    DELEGATE_CALL = 1
    MOVE_CALL = 2
    JUMP_FALSE_CALL = 3
    FREE_CALL = 4


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a method.

    number: its position in its chain; in chain 0 the `instruction_id` of an ETDump. name: of a
    kernel call the operator with namespace and overload, "aten::add.out"; of a delegate call the
    backend; else "". values: the values that it uses, in the order of the file: for a call its
    arguments with its results; for a move from and to; for a jump its condition. target: the
    instruction that a jump leads to, else -1. delegate: index into the method's delegates, else -1.
    """

    number: int
    kind: InstructionKind
    name: str = ""
    values: tuple[int, ...] = ()
    target: int = -1
    delegate: int = -1


@dataclass(frozen=True, slots=True)
class XnnpackNode:
    """One node of XNNPACK's own graph. type: as in its schema, "XNNConv2d".

    debug_handle: that of the operator that it came from, or `INSERTED`.
    """

    type: str
    debug_handle: int

    @property
    def is_inserted(self) -> bool:
        """Whether XNNPACK's export added it, for example to change a layout."""
        return self.debug_handle == INSERTED


@dataclass(frozen=True, slots=True)
class XnnpackConstant:
    """Data that nodes of XNNPACK use: weights, biases, and the scales of quantized ones.

    key: its name among the named data of the file; "" if it is inside what XNNPACK prepared. start:
    its first byte in the file, -1 with a key. size: in bytes. dtype: "f32", "qi8 per channel", and
    shape, as the graph states them; "" and () if no value has this data. role: "weight", "bias",
    "scale", or "" for others. nodes: indexes into `Delegate.nodes`, ascending.
    """

    key: str
    start: int
    size: int
    dtype: str = ""
    shape: tuple[int, ...] = ()
    role: str = ""
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Delegate:
    """A part of a method that a backend runs.

    size: bytes of what the backend prepared. nodes: of XNNPACK in the order in which they run;
    empty for other backends. unread: why the nodes could not be read, "" otherwise. outputs: how
    many of the last arguments of a call are its results; -1 if the file does not state it.
    constants: of XNNPACK, in the order of its graph. dataflow: what connects the nodes of XNNPACK;
    None if only their types are known.
    """

    backend: str
    size: int
    nodes: tuple[XnnpackNode, ...] = ()
    unread: str = ""
    outputs: int = -1
    constants: tuple[XnnpackConstant, ...] = ()
    dataflow: XnnpackDataflow | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ExecutableMethod:
    """One method. value_count: the number of its values. inputs, outputs: values of the method.

    instructions: those of chain 0. more_chains: the instructions of further chains, which no export
    writes today. lists: value that is a list of tensors -> its members, -1 for None. buffer_sizes:
    bytes of each planned memory by its id; 0 is reserved.
    """

    name: str
    instructions: tuple[Instruction, ...]
    delegates: tuple[Delegate, ...]
    tensors: Tensors
    value_count: int = 0
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    lists: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    buffer_sizes: tuple[int, ...] = ()
    more_chains: tuple[tuple[Instruction, ...], ...] = ()

    @property
    def planned_bytes(self) -> int:
        """The bytes of all memory planned for values that are no constants."""
        return sum(self.buffer_sizes)

    def count(self, kind: InstructionKind) -> int:
        """The number of instructions of a kind in chain 0."""
        return sum(instruction.kind is kind for instruction in self.instructions)


class PartKind(StrEnum):
    """What the bytes of a program file are for."""

    PROGRAM = "program"  # instructions, values and names
    CONSTANTS = "constants"
    DELEGATES = "delegates"
    NAMED_DATA = "named data"  # found by a name, as most backends keep their weights
    TESTS = "test inputs"  # of a bundled program: inputs and expected outputs
    OTHER = "other"  # segments that nothing refers to
    PADDING = "padding"  # between segments


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of one kind. size: in bytes."""

    kind: PartKind
    name: str
    size: int


@dataclass(frozen=True, eq=False)
class Executable:
    """One program file.

    parts: what its bytes are for. size: of the whole file in bytes. stored: where its data is.
    """

    path: str
    format: str
    generation: str
    methods: tuple[ExecutableMethod, ...]
    parts: tuple[Part, ...]
    size: int
    problems: tuple[Problem, ...] = ()
    stored: StoredData = field(default_factory=StoredData.empty)

    def method(self, name: str) -> ExecutableMethod | None:
        """The method with that name, or None."""
        return next((m for m in self.methods if m.name == name), None)

    def part_sizes(self) -> dict[PartKind, int]:
        """Bytes by kind, for the kinds that the file has."""
        sizes: dict[PartKind, int] = {}
        for part in self.parts:
            sizes[part.kind] = sizes.get(part.kind, 0) + part.size
        return sizes
