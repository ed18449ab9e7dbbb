"""Recognizes what the columns and rows of a table are, and asks for what they do not show.

A row is a slice, with a start and a duration or an end, or an end and a duration; or the begin or
the end of one, or a mark; or a sample of counters. Names of columns and the first cells tell. Never
guessed: which of several columns is the start, the duration or the end, and the unit of times.
Without a unit in the header, only the ns of trace_processor queries and of rocprofv3 are known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from viewer.codecs.reading import UnreadableFile
from viewer.dataclasses import dataclass
from viewer.formats.table.layout import Layout, is_no_row, is_no_value
from viewer.formats.table.stated_columns import (
    ALL_VALUES,
    DECIMAL,
    EVERYTHING,
    NOTHING_STATED,
    OPTION,
    ROLES,
    UNIT,
    VALUE,
    ColumnsNeeded,
    Question,
    StatedColumns,
)
from viewer.formats.table.time_cells import Numbers
from viewer.formats.table.time_texts import CYCLE, EXPONENTS, IN_CELLS, UNITS, split_unit, unit_of

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


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table by number: -1 for none. At most one of `dur` and `end` is there.

    ends_at_start: whether a slice of a duration ends at its `start`. phase: what a row is. values:
    counters. Without a length and a phase, a row is an instant, or only values. units: of start,
    and of duration or end. decimal: "point", "comma", or "" if not stated. is_query: whether the
    table is the output of a trace_processor query.
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
    phase: int = -1
    values: tuple[int, ...] = ()
    ends_at_start: bool = False

    @property
    def length(self) -> int:
        """The column of the duration or the end."""
        return max(self.dur, self.end)

    @property
    def has_slices(self) -> bool:
        """Whether rows are slices, or their begins and ends."""
        return not self.values or self.length >= 0 or self.phase >= 0


@dataclass(frozen=True, slots=True)
class SampleTimes:
    """times: start and duration of each row in ps, None for a row without. bad: what is wrong with
    the first row that has no times, "" if none is. question: why no times are known, "" if they
    are."""

    times: tuple[tuple[int, int] | None, ...]
    bad: str
    question: str


def sample_times(layout: Layout, columns: Columns) -> SampleTimes:
    """The times of the first rows of a table."""
    numbers = Numbers(layout.separator, columns.decimal)
    length = columns.length if columns.length >= 0 else columns.start
    time_columns = columns.start, length
    if not layout.rows:
        return SampleTimes((), "", "")
    cells = [
        numbers.parse([row[column] if column < len(row) else "" for row in layout.rows], unit)
        for column, unit in zip(time_columns, columns.units, strict=True)
    ]
    if numbers.question:
        return SampleTimes((), "", numbers.question)
    parsed: list[list[int | None]] = []
    for column_cells in cells:
        numbers.settle(column_cells.ns, column_cells.ps, column_cells.meaning)
        amounts = zip(
            column_cells.ns.tolist(),
            column_cells.ps.tolist(),
            column_cells.usable.tolist(),
            strict=True,
        )
        parsed.append([ns * 1000 + ps if ok else None for ns, ps, ok in amounts])
    times: list[tuple[int, int] | None] = []
    bad = ""
    for row, line, start, last in zip(
        layout.rows, layout.row_lines, parsed[0], parsed[1], strict=True
    ):
        took = None if start is None or last is None else last
        if took is not None and start is not None and columns.dur < 0:
            took = max(took - start, 0)
        is_wide = any(cell.strip() for cell in row[len(layout.names) :])
        is_usable = start is not None and took is not None and took >= 0 and not is_wide
        if is_usable and columns.ends_at_start:
            start = (start or 0) - (took or 0)
        times.append((start or 0, took or 0) if is_usable else None)
        if not is_usable and not bad and not is_no_row(row[0]):
            column = columns.start if start is None else length
            cell = row[column] if column < len(row) else ""
            said = "has no value" if is_no_value(cell) else f'is "{cell.strip()}"'
            bad = f"line {line}: {layout.names[column]} {said}"
            if is_wide:
                bad = f"line {line} has {len(row)} cells, and the header {len(layout.names)}"
    return SampleTimes(tuple(times), bad, "")


_SAID = {
    "name": "the name",
    "start": "the start",
    "dur": "the duration or the end",
    UNIT: "the unit of times",
    DECIMAL: "the decimal separator",
}
_TRACE_PROCESSOR = ("ts", "dur")
# rocprofv3's traces of kernels, copies and calls, whose times are ns: source/docs/how-to of
# https://github.com/ROCm/rocprofiler-sdk.
_OF_ROCPROF = {"Correlation_Id", "Start_Timestamp", "End_Timestamp"}
_PLACE = "COLUMN"
_EXAMPLE_UNIT = "us"
_LISTED = 20  # columns in a message
_LONGEST_NAME = 40


def columns_of(layout: Layout, stated: StatedColumns, path: str) -> Columns:
    """What each column is, as stated, else by its name.

    Raises ColumnsNeeded for what is not known, and UnreadableFile for what is stated wrong.
    """
    by_role = columns_found(layout, stated)
    for role, name in stated.given:
        if role in (UNIT, DECIMAL) or not name or name in (*layout.names, ALL_VALUES):
            continue
        raise ColumnsNeeded(
            path,
            f"it has no column {_short(name)}, which {OPTION} states as {role}; it has "
            f"{_listed(layout.names)}",
            Question(layout, _known(layout, by_role, stated), (role,)),
            where=_where(layout),
        )
    kind = kind_of(layout, stated)
    first, length = "start", _length(layout, by_role)
    if kind == "ended":
        first, length = "end", "dur"
    needs = [] if kind == "value" else ["name"]
    missing = [role for role in (*needs, first) if len(by_role.get(role, ())) != 1]
    if not length and not kind:
        missing.append("dur")
    times = [first, length] if length else [first]
    is_query = not missing and is_query_output(layout)
    units = ["", ""]
    if not missing:
        unit = stated.get(UNIT) or ("ns" if is_query or set(layout.names) >= _OF_ROCPROF else "")
        units = [_unit(layout.units[by_role[role][0]], unit) for role in times]
    elif not any(layout.units):
        units = [stated.get(UNIT) or ""] * 2
    else:
        units = ["?", "?"]  # the columns are asked first, which may state it
    if not all(units):
        missing.append(UNIT)
    if missing:
        raise needed(path, layout, stated, tuple(missing))
    _check_unit(layout, [by_role[role][0] for role in times], stated, path)
    index_by_role = {
        role: by_role.get(role, [-1])[0] if by_role.get(role) else -1 for role in ROLES
    }
    for role in {"dur", "end"} - {length}:
        index_by_role[role] = -1
    index_by_role["start"] = by_role[first][0]
    return Columns(**index_by_role, units=(units[0], units[-1]), decimal=stated.get(DECIMAL) or "",
                   is_query=is_query, values=tuple(by_role.get(VALUE, ())),
                   ends_at_start=kind == "ended")  # fmt: skip


def _unit(unit: str, stated: str) -> str:
    """The unit of times that state theirs, or not."""
    return stated or unit if unit == IN_CELLS else unit or stated


def _check_unit(layout: Layout, times: Sequence[int], stated: StatedColumns, path: str) -> None:
    """Raise UnreadableFile if a unit is stated, and the names of both columns state another."""
    unit = stated.get(UNIT)
    units = [_unit(layout.units[i], unit or "") for i in times]
    if CYCLE in units and len(set(units)) == 2:
        pairs = zip((_short(layout.names[i]) for i in times), units, strict=True)
        raise UnreadableFile(
            path,
            " and ".join(f"{name} is in {unit}" for name, unit in pairs)
            + ", which have no clock in common",
            where=_where(layout),
        )
    if unit and all(layout.units[i] not in ("", IN_CELLS, unit) for i in times):
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
    by_role = recognized(layout)
    stated_columns = _known(layout, by_role, stated)
    said = " and ".join(", ".join(_SAID[role] for role in missing).rsplit(", ", 1))
    without = [
        _short(layout.names[by_role[role][0]])
        for role in TIMES
        if len(by_role.get(role, ())) == 1 and not layout.units[by_role[role][0]]
    ]
    if missing == (UNIT,) and without:
        said = f"the unit of {' and '.join(without)}"
    several = [
        f"{' and '.join(_short(layout.names[i]) for i in by_role[role])} could be the {word}"
        for role, word in (("start", "start"), ("dur", "duration"), ("end", "end"))
        if role in missing and len(by_role.get(role, ())) > 1
    ]
    reason = why or (
        f"this table does not show {said}; its columns are {_listed(layout.names)}"
        + "".join(f"; {text}" for text in several)
    )
    return ColumnsNeeded(
        path,
        reason,
        Question(layout, stated_columns, missing),
        where=where or _where(layout),
        remedy=_remedy(layout, stated_columns, missing),
    )


def _remedy(layout: Layout, stated_columns: StatedColumns, missing: Sequence[str]) -> str:
    """The option that answers, if it can lead to a usable row."""
    example = _answered(stated_columns, missing)
    if _PLACE in dict(example.given).values():
        if layout.rows and not layout.number_columns:
            return "No column has only numbers or times: write the start and the duration as such"
    elif layout.rows:
        sample = sample_times(layout, columns_of(layout, example, ""))
        if not sample.question and not any(sample.times):
            return f"No row has usable times, first: {sample.bad}"
    units = ""
    if UNIT in missing:  # an example of a unit could be taken for the right one
        example = StatedColumns(
            tuple((what, "UNIT" if what == UNIT else name) for what, name in example.given)
        )
        units = f"; UNIT is {', '.join(UNITS[:-1])} or {UNITS[-1]}"
    text = example.text()
    return f"State it: {OPTION} " + (f"'{text}'" if '"' in text else f'"{text}"') + units


def known_columns(layout: Layout, stated: StatedColumns | None) -> StatedColumns:
    """What is stated, and what else the names show."""
    stated = stated or NOTHING_STATED
    return _known(layout, columns_found(layout, stated), stated)


def is_query_output(layout: Layout) -> bool:
    """Whether a table looks like the output of a trace_processor query.

    All names are in quotes, which few other tools write, and `ts` and `dur` are whole numbers
    without quotes.
    """
    if not layout.quoted or not set(_TRACE_PROCESSOR) <= set(layout.names):
        return False
    columns = [layout.names.index(name) for name in _TRACE_PROCESSOR]
    cells = [row[i].strip() for row in layout.rows for i in columns if i < len(row)]
    return all(re.fullmatch(r"-?[0-9]+|\[NULL\]", cell) for cell in cells)


def _length(layout: Layout, by_role: dict[str, list[int]]) -> str:
    """Which of duration and end is used: the one that is known, the duration if both are."""
    sure = [role for role in ("dur", "end") if len(by_role.get(role, ())) == 1]
    with_unit = [role for role in sure if layout.units[by_role[role][0]]]
    return (with_unit or sure or [""])[0]


def _known(layout: Layout, by_role: dict[str, list[int]], stated: StatedColumns) -> StatedColumns:
    """What is stated, and what else the names show."""
    answers = dict(stated.given)
    for role in ROLES:
        columns = by_role.get(role, ())
        if role not in answers and len(columns) == 1:
            other = {"dur": "end", "end": "dur"}.get(role, "")
            if not answers.get(other) or not (by_role.get("start") or answers.get("start")):
                answers[role] = layout.names[columns[0]]
    values = tuple((VALUE, name) for name in stated.values)
    if not values:
        values = tuple((VALUE, layout.names[i]) for i in by_role.get(VALUE, ()))
    return StatedColumns(
        tuple(
            (what, answers[what])
            for what in EVERYTHING
            if what != VALUE
            and answers.get(what)
            and (what in dict(stated.given) or answers[what] in layout.names)
        )
        + values
    )


def _answered(stated_columns: StatedColumns, missing: Sequence[str]) -> StatedColumns:
    """An example of what answers a question."""
    answers = dict(stated_columns.given)
    for what in missing:
        if what == DECIMAL:
            answers[what] = "point"
        elif what == UNIT:
            answers[what] = _EXAMPLE_UNIT
        else:
            answers[what] = _PLACE
    if "dur" in missing:
        answers.pop("end", None)
    ordered = [(what, answers[what]) for what in EVERYTHING if what in answers]
    return StatedColumns(tuple(ordered))


def _listed(names: Sequence[str]) -> str:
    short_names = [_short(name) for name in names if name]
    more = f" and {len(short_names) - _LISTED} more" if len(short_names) > _LISTED else ""
    return ", ".join(short_names[:_LISTED]) + more


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _where(layout: Layout) -> str:
    return f"line {layout.lines}" if layout.header and layout.lines else ""


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows as slices.

    missing: what is not known; then nothing else is, except for the decimal separator. fault: why
    the columns cannot be used, "" if they can. times: start and duration of each row in ps, None
    for a row without. bad: what is wrong with the first row that has no times, "" if none is.
    columns: what each column is, None if not known.
    """

    missing: tuple[str, ...]
    fault: str
    times: tuple[tuple[int, int] | None, ...]
    bad: str
    columns: Columns | None

    @property
    def slices(self) -> list[tuple[int, int]]:
        """Start and duration in ps of the rows that have them."""
        return [time for time in self.times if time is not None]


def preview_of(layout: Layout, stated: StatedColumns) -> Preview:
    """The first rows of a table with the columns that are stated, or that their names show."""
    try:
        columns = columns_of(layout, stated, "")
    except ColumnsNeeded as error:
        return Preview(error.question.missing, "", (), "", None)
    except UnreadableFile as error:
        return Preview((), error.reason, (), "", None)
    sample = sample_times(layout, columns)
    if sample.question:
        return Preview((DECIMAL,), sample.question, (), "", columns)
    return Preview((), "", sample.times, sample.bad, columns)
