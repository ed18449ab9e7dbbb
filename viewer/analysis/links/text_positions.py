"""Finds the operators of an MLIR text by the file positions in locations."""

from __future__ import annotations

from functools import lru_cache

from viewer.program.mlir.locations import INPUT_FILE, FilePosition, parse_location, positions
from viewer.program.program import Operator, Program
from viewer.program.sources.files import file_name


@lru_cache(maxsize=4096)
def positions_of(location: str) -> tuple[FilePosition, ...]:
    """Return the distinct positions in a location, callee before caller."""
    return positions(parse_location(location))


class TextPositions:
    """Looks up operators of one MLIR program by (file, line, column)."""

    def __init__(self, program: Program) -> None:
        self._places = program.operation_places
        self._file = file_name(program.path)
        self._by_line: dict[int, list[Operator]] = {}
        for operator in program.operators:
            frame = operator.source
            if frame is not None:
                self._by_line.setdefault(frame.line, []).append(operator)

    def is_about(self, position: FilePosition) -> bool:
        """Return whether the position names this file (by its last path component) or no file."""
        return position.file == INPUT_FILE or file_name(position.file) == self._file

    def operator_at(self, position: FilePosition) -> Operator | None:
        """Return the operator whose operation starts at the position, or None.

        A position without a file may refer to any text, so its column must match exactly.
        """
        if not self.is_about(position):
            return None
        if position.file == INPUT_FILE:
            exact = self._places.at(position.line, position.col)
            if exact is None or (exact.line, exact.col) != (position.line, position.col):
                return None
        operators = self._by_line.get(position.line, [])
        if len(operators) <= 1:
            return operators[0] if operators else None
        operation = self._places.at(position.line, position.col)
        name = operation.name if operation else ""
        return next((op for op in operators if op.nodes[0].op == name), None)


def operators_at(location: str, texts: TextPositions) -> dict[int, FilePosition]:
    """Map the operators of a text that a location names to their positions, callee first.

    Functions are only the callers of their operations, so they are returned only if alone.
    """
    position_of: dict[int, FilePosition] = {}
    inner: dict[int, FilePosition] = {}
    for position in positions_of(location):
        operator = texts.operator_at(position)
        if operator is not None:
            position_of.setdefault(operator.index, position)
            if not operator.is_function:
                inner.setdefault(operator.index, position)
    return inner or position_of
