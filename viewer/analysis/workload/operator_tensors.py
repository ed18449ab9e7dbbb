"""The input and output tensors of an operator, and their sizes.

Values passed between its graph nodes are neither inputs nor outputs of an operator, unless another
one, or the caller of the method, uses them too. A symbolic size ("s27 (8)") is unknown, since it
differs from run to run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from viewer.program.program import GraphNode, Operator, Program, Tensor

# Bits per element, by the names in ETRecords and MLIR. i1 is stored as a byte. "si8" and "ui8" give
# the signedness of an i8. "index" is missing because its width depends on the target.
_BITS = {
    "bool": 8, "i1": 8, "i4": 4, "u4": 4, "i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32,
    "u32": 32, "i48": 48, "i64": 64, "u64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64,
    "f8e5m2": 8, "f8e4m3fn": 8, "f8E5M2": 8, "f8E4M3FN": 8, "f8E4M3": 8,
    "si4": 4, "ui4": 4, "si8": 8, "ui8": 8, "si16": 16, "ui16": 16, "si32": 32, "ui32": 32,
    "si64": 64, "ui64": 64,
    # Two halves each: c32 is a complex number of two f16.
    "c32": 32, "c64": 64, "c128": 128,
}  # fmt: skip
# A damaged file may state any size; without a limit, results would have thousands of digits.
_MOST_ELEMENTS = 1 << 62


class NotKnown(Exception):
    """A value does not follow from the recorded data; the text says why, as a clause."""


def inputs_of(operator: Operator) -> list[Tensor]:
    """Return the values that its nodes take from outside, without duplicates, in order of use."""
    return taken_by(operator.nodes)


def outputs_of(operator: Operator) -> list[Tensor]:
    """Return the values that its nodes produce and do not consume themselves.

    If they consume all of them, the last one.
    """
    used = {tensor.name for node in operator.nodes for tensor in node.inputs}
    tensors = [tensor for node in operator.nodes for tensor in node.outputs]
    left = [tensor for tensor in tensors if tensor.name not in used]
    return left or tensors[-1:]


def taken_by(nodes: Sequence[GraphNode]) -> list[Tensor]:
    """Return the values that some nodes use and do not produce, without duplicates."""
    output_names = {tensor.name for node in nodes for tensor in node.outputs}
    tensors = {t.name: t for node in nodes for t in node.inputs if t.name not in output_names}
    return list(tensors.values())


def parameters_of(operator: Operator) -> list[Tensor]:
    """Return the parameters, buffers and constants that it uses, without duplicates."""
    return [tensor for tensor in inputs_of(operator) if tensor.parameter]


def used_elsewhere(program: Program, operator: Operator) -> frozenset[str]:
    """Return the names of an operator's values that other operators or the caller use.

    Names are per graph, and nested graphs may reuse them; so operators of another branch are
    ignored. A profile that records operators does not name their values.
    """
    method = program.method(operator.method)
    if method is None or program.is_recorded:
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
    """Return the number of elements of a tensor: 1 for a scalar. Raises NotKnown."""
    return prod(sizes_of(tensor))


def sizes_of(tensor: Tensor) -> tuple[int, ...]:
    """Return the shape as integers. Raises NotKnown for a symbolic size or without a shape."""
    if tensor.shape is None:
        raise NotKnown(f"the shape of {_name(tensor)} is not recorded")
    symbols = [size for size in tensor.shape if not isinstance(size, int)]
    if symbols:
        raise NotKnown(f"{_name(tensor)} has a dynamic size, {symbols[0]}")
    sizes = tuple(size for size in tensor.shape if isinstance(size, int))
    if min(sizes, default=0) < 0 or prod(size or 1 for size in sizes) > _MOST_ELEMENTS:
        raise NotKnown(f"the shape of {_name(tensor)} is invalid")
    return sizes


def bytes_of(tensor: Tensor) -> int:
    """Return the bytes of a tensor's elements, rounded up if packed. Raises NotKnown."""
    bits = _BITS.get(tensor.dtype)
    elements = elements_of(tensor)
    if elements == 0:
        return 0
    if bits is None:
        what = f"dtype {tensor.dtype}" if tensor.dtype else "dtype"
        raise NotKnown(f"the {what} of {_name(tensor)} has an unknown size")
    return -(-elements * bits // 8)


def is_floating(tensor: Tensor) -> bool:
    """Return whether its elements are floating-point numbers."""
    return tensor.dtype.startswith(("f", "bf"))


def is_complex(tensor: Tensor) -> bool:
    """Return whether its elements are complex numbers."""
    return tensor.dtype in ("c32", "c64", "c128")


def bytes_of_all(tensors: Iterable[Tensor]) -> int:
    """Return the bytes of several tensors. Raises NotKnown if any is unknown."""
    return sum(bytes_of(tensor) for tensor in tensors)


def _name(tensor: Tensor) -> str:
    return tensor.parameter or tensor.name or "a value"
