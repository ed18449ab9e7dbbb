"""Where the data of a program file is: the byte range of every constant, delegate and named blob.

Nothing of it is read. Positions count from the start of the file, also of a program in a bundle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.arrays import Ints


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
