"""Opens the profile that is in a log: its lines, or its bytes as base64 or hex.

People attach logs: Android's with the table of a benchmark, or that of a board without a file
system, which prints its ETDump. What the log writes before each line is removed. The profile begins
at the first line that a format accepts, and the trace states what was taken and from where. A log
has the prefix of Android, syslog and journald, glog, ExecuTorch, Xcode, Python's logging, or of the
terminal of a serial line before nearly every line.

Bytes are in base64, or in hex as xxd, hexdump, od, gdb or C write it. Lines of others may be in
between: rows of hex go on at the next offset, lines of base64 have the same length, but for the
last one. Where hexdump and od write "*", the row before it is repeated. Their words of 2 bytes, and
those of 4 that gdb writes, are little-endian.
"""

from __future__ import annotations

import base64
import binascii
import io
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import cast

from viewer.codecs.memory_budget import BUDGET, allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.codecs.temporary_folder import TemporaryFolder
from viewer.codecs.unpacking import MAGIC, write_temporary
from viewer.dataclasses import dataclass, field, replace
from viewer.formats import HEAD_SIZE, PACKED, PLAIN_CSV, WITH_COLUMNS, Format, format_of, formats
from viewer.formats.table.packed_text import TextLines, encoding_of, head_text
from viewer.formats.table.plain_csv import shows_columns
from viewer.model.text import bytes_text
from viewer.model.trace import Problem, Trace

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


_DATE = r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ]"
_TIME = r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
_ZONE = r"(?:Z| ?[+-][0-9]{2}:?[0-9]{2})?"
_LEVEL = r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL|TRACE|VERBOSE|NOTICE)"
_CONTAINER = "the log of a container or a terminal"
# The tag tells texts of several writers apart.
_PREFIXES = {
    "Android's log": (
        rf"(?:{_DATE}|[0-9]{{2}}-[0-9]{{2}} ){_TIME}{_ZONE} +(?:\S+ +)?[0-9]+ +[0-9]+ [VDIWEFSA] "
        r"(?P<tag>[^:]{1,60}?) *: ?",
        rf"(?:(?:{_DATE}|[0-9]{{2}}-[0-9]{{2}} ){_TIME} +)?[VDIWEFSA]/(?P<tag>[^(:]{{1,60}}?)"
        r" *(?:\( *[0-9]+\))?: ?",
        r" *[0-9]{5,12}\.[0-9]{3,9} +(?:\S+ +)?[0-9]+ +[0-9]+ [VDIWEFSA] (?P<tag>[^:]{1,60}?) *: ?",
        # Android Studio, since and before 2022.
        rf"{_DATE}{_TIME} +[0-9]+-[0-9]+ +(?P<tag>\S{{1,60}}) +\S+ +[VDIWEFA] {{1,2}}",
        rf"(?:{_DATE}|[0-9]{{2}}-[0-9]{{2}} ){_TIME} +[0-9]+-[0-9]+/\S+ [VDIWEFA]/"
        r"(?P<tag>[^:]{1,60}?) *: ?",
    ),
    "the console of ESP-IDF": (
        rf"[VDIWE] \((?:[0-9]+|{_TIME})\) (?P<tag>[^:]{{1,60}}): ?",
    ),
    "Zephyr's log": (
        r"\[[0-9:.,]{8,25}\] <(?:inf|wrn|err|dbg)> (?P<tag>[^:\s]{1,60}): ?",
    ),
    "the log of a pod": (rf"{_DATE}{_TIME}{_ZONE} std(?:out|err) [FP] ",),
    _CONTAINER: (
        r"[0-9]{1,2}> ", r"[\w.]+(?:-[\w.]+)*[-_][0-9]+ +\| ?",
    ),
    "the log of a GitHub workflow": (
        rf"(?:[^\t\n]{{1,100}}\t){{2}}\ufeff?{_DATE}{_TIME}{_ZONE} ",
    ),
    "syslog": (
        r"\[ *[0-9]+\.[0-9]+\] \S+ (?P<tag>[^\s:\[]{1,60})\[[0-9]+\]: ?",
        rf"(?:<[0-9]+>)?(?:[A-Z][a-z]{{2}} [ 0-9][0-9] {_TIME}|{_DATE}{_TIME}{_ZONE}) \S+ "
        r"(?P<tag>[^\s:\[]{1,60})(?:\[[0-9]+\])?: ?",
    ),
    "glog": (rf"[VDIWEF](?:[0-9]{{8}}|[0-9]{{4}}) {_TIME} +[0-9]+ [^\s\]]+:[0-9]+\] ?",),
    "ExecuTorch's log": (rf"[VDIWEF] (?:{_TIME} )?\[?executorch:[^\]]{{1,200}}\] ?",),
    "Xcode's console": (
        rf"{_DATE}{_TIME}{_ZONE} (?P<tag>[^\[\]]{{1,60}})\[[0-9]+:[0-9]+\] (?:\[[^\]]*\] )?",
    ),
    "Python's logging": (
        rf"{_DATE}{_TIME} (?:- )?\S+ - {_LEVEL} - ", rf"{_DATE}{_TIME} \[?{_LEVEL}\]?:? ",
        rf"{_LEVEL}:[\w.]+:",
    ),
    "a serial log": (
        rf"\[(?:{_DATE})?{_TIME}{_ZONE}\] ?", rf"(?:{_DATE})?{_TIME} (?:-> |> |\| )",
        r"(?:<[0-9]+>)?\[ *[0-9]+\.[0-9]+\](?:\[ *[TC][0-9]+\])? ?",
        rf"(?:{_DATE})?{_TIME}{_ZONE}  ?",
        rf"\[?[A-Z][a-z]{{2}} [A-Z][a-z]{{2}} [ 0-9][0-9] {_TIME} [0-9]{{4}}\]? ",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a log has before each line. name: of who writes it."""

    name: str
    pattern: re.Pattern[str]


_OF = [(name, re.compile(pattern)) for name, several in _PREFIXES.items() for pattern in several]
# What each prefix has one of: few other texts do, so that most need no further look.
_MAY_BE = re.compile(
    r"[0-9]:[0-9]{2}|^[VDIWEFSA](?:/| \()|executorch:|^(?:<[0-9]+>)?\[ *[0-9]"
    r"|^ *[0-9]{5,12}\.[0-9]{3}|^[\w.-]+[0-9] +\||^[0-9]{1,2}> |^[A-Z]{4,8}:",
    re.MULTILINE,
)
_LINES_LOOKED_AT, _LEAST, _SHARE = 400, 3, 0.8
_STARTS = frozenset("0123456789[< ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
# The line that logcat's long form has above each text, and an empty one below it.
_LONG = Prefix("Android's log", re.compile(
    rf"\[ (?:{_DATE}|[0-9]{{2}}-[0-9]{{2}} ){_TIME} +[0-9]+: *[0-9]+ [VDIWEFSA]/"
    r"(?P<tag>[^\]]{1,60}?) *\]$"
))  # fmt: skip
# What a writer puts before each text of its own.
_LABEL = re.compile(r"[^\s:,;|\"'{}\[\]]{1,40}: ")
# What logcat writes itself.
_NO_TEXT = re.compile(r"-{5,} (?:beginning of|switch to) .*")


def prefix_of(lines: Sequence[str]) -> Prefix | None:
    """What nearly all of the first lines begin with, None if nothing known."""
    texts = [line for line in lines[:_LINES_LOOKED_AT] if line.strip() and not _NO_TEXT.match(line)]
    least = max(_LEAST, math.ceil(_SHARE * len(texts)))
    if sum(map(bool, map(_LONG.pattern.match, texts[: 3 * _LEAST]))) >= _LEAST:
        return _LONG
    # A prefix that enough lines have is at one of these.
    first = texts[: len(texts) - least + 1]
    if not any(line[0] in _STARTS for line in first):
        return None
    if not _MAY_BE.search("\n".join(first)):
        return None
    for name, pattern in _OF:
        if any(map(pattern.match, first)):
            matches = [match[0] for line in texts if (match := pattern.match(line))]
            # Without a time, each is that of several lines: rows of tables differ.
            is_prefix = name != _CONTAINER or len(set(matches)) * _LEAST <= len(matches)
            if len(matches) >= least and is_prefix:
                return Prefix(name, pattern)
    return None


def texts_of(lines: Iterable[str], prefix: Prefix | None) -> dict[str, list[str]]:
    """The texts of each writer of a log, by tag; a line without a prefix is of the last writer."""
    by_tag: dict[str, list[str]] = {}
    tag = ""
    for line in lines:
        match = prefix.pattern.match(line) if prefix is not None else None
        if match is not None:
            tag = match.groupdict().get("tag") or ""
            line = line[match.end() :]
        elif prefix is not None and _NO_TEXT.match(line):
            continue
        if prefix is not _LONG or (match is None and line):
            by_tag.setdefault(tag, []).append(line)
    return {tag: _unlabeled(texts) for tag, texts in by_tag.items()} if prefix else by_tag


def _unlabeled(texts: list[str]) -> list[str]:
    """Texts without the name that their writer puts before nearly all of them."""
    first = next(filter(None, map(_LABEL.match, texts)), None)
    if first is None:
        return texts
    count = sum(text.startswith(first[0]) for text in texts)
    if count < max(_LEAST, _SHARE * sum(bool(text.strip()) for text in texts)):
        return texts
    return [text.removeprefix(first[0]) for text in texts]


_LONGEST = 256 << 20
_STEP = 1 << 22
# Bytes of a text that is no log by its first lines, and what must be in them: most texts that no
# format accepts are no profiles.
_LOOKED_AT = 1 << 22
_TELLING = re.compile(rb'PyTorchObserver \{|Model Load Time:|Run Order|"traceEvents"')
# Bytes of a byte of the log: its lines are objects.
_HELD_MEMORY = 4
_ZIP, _CHROME = "ZIP archive", "Chrome trace"
_MOST_CANDIDATES = 2000
# What a terminal does with the text: colors, and parts of lines that it clears.
_COLORS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_SEPARATED = re.compile(r"[,;\t|].*[,;\t|]")
_OTHERS = re.compile(r"\s*[\[{<=#]|PyTorchObserver|Profiling|Prompt Tokens|Model Load Time")


@dataclass(frozen=True, slots=True)
class _Inside:
    """A profile in a log. what: how it is written, and where."""

    data: bytes
    format: Format
    what: str


def sniff(head: bytes) -> bool:
    """Whether nearly all lines begin like those of a log, or have colors, or bytes are written."""
    text = head_text(head)
    if not text:
        return False
    is_colored = "\x1b[" in text and _COLORS.search(text) is not None
    lines = (_COLORS.sub("", text) if is_colored else text).splitlines()
    if is_colored or prefix_of(lines) is not None:
        return True
    if not head.startswith(MAGIC) and encoding_of(head).lines_end_with_cr:
        inside = _text_in(lines, "")
        return inside is not None and inside.format.name not in WITH_COLUMNS
    return may_have_bytes(text.encode()) and _bytes_in(lines, "", is_head=True) is not None


def holds_profile(path: str) -> bool:
    """Whether a text that no format accepts has a profile further on, other than any table."""
    try:
        with TextLines(path) as file:
            if _bytes_in(_lines_of(file, path), "", is_head=True) is not None:
                return True
        with TextLines(path) as file:
            text = file.read(_LOOKED_AT)
    except (OSError, UnreadableFile):
        return False
    if not _TELLING.search(text):
        return False
    inside = _text_in(text.decode("utf-8", "replace").splitlines(), "")
    return inside is not None and inside.format.name not in WITH_COLUMNS


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """The trace of the profile in a log. Raises UnreadableFile, ReadCancelled."""
    with TextLines(path) as file:
        lines, size, reserved = list[str](), 0, 0
        for line in _lines_of(file, path):
            size += len(line)
            if size > reserved:
                reserved = size + _STEP
                allowance().take(reserved * _HELD_MEMORY)
            lines.append(line)
    prefix = prefix_of(lines)
    inside = _found(texts_of(lines, prefix), prefix, cancelled)
    if inside is None:
        kind = f"lines of {prefix.name}" if prefix is not None else "a log"
        raise UnreadableFile(path, f"this is {kind}, and no profile is in it", remedy=_CUT)
    del lines
    with TemporaryFolder() as folder:
        inner = os.path.join(folder, os.path.basename(path))
        write_temporary(io.BytesIO(inside.data), inner, path, cancelled)
        try:
            with BUDGET.reading(size=os.path.getsize(inner)):
                trace = cast(Trace, inside.format.read(inner, progress, cancelled))
        except UnreadableFile as error:
            reason = f"the {inside.format.name} in this log: {error.reason}"
            raise UnreadableFile(path, reason, where=error.where, remedy=error.remedy) from error
    fault = file.source.fault
    faults = (Problem(fault, 1, "the lines before it were read"),) if fault else ()
    stated = {**trace.stated, "Taken from a log": inside.what}
    return replace(trace, path=path, stated=stated, problems=(*faults, *trace.problems))


_CUT = "Save the part of the log that is the profile as a file of its own, or attach the profile"


def _lines_of(file: TextLines, path: str) -> Iterator[str]:
    """The lines of a log. Raises UnreadableFile if it is too large to be one."""
    size = 0
    while line := file.readline(_LONGEST):
        size += len(line)
        if size > _LONGEST:
            what = f"this is a log of more than {bytes_text(_LONGEST)}"
            raise UnreadableFile(path, what, remedy=_CUT)
        text = line.decode("utf-8", "replace").replace("\0", " ").rstrip("\r\n")
        yield _COLORS.sub("", text) if "\x1b[" in text else text


def _found(
    texts: dict[str, list[str]], prefix: Prefix | None, cancelled: Cancelled
) -> _Inside | None:
    for tag, lines in texts.items():
        stop_if(cancelled)
        source = " ".join(filter(None, (prefix.name if prefix else "a log", tag and f'("{tag}")')))
        if inside := _bytes_in(lines, source) or _text_in(lines, source):
            return inside
    return None


def _bytes_in(lines: Iterable[str], source: str, *, is_head: bool = False) -> _Inside | None:
    """The first block of bytes that is a known profile. is_head: whether it may be cut."""
    inside: _Inside | None = None
    further = 0
    for number, kind, data in byte_blocks(lines):
        if inside is not None:
            further += len(data)
            continue
        chosen = _format_of(data[:HEAD_SIZE])
        if chosen is not None and chosen.name not in WITH_COLUMNS:
            size = bytes_text(len(data))
            inside = _Inside(data, chosen, f"{size} of {kind} at line {number + 1} of {source}")
            if is_head:
                break
    if inside is not None and further:
        more = f"; {bytes_text(further)} after it, maybe a debug buffer, are not read"
        return replace(inside, what=inside.what + more)
    return inside


def _text_in(lines: Sequence[str], source: str) -> _Inside | None:
    """The lines from the first one at which a format accepts them.

    Tables of any tool may have text above them, so a format that accepts a later line of what they
    recognize comes first.
    """
    shapes: set[str] = set()
    ends = list(accumulate(len(line) + 1 for line in lines))
    table: _Inside | None = None
    last_of_head = len(lines)
    for index, line in enumerate(lines):
        if index > last_of_head:
            break
        if index and not (_SEPARATED.search(line) or _OTHERS.search(line)):
            continue
        shape = _DIGITS.sub("", line)
        if shape in shapes:
            continue  # rows of a table look alike
        shapes.add(shape)
        if len(shapes) > _MOST_CANDIDATES:
            break
        last = index
        while last < len(lines) and ends[last] - ends[index] < HEAD_SIZE:
            last += 1
        head = "\n".join([*lines[index : last + 1], ""]).encode()[:HEAD_SIZE]
        chosen = _format_of(head)
        if chosen is not None and (table is None or chosen.name not in WITH_COLUMNS):
            data = "\n".join([*lines[index:], ""]).encode()
            count = sum(bool(text.strip()) for text in lines[index:])
            what = f"{count:,} lines from text {index + 1} of {source}, without what is before each"
            inside = _Inside(data, chosen, what)
            if chosen.name not in WITH_COLUMNS:
                return inside
            table, last_of_head = inside, last
    return table


def _format_of(head: bytes) -> Format | None:
    """The format of a profile by its first bytes, if it is no other file and asks nothing."""
    for chosen in formats():
        if chosen.kind != "trace" or chosen.name in (FORMAT.name, _ZIP, PACKED):
            continue
        if chosen.name == _CHROME and b'"ph"' not in head:
            continue
        if chosen.name == PLAIN_CSV:
            return chosen if shows_columns(head) else None
        if chosen.sniff(head):
            return chosen
    return None


FORMAT = format_of("in_log")
