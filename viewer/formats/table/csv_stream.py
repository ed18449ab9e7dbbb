"""Reads the rows of a CSV in order with pandas, for what pyarrow refuses.

That is a file with quotes that are not closed where a line ends, a block with zero bytes, and rows
of another width. It takes several times as long as `arrow_rows`.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import UnreadableFile
from viewer.formats.table.csv_rows import CsvBlock, Shape, whole_numbers
from viewer.formats.text_rows import LineFile, TextColumn, distinct_texts, whole_lines

if TYPE_CHECKING:
    import pandas as pd

_PIECE = 1 << 18
_CHUNK_CELLS = 2_000_000
# The parser holds what it has read until its rows are complete, which may be never if a quote is
# not closed. Not measured: its buffer doubles as it grows, and the old one is copied.
_HELD_MEMORY = 3
_ROW_IN_ERROR = re.compile(r"\b(?:row|line) (\d+)")


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


def block_of(data: bytes, shape: Shape) -> CsvBlock | None:
    """The rows of some whole lines in UTF-8; None if they cannot be parsed without the rest."""
    stream = Stream(io.BytesIO(data), shape, "")
    try:
        frames = list(_frames("", stream, shape, 0, len(data)))
    except UnreadableFile:
        return None
    if frames:
        return _taken(frames[0], shape)
    numbers, _ = whole_numbers([])
    nothing = TextColumn(np.empty(0, np.uint32), [])
    return CsvBlock(
        0,
        dict.fromkeys(shape.numbers, numbers),
        dict.fromkeys(shape.texts, nothing),
        np.empty(0, np.bool_),
    )


def _taken(frame: pd.DataFrame, shape: Shape, replaced: int = 0, size: int = 0) -> CsvBlock:
    """Convert a frame of str cells."""
    found = {column: whole_numbers(frame[column].tolist()) for column in shape.numbers}
    return CsvBlock(
        len(frame),
        {column: numbers for column, (numbers, _) in found.items()},
        {column: distinct_texts(frame[column].tolist()) for column in shape.texts},
        (frame[shape.width] != "").to_numpy(),
        replaced,
        size,
        {column: first for column, (_, first) in found.items() if first is not None},
    )


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
