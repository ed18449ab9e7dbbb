"""Reads arrays from an `.npz` file, as numpy.savez writes it; nothing in it is ever run.

It is a ZIP archive of `.npy` members. Values of stored members (numpy.savez) are read when they are
needed; packed ones (numpy.savez_compressed) are unpacked one by one, within the
memory budget. Arrays of Python objects are pickles and are refused, as with allow_pickle=False.
"""

from __future__ import annotations

import ast
import struct
import warnings
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.codecs.file_bytes import FileBytes
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.tensor_values import TensorLayout
from viewer.formats import head_of, within_memory

SUFFIX = ".npz"
_HEADER_END = 1 << 16  # bytes of a member that its header has at most
_MAGIC, _LONGEST_HEADER, _LONGEST_TYPE = b"\x93NUMPY", 10_000, 60
_LOCAL_HEADER, _LOCAL_MAGIC = 30, b"PK\x03\x04"
_MOST_ARRAYS = 1 << 17
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    OverflowError, struct.error, SyntaxError, TypeError, KeyError, OSError,
)  # fmt: skip
# numpy's kind and size -> dtype
_DTYPES = {
    "b1": "bool", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "u8", "u2": "u16",
    "u4": "u32", "u8": "u64", "f2": "f16", "f4": "f32", "f8": "f64",
}  # fmt: skip


def is_npz(path: str) -> bool:
    """Whether a file is named as one and is a ZIP archive."""
    try:
        return path.lower().endswith(SUFFIX) and head_of(path)[:4] == _LOCAL_MAGIC
    except UnreadableFile:
        return False


class NpzFile:
    """The arrays of a file, by key. `layouts`: how each is stored, in row-major order or strides.

    faults: keys of members that cannot be read, with the reason.
    """

    def __init__(self, path: str) -> None:
        """Read the directory and the headers. Raises UnreadableFile."""
        self.path = path
        head_of(path)
        self.layouts: dict[str, TensorLayout] = {}
        self.faults: dict[str, str] = {}
        self._starts: dict[str, int] = {}  # of the values in their member
        try:
            self._archive = zipfile.ZipFile(path)
            self._members = {
                info.filename.removesuffix(".npy"): info for info in self._archive.infolist()
            }
            self._file = FileBytes(path)
        except _DAMAGED as error:
            raise UnreadableFile(path, f"this is not an .npz file ({error})") from error
        if len(self._members) > _MOST_ARRAYS:
            raise UnreadableFile(path, f"it has more than {_MOST_ARRAYS:,} arrays")
        for key, member in self._members.items():
            try:
                self._read_header(key, member)
            except (*_DAMAGED, MemoryError) as error:  # of a nested header
                self.faults[key] = f"it is no array that can be read ({error})"
        if not self.layouts and not self.faults:
            raise UnreadableFile(path, "it has no arrays")

    def close(self) -> None:
        """Close the file; arrays that were read stay."""
        self._archive.close()

    def _read_header(self, key: str, member: zipfile.ZipInfo) -> None:
        with self._archive.open(member) as file:
            head = file.read(_HEADER_END)
        descr, is_fortran, shape, start = _header(head)
        if descr.lstrip("<>|=") == "O" or "'|O'" in descr:
            self.faults[key] = "Python objects are a pickle, which is never loaded"
            return
        name = _DTYPES.get(descr.lstrip("<|=")) if descr[:1] in "<|" else None
        if name is None:
            self.faults[key] = f"values of type {descr} cannot be read: save them as float32"
            return
        strides, step = [], 1
        for size in shape if is_fortran else ():
            strides.append(step)
            step *= size
        layout = TensorLayout(name, shape, tuple(strides))
        if layout.extent > member.file_size - start:
            self.faults[key] = "it has fewer values than its shape"
            return
        self.layouts[key] = layout
        self._starts[key] = start

    def stored(self, key: str) -> tuple[NDArray[np.uint8] | FileBytes, int]:
        """Return bytes with the values of an array, and where in them these start.

        Raises UnreadableFile, also if unpacking would need more memory than is available.
        """
        member, start = self._members[key], self._starts[key]
        try:
            if member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1:
                return self._file, self._start_of(member) + start
            with within_memory(self.path):
                allowance().take(2 * member.file_size)
                with self._archive.open(member) as file:
                    raw = file.read(member.file_size)
        except _DAMAGED as error:
            raise UnreadableFile(self.path, f"it is damaged ({error})", where=key) from error
        if len(raw) != member.file_size:
            raise UnreadableFile(self.path, "an array ends early", where=key)
        return np.frombuffer(raw, np.uint8), start

    def _start_of(self, member: zipfile.ZipInfo) -> int:
        """The position of a stored member in the file."""
        offset = member.header_offset
        head = self._file.read(offset, min(offset + _LOCAL_HEADER, len(self._file))).tobytes()
        if len(head) < _LOCAL_HEADER or head[:4] != _LOCAL_MAGIC:
            raise ValueError("the entry of an array is damaged")
        names: tuple[Any, ...] = struct.unpack("<HH", head[26:30])
        return int(offset + _LOCAL_HEADER + sum(names))


def _header(head: bytes) -> tuple[str, bool, tuple[int, ...], int]:
    """The dtype, the order and the shape that a member states, and where its values start.

    Raises ValueError and what `ast.literal_eval` raises.
    """
    if head[:6] != _MAGIC or head[6] not in (1, 2, 3):
        raise ValueError("it is not in the format .npy")
    width = 2 if head[6] == 1 else 4
    start = 8 + width
    size = int.from_bytes(head[8:start], "little")
    if size > min(_LONGEST_HEADER, len(head) - start):
        raise ValueError("its header is too long")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes
        stated = ast.literal_eval(head[start : start + size].decode("latin-1").strip())
    descr, shape = stated["descr"], stated["shape"]
    if not isinstance(shape, tuple) or not all(
        type(length) is int and length >= 0 for length in shape
    ):
        raise ValueError("its shape is no list of sizes")
    return str(descr)[:_LONGEST_TYPE], stated["fortran_order"] is True, shape, start + size
