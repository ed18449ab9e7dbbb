"""Lines of logs: what their writers put before a text, and blocks of bytes written as text.

Android's log, syslog and journald, glog, ExecuTorch, Xcode, Python's logging, and terminals of
serial lines, which add a time. A log has one of them before nearly every line. Lines without it are
texts as they are.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

_DATE = r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ]"
_TIME = r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
_ZONE = r"(?:Z| ?[+-][0-9]{2}:?[0-9]{2})?"
_LEVEL = r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL|TRACE|VERBOSE|NOTICE)"
# The tag tells texts of several writers apart.
_PREFIXES = {
    "Android's log": (
        rf"(?:{_DATE}|[0-9]{{2}}-[0-9]{{2}} ){_TIME}{_ZONE} +(?:\S+ +)?[0-9]+ +[0-9]+ [VDIWEFSA] "
        r"(?P<tag>[^:]{1,60}?) *: ?",
        rf"(?:(?:{_DATE}|[0-9]{{2}}-[0-9]{{2}} ){_TIME} +)?[VDIWEFSA]/(?P<tag>[^(:]{{1,60}}?)"
        r" *(?:\( *[0-9]+\))?: ?",
    ),
    "syslog": (
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
        r"\[ *[0-9]+\.[0-9]+\] ?", rf"(?:{_DATE})?{_TIME}  ?",
    ),
}  # fmt: skip
_OF = [(name, re.compile(one)) for name, several in _PREFIXES.items() for one in several]
_LOOKED_AT, _LEAST, _SHARE = 400, 3, 0.8
_STARTS = frozenset("0123456789[<ABCDEFGHIJKLMNOPQRSTUVWXYZ")
# What logcat writes itself.
_NO_TEXT = re.compile(r"-{5,} (?:beginning of|switch to) .*")
_BASE64 = re.compile(r"(?:^|[\s\"':=])([A-Za-z0-9+/]{16,}={0,2})(?=$|[\s\"'|])")
_HEX = re.compile(
    r"^\s*(?:(?:0x)?[0-9a-fA-F]{4,16}[:\s]\s*)?"
    r"((?:[0-9a-fA-F]{2} ?){16,}|(?:[0-9a-fA-F]{2,8}[ \t]{1,2}){1,31}[0-9a-fA-F]{2,8})"
    r"(?:\s{2,}.*|\s*\|.*)?$"
)
_LEAST_BYTES = 32
# Letters of base64, and digits of hex, as one letter each; lines of base64 have 60 or more.
_IN_BASE64 = bytes(
    ord("x") if (chr(each).isalnum() and each < 128) or each in b"+/" else ord(".")
    for each in range(256)
)
_IN_HEX = bytes(
    ord("x") if each in b"0123456789abcdefABCDEF" else ord(" ") if each in b" \t" else ord(".")
    for each in range(256)
)
_RUN, _RUNS = b"x" * 40, (b"xx xx", b"xx  xx", b"x" * 32)


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a log has before each line. name: of who writes it."""

    name: str
    pattern: re.Pattern[str]


def prefix_of(lines: Sequence[str]) -> Prefix | None:
    """What nearly all of the first lines begin with, None if nothing known."""
    texts = [line for line in lines[:_LOOKED_AT] if line.strip() and not _NO_TEXT.match(line)]
    least = max(_LEAST, math.ceil(_SHARE * len(texts)))
    # A prefix that enough lines have is at one of these.
    first = texts[: len(texts) - least + 1]
    if not any(line[0] in _STARTS for line in first):
        return None
    for name, pattern in _OF:
        if any(map(pattern.match, first)) and sum(map(bool, map(pattern.match, texts))) >= least:
            return Prefix(name, pattern)
    return None


def texts_of(lines: Iterable[str], prefix: Prefix | None) -> dict[str, list[str]]:
    """The texts of each writer of a log, by tag; a line without a prefix is of the last writer."""
    found: dict[str, list[str]] = {}
    tag = ""
    for line in lines:
        match = prefix.pattern.match(line) if prefix is not None else None
        if match is not None:
            tag = match.groupdict().get("tag") or ""
            line = line[match.end() :]
        elif prefix is not None and _NO_TEXT.match(line):
            continue
        found.setdefault(tag, []).append(line)
    return found


def may_have_bytes(text: bytes) -> bool:
    """Whether a text can have a block of bytes; most texts cannot, which takes no time to see."""
    digits = text.translate(_IN_HEX)
    return _RUN in text.translate(_IN_BASE64) or any(run in digits for run in _RUNS)


def byte_blocks(lines: Iterable[str]) -> Iterator[tuple[int, str, bytes]]:
    """Blocks of bytes written as text: the line (from 0), "base64" or "hex", and the bytes."""
    begin, kind, parts = 0, "", list[str]()
    for number, line in enumerate(chain(lines, ("",))):
        hexadecimal = _HEX.match(line)
        text = _BASE64.search(line) if hexadecimal is None else None
        now = "hex" if hexadecimal else "base64" if text else ""
        part = hexadecimal[1] if hexadecimal else text[1] if text else ""
        is_end = kind == "base64" and bool(parts) and parts[-1].endswith("=")
        if now != kind or is_end:
            if kind and (data := _bytes(kind, parts)):
                yield begin, kind, data
            begin, kind, parts = number, now, []
        if now:
            parts.append(part)


def _bytes(kind: str, parts: Sequence[str]) -> bytes:
    text = "".join(parts)
    try:
        if kind == "hex":
            data = bytes.fromhex(re.sub(r"\s", "", text))
        else:
            data = base64.b64decode(text[: len(text) - len(text) % 4], validate=True)
    except (ValueError, binascii.Error):
        return b""
    return data if len(data) >= _LEAST_BYTES else b""
