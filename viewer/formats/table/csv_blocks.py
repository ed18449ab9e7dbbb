"""Parses the rows of a large CSV into codes and numbers, two blocks at a time.

Pandas' C parser releases the interpreter lock while it works, so two threads read a plain file
nearly twice as fast as one, and the window stays responsive. A block ends at a line end. That is
safe only if no cell can contain one, so blocks are used up to the first quote in the file. The rest
is one stream (`Stream`), which is read in order.

Columns are numbered as in the header; one extra column takes the cells beyond the header.
"""

from __future__ import annotations

import codecs
import io
import re
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import UnreadableFile
from viewer.formats.text_rows import LineFile, TextColumn, distinct_texts, rest_of_line, whole_lines

if TYPE_CHECKING:
    import pandas as pd

# A slice from -2**62 to 2**62 lasts longer than a time may be.
NUMBER_LIMIT = 2**63 - 2
BLOCK = 15 << 20
_AT_ONCE = 2
_PIECE = 1 << 18
_CHUNK_CELLS = 2_000_000
# The parser holds what it has read until its rows are complete, which may be never if a quote is
# not closed. Not measured: its buffer doubles as it grows, and the old one is copied.
_HELD_MEMORY = 3
# If one in this many cells has a new text, sorting them costs more than the codes save.
_OFTEN = 4
FEW = 10_000
_SAMPLE = 10_000  # rows at the start of a file
_SAMPLE_BYTES = 4 << 20
_ALL_DIFFERENT = 0.97  # of the texts in the sample: 160,000 random texts or more
_TIME = re.compile(r"\s*([+-]?[0-9]{1,19})(?:\.0*)?\s*")
_ROW_IN_ERROR = re.compile(r"\b(?:row|line) (\d+)")


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns read from each row: integers and texts. `width`: columns in the header."""

    separator: str
    width: int
    numbers: tuple[int, ...]
    texts: tuple[int, ...]
    # Columns found to have a different text in nearly every row; filled while blocks are read.
    distinct: set[int] = field(default_factory=set)

    @property
    def used(self) -> list[int]:
        """The columns that are read, and the one beyond the header."""
        return sorted((*self.numbers, *self.texts, self.width))


@dataclass(frozen=True, slots=True)
class CsvBlock:
    """Some rows as columns.

    numbers: values, and which of them are usable (others are 0). surplus: rows with more cells than
    the header. replaced: number of invalid UTF-8 bytes, in a block of `size` bytes. odd: for a
    column of numbers, the first row without a usable one, and its text.
    """

    rows: int
    numbers: dict[int, tuple[Ints, Bools]]
    texts: dict[int, TextColumn]
    surplus: Bools
    replaced: int = 0
    size: int = 0
    odd: dict[int, tuple[int, str]] = field(default_factory=dict)


def blocks(file: BinaryIO, path: str, shape: Shape) -> Generator[tuple[CsvBlock, int], None, None]:
    """All rows from the current position, each block with the file position after it.

    Raises UnreadableFile. Closing the iterator cancels pending parsing.
    """
    rows = 0
    with ThreadPoolExecutor(_AT_ONCE, "csv") as pool:
        waiting: deque[tuple[Future[CsvBlock], int]] = deque()
        try:
            quoted = None
            for begin, data in _cut(file, path):
                if not waiting and not rows:
                    shape.distinct.update(_distinct_columns(data, shape))
                if b'"' in data or (data[-1:] != b"\n" and b"\r" in data):
                    quoted = begin
                    break
                waiting.append((pool.submit(_parsed, data, shape, path), begin + len(data)))
                if len(waiting) > _AT_ONCE:
                    done, at = waiting.popleft()
                    rows += (block := done.result()).rows
                    yield block, at
            while waiting:
                done, at = waiting.popleft()
                rows += (block := done.result()).rows
                yield block, at
        finally:
            for future, _ in waiting:
                future.cancel()
    if quoted is not None:
        file.seek(quoted)
        yield from blocks_in_order(file, path, shape, rows)


def blocks_in_order(
    file: LineFile, path: str, shape: Shape, before: int = 0
) -> Iterator[tuple[CsvBlock, int]]:
    """All rows from the current position of a file that is only read in order.

    before: number of rows before this position. Each block comes with the file position after it.
    Raises UnreadableFile.
    """
    stream = Stream(file, shape, path)
    counted = 0
    for frame in _frames(path, stream, shape, before):
        now = stream.replaced
        yield _taken(frame, shape, now - counted, stream.size), file.tell()
        stream.release()
        counted = now


def _distinct_columns(data: bytes, shape: Shape) -> list[int]:
    """The columns whose first texts are nearly all different.

    Pandas would sort the texts of both blocks that are parsed first: 1.3 s for a million.
    """
    head = data[:_SAMPLE_BYTES].split(b"\n", _SAMPLE)[:_SAMPLE]
    lines = [line.split(shape.separator.encode()) for line in head]
    if len(lines) < _SAMPLE:
        return []
    different = {c: len({line[c] for line in lines if c < len(line)}) for c in shape.texts}
    return [c for c, count in different.items() if count > _ALL_DIFFERENT * _SAMPLE]


def _cut(file: BinaryIO, path: str) -> Iterator[tuple[int, bytes]]:
    """Split into whole lines with their positions; a rest without a line end is one piece.

    The line end is located first, so that a block is read in one call and only the last one is
    copied.
    """
    block_start = file.tell()
    while True:
        file.seek(block_start + BLOCK)
        rest_of_line(file, path)
        size = file.tell() - block_start
        file.seek(block_start)
        data = file.read(size)
        if not data:
            return
        end = len(data) if data.endswith(b"\n") else data.rfind(b"\n") + 1
        if end:
            yield block_start, data[:end]
        if end < len(data):
            yield block_start + end, data[end:]
        block_start += len(data)


def _parsed(data: bytes, shape: Shape, path: str) -> CsvBlock:
    """Parse whole lines without quotes."""
    replaced, size = 0, len(data)
    if not data.isascii():
        text = data.decode("utf-8", "replace")
        replaced = text.count("\ufffd") - data.count("\ufffd".encode())
        if replaced:
            data = text.encode()
    try:
        return _coded(data, shape, replaced, size)
    except (ValueError, OverflowError):
        # A number cell is not a number, or pandas converts a text column of only numbers.
        stream = Stream(io.BytesIO(data), shape, path)
        frames = list(_frames(path, stream, shape, 0, len(data)))
        return _taken(frames[0] if frames else _no_rows(shape), shape, replaced, size)


def _coded(data: bytes, shape: Shape, replaced: int, size: int) -> CsvBlock:
    """The rows as pandas' own codes and numbers. Raises ValueError if a cell does not fit that."""
    import pandas as pd

    # An extra first row: pandas turns categories that all look like numbers into numbers, which
    # would change "007" or a 19-digit hash.
    cells = ["0" if column in shape.numbers else "x" for column in range(shape.width + 1)]
    first = shape.separator.join(cells).encode() + b"\n"
    every = list(range(shape.width + 1))
    # Number columns have no dtype, so pandas tries only int64. With dtype int64, it would also
    # accept "1e3" and round long numbers with a decimal point.
    kinds: dict[int, object] = dict.fromkeys((*shape.texts, shape.width), "category")
    kinds.update(dict.fromkeys(shape.distinct, object))
    frame = pd.read_csv(  # type: ignore[call-overload]
        _Pieces(first, data),
        sep=shape.separator,
        engine="c",
        header=None,
        names=every,
        usecols=shape.used,
        index_col=False,
        dtype=kinds,
        na_filter=False,
        low_memory=False,
    )
    numbers: dict[int, tuple[Ints, Bools]] = {}
    bad: dict[int, tuple[int, str]] = {}
    for column in shape.numbers:
        values = frame[column].to_numpy()[1:]
        if values.dtype != np.int64:
            raise ValueError("no whole numbers")
        ok = (values <= NUMBER_LIMIT) & (values >= -NUMBER_LIMIT)
        numbers[column] = (values if ok.all() else np.where(ok, values, 0), ok)
        if not ok.all():
            at = int(np.argmin(ok))
            bad[column] = at, str(values[at])
    texts: dict[int, TextColumn] = {}
    for column in shape.texts:
        if kinds[column] is object:
            texts[column] = distinct_texts(frame[column].tolist()[1:])
        else:
            found = texts[column] = _without_first(frame[column])
            if _OFTEN * len(found.distinct) > max(len(frame), FEW):
                shape.distinct.add(column)
    beyond = _without_first(frame[shape.width])
    surplus = np.array([text != "" for text in beyond.distinct], np.bool_)[beyond.codes]
    return CsvBlock(len(frame) - 1, numbers, texts, surplus, replaced, size, bad)


def _without_first(column: pd.Series) -> TextColumn:
    """A category column without the extra row, and without its text if no other row has it."""
    distinct = column.cat.categories.tolist()
    if not all(isinstance(text, str) for text in distinct):
        raise ValueError("texts that were turned into numbers")
    codes = column.cat.codes.to_numpy()
    own, codes = int(codes[0]), codes[1:]
    if not (codes == own).any():
        del distinct[own]
        codes = codes - (codes > own)
    return TextColumn(codes.astype(np.uint32), distinct)


def _taken(frame: pd.DataFrame, shape: Shape, replaced: int, size: int) -> CsvBlock:
    """Convert a frame of str cells."""
    numbers = {column: _whole_numbers(frame[column].tolist()) for column in shape.numbers}
    first = {column: int(np.argmin(ok)) for column, (_, ok) in numbers.items() if not ok.all()}
    return CsvBlock(
        len(frame),
        numbers,
        {column: distinct_texts(frame[column].tolist()) for column in shape.texts},
        (frame[shape.width] != "").to_numpy(),
        replaced,
        size,
        {column: (row, str(frame[column].iloc[row])) for column, row in first.items()},
    )


def _whole_numbers(cells: list[str]) -> tuple[Ints, Bools]:
    """Parse integers; also returns which are usable."""
    joined = "".join(cells)
    try:
        # int() would also accept "1_000" and digits of other scripts.
        if not joined.isascii() or "_" in joined:
            raise ValueError
        values = np.fromiter(map(int, cells), np.int64, len(cells))
    except (ValueError, OverflowError):
        matches = map(_TIME.fullmatch, cells)
        numbers = (int(m[1]) if m else NUMBER_LIMIT + 1 for m in matches)
        bounded = (n if abs(n) <= NUMBER_LIMIT else NUMBER_LIMIT + 1 for n in numbers)
        values = np.fromiter(bounded, np.int64, len(cells))
    ok = (values <= NUMBER_LIMIT) & (values >= -NUMBER_LIMIT)
    return np.where(ok, values, 0), ok


class _Pieces:
    """An extra line and then whole lines, in pieces as large as the C parser processes at once.

    Pandas wraps a file in memory in a layer that decodes and encodes it again, holding the
    interpreter lock: a quarter of the time. Pieces end at line ends; otherwise the parser loses
    spaces before the first cell.
    """

    def __init__(self, first: bytes, data: bytes) -> None:
        self._first, self._data, self._at = first, data, 0

    def __iter__(self) -> Iterator[bytes]:
        return iter(lambda: self.read(_PIECE), b"")

    def read(self, size: int) -> bytes:
        """The next lines; b"" at the end."""
        if self._first:
            first, self._first = self._first, b""
            return first
        begin = self._at
        self._at = self._data.find(b"\n", begin + size - 1) + 1 or len(self._data)
        return self._data[begin : self._at]


class Stream:
    """A binary file as valid UTF-8 for the C parser, after an extra line.

    That line has one cell more than the header, so that rows with too many cells are not rejected
    and can be counted.
    """

    def __init__(self, file: LineFile, shape: Shape, path: str) -> None:
        self.replaced = 0
        self._path = path
        self._held = 0  # bytes read since the parser returned rows
        self.size = 0  # bytes in the last chunk where something was replaced
        self._file = file
        self._first = (shape.separator.join(map(str, range(shape.width + 1))) + "\n").encode()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def __iter__(self) -> Iterator[bytes]:
        return iter(lambda: self.read(_PIECE), b"")

    def release(self) -> None:
        """Note that the parser has returned the rows of what it had read."""
        self._held = 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes; b"" at the end."""
        if self._first:
            first, self._first = self._first, b""
            return first
        while True:
            raw = whole_lines(self._file, size, self._path)
            self._held += len(raw)
            allowance().take(self._held * _HELD_MEMORY)
            waiting = self._decoder.getstate()[0]
            if raw and raw.isascii() and not waiting:
                return raw
            text = self._decoder.decode(raw, final=not raw)
            replaced = text.count("\ufffd") - (waiting + raw).count("\ufffd".encode())
            if replaced:
                self.size = len(raw)
            self.replaced += replaced
            if text or not raw:
                return text.encode()


def _no_rows(shape: Shape) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns=range(shape.width + 1), dtype=object)


def _frames(
    path: str, text: Stream, shape: Shape, before: int, most: int = 0
) -> Iterator[pd.DataFrame]:
    """The rows of a stream in frames of str cells, `most` rows in each.

    before: number of rows in the file before the stream. Raises UnreadableFile.
    """
    import pandas as pd

    every = list(range(shape.width + 1))
    try:
        with pd.read_csv(  # type: ignore[call-overload]
            text,
            sep=shape.separator,
            engine="c",
            header=0,
            names=every,
            usecols=every,
            index_col=False,
            dtype=object,
            na_filter=False,
            chunksize=most or _CHUNK_CELLS // (shape.width + 1),
        ) as reader:
            yield from reader
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError) as error:
        match = _ROW_IN_ERROR.search(str(error))
        raise UnreadableFile(
            path,
            f"its rows cannot be parsed ({error})",
            where=f"data row {int(match[1]) + before}" if match else "",
            remedy='Close every quote, and write a quote inside a quoted cell as ""',
        ) from error
