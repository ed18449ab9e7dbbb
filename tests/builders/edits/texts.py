"""The source of a model: the texts of its lines, and where they stand in its files."""

from __future__ import annotations

from collections.abc import Iterator

from tests.builders.edits.operators import KINDS
from tests.builders.edits.source import RETURN, Code, Each, Line, Model


def text_of(line: Line) -> str:
    """Return a line as Python."""
    if line.call == "outputs":
        call = ", ".join(line.arguments)
    elif line.call in KINDS and not line.attribute:
        call = KINDS[line.call].text.format(*line.arguments, **dict(line.settings))
    else:
        call = f"{line.call}({', '.join(line.arguments)})"
    return f"return {call}" if line.result == RETURN else f"{line.result} = {call}"


def line_numbers(model: Model) -> dict[str, list[int]]:
    """The number of each line of each class; classes of a file stand in it one after another."""
    end: dict[str, int] = {}
    lines_of = {}
    for name, code in model.types.items():
        block = next(iter(model.of_type(name)), None)
        start = end.get(code.file, 4) + 5 + (len(block.parts) if block else 0)
        numbers = list(_numbers(code, start))
        lines_of[name] = numbers
        end[code.file] = numbers[-1] + 2
    return lines_of


def _numbers(code: Code, start: int) -> Iterator[int]:
    count = sum(1 + len(item.body) if isinstance(item, Each) else 1 for item in code.lines)
    yield from range(start, start + count)
