"""What an operator takes and makes as tensors, and how large these are.

An operator is a group of graph nodes. What its nodes hand one another is neither taken nor made by
the operator, unless another operator, or the caller of the method, gets it too. Sizes are of the
shapes and dtypes that the record states; a symbolic size ("s27 (8)") is not known, since it is a
different one in every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from viewer.program.program import GraphNode, Operator, Program, Tensor

# Bits of one element. Names as records write them and as MLIR does (i1 is stored as a byte, "si8"
# and "ui8" say how an i8 is read, "index" is left out: its width is the target's).
_BITS = {
    "bool": 8, "i1": 8, "i4": 4, "u4": 4, "i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32,
    "u32": 32, "i48": 48, "i64": 64, "u64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64,
    "f8e5m2": 8, "f8e4m3fn": 8, "f8E5M2": 8, "f8E4M3FN": 8, "f8E4M3": 8,
    "si4": 4, "ui4": 4, "si8": 8, "ui8": 8, "si16": 16, "ui16": 16, "si32": 32, "ui32": 32,
    "si64": 64, "ui64": 64,
    # Two halves each: c32 is the complex of two f16.
    "c32": 32, "c64": 64, "c128": 128,
}  # fmt: skip
# A damaged file may state any size; figures of such ones would be thousands of digits long.
_MOST_ELEMENTS = 1 << 62


class NotKnown(Exception):
    """A figure does not follow from what the record states; the text says why, as a clause."""


def inputs_of(operator: Operator) -> list[Tensor]:
    """The values that its nodes take from outside of it, each once, in the order of their use."""
    return taken_by(operator.nodes)


def outputs_of(operator: Operator) -> list[Tensor]:
    """The values that its nodes make and do not use up among themselves."""
    used = {tensor.name for node in operator.nodes for tensor in node.inputs}
    made = [tensor for node in operator.nodes for tensor in node.outputs]
    left = [tensor for tensor in made if tensor.name not in used]
    return left or made[-1:]


def taken_by(nodes: Sequence[GraphNode]) -> list[Tensor]:
    """The values that some nodes take and do not make themselves, each once."""
    made = {tensor.name for node in nodes for tensor in node.outputs}
    found = {t.name: t for node in nodes for t in node.inputs if t.name not in made}
    return list(found.values())


def parameters_of(operator: Operator) -> list[Tensor]:
    """The parameters, buffers and constants that it takes, each once."""
    return [tensor for tensor in inputs_of(operator) if tensor.parameter]


def used_elsewhere(program: Program, operator: Operator) -> frozenset[str]:
    """The names of the values that leave an operator: other operators take them, or the caller.

    Names are of one graph, and graphs inside of one another may use the same; so operators of
    another branch are not asked.
    """
    method = program.method(operator.method)
    if method is None:
        return frozenset()
    names = {
        tensor.name
        for other in method.operators
        if other.index != operator.index and other.branch == operator.branch
        for node in other.nodes
        for tensor in node.inputs
    }
    return method.results | names


def elements_of(tensor: Tensor) -> int:
    """How many elements a tensor has: 1 of a scalar, 0 with a size of 0. Raises NotKnown."""
    return prod(sizes_of(tensor))


def sizes_of(tensor: Tensor) -> tuple[int, ...]:
    """The shape in whole numbers. Raises NotKnown of a symbolic size, or without a shape."""
    if tensor.shape is None:
        raise NotKnown(f"the shape of {_name(tensor)} is not recorded")
    symbols = [size for size in tensor.shape if not isinstance(size, int)]
    if symbols:
        raise NotKnown(f"{_name(tensor)} has a size that is not fixed, {symbols[0]}")
    sizes = tuple(size for size in tensor.shape if isinstance(size, int))
    if min(sizes, default=0) < 0 or prod(size or 1 for size in sizes) > _MOST_ELEMENTS:
        raise NotKnown(f"the shape of {_name(tensor)} cannot be true")
    return sizes


def bytes_of(tensor: Tensor) -> int:
    """The bytes of a tensor's elements, packed ones rounded up to a byte. Raises NotKnown."""
    bits = _BITS.get(tensor.dtype)
    elements = elements_of(tensor)
    if elements == 0:
        return 0
    if bits is None:
        what = f"dtype {tensor.dtype}" if tensor.dtype else "dtype"
        raise NotKnown(f"the {what} of {_name(tensor)} has no known size")
    return -(-elements * bits // 8)


def is_floating(tensor: Tensor) -> bool:
    """Whether its elements are floating point numbers."""
    return tensor.dtype.startswith(("f", "bf"))


def is_complex(tensor: Tensor) -> bool:
    """Whether its elements are complex numbers."""
    return tensor.dtype in ("c32", "c64", "c128")


def bytes_of_all(tensors: Iterable[Tensor]) -> int:
    """The bytes of several tensors. Raises NotKnown if those of any are not."""
    return sum(bytes_of(tensor) for tensor in tensors)


def _name(tensor: Tensor) -> str:
    return tensor.parameter or tensor.name or "a value"
