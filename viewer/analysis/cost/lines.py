"""The cost of the lines of one source file: each set of operators is charged to its lines.

If all operators of a set are on one line, its time is that line's self time. If they are on several
lines, its time is shared by them and never divided. So the wall times of lines and shared parts add
up to the total cost of the file's operators. Where it is known which graph nodes of an operator
ran, the line is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from viewer.analysis.cost.costs import CostRow, CostTable
from viewer.program.program import GraphNode, Operator, Program


@dataclass(frozen=True, slots=True)
class SelfCost:
    """The self and the wall ticks of one line, and its operator sets, most expensive first.

    zeros: how many of its slices the file cuts to 0.
    """

    ticks: int
    wall: int
    sets: tuple[tuple[int, ...], ...]
    zeros: int = 0


@dataclass(frozen=True, slots=True)
class SharedCost:
    """Time that several lines share, in ticks. `elsewhere`: some operators are in other files."""

    lines: tuple[int, ...]
    ticks: int
    sets: tuple[tuple[int, ...], ...]
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class LineCosts:
    """The costs of one file: self time by line, and shared time, most expensive first."""

    self_costs: Mapping[int, SelfCost]
    shared: tuple[SharedCost, ...]

    @property
    def shared_by_line(self) -> dict[int, int]:
        """The ticks of shared time of each line; not divided, so that they do not add up."""
        ticks_of_line: dict[int, int] = {}
        for part in self.shared:
            for line in part.lines:
                ticks_of_line[line] = ticks_of_line.get(line, 0) + part.ticks
        return ticks_of_line


def place_of(item: Operator | GraphNode) -> tuple[str, int] | None:
    """Return the recorded path and line of an operator or node; None if it has no source."""
    source = item.source
    return (source.path, source.line) if source else None


def users_place_of(item: Operator | GraphNode) -> tuple[str, int] | None:
    """Return the path and line in the user's own files that an operator or node came from.

    Where its source line is in an installed package, it is the line that this was called from.
    """
    line = item.users_line
    return (line.path, line.line) if line else None


PlaceOf = Callable[[Operator | GraphNode], tuple[str, int] | None]


def line_costs(
    program: Program, table: CostTable, path: str, place_of: PlaceOf = place_of
) -> LineCosts:
    """Assign the rows of a cost table to the lines of the file recorded as `path`.

    place_of: `users_place_of` for the lines of the user's own files.
    """
    rows_of_line: dict[int, list[CostRow]] = {}
    shared: dict[tuple[tuple[int, ...], bool], list[CostRow]] = {}
    for row in table.by_nodes:
        places = {place_of(part) for part in program.parts(row.operators, row.nodes)}
        lines = tuple(sorted(place[1] for place in places if place and place[0] == path))
        if not lines:
            continue
        if len(places) == 1:
            rows_of_line.setdefault(lines[0], []).append(row)
        else:
            shared.setdefault((lines, len(lines) < len(places)), []).append(row)
    parts = [
        SharedCost(lines, sum(r.ticks for r in rows), _sets(rows), elsewhere)
        for (lines, elsewhere), rows in shared.items()
    ]
    return LineCosts(
        {
            line: SelfCost(
                sum(r.ticks for r in rows),
                sum(r.wall for r in rows),
                _sets(rows),
                sum(r.zeros for r in rows),
            )
            for line, rows in rows_of_line.items()
        },
        tuple(sorted(parts, key=lambda part: -part.ticks)),
    )


def most_expensive_lines(
    program: Program, table: CostTable, place_of: PlaceOf = place_of
) -> tuple[tuple[str, int], ...]:
    """Return the path and most expensive line of each file, most expensive first.

    Lines are ranked by self time. Files without any self time come last, with the first line of the
    most expensive calls that they share. A function is only the caller of the operations in it, so
    its own line does not count.
    """
    ticks_of_place: dict[tuple[str, int], int] = {}
    shared: dict[str, tuple[str, int]] = {}
    for row in table.by_nodes:
        if not row.ticks or all(program.operators[i].is_function for i in row.operators):
            continue
        places = {place_of(part) for part in program.parts(row.operators, row.nodes)}
        stated_places = sorted(place for place in places if place)
        if stated_places and len(places) == 1:
            ticks_of_place[stated_places[0]] = ticks_of_place.get(stated_places[0], 0) + row.ticks
        for place in stated_places:
            shared.setdefault(place[0], place)  # rows are sorted, most expensive first
    lines: dict[str, tuple[str, int]] = {}
    for place in sorted(ticks_of_place, key=lambda place_key: -ticks_of_place[place_key]):
        lines.setdefault(place[0], place)
    return tuple(
        {**lines, **{path: place for path, place in shared.items() if path not in lines}}.values()
    )


def first_lines(program: Program, place_of: PlaceOf = place_of) -> tuple[tuple[str, int], ...]:
    """Return the path of each file and the line of its first operator, in program order."""
    lines: dict[str, tuple[str, int]] = {}
    for operator in program.operators:
        if place := place_of(operator):
            lines.setdefault(place[0], place)
    return tuple(lines.values())


def source_place(program: Program, operator: int) -> tuple[str, int] | None:
    """Return the recorded path and line of an operator; None if it has no recorded source."""
    return place_of(program.operators[operator])


def lines_text(lines: Iterable[int]) -> str:
    """Format lines as "49–50, 52": ascending, with consecutive lines joined."""
    runs: list[tuple[int, int]] = []
    for line in sorted(set(lines)):
        if runs and line == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], line)
        else:
            runs.append((line, line))
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def _sets(rows: list[CostRow]) -> tuple[tuple[int, ...], ...]:
    return tuple(dict.fromkeys(row.operators for row in rows))
