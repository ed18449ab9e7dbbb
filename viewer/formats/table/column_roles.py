"""Recognizes what the columns of a table are by their names, and asks for what they do not show.

Never guessed: which column is the start, the duration or the end, and the unit of times. If two
columns could be it, or none, the user has to state it. Times without a unit in the header are only
known in the output of a trace_processor query, whose `ts` and `dur` are ns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from viewer.codecs.reading import UnreadableFile
from viewer.formats.table.column_units import split_unit
from viewer.formats.table.layout import Layout
from viewer.formats.table.stated_columns import (
    DECIMAL,
    EVERYTHING,
    NOTHING_STATED,
    OPTION,
    ROLES,
    UNIT,
    ColumnsNeeded,
    Question,
    StatedColumns,
)

TIMES = ("start", "dur", "end")
_WORDS = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*|[0-9]+|[^\W\d_]+")
# Exact names after the unit is removed, in lower case, words separated by spaces.
_STARTS = frozenset(
    f"{before}{name}{after}".strip()
    for before in ("", "event ", "op ", "kernel ", "slice ", "task ", "layer ")
    for name in ("start", "begin", "started", "from", "start at", "started at")
    for after in ("", " time", " ts", " timestamp")
) | {"ts", "t start", "t begin", "t 0", "time start", "timestamp start"}
_ENDS = frozenset(
    f"{before}{name}{after}".strip()
    for before in ("", "event ", "op ", "kernel ", "slice ", "task ", "layer ")
    for name in ("end", "stop", "finish", "ended", "finished", "to", "end at", "ended at")
    for after in ("", " time", " ts", " timestamp")
) | {"t end", "t stop", "t 1", "time end", "timestamp end"}
_DURATIONS = frozenset(
    f"{before}{name}{after}".strip()
    for before in ("", "event ", "op ", "kernel ", "slice ", "task ", "layer ")
    for name in ("dur", "duration", "elapsed", "latency")
    for after in ("", " time")
) | {"time elapsed", "time taken", "took", "exec time", "execution time", "run time"}
# The first that is there is it: none of these changes a time.
_RANKED = {
    "name": (
        "name", "event name", "slice name", "op name", "operator name", "kernel name",
        "layer name", "node name", "task name", "function name", "event", "operator", "op",
        "kernel", "layer", "node", "task", "function", "slice", "step", "label", "activity",
        "operation", "description",
    ),
    "process": ("process", "process name", "proc", "pid", "process id", "upid"),
    "thread": (
        "thread", "thread name", "tid", "thread id", "utid", "track", "track name", "track id",
        "stream", "stream id", "lane", "queue", "core", "worker",
    ),
    "identifier": ("identifier", "delegate debug identifier", "debug identifier"),
}  # fmt: skip
_OF_TIMES = {"start": _STARTS, "end": _ENDS, "dur": _DURATIONS}
_SAID = {
    "name": "the name",
    "start": "the start",
    "dur": "the duration or the end",
    UNIT: "the unit of times",
    DECIMAL: "the decimal separator",
}
_TRACE_PROCESSOR = ("ts", "dur")
_LISTED = 20  # columns in a message
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table by number: -1 for none. Of `dur` and `end`, one is there.

    units: of start, and of duration or end. decimal: "point", "comma", or "" if not stated.
    is_query: whether the table is the output of a trace_processor query.
    """

    name: int
    start: int
    dur: int
    end: int
    process: int
    thread: int
    identifier: int
    units: tuple[str, str]
    decimal: str
    is_query: bool = False


def recognized(layout: Layout) -> dict[str, list[int]]:
    """The columns that could be what each role means, by their names."""
    bases = [_base(name) for name in layout.names]
    found: dict[str, list[int]] = {}
    for role, names in _OF_TIMES.items():
        found[role] = [i for i, base in enumerate(bases) if base in names]
    for role, ranked in _RANKED.items():
        free = {base: i for i, base in reversed(list(enumerate(bases))) if base}
        found[role] = [free[base] for base in ranked if base in free][:1]
    return found


def columns_of(layout: Layout, stated: StatedColumns, path: str) -> Columns:
    """What each column is, as stated, else by its name.

    Raises ColumnsNeeded for what is not known, and UnreadableFile for what is stated wrong.
    """
    found = {role: columns for role, columns in recognized(layout).items() if columns}
    for role in ROLES:
        name = stated.get(role)
        if name is None:
            continue
        if name and name not in layout.names:
            raise ColumnsNeeded(
                path,
                f"it has no column {_short(name)}, which {OPTION} states as {role}; it has "
                f"{_listed(layout.names)}",
                Question(layout, _known(layout, found, stated), (role,)),
                where=_where(layout),
            )
        found[role] = [layout.names.index(name)] if name else []
    if stated.get("end") and not stated.get("dur"):
        found["dur"] = []
    if stated.get("dur") and not stated.get("end"):
        found["end"] = []
    missing = [role for role in ("name", "start") if len(found.get(role, ())) != 1]
    length = _length(layout, found)
    if not length:
        missing.append("dur")
    is_query = not missing and is_query_output(layout)
    units = ["", ""]
    if not missing:
        unit = stated.get(UNIT) or ("ns" if is_query else "")
        units = [layout.units[found[role][0]] or unit for role in ("start", length)]
    elif not any(layout.units):
        units = [stated.get(UNIT) or ""] * 2
    else:
        units = ["?", "?"]  # the columns are asked first, which may state it
    if not all(units):
        missing.append(UNIT)
    if missing:
        raise needed(path, layout, stated, tuple(missing))
    _check_unit(layout, [found[role][0] for role in ("start", length)], stated, path)
    at = {role: found.get(role, [-1])[0] if found.get(role) else -1 for role in ROLES}
    for role in {"dur", "end"} - {length}:
        at[role] = -1
    return Columns(**at, units=(units[0], units[1]), decimal=stated.get(DECIMAL) or "",
                   is_query=is_query)  # fmt: skip


def _check_unit(layout: Layout, times: Sequence[int], stated: StatedColumns, path: str) -> None:
    """Raise UnreadableFile if a unit is stated, and the names of both columns state another."""
    unit = stated.get(UNIT)
    if unit and all(layout.units[i] not in ("", unit) for i in times):
        raise UnreadableFile(
            path,
            f"{OPTION} states the unit {unit}, but "
            + " and ".join(f"{_short(layout.names[i])} is in {layout.units[i]}" for i in times),
            where=_where(layout),
            remedy="Leave out the unit",
        )


def needed(
    path: str,
    layout: Layout,
    stated: StatedColumns,
    missing: tuple[str, ...],
    why: str = "",
    where: str = "",
) -> ColumnsNeeded:
    """The error that asks for what is not known. why: shown instead of the columns found."""
    found = recognized(layout)
    known = _known(layout, found, stated)
    said = " and ".join(", ".join(_SAID[one] for one in missing).rsplit(", ", 1))
    without = [
        _short(layout.names[found[role][0]])
        for role in TIMES
        if len(found.get(role, ())) == 1 and not layout.units[found[role][0]]
    ]
    if missing == (UNIT,) and without:
        said = f"the unit of {' and '.join(without)}"
    several = [
        f"{' and '.join(_short(layout.names[i]) for i in found[role])} could be the {word}"
        for role, word in (("start", "start"), ("dur", "duration"), ("end", "end"))
        if role in missing and len(found.get(role, ())) > 1
    ]
    reason = why or (
        f"this table does not show {said}; its columns are {_listed(layout.names)}"
        + "".join(f"; {text}" for text in several)
    )
    return ColumnsNeeded(
        path,
        reason,
        Question(layout, known, missing),
        where=where or _where(layout),
        remedy=f"State it: {OPTION} {_example(known, missing)}",
    )


def known_columns(layout: Layout, stated: StatedColumns | None) -> StatedColumns:
    """What is stated, and what else the names show."""
    return _known(layout, recognized(layout), stated or NOTHING_STATED)


def is_query_output(layout: Layout) -> bool:
    """Whether a table looks like the output of a trace_processor query.

    All names are in quotes, which few other tools write, and `ts` and `dur` are whole numbers
    without quotes.
    """
    if not layout.quoted or not set(_TRACE_PROCESSOR) <= set(layout.names):
        return False
    at = [layout.names.index(name) for name in _TRACE_PROCESSOR]
    cells = [row[i].strip() for row in layout.rows for i in at if i < len(row)]
    return all(re.fullmatch(r"-?[0-9]+|\[NULL\]", cell) for cell in cells)


def _base(name: str) -> str:
    """The words of a name in lower case, without its unit."""
    base = split_unit(re.sub(r" \([0-9]+\)$", "", name))[0]
    base = re.sub(r"[(\[{].*[)\]}]$", "", base)
    if base.isupper():
        base = base.lower()
    return " ".join(word.lower() for word in _WORDS.findall(base))


def _length(layout: Layout, found: dict[str, list[int]]) -> str:
    """Which of duration and end is used: the one that is known, the duration if both are."""
    sure = [role for role in ("dur", "end") if len(found.get(role, ())) == 1]
    with_unit = [role for role in sure if layout.units[found[role][0]]]
    return (with_unit or sure or [""])[0]


def _known(layout: Layout, found: dict[str, list[int]], stated: StatedColumns) -> StatedColumns:
    """What is stated, and what else the names show."""
    given = dict(stated.given)
    for role in ROLES:
        columns = found.get(role, ())
        if role not in given and len(columns) == 1:
            other = {"dur": "end", "end": "dur"}.get(role, "")
            if not given.get(other):
                given[role] = layout.names[columns[0]]
    return StatedColumns(
        tuple(
            (what, given[what])
            for what in EVERYTHING
            if given.get(what) and (what in stated_names(stated) or given[what] in layout.names)
        )
    )


def stated_names(stated: StatedColumns) -> tuple[str, ...]:
    """What is stated."""
    return tuple(what for what, _ in stated.given)


def _example(known: StatedColumns, missing: Sequence[str]) -> str:
    given = dict(known.given)
    for what in missing:
        if what == DECIMAL:
            given[what] = "point"
        elif what == UNIT:
            given[what] = "us"
        else:
            given[what] = "COLUMN"
    if "dur" in missing:
        given.pop("end", None)
    shown = [(what, given[what]) for what in EVERYTHING if what in given]
    text = StatedColumns(tuple(shown)).text()
    return f"'{text}'" if '"' in text else f'"{text}"'


def _listed(names: Sequence[str]) -> str:
    shown = [_short(name) for name in names if name]
    more = f" and {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
    return ", ".join(shown[:_LISTED]) + more


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _where(layout: Layout) -> str:
    return f"line {layout.lines}" if layout.header and layout.lines else ""
