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
_LOOKED_AT, _LEAST, _SHARE = 400, 3, 0.8
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
    texts = [line for line in lines[:_LOOKED_AT] if line.strip() and not _NO_TEXT.match(line)]
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
