"""Location aliases in an MLIR text: `#loc3 = loc("m.mlir":11:10)`, used as `loc(#loc3)`.

MLIR prints them unless given --mlir-print-local-scope. An alias stands for the contents of the
`loc(...)` that defines it, which may use other aliases:

    #loc5 = loc(fused[#loc3, callsite(#loc4 at #loc1)])
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_DEFINITION = re.compile(r"(#[\w$.-]+)[ \t]*=[ \t]*loc\((.*)\)[ \t]*")
_USE = re.compile(r'"(?:[^"\\]|\\.)*"|(#[\w$.-]+)')
# Nested aliases can expand to more text than fits in memory; real ones have a few hundred
# characters.
_LONGEST = 1 << 16
_DEEPEST = 100
_UNKNOWN = "unknown"


class LocationAliases:
    """The aliases that a text defines, anywhere in it."""

    def __init__(self, lines: Iterable[str]) -> None:
        found = (_DEFINITION.fullmatch(line) for line in lines if line[:1] == "#")
        self._defined = {match[1]: match[2] for match in found if match is not None}
        self._resolved: dict[str, str] = {}

    def resolved(self, location: str) -> str:
        """A location with its aliases replaced by their definitions.

        Aliases that are undefined, recursive or too long become `unknown`.
        """
        return self._expanded(location, 0) if "#" in location else location

    def _expanded(self, text: str, depth: int) -> str:
        parts: list[str] = []
        length = end = 0
        for use in _USE.finditer(text):
            if use[1] is None:
                continue
            parts += (text[end : use.start()], self._meaning(use[1], depth))
            length += len(parts[-2]) + len(parts[-1])
            end = use.end()
            if length > _LONGEST:
                return _UNKNOWN
        return "".join((*parts, text[end:]))

    def _meaning(self, alias: str, depth: int) -> str:
        if alias in self._resolved:
            return self._resolved[alias]
        if depth >= _DEEPEST or alias not in self._defined:
            return _UNKNOWN
        self._resolved[alias] = _UNKNOWN  # its value in its own definition
        self._resolved[alias] = self._expanded(self._defined[alias], depth + 1)
        return self._resolved[alias]
