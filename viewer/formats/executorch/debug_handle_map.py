"""A debug handle map file, read as a `Program`: what a delegate's identifiers mean, and no more.

Written by `viewer.record.write_debug_handle_map` or by any other tool; the format is specified in
`viewer.record.debug_handle_map_file`. It is opened beside any profile instead of an ETRecord. What
it says no instruction of, and which operators a call has beside those of its map, is not known.

Each debug handle that an entry names is an operator of its method, called by its number where
`operators` does not tell more. A handle under `operators` that no entry names belongs to the
method if there is but one. Of an identifier that is in a map twice the last entry counts, as in the
Python dict that such maps are made from; 10 and "10" are two.
"""

from __future__ import annotations

import os
import re
from typing import Any

from viewer.codecs.json_values import NotJson, Parsed, mapping, sequence, text, whole_number
from viewer.codecs.reading import Cancelled, Progress, ReadCancelled, UnreadableFile
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
from viewer.program.program import Frame, GraphNode, Method, Operator, Program

# A map of 100,000 entries takes 4 MB. JSON is parsed in one piece, at about 50 MB a second.
MOST_BYTES = 16 << 20
_PER_CHECK = 2000  # entries, or operators, between two looks at whether to go on
_HIGHEST = 1 << 63
_MOST_LINES = 10**9
_EVENTS = "traceEvents"
_KEYS = ("methods", "operators")

_START = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\{")
# A whole text with the colon behind it, if one is; a bracket; a text that is cut off.
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"([ \t\r\n]*:)?|[{}\[\]]|"', re.DOTALL)


def sniff(head: bytes) -> bool:
    """Whether it is a JSON object with the mark as one of its own keys.

    A tool that sorts keys puts the mark behind the methods, and so beyond the first bytes: an
    object that begins with them, and has no trace events as far as can be seen, is taken for one.
    """
    start = _START.match(head)
    if start is None:
        return False
    keys, is_whole = _own_keys(head[start.end() :])
    if MAP_MARK in keys:
        return True
    return bool(keys) and not is_whole and keys[0] in _KEYS and _EVENTS not in keys


def _own_keys(inside: bytes) -> tuple[list[str], bool]:
    """The keys of an object by its inside, as far as it is there, and whether it ends in it."""
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
    """The operators and maps of a file; what is odd in it becomes a counted problem."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        raw = file.read(size) if size <= MOST_BYTES else b""
    if size > MOST_BYTES:
        raise UnreadableFile(
            path,
            f"it has more than {MOST_BYTES >> 20} MB",
            remedy="No model has so many operators: write the map of one model alone",
        )
    progress(len(raw), len(raw))
    _go_on(cancelled)
    try:
        parsed = Parsed(raw.removeprefix(b"\xef\xbb\xbf"), find_duplicates=True)
    except NotJson as error:
        raise UnreadableFile(
            path, "it is not valid JSON", where=str(error), remedy="Write it again"
        ) from error
    return _Reader(path, parsed, cancelled).program()


def _go_on(cancelled: Cancelled) -> None:
    if cancelled():
        raise ReadCancelled


FORMAT = format_of("executorch.debug_handle_map")


class _Reader:
    """One file while it is read."""

    def __init__(self, path: str, parsed: Parsed, cancelled: Cancelled) -> None:
        self._path = path
        self._cancelled = cancelled
        self._value = mapping(parsed.value)
        self._problems: dict[str, tuple[int, str]] = {}
        for oddity in parsed.oddities:
            self._problem(oddity)
        self._told: dict[int, dict[str, Any]] = {}
        self._first = 0

    def program(self) -> Program:
        version = whole_number(self._value.get(MAP_MARK))
        if version is None or version < 1:
            raise UnreadableFile(
                self._path,
                f"it has no version number under {MAP_MARK}",
                remedy=f'Write "{MAP_MARK}": {MAP_VERSION} into it',
            )
        if version > MAP_VERSION:
            self._problem(
                f"a later version of the format than {MAP_VERSION}: what is new in it is not read",
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
            methods=tuple(self._method(name, found, alone) for name, found in methods.items()),
            problems=tuple(Problem(k, n, where) for k, (n, where) in self._problems.items()),
        )

    def _problem(self, kind: str, first: str = "") -> None:
        had, where = self._problems.get(kind, (0, first))
        self._problems[kind] = (had + 1, where)

    # -- maps --------------------------------------------------------------------------------------

    def _delegates(self, method: str, calls: Any) -> dict[int, DelegateMap]:
        found = {}
        for call, told in mapping(calls).items():
            instruction = NO_INSTRUCTION if call == ANY_INSTRUCTION else whole_number(call)
            if instruction is None or not isinstance(told, dict):
                self._problem(
                    'an entry of a method is not an instruction id or "*" with a delegate',
                    f"{method}, {call}",
                )
                continue
            found[instruction] = DelegateMap(text(told.get("delegate")), self._entries(told, call))
        return found

    def _entries(self, told: dict[str, Any], call: str) -> dict[Identifier, tuple[int, ...]]:
        found: dict[Identifier, tuple[int, ...]] = {}
        for number, entry in enumerate(sequence(told.get("entries"))):
            if number % _PER_CHECK == 0:
                _go_on(self._cancelled)
            pair = sequence(entry)
            identifier = _identifier(pair[0]) if len(pair) == 2 else None
            if identifier is None:
                self._problem("an entry is not [identifier, debug handles]: left out", call)
                continue
            listed = pair[1] if isinstance(pair[1], list) else [pair[1]]
            handles = [h for h in map(whole_number, listed) if h is not None]
            if len(handles) < len(listed):
                # As a whole: with a part of its operators it would be linked to the wrong ones.
                self._problem(
                    "an identifier's debug handles are not numbers: left out", repr(identifier)
                )
                continue
            if identifier in found:
                self._problem("an identifier is there twice: the last one counts", repr(identifier))
            found[identifier] = tuple(handles)
        return found

    # -- operators ---------------------------------------------------------------------------------

    def _read_operators(self) -> None:
        for key, told in mapping(self._value.get("operators")).items():
            handle = whole_number(key)
            if handle is None or not isinstance(told, dict):
                self._problem("an entry of operators is not a debug handle with an object", key)
            else:
                self._told[handle] = told

    def _method(self, name: str, delegates: dict[int, DelegateMap], alone: set[int]) -> Method:
        of_call = {
            instruction: tuple(h for own in (delegate.entries or {}).values() for h in own)
            for instruction, delegate in delegates.items()
        }
        named = alone.union(*of_call.values())
        operators = tuple(
            Operator(self._first + i, name, handle, self._nodes(i, handle))
            for i, handle in enumerate(sorted(named))
        )
        self._first += len(operators)
        # What its map names is in a call, even if that may not be all.
        handles = {i: own for i, own in of_call.items() if i != NO_INSTRUCTION and own}
        return Method(name, operators, handles, delegates, delegates_only=True)

    def _nodes(self, number: int, handle: int) -> tuple[GraphNode, ...]:
        """What is told of a debug handle, as the graph nodes that it is of."""
        if number % _PER_CHECK == 0:
            _go_on(self._cancelled)
        told = self._told.get(handle)
        if told is None:
            return (GraphNode("", "", handle, source_op=_called(handle)),)
        targets = told.get("target")
        targets = [t for t in (targets if isinstance(targets, list) else [targets]) if text(t)]
        called = text(told.get("name")) or ("" if targets else _called(handle))
        file, line = text(told.get("file")), whole_number(told.get("line")) or 0
        module = text(told.get("module"))
        return tuple(
            GraphNode(
                name="",
                op=target,
                debug_handle=handle,
                frames=(Frame(file, line, "", ""),) if file and 0 < line < _MOST_LINES else (),
                modules=_around(module),
                source_op=called,
            )
            for target in targets or [""]
        )


def _called(handle: int) -> str:
    """What an operator is called of which nothing else is known."""
    return f"debug handle {handle}"


def _around(module: str) -> tuple[tuple[str, str], ...]:
    """(path, type) of the modules that a path lies in, outermost first; types are not told."""
    parts = module.split(".") if module else []
    if len(parts) > 64:  # not a module of any model: kept as one, since its tree would be as deep
        return ((module, ""),)
    return tuple((".".join(parts[: n + 1]), "") for n in range(len(parts)))


def _identifier(value: Any) -> Identifier | None:
    """An identifier as the file has it, None for what is neither a text nor a 64-bit number."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and -_HIGHEST <= value < _HIGHEST:
        return value
    return None
