"""Parses the operations of MLIR text, in custom or generic assembly, without knowing any dialect.

An operation starts a line (or a region) with `results =` and a dotted or quoted name. Strings,
comments and brackets are tracked, so that their contents are not mistaken for operations.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from viewer.dataclasses import dataclass
from viewer.program.mlir.locations import STRING_CONTENT, unescape


@dataclass(frozen=True, slots=True)
class OperationText:
    """One operation of an MLIR text.

    name: with its dialect, "tosa.conv2d". result: as written, "%0" or "%a, %b:2", "" if none. line,
    col: of the name, from 1; MLIR's own locations use these. start_col: of the statement, which
    starts with its results on the same line. end_line, end_col: the last character of `text`. text:
    the statement up to its first region. func: the name of the innermost function around it (a
    function contains itself), "" outside functions. function_line: the line of that function's
    name, 0 outside functions; distinguishes functions of the same name.
    """

    name: str
    result: str
    line: int
    col: int
    start_col: int
    end_line: int
    end_col: int
    text: str
    func: str
    function_line: int


# A location at the end of a line is one token, if only locations and types are in it, as in most of
# a debug text. The limit avoids repeated scans of hostile lines.
_LOCATION = " loc("
_TOKEN = re.compile(
    rf' loc\([^\n]{{0,2000}}\)(?=\n)|"{STRING_CONTENT}"?|//[^\n]*|\{{-#|[()\[\]{{}}]|\n'
)
_CLOSERS = {")": "(", "]": "[", "}": "{"}
_RESULTS = r"(?:(?P<result>%[\w$.-]+(?::\d+)?(?:[ \t]*,[ \t]*%[\w$.-]+(?::\d+)?)*+)[ \t]*=[ \t]*)"
_GENERIC = r'"(?P<generic>[A-Za-z_][\w$.-]*)"(?=[ \t]*\()'
# Custom assembly may omit the dialect prefix inside the dialect's own functions and modules.
_BARE = {
    "module": "builtin.module",
    "func": "func.func",
    "return": "func.return",
    "call": "func.call",
    "call_indirect": "func.call_indirect",
}
_DOTTED = r"[A-Za-z_][\w$]*(?:\.[\w$]+)++"
_AT_LINE_START = re.compile(
    rf"[ \t\r]*(?:{_RESULTS}(?:{_GENERIC}|(?P<own>[A-Za-z_][\w$]*(?:\.[\w$]+)*+))"
    # Without a result, a dotted word may be a key of an attribute dictionary: "a.b = 1," "a.b}".
    rf"|{_GENERIC.replace('generic', 'generic_alone')}"
    rf"|(?P<alone>{_DOTTED}|{'|'.join(_BARE)})(?![\w$.:]|[ \t]*[=,}}\]>]))"
)
_IN_REGION = re.compile(
    rf"[ \t]*(?:{_RESULTS}(?:{_GENERIC}|(?P<own>{_DOTTED}))"
    rf"|{_GENERIC.replace('generic', 'generic_alone')})"
)
_BREAK = re.compile(r"[ \t]*(?:\^[\w$.-]+|[#!][\w$.-]+[ \t]*=)")
_SYMBOL = re.compile(rf'@(?:"({STRING_CONTENT})"|([\w$.-]+))')
_SYMBOL_ATTRIBUTE = re.compile(rf'\bsym_name"?\s*=\s*"({STRING_CONTENT})"')


@dataclass(slots=True)
class _Function:
    depth: int
    line: int
    name: str | None = None


@dataclass(slots=True)
class _Found:
    name: str
    result: str
    depth: int
    start: int
    name_at: int
    function: _Function | None
    parent: int
    end: int = 0
    # For an operation with regions: the start of its first nested operation, the end of the last
    # one, and its own end.
    inside_from: int = -1
    inside_to: int = -1
    tail_end: int = -1


class OperationReader:
    """The operations of a text, in order, and their nesting.

    Iterate once. `parent`, `entry` and `tail` are complete after that.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        """Create a reader of lines without line ends."""
        self._text = "\n".join(lines)
        self._line_starts = [0]
        for length in map(len, lines):
            self._line_starts.append(self._line_starts[-1] + length + 1)
        self._found: list[_Found] = []

    def __iter__(self) -> Iterator[OperationText]:
        text = self._text
        for operation in _Scanner(text, self._place).scan():
            self._found.append(operation)
            line, col = self._place(operation.name_at)
            end_line, end_col = self._place(max(operation.end - 1, operation.start))
            function = operation.function
            yield OperationText(
                name=operation.name,
                result=operation.result,
                line=line,
                col=col,
                start_col=col - (operation.name_at - operation.start),
                end_line=end_line,
                end_col=end_col,
                text=text[operation.start : operation.end],
                func="" if function is None else function.name or "",
                function_line=0 if function is None else function.line,
            )

    def parent(self, number: int) -> int:
        """The number of the operation whose region contains this one, -1 at the top level."""
        return self._found[number].parent

    def entry(self, number: int) -> str:
        """The text before the first operation of a region, such as the arguments of its block."""
        operation = self._found[number]
        return self._text[operation.end : max(operation.inside_from, operation.end)]

    def tail(self, number: int) -> str:
        """The text after the last operation of the regions: attributes, types and the location.

        "" for an operation without nested operations: `text` contains all of it.
        """
        operation = self._found[number]
        return (
            self._text[operation.inside_to : operation.tail_end] if operation.inside_to >= 0 else ""
        )

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1


def operations(lines: Sequence[str]) -> Iterator[OperationText]:
    """All operations in text order. Lines must come without line ends."""
    return iter(OperationReader(lines))


class OperationPlaces:
    """The operations of one text by position; the text is parsed on first use."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def at(self, line: int, col: int) -> OperationText | None:
        """The operation whose statement covers line:col (from 1), else the first of that line."""
        operation_texts, starts, first_of_line = self._index
        before = bisect_right(starts, (line, col)) - 1
        if before >= 0:
            operation = operation_texts[before]
            if (line, col) <= (operation.end_line, operation.end_col):
                return operation
        return first_of_line.get(line)

    @cached_property
    def _index(
        self,
    ) -> tuple[list[OperationText], list[tuple[int, int]], dict[int, OperationText]]:
        operation_texts = list(operations(self._lines))
        starts = [(operation.line, operation.start_col) for operation in operation_texts]
        first_of_line: dict[int, OperationText] = {}
        for operation in operation_texts:
            first_of_line.setdefault(operation.line, operation)
        return operation_texts, starts, first_of_line


def _is_closed(location: str) -> bool:
    """Whether the brackets and strings of a location, and the rest of its line, are balanced."""
    return (
        location.count("(") == location.count(")")
        and location.count("[") == location.count("]")
        and location.count('"') % 2 == 0
        and not any(mark in location for mark in ("{", "}", "//", "\\"))
    )


class _Scanner:
    """One pass over a text: tracks brackets, strings, comments, and starts of lines and regions."""

    def __init__(self, text: str, place: Callable[[int], tuple[int, int]]) -> None:
        self._text = text
        self._place = place
        self._brackets: list[str] = []
        self._open_count = {"(": 0, "[": 0, "{": 0}
        self._functions: list[_Function] = []
        self._unnamed = 0
        self._current: _Found | None = None
        self._around: list[tuple[int, _Found]] = []  # those that have not ended, with their numbers
        self._count = 0
        # Operations wait here until the name of their function is known: in generic form it may
        # come after the body.
        self._waiting: list[_Found] = []
        self._code_end = 0
        self._tail_from = -1

    def scan(self) -> Iterator[_Found]:
        text = self._text
        self._try_start(0, _AT_LINE_START)
        offset = 0
        while (token := _TOKEN.search(text, offset)) is not None:
            mark, before = token[0], text[offset : token.start()]
            if before and (code := before.rstrip()):
                self._code_end = offset + len(code)
            offset = token.end()
            if mark.startswith(_LOCATION) and not _is_closed(mark):
                offset = token.start() + len(_LOCATION)
                mark = "("
            if mark == "\n":
                if not self._brackets or self._brackets[-1] == "{":
                    self._try_start(offset, _AT_LINE_START)
            elif mark == "{-#":
                self._finish(self._code_end)
                end = text.find("#-}", offset)
                offset = len(text) if end < 0 else end + 3
                self._code_end = offset
            elif mark in self._open_count:
                self._code_end = offset
                self._brackets.append(mark)
                self._open_count[mark] += 1
                if mark == "{":
                    self._try_start(offset, _IN_REGION)
            elif mark in _CLOSERS:
                self._close(_CLOSERS[mark], token.start())
                self._code_end = offset
            elif not mark.startswith("//"):
                self._code_end = offset
            if len(self._waiting) > 1 and not self._unnamed:
                yield from self._flush()
        if rest := text[offset:].rstrip():
            self._code_end = offset + len(rest)
        self._finish(self._code_end)
        self._end_statements(-1)
        self._end_functions(-1, len(text))
        yield from self._flush()

    def _flush(self) -> Iterator[_Found]:
        # The last one may still grow.
        keep = 1 if self._waiting and self._waiting[-1] is self._current else 0
        count = len(self._waiting) - keep
        yield from self._waiting[:count]
        del self._waiting[:count]

    def _close(self, opener: str, offset: int) -> None:
        if not self._open_count[opener]:
            return
        while True:
            top = self._brackets.pop()
            self._open_count[top] -= 1
            if top == opener:
                break
        depth = len(self._brackets)
        if self._current is not None and depth < self._current.depth:
            self._finish(self._code_end)
        self._end_statements(depth + 1)
        is_behind_body = self._current is None and self._tail_from < 0
        if is_behind_body and self._functions and depth == self._functions[-1].depth:
            self._tail_from = offset
        self._end_functions(depth + 1, offset)

    def _try_start(self, offset: int, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, offset)
        if match is None:
            if pattern is _AT_LINE_START and _BREAK.match(self._text, offset):
                self._finish(self._code_end)
                self._end_statements(len(self._brackets))
            return
        kind = match.lastgroup or ""
        if kind == "result":
            return
        depth = len(self._brackets)
        self._finish(self._code_end)
        self._end_statements(depth)
        self._end_functions(depth, offset)
        name = match[kind]
        result = match["result"] or ""
        # For a quoted name, the position of its quote.
        name_at = match.start(kind) - (kind.startswith("generic"))
        operation = _Found(
            _BARE.get(name, name),
            result,
            depth,
            match.start("result") if result else name_at,
            name_at,
            self._functions[-1] if self._functions else None,
            self._around[-1][0] if self._around else -1,
        )
        if self._around and (parent := self._around[-1][1]).inside_from < 0:
            parent.inside_from = operation.start
        self._around.append((self._count, operation))
        self._count += 1
        if operation.name.rpartition(".")[2] == "func":
            operation.function = _Function(depth, self._place(name_at)[0])
            self._functions.append(operation.function)
            self._unnamed += 1
        self._tail_from = -1
        self._current = operation
        self._waiting.append(operation)

    def _finish(self, end: int) -> None:
        operation, self._current = self._current, None
        if operation is None:
            return
        operation.end = max(end, operation.name_at + 1)
        function = operation.function
        if function is not None and function.name is None and function.depth == operation.depth:
            function.name = self._symbol(operation.name_at, operation.end)
            self._unnamed -= function.name is not None

    def _end_statements(self, depth: int) -> None:
        """Close the operations at `depth` or deeper: their last character is now known."""
        while self._around and self._around[-1][1].depth >= depth:
            _, operation = self._around.pop()
            operation.tail_end = self._code_end
            if self._around:
                self._around[-1][1].inside_to = self._code_end

    def _end_functions(self, depth: int, offset: int) -> None:
        """Close the functions at `depth` or deeper."""
        while self._functions and self._functions[-1].depth >= depth:
            function = self._functions.pop()
            if function.name is None:
                tail = self._tail_from
                function.name = (self._symbol(tail, offset) if tail >= 0 else None) or ""
                self._unnamed -= 1
            self._tail_from = -1

    def _symbol(self, start: int, end: int) -> str | None:
        match = _SYMBOL_ATTRIBUTE.search(self._text, start, end)
        if match is None:
            match = _SYMBOL.search(self._text, start, end)
            if match is None:
                return None
            return unescape(match[1]) if match[1] is not None else match[2]
        return unescape(match[1])
