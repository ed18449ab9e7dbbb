"""Lines of logs: what their writers put before a text.

Android's log, syslog and journald, glog, ExecuTorch, Xcode, Python's logging, and terminals of
serial lines, which add a time. A log has one of them before nearly every line. Lines without it are
texts as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
