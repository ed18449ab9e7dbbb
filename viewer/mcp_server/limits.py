"""What an assistant may ask and gets: files, their handles, and bounds of arguments and answers.

The files of the command line are all that tools can read. Each has a handle, p1, p2, ... for
profiles and f1, f2, ... for others, since a path of 100 characters in every row would be most of an
answer. A slice is p1:123, its number in its profile. Files do not change while the server runs, so
a handle stays valid.

An assistant reads answers in full, and a file may hold a name of a megabyte or a list of a million
numbers: an answer has so many rows, texts of limited length, and so many characters in all. What is
cut says so. Clients move answers beyond about 50,000 characters into a file, so a longer one has
fewer items.
"""

from __future__ import annotations

import copy
import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any

from viewer.analysis.search.search import SearchedTrace
from viewer.api.profile import Profile
from viewer.dataclasses import dataclass
from viewer.model.times import group_digits
from viewer.model.trace import Trace
from viewer.reports.info import Facts
from viewer.reports.slices import recorded_paths, searched
from viewer.workspace.snapshot import LinkedTrace, Snapshot
from viewer.workspace.workspace import Workspace

LONGEST_ARGUMENT = 4096  # characters: the longest path of most systems
MOST_TEXTS = 200  # of a list


class WrongArgument(ValueError):
    """An argument that a tool does not take; the message says what it takes."""


class Kind(Enum):
    """The type of an argument, by its name in JSON schemas."""

    TEXT = "string"
    NUMBER = "integer"
    TEXTS = "array"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool.

    default: its value if it is left out; None for one without a value. least, most: the bounds of a
    number, or of the length of a text. choices: the only texts that are accepted, if any.
    """

    name: str
    kind: Kind
    description: str
    is_required: bool = False
    default: int | str | None = None
    least: int = 0
    most: int = LONGEST_ARGUMENT
    choices: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        schema: dict[str, Any] = {"type": self.kind.value, "description": self.description}
        if self.kind is Kind.NUMBER:
            schema |= {"minimum": self.least, "maximum": self.most}
        elif self.choices:
            schema["enum"] = list(self.choices)
        elif self.kind is Kind.TEXT:
            schema |= {"minLength": 1, "maxLength": self.most}
        else:
            schema["items"] = {"type": "string", "minLength": 1, "maxLength": self.most}
            schema |= {"minItems": 1, "maxItems": MOST_TEXTS}
        return schema if self.default is None else {**schema, "default": self.default}

    def checked(self, value: object) -> Any:
        """Return a value of this argument. Raises `WrongArgument`."""
        if self.kind is Kind.NUMBER:
            return self._number(value)
        if self.kind is Kind.TEXT:
            return self._text(value)
        if not isinstance(value, list) or not value:
            raise WrongArgument(f"{self.name} must be a list of texts")
        if len(value) > MOST_TEXTS:
            raise WrongArgument(f"{self.name} can have at most {MOST_TEXTS} texts")
        return [self._text(text) for text in value]

    def _number(self, value: object) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON does not distinguish 5 from 5.0
        if not isinstance(value, int) or isinstance(value, bool):
            raise WrongArgument(f"{self.name} must be a whole number")
        if not self.least <= value <= self.most:
            raise WrongArgument(f"{self.name} must be from {self.least} to {self.most}")
        return value

    def _text(self, value: object) -> str:
        if not isinstance(value, str) or not value:
            raise WrongArgument(f"{self.name} must be a text")
        if len(value) > self.most:
            raise WrongArgument(f"{self.name} can have at most {self.most} characters")
        if self.choices and value not in self.choices:
            raise WrongArgument(f"{self.name} must be one of {', '.join(self.choices)}")
        return value


def schema_of(arguments: Sequence[Argument]) -> dict[str, Any]:
    """Return the JSON schema of the arguments of a tool."""
    return {
        "type": "object",
        "properties": {argument.name: argument.schema for argument in arguments},
        "required": [argument.name for argument in arguments if argument.is_required],
        "additionalProperties": False,
    }


def checked(arguments: Sequence[Argument], values: Mapping[str, object]) -> dict[str, Any]:
    """Return the values of all arguments, defaults for what is left out or null.

    Raises `WrongArgument`, also for an argument that the tool does not have.
    """
    by_name = {argument.name: argument for argument in arguments}
    for name in values:
        if name not in by_name:
            takes = f"it takes {', '.join(by_name)}" if by_name else "it takes none"
            raise WrongArgument(f"the tool has no argument {name[:40]!r}; {takes}")
    checked_values: dict[str, Any] = {}
    for name, argument in by_name.items():
        value = values.get(name)
        if value is None and argument.is_required:
            raise WrongArgument(f"{name} is missing: {argument.description}")
        checked_values[name] = argument.default if value is None else argument.checked(value)
    return checked_values


_TICKS, _NS = "_ticks", "_ns"


def file_handles(workspace: Workspace) -> dict[str, str]:
    """Return the handle of each open file by its path."""
    profiles = list(dict.fromkeys(trace.path for trace in workspace.traces))
    others = [program.path for program in workspace.programs]
    others += [executable.path for executable in workspace.executables]
    handles = {path: f"p{number}" for number, path in enumerate(profiles, 1)}
    rest = [path for path in dict.fromkeys(others) if path not in handles]
    return handles | {path: f"f{number}" for number, path in enumerate(rest, 1)}


def slice_of_handle(handle: str) -> tuple[str, int]:
    """Return the profile and the number of a slice's handle. Raises `WrongArgument`."""
    profile, _, number = handle.rpartition(":")
    if not profile or not number.isascii() or not number.isdecimal() or len(number) > 10:
        raise WrongArgument(f"{handle[:40]!r} is not the handle of a slice, such as p1:123")
    return profile, int(number)


def with_handles(facts: Facts, handles: Mapping[str, str]) -> Facts:
    """Return an answer with handles instead of paths, and each path once in `handles`.

    Left out are empty values (never a zero), and times in ticks that are there in ns. A row of a
    slice gets its `handle`.
    """
    stated: dict[str, str] = {}

    def short(value: Any) -> Any:
        if isinstance(value, str) and value in handles:
            stated[handles[value]] = value
            return handles[value]
        if isinstance(value, Mapping):
            row = {
                key: short(part)
                for key, part in value.items()
                if (part or type(part) in (int, float, bool))
                and not (key.endswith(_TICKS) and f"{key.removesuffix(_TICKS)}{_NS}" in value)
            }
            if type(value.get("slice")) is int and value.get("file") in handles:
                return {"handle": f"{row['file']}:{row['slice']}", **row}
            return row
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [short(part) for part in value]
        return value

    answer = _clock_once(short(facts))
    in_order = {handle: stated[handle] for handle in handles.values() if handle in stated}
    return {"handles": in_order, **answer} if in_order else dict(answer)


def _clock_once(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts with the clock of all files, if they have the same, instead of one in each."""
    files = facts.get("files", ())
    clocks = [file["clock"] for file in files if "clock" in file]
    if len(clocks) < 2 or any(clock != clocks[0] for clock in clocks):
        return facts
    without = [{key: part for key, part in file.items() if key != "clock"} for file in files]
    return {**facts, "clock": clocks[0], "files": without}


class OpenFiles:
    """A workspace that does not change any more, and what could not be opened.

    unreadable: a message for each file that could not be read, and for each option that could not
    be applied.
    """

    def __init__(self, workspace: Workspace, unreadable: Sequence[str] = ()) -> None:
        self.workspace = workspace
        self.unreadable = tuple(unreadable)
        self._searched: dict[str, SearchedTrace] = {}

    @cached_property
    def linked(self) -> tuple[LinkedTrace, ...]:
        """The profiles with their links."""
        return Snapshot.of(self.workspace).traces

    @cached_property
    def recorded_paths(self) -> tuple[str, ...]:
        """The source files that the open files name."""
        return tuple(recorded_paths(self.workspace))

    @cached_property
    def handles(self) -> dict[str, str]:
        """The handle of each open file by its path."""
        return file_handles(self.workspace)

    @cached_property
    def tables(self) -> Profile:
        """The tables of the open files, each made once."""
        return Profile(self.workspace)

    def profile(self, name: str | None) -> Trace:
        """Return the profile of a name, or the only one. Raises `WrongArgument`."""
        if name is not None:
            return self._trace(name)
        traces = self.workspace.traces
        if len(traces) == 1:
            return traces[0]
        if not traces:
            raise WrongArgument("no profile is open")
        raise WrongArgument(f"several profiles are open, name one: {self._names()}")

    def only(self, name: str | None) -> Workspace:
        """Return a workspace with the profile of a name alone, or with all. See `profile`."""
        if name is None:
            return self.workspace
        assert self.linked is not None  # the links are made once, for all copies
        one = copy.copy(self.workspace)
        one.traces = [self._trace(name)]
        return one

    def chosen(self, name: str | None) -> list[LinkedTrace]:
        """Return the profile of a name with its links, or all. See `profile`."""
        trace = None if name is None else self._trace(name)
        return [one for one in self.linked if trace is None or one.trace is trace]

    def arm(self, names: Sequence[str]) -> list[str]:
        """Return the paths of some profiles. Raises `WrongArgument`."""
        return list(dict.fromkeys(self._trace(name).path for name in names))

    def searched(self, one: LinkedTrace) -> SearchedTrace:
        """Return a profile that can be searched; made once."""
        path = one.trace.path
        if path not in self._searched:
            self._searched[path] = searched(one)
        return self._searched[path]

    def _trace(self, name: str) -> Trace:
        """Return the open profile of a handle or path, or the only one with this file name.

        A name is compared as a text and never looked up on the disk.
        """
        traces = self.workspace.traces
        found = [trace for trace in traces if name in (trace.path, self.handles[trace.path])]
        found = found or [trace for trace in traces if os.path.basename(trace.path) == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise WrongArgument(f"{len(found)} open profiles are named {name}: give the whole path")
        raise WrongArgument(f"{name} is not an open profile; open are: {self._names()}")

    def _names(self) -> str:
        return ", ".join(trace.path for trace in self.workspace.traces[:20]) or "none"


LONGEST_TEXT = 1000  # characters of one text
MOST_ITEMS = 100  # of a list inside an answer that has no limit of its own
MOST_CHARACTERS = 40_000  # of an answer


class TooLarge(ValueError):
    """An answer that is too large for an assistant; the message says what to do."""


def limited(facts: Facts, name: str, limit: int) -> Facts:
    """Return facts with at most `limit` rows in the list of a name, and how many there are.

    `total`: the number of rows; `shown`: how many of them are in the list.
    """
    rows = facts[name][:limit]
    return {**facts, name: rows, "total": len(facts[name]), "shown": len(rows)}


def limited_by_file(facts: Facts, limit: int) -> Facts:
    """Return the same with at most `limit` rows of each file."""
    rows = _first_of_each(facts["rows"], [row["file"] for row in facts["rows"]], limit)
    return {**facts, "rows": rows, "total": len(facts["rows"]), "shown": len(rows)}


def _first_of_each(rows: Sequence[Any], files: Sequence[str], limit: int) -> list[Any]:
    """Return at most `limit` rows of each file, the first ones; files: that of each row."""
    count, first_rows = Counter[str](), []
    for row, file in zip(rows, files, strict=True):
        count[file] += 1
        if count[file] <= limit:
            first_rows.append(row)
    return first_rows


def of_each(limit: int, profiles: int) -> int:
    """Return how many rows each of some profiles has, if all have `limit` together."""
    return max(1, limit // max(1, profiles))


def answer_text(facts: Facts, limit: int) -> str:
    """Return facts as JSON in ASCII, so that no character in a name has an effect anywhere.

    limit: of lists that have no limit of their own. An answer that is too long has fewer items in
    its lists, of each profile; only if that is not enough, fewer profiles. Raises `TooLarge`.
    """
    for is_whole in (True, False):
        items = max(limit, MOST_ITEMS)
        while items:
            files = MOST_ITEMS if is_whole else items
            text = json.dumps(_bounded(facts, items, files), allow_nan=False, separators=(",", ":"))
            if len(text) <= MOST_CHARACTERS:
                return text
            items = items * 3 // 4
    raise TooLarge(
        f"the answer has more than {group_digits(MOST_CHARACTERS)} characters: name one profile"
    )


def _bounded(value: Any, items: int, files: int | None = None) -> Any:
    """Return a value of JSON with short texts and lists; numbers that are not finite are null.

    files: the most items of its list of files, which are not cut with the other lists.
    """
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        bounded: dict[str, Any] = {}
        for key, part in value.items():
            most = files if key == "files" and files is not None else items
            if not isinstance(part, list | tuple):
                bounded[_short(str(key))] = _bounded(part, items)
                continue
            cut = _first_of_each_file(part, most)
            bounded[_short(str(key))] = [_bounded(row, items) for row in cut]
            if len(part) > len(cut):
                bounded[f"{_short(str(key))}_total"] = len(part)
        if isinstance(bounded.get("shown"), int):
            lists = [part for part in bounded.values() if isinstance(part, list)]
            bounded["shown"] = min(bounded["shown"], max(map(len, lists), default=0))
        return bounded
    if isinstance(value, Sequence):
        return [_bounded(part, items) for part in value[:items]]
    return value


def _first_of_each_file(rows: Sequence[Any], most: int) -> Sequence[Any]:
    """Return at most so many rows, the first ones of each file that rows name."""
    if len(rows) <= most:
        return rows
    files = [str(row.get("file")) if isinstance(row, Mapping) else "" for row in rows]
    count = len(set(files))
    return _first_of_each(rows, files, of_each(most, count))[: max(most, count)]


def _short(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}... ({group_digits(len(text))} characters)"
