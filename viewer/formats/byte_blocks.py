"""Finds bytes that a log has as text: base64, and hex as xxd, hexdump, od, gdb or C write it.

Lines of others may be in between: rows of hex go on at the next offset, lines of base64 have the
same length, but for the last one. Where hexdump and od write "*", the row before it is repeated.
Their words of 2 bytes, and those of 4 that gdb writes, are little-endian.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

# Letters of base64, and digits of hex, as one letter each; lines of base64 have 48 or more.
_IN_BASE64 = bytes(
    ord("x") if (chr(each).isalnum() and each < 128) or each in b"+/" else ord(".")
    for each in range(256)
)
_IN_HEX = bytes(
    ord("x") if each in b"0123456789abcdefABCDEF" else ord(" ") if each in b" \t" else ord(".")
    for each in range(256)
)
_RUN = b"x" * 40
_RUNS = (b"xx xx", b"xx  xx", b"x" * 32)
_LEAST_WORDS = 4
_BASE64 = re.compile(
    r"(?:^|(?<=[\s\"':=]))((?!-{3})[A-Za-z0-9+/_\-]{16,}={0,2})(?=$|[\s\"'|\\,;)])"
)
_TAIL = re.compile(r"([A-Za-z0-9+/_\-]{1,}={0,2})(?=$|[\s\"'|\\,;)])")
_DIGITS = re.compile(r"[0-9]+")
_OFFSET = r"(?:(?P<offset>(?:0x)?[0-9a-fA-F]{4,16})(?P<colon>:?)(?:\s+|(?<=:)))?"
_SEVERAL = r"(?:[0-9a-fA-F]{2,8}[ \t]{1,2}){1,63}[0-9a-fA-F]{2,8}"
_HEX = re.compile(
    rf"^\s*{_OFFSET}"
    rf"(?P<data>(?:[0-9a-fA-F]{{2}} ?){{16,}}|{_SEVERAL}|[0-9a-fA-F]{{2,512}})"
    r"(?:\s{2,}.*|\s*\|.*|\s*)$"
)
_WORDS = re.compile(rf"^\s*(?P<offset>)(?P<colon>)(?P<data>{_SEVERAL})\s*$")
_PREFIXED = re.compile(
    rf"^\s*{_OFFSET}(?:<[^>]*>:\s*)?(?P<data>(?:0x[0-9a-fA-F]{{2,8}}\b[,\s]*)+)(?:\}}?;?|//.*)?$"
)
_ONLY_OFFSET = re.compile(r"^\s*(?:0x)?[0-9a-fA-F]{6,16}$")
_LEAST_BYTES = 32
_MOST_BETWEEN = 50  # lines of others in a block
_MOST_REPEATED = 64 << 20


def may_have_bytes(text: bytes) -> bool:
    """Whether a text can have a block of bytes; most texts cannot, which takes no time to see."""
    digits = text.translate(_IN_HEX)
    return (
        _RUN in text.translate(_IN_BASE64)
        or any(run in digits for run in _RUNS)
        or text.count(b"0x") >= _LEAST_WORDS
    )


@dataclass(slots=True)
class _Block:
    """A block that is being read. line: of its first row. width: of each row but the last."""

    kind: str
    line: int
    last: int = 0
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    width: int = 0
    shape: str = ""
    base: int = 0
    origin: int = 0
    is_repeated: bool = False
    is_ended: bool = False

    def add(self, number: int, data: bytes) -> None:
        self.parts.append(data)
        self.size += len(data)
        self.last = number


def byte_blocks(lines: Iterable[str]) -> Iterator[tuple[int, str, bytes]]:
    """Blocks of bytes written as text: the line (from 0), "base64" or "hex", and the bytes."""
    block: _Block | None = None
    for number, line in enumerate(lines):
        if block is not None and _goes_on(block, number, line):
            continue
        new = _begun(number, line)
        if block is not None and (
            new is not None or block.is_ended or number - block.last > _MOST_BETWEEN
        ):
            yield from _whole(block)
            block = None
        if new is not None:
            block = new
    if block is not None:
        yield from _whole(block)


def _whole(block: _Block) -> Iterator[tuple[int, str, bytes]]:
    data = b"".join(block.parts)
    if block.kind == "base64":
        data = _decoded(data)
    if len(data) >= _LEAST_BYTES:
        yield block.line, block.kind, data


def _decoded(text: bytes) -> bytes:
    text = text.replace(b"-", b"+").replace(b"_", b"/").rstrip(b"=")
    text = text[: len(text) - (len(text) % 4 == 1)]
    try:
        return base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except (ValueError, binascii.Error):
        return b""


def _begun(number: int, line: str) -> _Block | None:
    """The block that a line begins."""
    hex_row = _hex(line, None)
    if hex_row is not None:
        offset, data = hex_row
        if len(data) < 2:
            return None
        block = _Block("hex", number, width=len(data), shape=offset)
        block.add(number, data)
        return block
    text = _BASE64.search(line)
    if text is None:
        return None
    shape = _DIGITS.sub("0", line[: text.start(1)])
    block = _Block("base64", number, width=len(text[1]), shape=shape)
    block.add(number, text[1].encode())
    block.is_ended = text[1].endswith("=")
    return block


def _goes_on(block: _Block, number: int, line: str) -> bool:
    """Whether a line is one of a block, which takes it; or of none."""
    if block.is_ended:
        return False
    if block.kind == "hex":
        return _hex_goes_on(block, number, line)
    text = _BASE64.search(line)
    if text is not None and len(text[1]) == block.width:
        block.add(number, text[1].encode())
        block.is_ended = text[1].endswith("=")
        return True
    if len(block.parts) == 1 and text is None and number > block.last + 1:
        return False
    position = _begin(line, block.shape)
    tail = _TAIL.match(line, position) if position >= 0 else None
    if tail is None or not _is_tail(tail[1], line, block.shape) or len(tail[1]) > block.width:
        return False
    block.add(number, tail[1].encode())
    block.is_ended = True
    return True


def _begin(line: str, shape: str) -> int:
    """Where the text begins in a line that begins as those of its block do, -1 if it does not."""
    pattern = "[0-9]+".join(re.escape(part) for part in shape.split("0"))
    match = re.match(pattern, line)
    return match.end() if match else -1


def _is_tail(text: str, line: str, shape: str) -> bool:
    """Whether a shorter text can be the end of a block: a word is none."""
    if text.endswith("="):
        return True
    is_word = text.isalpha() and (text.islower() or text.isupper() or text.istitle())
    return not is_word and len(text) > 1 and len(line.split()) <= len(shape.split()) + 1


def _hex(line: str, block: _Block | None) -> tuple[str, bytes] | None:
    """The offset and the bytes of a row; None if a line is none."""
    match = _PREFIXED.match(line) if "0x" in line else None
    if match is not None:
        words = re.findall(r"0x([0-9a-fA-F]{2,8})", match["data"])
        if len(words) < 2 and block is None:
            return None
    else:
        match = _HEX.match(line)
        if match is None:
            return None
        words = match["data"].split()
        if not match["colon"] and len(match["offset"] or "") == len(words[0]):
            match = _WORDS.match(line)  # what looks like an offset is the first word
            if match is None:
                return None
            words = match["data"].split()
        if len(words) == 1 and len(words[0]) < 32 and block is None:
            return None
    offset = match["offset"] or ""
    if any(len(word) % 2 for word in words):
        return None
    is_little = "0x" in match["data"] or (
        bool(offset) and not match["colon"] and {len(word) for word in words} <= {4, 8}
    )
    data = b"".join(
        bytes.fromhex(word)[::-1] if is_little else bytes.fromhex(word) for word in words
    )
    return offset, data


def _hex_goes_on(block: _Block, number: int, line: str) -> bool:
    if line.strip() == "*" and block.shape:
        block.is_repeated = True
        return True
    if block.shape and _ONLY_OFFSET.match(line) and block.base:
        end = _number(line.strip(), block.base) - block.origin
        if end > block.size and block.is_repeated:
            _repeat(block, end)
        elif block.size - 2 < end < block.size:  # of a word whose second byte is none
            block.parts[-1] = block.parts[-1][: end - block.size]
            block.size = end
        block.is_ended = True
        return True
    hex_row = _hex(line, block)
    if hex_row is None:
        return False
    offset, data = hex_row
    if bool(offset) != bool(block.shape):
        return False
    if offset:
        if not block.base:
            block.base = _base(block.shape, offset, block)
        if not block.base:
            return False
        position = _number(offset, block.base) - block.origin
        if block.is_repeated and position > block.size:
            _repeat(block, position)
        if position != block.size:
            return False
    elif block.last != number - 1:
        return False
    block.is_repeated = False
    block.add(number, data)
    return True


def _base(first: str, second: str, block: _Block) -> int:
    """The base of the offsets of a block, by its first two; 0 if they are none."""
    for base in (16, 8, 10):
        begin, after = _number(first, base), _number(second, base)
        apart = after - begin
        if begin >= 0 and (apart == block.size or (block.is_repeated and apart > block.size)):
            block.origin = begin
            return base
    return 0


def _number(text: str, base: int) -> int:
    try:
        return int(text.removeprefix("0x"), base)
    except ValueError:
        return -1


def _repeat(block: _Block, end: int) -> None:
    """Add the last row again up to an offset."""
    row, count = block.parts[-1], end - block.size
    if row and count <= _MOST_REPEATED and count % len(row) == 0:
        block.add(block.last, row * (count // len(row)))
