"""Files of columns that are mapped instead of read: a JSON head, and the bytes of arrays.

A file begins with its mark, its size, and the size and CRC of its head. The head has what the
writer says about the file (`key`), its values (`content`), and of each column its dtype, length,
offset and CRC. Columns begin at multiples of 64 bytes. Nothing in it is code: no pickle. It is
never changed once it has its name, so that it can be mapped.

Dataclasses are stored by the types of their fields: numbers, texts, fractions, enums and tuples as
JSON, arrays and long tuples of texts as columns. Equal objects of one name stay one object. What is
read back is checked against the types.
"""

from __future__ import annotations

import json
import mmap  # noqa: TID251
import os
import stat
import struct
import sys
import threading
import types
import weakref
import zlib
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from viewer.codecs.atomic_file import WriteCancelled, replacing
from viewer.codecs.large_arrays import count_pages
from viewer.codecs.reading import Cancelled, never_cancelled
from viewer.dataclasses import fields, is_dataclass

Json = Any  # what `json.loads` returns

_MARK = b"opscope columns\n"
_FIRST = struct.Struct("<16sQQI")  # mark, size of the file, size of the head, CRC of the head
_ALIGNED = 64
_DTYPES = frozenset(
    ("|b1", "|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f2", "<f4", "<f8")
)
SMALL = 1 << 16  # bytes; the CRC of a column up to this size is checked when it is asked for
_AT_ONCE = 4 << 20  # bytes
_NOT_A_LINK = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


class DamagedFile(Exception):
    """A file of columns is not as it was written; the message says what."""


class NotStorable(Exception):
    """A value has no place in a file of columns; the message says which."""


def is_storable(column: NDArray[Any]) -> bool:
    """Whether an array can be a column."""
    return column.ndim == 1 and column.dtype.str in _DTYPES


def size_of_columns(columns: Sequence[NDArray[Any]]) -> int:
    """The bytes that some columns take in a file."""
    return sum(_aligned(column.nbytes) for column in columns)


def write_columns(
    path: str,
    key: Json,
    content: Json,
    columns: Sequence[NDArray[Any]],
    cancelled: Cancelled = never_cancelled,
) -> None:
    """Write a file that only its owner may read, atomically. Raises OSError or WriteCancelled."""
    blocks = [np.ascontiguousarray(column) for column in columns]
    rows, offset = [], 0
    for block in blocks:
        rows.append([block.dtype.str, len(block), offset, zlib.crc32(_bytes_of(block))])
        offset += _aligned(block.nbytes)
        if cancelled():
            raise WriteCancelled
    head = json.dumps({"key": key, "columns": rows, "content": content}).encode()
    begin = _aligned(_FIRST.size + len(head))
    with replacing(path, is_private=True) as file:
        file.write(_FIRST.pack(_MARK, begin + offset, len(head), zlib.crc32(head)))
        file.write(head)
        file.write(bytes(begin - _FIRST.size - len(head)))
        for block in blocks:
            view = _bytes_of(block)
            for start in range(0, len(view), _AT_ONCE):
                if cancelled():
                    raise WriteCancelled
                file.write(view[start : start + _AT_ONCE])
            file.write(bytes(_aligned(block.nbytes) - block.nbytes))


def _bytes_of(block: NDArray[Any]) -> memoryview:
    return block.view(np.uint8).data


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


class ColumnFile:
    """An open file of columns. key, content: as it was written. size: of the file, in bytes."""

    def __init__(self, path: str) -> None:
        """Raises OSError and DamagedFile."""
        self.path = path
        self._descriptor = descriptor = os.open(path, os.O_RDONLY | _NOT_A_LINK)
        weakref.finalize(self, os.close, descriptor)
        self._lock = threading.Lock()
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DamagedFile("it is not a regular file")
        if sys.platform != "win32" and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
            raise DamagedFile("others may have written it")
        self.size = status.st_size
        first = self._read(0, _FIRST.size)
        if len(first) < _FIRST.size:
            raise DamagedFile("it is too short")
        mark, size, head_size, crc = _FIRST.unpack(first)
        if mark != _MARK or size != self.size or head_size > size - _FIRST.size:
            raise DamagedFile("its size is not the one that it states")
        head = self._read(_FIRST.size, head_size)
        if zlib.crc32(head) != crc:
            raise DamagedFile("its head has another CRC")
        try:
            tree = json.loads(head)
            self.key, self.content, rows = tree["key"], tree["content"], tree["columns"]
            self._columns = _checked(rows, _aligned(_FIRST.size + head_size), size)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise DamagedFile(f"its head cannot be read ({error})") from error
        if os.fstat(descriptor).st_size != size:
            raise DamagedFile("it is becoming shorter")
        self._map = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        count_pages(self._map)

    def __len__(self) -> int:
        return len(self._columns)

    def column(self, number: object, *, check: bool = False) -> NDArray[Any]:
        """Return a column, mapped; its CRC is checked if it is small or `check` says so.

        Raises DamagedFile.
        """
        if type(number) is not int or not 0 <= number < len(self._columns):
            raise DamagedFile(f"it has no column {number!r}")
        dtype, count, offset, crc = self._columns[number]
        column = np.frombuffer(self._map, dtype, count, offset)
        if (check or column.nbytes <= SMALL) and zlib.crc32(_bytes_of(column)) != crc:
            raise DamagedFile(f"column {number} has another CRC")
        return column

    def damage(self, cancelled: Cancelled = never_cancelled) -> str:
        """Return what is damaged in any column, "" if nothing is; reads all of them.

        Raises OSError and WriteCancelled.
        """
        for number, (dtype, count, offset, crc) in enumerate(self._columns):
            now, end = 0, offset + dtype.itemsize * count
            for begin in range(offset, end, _AT_ONCE):
                if cancelled():
                    raise WriteCancelled
                # Not through the map, whose pages would count as memory of this process.
                now = zlib.crc32(self._read(begin, min(_AT_ONCE, end - begin)), now)
            if now != crc:
                return f"column {number} has another CRC"
        return ""

    def _read(self, begin: int, size: int) -> bytes:
        with self._lock:
            os.lseek(self._descriptor, begin, os.SEEK_SET)
            return os.read(self._descriptor, size)


def _checked(rows: list[Any], begin: int, size: int) -> list[tuple[np.dtype[Any], int, int, int]]:
    """Return dtype, length, offset in the file and CRC of all columns. Raises ValueError."""
    columns, expected = [], 0
    for name, count, offset, crc in rows:
        if name not in _DTYPES or {type(count), type(offset), type(crc)} != {int}:
            raise ValueError("a column of another type")
        if count < 0 or offset != expected:
            raise ValueError("a column at another place")
        dtype = np.dtype(name)
        expected += _aligned(dtype.itemsize * count)
        columns.append((dtype, count, begin + offset, crc))
    if begin + expected != size:
        raise ValueError("columns of another size")
    return columns


_T = TypeVar("_T")
_PLAIN = (str, int, float, bool)
_FEW = 16  # texts that stand in the head
_UNFIT = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, ZeroDivisionError,
    RecursionError,
)  # fmt: skip
_NOTHING, _NUMBER, _TEXT = range(3)  # what an object array has at a place


class Packer:
    """Collects the columns of what it packs."""

    def __init__(self) -> None:
        self.columns: list[NDArray[Any]] = []
        self._packed: dict[int, Json] = {}
        self._alive: list[object] = []  # so that no other object gets the same id

    def pack(self, value: object, hint: Any) -> Json:
        """Return a value of a type as JSON. Raises NotStorable."""
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            if value is None and type(None) in arguments:
                return None
            rest = [each for each in arguments if each is not type(None)]
            return self.pack(value, rest[0]) if len(rest) == 1 else _plain(value, tuple(rest))
        if origin is np.ndarray:
            return self._array(value, arguments)
        if origin is tuple and arguments[1:] == (Ellipsis,):
            values = cast("tuple[object, ...]", value)
            if arguments[0] is str and len(values) > _FEW:
                return {"texts": self._once(values, self._texts)}
            return [self.pack(each, arguments[0]) for each in values]
        if origin is not None and issubclass(origin, Mapping):
            pairs = cast("Mapping[object, object]", value).items()
            name, of = arguments
            return [[self.pack(key, name), self.pack(each, of)] for key, each in pairs]
        if hint in _PLAIN:
            return _plain(value, (hint,))
        if isinstance(hint, type):
            if is_dataclass(hint) and type(value) is hint:
                return [self.pack(getattr(value, name), of) for name, of in _fields(hint)]
            if hint is Fraction and isinstance(value, Fraction):
                return [value.numerator, value.denominator]
            if issubclass(hint, Enum) and isinstance(value, hint):
                return _plain(value.value, (int, str))
        raise NotStorable(f"{type(value).__name__} as {hint}")

    def _array(self, value: object, arguments: tuple[Any, ...]) -> Json:
        if not isinstance(value, np.ndarray) or not _fits(value.dtype, arguments):
            raise NotStorable(f"an array of {getattr(value, 'dtype', type(value))} as {arguments}")
        return self._once(value, self._objects if value.dtype == object else self._column)

    def _once(self, value: _T, pack: Callable[[_T], Json]) -> Json:
        if id(value) not in self._packed:
            self._packed[id(value)] = pack(value)
            self._alive.append(value)
        return self._packed[id(value)]

    def _column(self, value: NDArray[Any]) -> int:
        if not is_storable(value):
            raise NotStorable(f"an array of {value.dtype} with {value.ndim} dimensions")
        self.columns.append(value)
        return len(self.columns) - 1

    def _texts(self, texts: tuple[object, ...]) -> Json:
        """Store texts as offsets and the bytes of UTF-8."""
        if not all(type(text) is str for text in texts):
            raise NotStorable("a text that is none")
        encoded = [text.encode("utf-8", "surrogatepass") for text in cast("tuple[str, ...]", texts)]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        data = np.frombuffer(b"".join(encoded), np.uint8)
        return [self._column(offsets), self._column(data)]

    def _objects(self, value: NDArray[np.object_]) -> Json:
        """Store an array of numbers, texts and None."""
        kinds = {type(None): _NOTHING, int: _NUMBER, str: _TEXT}
        items = value.tolist()
        try:
            kind = np.fromiter((kinds[type(item)] for item in items), np.uint8, len(items))
        except KeyError as error:
            raise NotStorable(f"an object of {error}") from None
        texts = tuple(str(item) for item in items if item is not None)
        return [self._column(kind), *self._texts(texts)]


def unpacked(file: ColumnFile, tree: Json, hint: type[_T]) -> _T:
    """Return the value of a type that a file has as `tree`. Raises DamagedFile."""
    try:
        return cast("_T", _Unpacker(file).value(tree, hint))
    except _UNFIT as error:
        raise DamagedFile(f"its values do not fit their types ({error})") from error


class _Unpacker:
    def __init__(self, file: ColumnFile) -> None:
        self._file = file
        self._unpacked: dict[object, object] = {}

    def value(self, tree: Json, hint: Any) -> object:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            if tree is None and type(None) in arguments:
                return None
            rest = tuple(each for each in arguments if each is not type(None))
            return self.value(tree, rest[0]) if len(rest) == 1 else _of_type(tree, rest)
        if origin is np.ndarray:
            return self._array(tree, arguments)
        if origin is tuple and arguments[1:] == (Ellipsis,):
            if isinstance(tree, dict):
                return self._once(("texts", *tree["texts"]), lambda: self._texts(tree["texts"]))
            return tuple(self.value(each, arguments[0]) for each in _of_type(tree, (list,)))
        if origin is not None and issubclass(origin, Mapping):
            key, of = arguments
            return {self.value(name, key): self.value(each, of) for name, each in tree}
        if hint in _PLAIN:
            return _of_type(tree, (hint,))
        if isinstance(hint, type) and is_dataclass(hint):
            named = zip(_fields(hint), _of_type(tree, (list,)), strict=True)
            return hint(*[self.value(each, of) for (_, of), each in named])
        if hint is Fraction:
            numerator, denominator = tree
            return Fraction(_of_type(numerator, (int,)), _of_type(denominator, (int,)))
        return hint(_of_type(tree, (int, str)))

    def _array(self, tree: Json, arguments: tuple[Any, ...]) -> NDArray[Any]:
        if isinstance(tree, list):
            array = self._once(tuple(tree), lambda: self._objects(*tree))
        else:
            array = self._once(tree, lambda: self._file.column(tree))
        if not _fits(array.dtype, arguments):
            raise ValueError(f"an array of {array.dtype}")
        return array

    def _once(self, key: object, read: Callable[[], _T]) -> _T:
        if key not in self._unpacked:
            self._unpacked[key] = read()
        return cast("_T", self._unpacked[key])

    def _texts(self, numbers: Json) -> tuple[str, ...]:
        offsets, data = (self._file.column(number, check=True) for number in numbers)
        if offsets.dtype != np.int64 or data.dtype != np.uint8 or not len(offsets):
            raise ValueError("texts of another type")
        if offsets[0] != 0 or offsets[-1] != len(data) or (np.diff(offsets) < 0).any():
            raise ValueError("texts at another place")
        places, whole = offsets.tolist(), data.tobytes()
        text = whole.decode("utf-8", "surrogatepass")
        if len(text) == len(whole):  # ASCII
            return tuple([text[begin:end] for begin, end in pairwise(places)])
        parts = [whole[begin:end] for begin, end in pairwise(places)]
        return tuple([part.decode("utf-8", "surrogatepass") for part in parts])

    def _objects(self, kind_number: Json, *texts_numbers: Json) -> NDArray[np.object_]:
        kind = self._file.column(kind_number, check=True)
        texts = self._texts(texts_numbers)
        items = np.full(len(kind), None, object)
        where = np.flatnonzero(kind != _NOTHING)
        numbers = kind[where] == _NUMBER
        items[where] = [
            int(text) if is_number else text
            for text, is_number in zip(texts, numbers.tolist(), strict=True)
        ]
        items.flags.writeable = False
        return items


@cache
def _fields(kind: type) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((field.name, hints[field.name]) for field in fields(kind))


def _plain(value: object, kinds: tuple[type, ...]) -> Json:
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) not in kinds:
        raise NotStorable(f"{type(value).__name__} as {kinds}")
    return value


def _of_type(tree: Json, kinds: tuple[type, ...]) -> Any:
    if type(tree) not in kinds:
        raise TypeError(f"{type(tree).__name__} as {kinds}")
    return tree


def _fits(dtype: np.dtype[Any], arguments: tuple[Any, ...]) -> bool:
    """Whether a dtype is that of an array type; `NDArray[Any]` takes every one but objects."""
    (scalar,) = get_args(arguments[1])
    return dtype.kind != "O" if scalar is Any else bool(dtype == np.dtype(scalar))
