"""The tensors of one method of a program file, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints

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
