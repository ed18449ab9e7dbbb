"""Recognizes what the columns of a table are by their names, and asks for what they do not show.

Never guessed: which column is the start, the duration or the end, and the unit of times. If two
columns could be it, or none, the user has to state it. Times without a unit in the header are only
known in the output of a trace_processor query and of rocprofv3, whose times are ns. A preview shows
what the first rows become with stated columns, and what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from viewer.codecs.reading import UnreadableFile
from viewer.formats.table.column_names import TIMES, columns_found, kind_of, recognized
from viewer.formats.table.column_units import CYCLE, IN_CELLS, UNITS
from viewer.formats.table.layout import Layout
from viewer.formats.table.sample_times import Columns, sample_times
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
            and (what in stated_names(stated) or answers[what] in layout.names)
        )
        + values
    )


def stated_names(stated: StatedColumns) -> tuple[str, ...]:
    """What is stated."""
    return tuple(what for what, _ in stated.given)


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
