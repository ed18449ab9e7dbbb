"""Recognizes what the columns and the rows of a table are, by names and first cells.

A row is a slice, with a start and a duration or an end, or an end and a duration; or the begin or
the end of one, or a mark; or a sample of counters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from viewer.formats.table.column_units import CYCLE, EXPONENTS, split_unit, unit_of
from viewer.formats.table.layout import Layout, is_no_value
from viewer.formats.table.stated_columns import ALL_VALUES, ROLES, VALUE, StatedColumns

TIMES = ("start", "dur", "end")
_MANY = 1 << 12  # names of columns
_WORDS = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*|[0-9]+|[^\W\d_]+")
# Exact names after the unit is removed, in lower case, words separated by spaces.
_STARTS = frozenset(
    f"{before}{name}{after}".strip()
    for before in ("", "event ", "op ", "kernel ", "slice ", "task ", "layer ")
    for name in ("start", "begin", "started", "from", "start at", "started at")
    for after in ("", " time", " ts", " timestamp")
) | {"ts", "t start", "t begin", "t 0", "time start", "timestamp start", "since start"}
# Of rows that have no length.
_INSTANTS = _STARTS | {"time", "timestamp", "time stamp", "date time", "datetime", "t"}
_PHASES = frozenset(
    ("ph", "phase", "event type", "type", "kind", "state", "action", "event", "b e")
)
# The share of rows that may be something else, such as another header.
_FEW = 0.2
BEGIN, END, MARK = 1, 2, 0
PHASE_OF = {
    **dict.fromkeys(("b", "begin", "begins", "start", "started", "enter", "push", "open"), BEGIN),
    **dict.fromkeys(("e", "end", "ends", "stop", "stopped", "exit", "leave", "pop", "close",
                     "finish", "finished", "ended"), END),
    **dict.fromkeys(("i", "instant", "mark", "marker", "point"), MARK),
}  # fmt: skip
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


def recognized(layout: Layout) -> dict[str, list[int]]:
    """The columns that could be what each role means, by their names."""
    return recognized_names(layout.names)


def recognized_names(all_names: Sequence[str]) -> dict[str, list[int]]:
    """The same by the names alone; "at" is the time of a row that has no length."""
    bases = [_base(name) for name in all_names]
    by_role: dict[str, list[int]] = {}
    for role, names in _OF_TIMES.items():
        columns = [i for i, base in enumerate(bases) if base in names]
        measured = [i for i in columns if unit_of(all_names[i]) != CYCLE]
        by_role[role] = measured or columns
    by_role["at"] = [i for i, base in enumerate(bases) if base in _INSTANTS]
    for role, ranked in _RANKED.items():
        free = {base: i for i, base in reversed(list(enumerate(bases))) if base}
        by_role[role] = [free[base] for base in ranked if base in free][:1]
    return by_role


def _with_phase(layout: Layout, by_role: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """What is recognized in a table whose rows are begins, ends and marks; {} if it is none."""
    times = [by_role.get("start", []), by_role.get("at", [])]
    instants = next((columns for columns in times if len(columns) == 1), [])
    phases = [
        i
        for i, name in enumerate(layout.names)
        if _base(name) in _PHASES and _is_phase([row[i] for row in layout.rows if i < len(row)])
    ]
    if len(phases) != 1 or not instants:
        return {}
    others = ["" if i in phases else name for i, name in enumerate(layout.names)]
    name = recognized_names(others)["name"]
    return {**by_role, "start": instants, "phase": phases, "name": name} if name else {}


def _is_phase(cells: Sequence[str]) -> bool:
    kinds = [PHASE_OF.get(cell.strip().casefold(), -1) for cell in cells if not is_no_value(cell)]
    return BEGIN in kinds and kinds.count(-1) <= _FEW * len(kinds)


def _with_values(layout: Layout, by_role: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """What is recognized in a table of a time and numbers, which are counters; {} if it is none."""
    if len(instants := by_role.get("at", [])) != 1 or any(
        by_role.get(role) for role in ("dur", "end")
    ):
        return {}
    places = [i for role in ("process", "thread") for i in by_role.get(role, [])]
    numbers = set(layout.number_columns)
    values = [i for i, name in enumerate(layout.names) if name and i not in (*instants, *places)]
    if not values or not set(values) <= numbers or not layout.units[instants[0]]:
        return {}
    if any(unit in EXPONENTS for unit in (layout.units[i] for i in values)):
        return {}  # times are no values
    return {**by_role, "start": instants, "name": [], VALUE: values}


def _completed(layout: Layout, by_role: dict[str, list[int]], stated: StatedColumns) -> None:
    """Add what a table that is no list of slices with a start shows, in place."""
    answers = dict(stated.given)
    if stated.values:
        names = stated.values
        used = {i for role in ROLES for i in by_role.get(role, [])}
        chosen = [i for i, name in enumerate(layout.names) if name in names]
        if ALL_VALUES in names:
            chosen = [i for i in layout.number_columns if i not in used and layout.names[i]]
        by_role[VALUE] = chosen
    if VALUE in answers or answers.get("phase") or _is_none(answers):
        if not by_role.get("start") and "start" not in answers:
            by_role["start"] = [i for i in by_role.get("at", []) if i not in by_role.get(VALUE, [])]
        return
    lengths = [role for role in ("dur", "end") if by_role.get(role)]
    if len(by_role.get("start", ())) == 1 and lengths:
        return
    if not by_role.get("start") and len(lengths) == 2 and "start" not in answers:
        return
    if not {"start", "dur", "end", "phase"} & {what for what, name in answers.items() if name}:
        by_role.update(_with_phase(layout, by_role) or _with_values(layout, by_role))


def _is_none(answers: Mapping[str, str]) -> bool:
    """Whether it is stated that rows have no length: they are marks."""
    return answers.get("dur") == "" and not answers.get("end")


def kind_of(layout: Layout, stated: StatedColumns) -> str:
    """What the rows are: "slice", "ended", "phase", "value" or "mark"; "" if it is not shown."""
    by_role = columns_found(layout, stated)
    sure = {role for role in (*ROLES, VALUE) if len(by_role.get(role, ())) == 1}
    if {"dur", "end"} <= sure and not by_role.get("start"):
        return "ended"
    if "start" not in sure:
        return ""
    if sure & {"dur", "end"}:
        return "slice"
    if "phase" in sure:
        return "phase"
    if by_role.get(VALUE):
        return "value"
    return "mark" if _is_none(dict(stated.given)) else ""


def columns_found(layout: Layout, stated: StatedColumns) -> dict[str, list[int]]:
    """The columns that each role could be: those that are stated, else by their names."""
    by_role = {role: columns for role, columns in recognized(layout).items() if columns}
    for role in ROLES:
        name = stated.get(role)
        if name is not None:
            by_role[role] = [layout.names.index(name)] if name in layout.names and name else []
    if stated.get("phase"):
        by_role.update({role: [] for role in ("dur", "end") if not stated.get(role)})
    if stated.get("end") and stated.get("dur"):
        by_role["start"] = []
    elif stated.get("end"):
        by_role["dur"] = []
    elif stated.get("dur") is not None:
        by_role["end"] = []
    _completed(layout, by_role, stated)
    return by_role


@lru_cache(_MANY)
def _base(name: str) -> str:
    """The words of a name in lower case, without its unit."""
    base = split_unit(re.sub(r" \([0-9]+\)$", "", name))[0]
    base = re.sub(r"[(\[{].*[)\]}]$", "", base)
    if base.isupper():
        base = base.lower()
    return " ".join(word.lower() for word in _WORDS.findall(base))
