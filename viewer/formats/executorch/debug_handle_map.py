"""Reads a debug handle map file as a `Program` with the operators behind a delegate's identifiers.

`viewer.record.debug_handle_map` specifies the format. It is opened with any profile in place of an
ETRecord, and does not state instructions outside delegates, or operators of a call that are not in
its map. Each debug handle that an entry names is an operator of its method, named by its number
unless `operators` describes it. A handle in `operators` that no entry names belongs to the method
if there is only one. If an identifier is repeated in a map, the last entry counts.
"""

from __future__ import annotations

import os
import re
from typing import Any

from viewer.codecs.json_values import (
    InvalidJson,
    Parsed,
    mapping,
    memory_needed,
    sequence,
    text,
    whole_number,
)
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.formats import format_of
from viewer.model.trace import Problem
from viewer.program.debug_handles import (
    ANY_INSTRUCTION,
    MAP_MARK,
    MAP_VERSION,
    NO_INSTRUCTION,
    DelegateMap,
    Identifier,
)
from viewer.program.frames import Frame
from viewer.program.program import GraphNode, Method, Operator, Program

# A map of 100,000 entries has 4 MB. JSON is parsed in one call, at about 50 MB/s.
MOST_BYTES = 16 << 20
_PER_CHECK = 2000  # entries or operators between checks for cancelling
_HIGHEST = 1 << 63
_MOST_LINES = 10**9
_EVENTS = "traceEvents"
_KEYS = ("methods", "operators")

_START = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\{")
# A complete string, with the colon after it if any; a bracket; or a string that is cut off.
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"([ \t\r\n]*:)?|[{}\[\]]|"', re.DOTALL)


def sniff(head: bytes) -> bool:
    """Whether it is a JSON object with the marker as one of its own keys.

    A tool that sorts keys writes the marker after the methods, outside the first bytes. So an
    object that starts with those keys and shows no trace events is accepted too.
    """
    start = _START.match(head)
    if start is None:
        return False
    keys, is_whole = _own_keys(head[start.end() :])
    if MAP_MARK in keys:
        return True
    return bool(keys) and not is_whole and keys[0] in _KEYS and _EVENTS not in keys


def _own_keys(inside: bytes) -> tuple[list[str], bool]:
    """The keys of an object in a prefix of its contents, and whether the object ends there."""
    keys: list[str] = []
    depth = 1
    for token in _TOKEN.finditer(inside):
        mark = token[0]
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return keys, True
        elif mark == b'"':
            return keys, False
        elif depth == 1 and token[2]:
            keys.append(token[1].decode("utf-8", "replace"))
    return keys, False


def read(path: str, progress: Progress, cancelled: Cancelled) -> Program:
    """Read the operators and maps of a file; unexpected data becomes a counted problem.

    Raises UnreadableFile, ReadCancelled.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        raw = file.read(size) if size <= MOST_BYTES else b""
    if size > MOST_BYTES:
        raise UnreadableFile(
            path,
            f"it has more than {MOST_BYTES >> 20} MB",
            remedy="Write the map of one model only",
        )
    allowance().take(len(raw) + memory_needed(raw))
    progress(len(raw), len(raw))
    stop_if(cancelled)
    try:
        parsed = Parsed(raw.removeprefix(b"\xef\xbb\xbf"), find_duplicates=True)
    except InvalidJson as error:
        raise UnreadableFile(
            path, "it is not valid JSON", where=str(error), remedy="Export it again"
        ) from error
    return _Reader(path, parsed, cancelled).program()


FORMAT = format_of("executorch.debug_handle_map")


class _Reader:
    def __init__(self, path: str, parsed: Parsed, cancelled: Cancelled) -> None:
        self._path = path
        self._cancelled = cancelled
        self._value = mapping(parsed.value)
        self._problems: dict[str, tuple[int, str]] = {}
        for warning in parsed.warnings:
            self._problem(warning)
        self._told: dict[int, dict[str, Any]] = {}
        self._first = 0

    def program(self) -> Program:
        """Build the program. Raises UnreadableFile."""
        version = whole_number(self._value.get(MAP_MARK))
        if version is None or version < 1:
            raise UnreadableFile(
                self._path,
                f"it has no version number under {MAP_MARK}",
                remedy=f'Add "{MAP_MARK}": {MAP_VERSION}',
            )
        if version > MAP_VERSION:
            self._problem(
                f"format version later than {MAP_VERSION}: newer parts are not read",
                f"version {version}",
            )
        self._read_operators()
        methods = {
            name: self._delegates(name, calls)
            for name, calls in mapping(self._value.get("methods")).items()
        }
        if not methods:
            raise UnreadableFile(
                self._path,
                "it has no methods",
                remedy='Its "methods" are an object: method -> instruction id or "*" -> delegate',
            )
        alone = set(self._told) if len(methods) == 1 else set()
        return Program(
            path=self._path,
            format=FORMAT.name,
            generation=f"version {version}",
            methods=tuple(
                self._method(name, delegates, alone) for name, delegates in methods.items()
            ),
            problems=tuple(Problem(k, n, where) for k, (n, where) in self._problems.items()),
        )

    def _problem(self, kind: str, first: str = "") -> None:
        had, where = self._problems.get(kind, (0, first))
        self._problems[kind] = (had + 1, where)

    # -- maps --------------------------------------------------------------------------------------

    def _delegates(self, method: str, calls: Any) -> dict[int, DelegateMap]:
        delegate_maps = {}
        for call, delegate in mapping(calls).items():
            instruction = NO_INSTRUCTION if call == ANY_INSTRUCTION else whole_number(call)
            if instruction is None or not isinstance(delegate, dict):
                self._problem(
                    'an entry of a method is not an instruction id or "*" with a delegate',
                    f"{method}, {call}",
                )
                continue
            delegate_maps[instruction] = DelegateMap(
                text(delegate.get("delegate")), self._entries(delegate, call)
            )
        return delegate_maps

    def _entries(self, handle_map: dict[str, Any], call: str) -> dict[Identifier, tuple[int, ...]]:
        entries: dict[Identifier, tuple[int, ...]] = {}
        for number, entry in enumerate(sequence(handle_map.get("entries"))):
            if number % _PER_CHECK == 0:
                stop_if(self._cancelled)
            pair = sequence(entry)
            identifier = _identifier(pair[0]) if len(pair) == 2 else None
            if identifier is None:
                self._problem("an entry is not [identifier, debug handles]: left out", call)
                continue
            listed = pair[1] if isinstance(pair[1], list) else [pair[1]]
            handles = [h for h in map(whole_number, listed) if h is not None]
            if len(handles) < len(listed):
                # Left out as a whole: with only some of its operators, it would link to the wrong
                # ones.
                self._problem(
                    "an identifier's debug handles are not numbers: left out", repr(identifier)
                )
                continue
            if identifier in entries:
                self._problem("duplicate identifier: the last one is used", repr(identifier))
            entries[identifier] = tuple(handles)
        return entries

    # -- operators ---------------------------------------------------------------------------------

    def _read_operators(self) -> None:
        for key, description in mapping(self._value.get("operators")).items():
            handle = whole_number(key)
            if handle is None or not isinstance(description, dict):
                self._problem("an entry of operators is not a debug handle with an object", key)
            else:
                self._told[handle] = description

    def _method(self, name: str, delegates: dict[int, DelegateMap], alone: set[int]) -> Method:
        of_call = {
            instruction: tuple(h for value in (delegate.entries or {}).values() for h in value)
            for instruction, delegate in delegates.items()
        }
        named = alone.union(*of_call.values())
        operators = tuple(
            Operator(self._first + i, name, handle, self._nodes(i, handle))
            for i, handle in enumerate(sorted(named))
        )
        self._first += len(operators)
        # A call contains the operators of its map, even if that may be incomplete.
        handles = {
            i: debug_handles
            for i, debug_handles in of_call.items()
            if i != NO_INSTRUCTION and debug_handles
        }
        return Method(name, operators, handles, delegates, delegates_only=True)

    def _nodes(self, number: int, handle: int) -> tuple[GraphNode, ...]:
        """The description of a debug handle as graph nodes."""
        if number % _PER_CHECK == 0:
            stop_if(self._cancelled)
        description = self._told.get(handle)
        if description is None:
            return (GraphNode("", "", handle, source_op=_called(handle)),)
        targets = description.get("target")
        targets = [t for t in (targets if isinstance(targets, list) else [targets]) if text(t)]
        display_name = text(description.get("name")) or ("" if targets else _called(handle))
        file, line = text(description.get("file")), whole_number(description.get("line")) or 0
        has_line = bool(file) and 0 < line < _MOST_LINES
        module = text(description.get("module"))
        return tuple(
            GraphNode(
                name="",
                op=target,
                debug_handle=handle,
                frames=(Frame(file, line, "", "", is_stated=True),) if has_line else (),
                modules=_around(module),
                source_op=display_name,
            )
            for target in targets or [""]
        )


def _called(handle: int) -> str:
    """The name of an operator without a description."""
    return f"debug handle {handle}"


def _around(module: str) -> tuple[tuple[str, str], ...]:
    """(path, type) of the modules that contain a path, outermost first; types are not known."""
    parts = module.split(".") if module else []
    if len(parts) > 64:  # not a real module path: kept as one, because its tree would be as deep
        return ((module, ""),)
    return tuple((".".join(parts[: n + 1]), "") for n in range(len(parts)))


def _identifier(value: Any) -> Identifier | None:
    """An identifier as in the file; None if it is neither a string nor a 64-bit integer."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and -_HIGHEST <= value < _HIGHEST:
        return value
    return None
