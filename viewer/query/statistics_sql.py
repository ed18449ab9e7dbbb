"""The rows of statistics as one query for `opscope query`, with the same figures to the ns.

A query can only do what the tables of SQL have: single slices, without what charging knows of
lanes, cut ranges and slices that are left out. So the same sums are computed here from the slices,
and a query is offered only if they equal the figures, else why not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from viewer.analysis.statistics.group_table import Group
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.slice_keys import ARGUMENT, CATEGORY, PLACES
from viewer.arrays import Bools, Ints
from viewer.model.queries import foreign, innermost_around, run_of_slices, self_times, tree
from viewer.query.engine import named, quoted

_COLUMNS = {"name": "s.name", "process": "s.process", "thread": "s.process || ' > ' || s.thread"}
_DIFFERENT = (
    "These figures need more than the rows of slices: some slices overlap, are left out, or have "
    "another name on screen"
)
_WALK = """walk AS (
  SELECT *, part AS part_around, owner AS owner_around, part AS owner_part,
    NULL::VARCHAR AS outside
  FROM base WHERE parent IS NULL
  UNION ALL
  SELECT b.*, coalesce(b.part, w.part_around), coalesce(b.owner, w.owner_around),
    CASE WHEN b.owner IS NULL THEN w.owner_part ELSE coalesce(b.part, w.part_around) END,
    w.owner_around
  FROM base b JOIN walk w ON b.parent = w.id
)"""


class NoQuery(ValueError):
    """Why no query has these rows, as a sentence."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Rows of statistics: by the labels of both keys, the second one "" without a second key.

    rate: ns per tick. inferences: the numbers of those that are counted, None for the whole trace.
    divisor: how many the times are the mean of. is_cut: whether slices are cut at a range.
    """

    keys: tuple[str, str]
    rows: Mapping[tuple[str, str], Group]
    count: int
    rate: Fraction
    inferences: Sequence[int] | None
    divisor: int = 1
    is_cut: bool = False


def statistics_sql(grouping: Grouping, figures: Figures, path: str = "") -> str:
    """Return the query; grouping: of the whole trace. path: of the file, if several are open.

    Raises NoQuery.
    """
    for key in filter(None, figures.keys):
        if not (key in _COLUMNS or key == CATEGORY or key.startswith(ARGUMENT)):
            raise NoQuery(f"The table slices has no column for the key {key}")
    if figures.is_cut:
        raise NoQuery("Slices are cut at the ends of the selected range")
    if figures.rate.denominator != 1:
        raise NoQuery("A tick is not a whole number of ns, and sums of rounded times differ")
    trace = grouping.trace
    numbers = [run.number for run in trace.runs]
    if figures.inferences is not None and len(set(numbers)) < len(numbers):
        raise NoQuery("Several inferences have the same number")
    if len(foreign(trace.slices)):
        raise NoQuery("Some slices are on separate clocks")
    if len(figures.rows) < figures.count or not _is_same(grouping, figures):
        raise NoQuery(_DIFFERENT)
    return _text(figures, path)


def _owner_and_part(keys: tuple[str, str]) -> tuple[str, str]:
    """Return the key whose groups slices are charged to, and what divides them."""
    key, then = keys
    return (then, key) if then and key in PLACES and then not in PLACES else keys


def _is_same(grouping: Grouping, figures: Figures) -> bool:
    """Whether what the query does with the slices gives the figures."""
    slices = grouping.trace.slices
    owner, part = _owner_and_part(figures.keys)
    labels, group = _groups(grouping, owner)
    parts, of_part = _groups(grouping, part) if part else (("",), np.zeros(len(slices), np.int64))
    inside, derived = _counted(grouping, figures), slices.derived
    if derived is not None:
        group, inside = np.where(derived, -1, group), inside & ~derived
    near = innermost_around(slices, group >= 0)
    part_near = innermost_around(slices, of_part >= 0)
    part_of = np.where(part_near >= 0, of_part[part_near], -1)
    shape = tree(slices)
    parent = np.full(len(slices), -1, np.int64)
    parent[shape.index] = np.where(shape.parent >= 0, shape.index[shape.parent], -1)
    if derived is not None and derived[parent[parent >= 0]].any():
        return False
    outside = np.where((parent >= 0) & (near[parent] >= 0), group[near[parent]], -1)
    counts = inside & (group >= 0) & ((owner == "name") | (outside != group))
    is_place = owner != figures.keys[0]
    around = np.flatnonzero(inside & ((near >= 0) | is_place))
    charged = np.where(near >= 0, near, np.arange(len(slices)))
    code = np.where(near >= 0, group[near], len(labels)) * (len(parts) + 1) + part_of[charged] + 1
    cells, place = np.unique(code[around], return_inverse=True)
    long = (slices.end - slices.start)[around]
    is_counted = counts[around]
    self_ticks, summed, count, most = (np.zeros(len(cells), np.int64) for _ in range(4))
    least = np.full(len(cells), np.iinfo(np.int64).max)
    np.add.at(self_ticks, place, self_times(grouping.trace)[around])
    np.add.at(count, place, is_counted)
    np.add.at(summed, place[is_counted], long[is_counted])
    np.maximum.at(most, place[is_counted], long[is_counted])
    np.minimum.at(least, place[is_counted], long[is_counted])
    least[count == 0] = 0
    sums: dict[tuple[str, str], list[int]] = {}
    figures_of_cells = np.stack([self_ticks, count, least, most, summed], axis=1).tolist()
    for number, row in zip(cells.tolist(), figures_of_cells, strict=True):
        of_group, of = divmod(number, len(parts) + 1)
        name = labels[of_group] if of_group < len(labels) else _none(owner)
        pair = name, parts[of - 1] if of else _none(part)
        if row[0] or row[1]:
            sums[pair[::-1] if is_place else pair] = row
    return sums == {
        pair: row for pair, listed in figures.rows.items() if any((row := _figures_of(listed))[:2])
    }


def _figures_of(group: Group) -> list[int]:
    spread = group.spread
    if spread is None or not spread.count:
        return [group.self_ticks or 0, 0, 0, 0, 0]
    summed = round(spread.mean * spread.count)
    return [group.self_ticks or 0, spread.count, spread.min, spread.max, summed]


def _groups(grouping: Grouping, key: str) -> tuple[Sequence[str], Ints]:
    """Return the labels and groups of slices, if the labels are what the tables have."""
    labels, group = grouping.groups_of_slices(key)
    if len(set(labels)) < len(labels):
        raise NoQuery(_DIFFERENT)
    if key == "name":
        trace = grouping.trace
        is_derived = trace.slices.derived
        has = np.ones(len(group), np.bool_) if is_derived is None else ~is_derived
        if not (group[has] >= 0).all():
            raise NoQuery(_DIFFERENT)
        pairs = np.unique(np.stack([group[has], trace.slices.name[has]]), axis=1).T.tolist()
        if any(labels[a] != trace.strings[b] for a, b in pairs):
            raise NoQuery(_DIFFERENT)
    return labels, group


def _counted(grouping: Grouping, figures: Figures) -> Bools:
    trace = grouping.trace
    if figures.inferences is None:
        return np.ones(len(trace.slices), np.bool_)
    number = np.array([*(run.number for run in trace.runs), 0])
    return np.isin(number[run_of_slices(trace)], figures.inferences)


def _none(key: str) -> str:
    return f"(no {key.removeprefix(ARGUMENT)})"


def _text(figures: Figures, path: str) -> str:
    key, then = figures.keys
    owner, part = _owner_and_part(figures.keys)
    joins = [_join(key_, place) for place, key_ in (("owner", owner), ("part", part))]
    where = "\n  WHERE s.derived IS NOT TRUE"
    where += f" AND s.file = {quoted(path)}" if path else ""
    of_key = {owner: "owner_around", part: "owner_part"}
    names = [
        f"coalesce({of_key[each]}, {quoted(_none(each))}) AS {named(each)}"
        for each in (key, then)
        if each
    ]
    is_place = owner != key
    if is_place:
        names[0] = f"coalesce(owner_part, part_around) AS {named(key)}"
    tests = [] if is_place else ["owner_around IS NOT NULL"]
    if figures.inferences is not None:
        tests.append(f"inference IN ({', '.join(map(str, sorted(figures.inferences)))})")
    counted = "owner IS NOT NULL"
    if owner != "name":
        counted += " AND outside IS DISTINCT FROM owner"
    mean = f" // {figures.divisor}" if figures.divisor > 1 else ""
    self_name = "self_per_inference_ns" if mean else "self_ns"
    measures = [
        f"sum(self_ns){mean} AS {self_name}", "count(counted) AS count",
        "sum(counted) // count(counted) AS mean_ns", "min(counted) AS min_ns",
        "max(counted) AS max_ns", "floor(median(counted))::BIGINT AS p50_ns",
        "floor(quantile_cont(counted, 0.9))::BIGINT AS p90_ns",
    ]  # fmt: skip
    rows = ",\n  ".join([*names, *measures])
    return (
        f"WITH RECURSIVE base AS (\n  SELECT s.id, s.parent, s.inference, s.self_ns, s.dur_ns,\n"
        f"    {joins[0][0]} AS owner, {joins[1][0]} AS part\n  FROM slices s"
        f"{joins[0][1]}{joins[1][1]}{where}\n),\n{_WALK},\nrows AS (\n"
        f"  SELECT *, CASE WHEN {counted} THEN dur_ns END AS counted FROM walk"
        f"{' WHERE ' + ' AND '.join(tests) if tests else ''}\n)\nSELECT\n  {rows}\nFROM rows\n"
        f"GROUP BY {', '.join(str(i + 1) for i in range(len(names)))}\n"
        f"HAVING sum(self_ns) <> 0 OR count(counted) > 0\nORDER BY sum(self_ns) DESC"
    )


def _join(key: str, place: str) -> tuple[str, str]:
    """Return the expression of a key, and what it needs besides the slices."""
    if not key:
        return "NULL::VARCHAR", ""
    if key in _COLUMNS:
        return _COLUMNS[key], ""
    name = quoted(key.removeprefix(ARGUMENT))
    join = (
        f"\n  LEFT JOIN arguments {place}s ON {place}s.slice_id = s.id AND {place}s.name = {name}"
    )
    return f"{place}s.text", join
