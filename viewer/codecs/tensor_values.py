"""The values of tensors that are stored as bytes, as float64, a block at a time.

Blocks are in the order of the indexes of a tensor (row-major), whatever its strides are, and of a
fixed size, so the memory that reading takes does not depend on its size. All numbers are
little-endian; quantized values are integers as they are stored. The floats of 8 bits are those of
the OCP specification (f8e4m3fn, f8e5m2) and their variants without a negative zero, as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Floats, Ints
from viewer.codecs.file_bytes import FileBytes
from viewer.dataclasses import dataclass

BLOCK = 1 << 16  # values
# dtype -> how it is stored; names as in texts of tensors.
_STORED = {
    "u8": "u1", "i8": "i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "u16": "<u2", "u32": "<u4",
    "u64": "<u8", "f16": "<f2", "f32": "<f4", "f64": "<f8", "bool": "u1", "qi8": "i1", "qu8": "u1",
    "qi32": "<i4", "bits8": "u1", "bits16": "<u2", "bf16": "<u2", "f8e5m2": "u1", "f8e4m3fn": "u1",
    "f8e5m2fnuz": "u1", "f8e4m3fnuz": "u1",
}  # fmt: skip
# Floats of 8 bits: bits of the mantissa, bias of the exponent.
_SMALL_FLOATS = {
    "f8e5m2": (2, 15), "f8e4m3fn": (3, 7), "f8e5m2fnuz": (2, 16), "f8e4m3fnuz": (3, 8),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """How a tensor is stored: dtype ("f32"), sizes, and strides in elements; () for row-major."""

    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of its values."""
        return math.prod(self.sizes)

    @property
    def width(self) -> int:
        """Bytes of a value, 0 if its values cannot be read."""
        stored = _STORED.get(self.dtype)
        return np.dtype(stored).itemsize if stored else 0

    @property
    def extent(self) -> int:
        """Bytes from its first value to the end of its last one."""
        if not self.count:
            return 0
        if not self.strides:
            return self.count * self.width
        steps = zip(self.sizes, self.strides, strict=True)
        return (1 + sum((size - 1) * stride for size, stride in steps)) * self.width

    @property
    def text(self) -> str:
        """Its dtype and shape: "f32 1 × 8", "i64 scalar"."""
        return f"{self.dtype} {' × '.join(map(str, self.sizes)) or 'scalar'}"

    @property
    def fault(self) -> str:
        """Why its values cannot be read; "" if they can."""
        if not self.width:
            return f"values of type {self.dtype} cannot be read"
        if min(self.sizes, default=0) < 0:
            return "tensor with a negative size"
        if not self.strides or not self.count:
            return ""
        if len(self.strides) != len(self.sizes):
            return "tensor with another number of strides than sizes"
        steps = sorted(
            (stride, size)
            for size, stride in zip(self.sizes, self.strides, strict=True)
            if size > 1
        )
        end = 0  # elements from the first to the last of the inner dimensions
        for stride, size in steps:
            if stride <= end:
                return "tensor whose values overlap"
            end += (size - 1) * stride
        return ""


class StoredTensor:
    """A tensor in some bytes, in memory or in a file, at an offset."""

    def __init__(
        self, layout: TensorLayout, data: NDArray[np.uint8] | FileBytes, offset: int = 0
    ) -> None:
        """Raises ValueError, with the reason, if its values cannot be read."""
        fault = layout.fault
        if not fault and layout.count and not 0 <= offset <= len(data) - layout.extent:
            fault = "tensor outside its buffer"
        if fault:
            raise ValueError(fault)
        self.layout = layout
        self._offset = offset if layout.count else 0
        self._data = data

    @property
    def count(self) -> int:
        """The number of its values."""
        return self.layout.count

    def blocks(
        self, size: int = BLOCK, *, start: int = 0, stop: int | None = None
    ) -> Iterator[Floats]:
        """Yield its values in the order of its indexes, `size` at a time.

        start, stop: only the values with these numbers, by default all. Raises UnreadableFile if
        their file has changed since it was opened.
        """
        stop = self.count if stop is None else stop
        stored, begin = np.empty(0, np.uint8), 0
        for first in range(start, stop, size):
            end = min(first + size, stop)
            if not self.layout.strides:
                yield _decoded(self.layout.dtype, self._stored(first, end))
                continue
            places = self._places(first, end)
            if not len(stored):
                # Each of many blocks may have values of all places.
                is_one = end == stop
                begin, last = (int(places.min()), int(places.max()) + 1) if is_one else (0, None)
                stored = self._stored(begin, last)
            yield _decoded(self.layout.dtype, stored[places - begin])

    def _stored(self, first: int, end: int | None) -> NDArray[Any]:
        """Elements by their place, as they are stored."""
        width = self.layout.width
        stop = self._offset + (self.layout.extent if end is None else end * width)
        start = self._offset + first * width
        if isinstance(self._data, FileBytes):
            raw = self._data.read(start, stop)
        else:
            raw = self._data[start:stop]
        return raw.view(_STORED[self.layout.dtype])

    def _places(self, first: int, end: int) -> Ints:
        """The positions of values by their number, in elements."""
        rest = np.arange(first, end, dtype=np.int64)
        places = np.zeros(end - first, np.int64)
        for size, stride in zip(self.layout.sizes[::-1], self.layout.strides[::-1], strict=True):
            rest, index = np.divmod(rest, size)
            places += index * stride
        return places

    def index(self, number: int) -> tuple[int, ...]:
        """The index of a value by its number."""
        indexes = []
        for size in reversed(self.layout.sizes):
            number, index = divmod(number, size)
            indexes.append(index)
        return tuple(indexes[::-1])

    @cached_property
    def array(self) -> NDArray[np.float64]:
        """All of its values in their shape, for small tensors."""
        parts = list(self.blocks())
        flat = np.concatenate(parts) if parts else np.empty(0)
        return flat.reshape(self.layout.sizes)


def scalar(dtype: str, value: float) -> StoredTensor:
    """A single number that is stored alone; dtype: "i64", "f64" or "bool"."""
    stored = np.array([value], _STORED[dtype]).view(np.uint8)
    return StoredTensor(TensorLayout(dtype, ()), stored)


def same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are equal but for dimensions of size 1."""
    return [size for size in a if size != 1] == [size for size in b if size != 1]


def _decoded(dtype: str, stored: NDArray[Any]) -> Floats:
    if dtype in _SMALL_FLOATS:
        floats: Floats = _small_floats(dtype)[stored]
        return floats
    if dtype == "bf16":
        stored = (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
    elif dtype == "bool":
        stored = stored != 0
    with np.errstate(invalid="ignore"):  # signaling NaNs stay NaN
        wide: Floats = stored.astype(np.float64)
    return wide


@cache
def _small_floats(dtype: str) -> Floats:
    """The value of each of the 256 floats of 8 bits."""
    mantissa_bits, bias = _SMALL_FLOATS[dtype]
    bits = np.arange(256)
    sign = np.where(bits & 0x80, -1.0, 1.0)
    exponent = (bits & 0x7F) >> mantissa_bits
    fraction = (bits & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    value: Floats = np.where(
        exponent > 0,
        (1 + fraction) * np.exp2(exponent - float(bias)),
        fraction * np.exp2(1.0 - bias),
    )
    value *= sign
    if dtype.endswith("fnuz"):
        value[0x80] = np.nan
    elif dtype == "f8e4m3fn":
        value[[0x7F, 0xFF]] = np.nan
    else:  # infinities and NaNs as in f16
        value[[0x7C, 0xFC]] = np.inf, -np.inf
        value[[0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF]] = np.nan
    return value
