"""The rows of statistics as one query for `opscope query`, with the same figures to the ns.

The table `charges` has what each figure adds up, in ticks (`viewer.analysis.statistics.charges`).
The query adds it up, and rounds times as the rows of `viewer.tables.statistics`: wall times, and
the times of the parts of a group, so that they add up.
"""

from __future__ import annotations

from fractions import Fraction

from viewer.analysis.statistics.charges import OF_SLICES, PHASE, TRACE
from viewer.analysis.statistics.group_keys import ARGUMENT
from viewer.dataclasses import dataclass
from viewer.query.engine import named, quoted

_PERCENTILES = {"min": 0, "max": 100, "p50": 50, "p90": 90}
# Keys whose rows are in an order of their own; others have the longest first.
IN_ORDER = ("thread", "inference", "unit", PHASE)
# Times of groups, and the durations of their slices, from pieces in the table `timed`.
_FIGURES = """
    coalesce(sum(ticks) FILTER (figure = 'total'), 0) AS total,
    {self}sum(ticks) FILTER (figure = 'self'){end} AS self,
    {self}sum(ticks) FILTER (figure = 'wall'){end} AS wall,
    count(*) FILTER (figure = 'duration') AS count,
    sum(long) FILTER (figure = 'duration') AS summed,
    list(long ORDER BY long) FILTER (figure = 'duration') AS lengths"""
_NATIVE = """,
    sum(native_dur) FILTER (native_unit = 'ns') AS native_ns,
    coalesce(sum(native_dur), 0) AS native_total, any_value(native_unit) AS native_unit,
    count(native_dur) AS native_count"""
MACROS = (
    "CREATE MACRO floor_of(a, b) AS (a - ((a % b + b) % b)) // b",
    # Of a sorted list of ticks; a tick is so many ns. hundred: the percentile.
    "CREATE MACRO percentile_of(list_, hundred, ns, ticks) AS floor_of(("
    "(100 - hundred * (len(list_) - 1) % 100) "
    "* list_[hundred * (len(list_) - 1) // 100 + 1]::HUGEINT + "
    "hundred * (len(list_) - 1) % 100 "
    "* list_[least(hundred * (len(list_) - 1) // 100 + 2, len(list_))]::HUGEINT) * ns, "
    "100 * ticks::HUGEINT)",
    "CREATE MACRO quantile_cont_of(list_, hundred) AS list_[hundred * (len(list_) - 1) // 100 + 1] "
    "+ (hundred * (len(list_) - 1) % 100) * (list_[least(hundred * (len(list_) - 1) // 100 + 2, "
    "len(list_))] - list_[hundred * (len(list_) - 1) // 100 + 1]) / 100",
    # The same of as many values as `many`, where those that are not listed are 0; of twice the sum.
    "CREATE MACRO median_with_zeros(list_, many, ns, ticks) AS floor_of(("
    "coalesce(list_[nullif(greatest((many - 1) // 2 - many + len(list_) + 1, 0), 0)], 0) + "
    "coalesce(list_[nullif(greatest(many // 2 - many + len(list_) + 1, 0), 0)], 0))::HUGEINT "
    "* ns, 2 * ticks::HUGEINT)",
)


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A table of statistics, as it is to be copied.

    keys: the first and the second key, "" without one. places: which of these are places. rate: ns
    per tick. scope: one of `viewer.analysis.statistics.charges.charge_scopes`. ticks: of a range,
    else None; is_closed: what starts at its end counts. divisor, inferences: how many the times are
    the mean of, and how many medians are of, 0 if they are no mean. rest: the label of the time in
    no group, "" without a row of it. own_clocks: other clocks timed some; by kernel, they have
    names. path: of the file, if several are open. words: those that all rows contain.
    """

    keys: tuple[str, str]
    places: tuple[bool, bool]
    rate: Fraction
    scope: str = TRACE
    ticks: tuple[int, int] | None = None
    is_closed: bool = False
    divisor: int = 1
    inferences: int = 0
    rest: str = ""
    own_clocks: bool = False
    path: str = ""
    words: tuple[str, ...] = ()
    is_ordered: bool = False


def statistics_sql(table: CopiedTable) -> str:
    return _Query(table).text()


class _Query:
    def __init__(self, table: CopiedTable) -> None:
        self._table = table
        self.key, self.then = table.keys
        self.is_cut = table.ticks is not None
        self.is_overview = self.key == "unit" and table.is_ordered
        by_place = table.places[0] and not table.places[1]
        self._owner = self.then if self.then and by_place else self.key
        self.ns, self.tick = table.rate.numerator, table.rate.denominator

    def text(self) -> str:
        parts = [f"pieces AS ({self._pieces(self.key)})"]
        parts.append(self._timed("timed", "pieces", "group_id"))
        parts.append(f"groups AS (SELECT group_id, label,{self._figures()}\n  FROM timed "
                     "WHERE group_id IS NOT NULL GROUP BY group_id, label)")  # fmt: skip
        medians = bool(self._table.inferences)
        if medians and not self.then:
            parts.append(self._medians("pieces", "group_id"))
        parts.append(
            "whole AS (SELECT coalesce(sum(ticks) FILTER (figure = 'wall'), 0) AS whole,\n  "
            "coalesce(sum(ticks) FILTER (figure = 'wall' AND group_id IS NULL), 0) AS rest "
            "FROM timed)"
        )
        order = "group_id" if self._table.is_ordered else (
            f"wall DESC, self DESC, total DESC{', native_total DESC' * self._table.own_clocks}, "
            "group_id"
        )  # fmt: skip
        listed = "true" if self.is_overview else "total <> 0 OR self <> 0 OR count > 0"
        parts.append(f"ordered AS (SELECT *, row_number() OVER (ORDER BY {order}) AS place\n  "
                     f"FROM groups WHERE {listed})")  # fmt: skip
        parts += self._rows_of_pairs() if self.then else self._rows_of_groups()
        return "WITH " + ",\n".join(parts) + f"\n{self._select()}"

    def _pieces(self, key: str) -> str:
        table = self._table
        scope = "" if table.scope == TRACE else f", {quoted(table.scope)}"
        long, where = "end_ticks - start_ticks", []
        if table.path:
            where.append(f"file = {quoted(table.path)}")
        columns = "group_id, label, figure, slice_id, inference_id"
        columns += ", native_dur, native_unit, clock" if table.own_clocks else ""
        if table.ticks is not None:
            first, last = table.ticks
            cut = f"greatest(least(end_ticks, {last}) - greatest(start_ticks, {first}), 0)"
            starts = f"start_ticks >= {first} AND start_ticks {'<=' if table.is_closed else '<'}"
            where.append(f"(figure <> 'duration' OR {starts} {last})")
            ticks = f"CASE WHEN figure = 'duration' THEN {long} ELSE {cut} END"
        else:
            ticks = long
        listed = f"\n  WHERE {' AND '.join(where)}" if where else ""
        return (
            f"SELECT {columns},\n  ({ticks})::HUGEINT AS ticks\n"
            f"  FROM charges({quoted(key)}{scope}){listed}"
        )

    def _timed(self, name: str, source: str, of: str) -> str:
        """Return pieces with the durations of slices in the unit of their group."""
        if not self._table.own_clocks:
            return f"{name} AS (SELECT *, ticks AS long FROM {source})"
        return (
            f"{name} AS (SELECT *, CASE WHEN native_dur IS NOT NULL THEN native_dur\n  "
            f"WHEN is_ns THEN floor_of(ticks * {self.ns}, {self.tick}) ELSE ticks END AS long\n  "
            "FROM (SELECT *, "
            f"coalesce(bool_or(native_unit = 'ns') OVER (PARTITION BY {of}), false) AS is_ns "
            f"FROM {source}))"
        )

    def _figures(self) -> str:
        none = self.is_overview
        figures = _FIGURES.format(self="" if none else "coalesce(", end="" if none else ", 0)")
        if not self._table.own_clocks:
            return figures
        return f"{figures}{_NATIVE}, bool_or(is_ns) AS is_ns, any_value(clock) AS clock"

    def _medians(self, source: str, of: str) -> str:
        return (
            f"of_inferences AS (SELECT {of}, list(ticks ORDER BY ticks) AS each FROM (\n  "
            f"SELECT {of}, inference_id, sum(ticks) AS ticks FROM {source}\n  WHERE "
            f"figure = 'self' AND inference_id IS NOT NULL GROUP BY ALL) GROUP BY {of})"
        )

    def _rows_of_groups(self) -> list[str]:
        rest = self._table.rest
        rows = "SELECT * FROM ordered"
        if self._table.inferences:
            rows = "SELECT * FROM ordered LEFT JOIN of_inferences USING (group_id)"
        if rest:
            rows += (f"\n  UNION ALL BY NAME SELECT {quoted(rest)} AS label, rest AS self, "
                     "rest AS wall,\n  1 + (SELECT count(*) FROM ordered) AS place FROM whole "
                     "WHERE rest <> 0")  # fmt: skip
        return [f"rows AS ({rows})"]

    def _rows_of_pairs(self) -> list[str]:
        """Return the groups divided by the second key."""
        table, by_place = self._table, self._table.places[0] and not self._table.places[1]
        owner, other = self._owner, self.key if by_place else self.then
        parts = []
        source = "pieces"
        if by_place or table.places[0]:
            of_slices = OF_SLICES if owner in IN_ORDER and table.places[0] else ""
            parts.append(f"pieces_of_slices AS ({self._pieces(owner + of_slices)})")
            source = "pieces_of_slices"
        mine, part = ("p", "c") if by_place else ("c", "p")
        file = f" AND p.file = {quoted(table.path)}" if table.path else ""

        def parted(name: str, pieces: str) -> str:
            return (
                f"{name} AS (SELECT c.* EXCLUDE (group_id, label), {mine}.group_id AS group_id,\n  "
                f"{part}.group_id AS part_id, {part}.label AS part FROM {pieces} c\n  "
                f"LEFT JOIN groups_of({quoted(other)}) p ON p.slice_id = c.slice_id{file}\n  "
                "WHERE c.group_id IS NOT NULL)"
            )

        parts.append(parted("parted", source))
        parts.append(self._timed("timed_parts", "parted", "group_id, part_id"))
        parts.append(
            f"cells AS (SELECT group_id, part_id, any_value(part) AS part,{self._figures()}\n  "
            "FROM timed_parts GROUP BY group_id, part_id)"
        )
        if table.inferences:
            of_medians = "parted"
            if owner == "thread":  # of whole outermost slices, as by thread alone
                of_medians = "parted_threads"
                parts.append(parted(of_medians, "pieces"))
            parts.append(self._medians(of_medians, "group_id, part_id"))
        none = f"(no {self.then.removeprefix(ARGUMENT)})"
        joined = ""
        if table.inferences:
            joined = ("\n  LEFT JOIN of_inferences i ON i.group_id = c.group_id "
                      "AND i.part_id IS NOT DISTINCT FROM c.part_id")  # fmt: skip
        rows = (
            f"SELECT c.*{', i.each' if joined else ''}, o.label, o.place AS of_place, "
            f"false AS is_rest\n  FROM cells c JOIN ordered o USING (group_id){joined}"
        )
        if table.places[0]:
            rows += (
                "\n  UNION ALL BY NAME SELECT o.label, o.place AS of_place, true AS is_rest,\n  "
                "greatest(o.total - coalesce(sum(c.total), 0), 0) AS total,\n  "
                "o.self - coalesce(sum(c.self), 0) AS self, "
                "o.wall - coalesce(sum(c.wall), 0) AS wall\n  FROM ordered o "
                "LEFT JOIN cells c USING (group_id) "
                "GROUP BY o.label, o.place, o.total, o.self, o.wall"
            )
        sizes = "" if self.then == "inference" else "wall DESC, total DESC, self DESC, "
        parts.append(
            f"rows AS (SELECT * EXCLUDE (part), coalesce(part, {quoted(none)}) AS part,\n  "
            f"row_number() OVER (ORDER BY of_place, is_rest, part_id IS NULL, {sizes}part_id) "
            f"AS place\n  FROM ({rows})\n  WHERE total <> 0 OR self <> 0 OR wall <> 0 OR count > 0)"
        )
        return parts

    def _select(self) -> str:
        columns = [f"label AS {named(self.key)}"]
        if self.then:
            columns.append(f"part AS {named(self.then)}")
        part = "total" if self.is_overview else "wall"
        columns.append(f"{part} / (SELECT nullif(whole, 0) FROM whole) AS share")
        columns += [f"{time} AS {name}_ns" for name, time in self._times(1).items()]
        columns += self._durations()
        if self._table.own_clocks:
            columns += self._own_clocks()
        if self._table.inferences:
            divisor = self._table.divisor
            columns += [
                f"{time} AS {name}_per_inference_ns" for name, time in self._times(divisor).items()
            ]
            median = f"median_with_zeros(each, {self._table.inferences}, {self.ns}, {self.tick})"
            # Time in no group, the rest of a place, and what another clock timed have none.
            has_median = "NOT is_rest" if self.then else "group_id IS NOT NULL"
            if self._table.own_clocks:
                has_median += " AND (native_count = 0 OR total <> 0 OR self <> 0)"
            columns.append(
                f"CASE WHEN {has_median} THEN coalesce({median}, 0) END AS p50_per_inference_ns"
            )
        where = " AND ".join(self._holds(word) for word in self._table.words)
        windows = "WINDOW up AS (ORDER BY place)"
        if self.then:
            windows += ", inside AS (PARTITION BY of_place ORDER BY place)"
        query = "SELECT " + ",\n  ".join(columns) + f"\nFROM rows\n{windows}\nORDER BY place"
        if not where:
            return query
        return f"SELECT * FROM (\n{query}\n)\nWHERE {where}"

    def _holds(self, word: str) -> str:
        texts = [
            f"contains(lower({named(key)}), {quoted(word)})" for key in self._table.keys if key
        ]
        return f"({' OR '.join(texts)})"

    def _times(self, divisor: int) -> dict[str, str]:
        """Return total, self and wall in ns; wall times, and parts of a group, add up."""
        ticks = self.tick * divisor

        def ns(value: str) -> str:
            return f"floor_of({value} * {self.ns}, {ticks})"

        def adding_up(name: str, window: str) -> str:
            value = f"coalesce({name}, 0)"
            end = f"sum({value}) OVER {window}"
            text = f"{ns(f'({end})')} - {ns(f'({end} - {value})')}"
            return f"CASE WHEN {name} IS NOT NULL THEN {text} END" if self.is_overview else text

        times = {
            "total": adding_up("total", "inside") if self.then else ns("total"),
            "self": adding_up("self", "inside") if self.then else ns("self"),
            "wall": adding_up("wall", "up"),
        }
        if self._table.own_clocks and divisor == 1:
            times["total"] = (
                f"CASE WHEN clock IS NULL OR native_count = 0 OR total <> 0 OR self <> 0 "
                f"THEN {times['total']}\n    WHEN native_unit = 'ns' THEN native_total END"
            )
        elif self._table.own_clocks:
            times["total"] = (f"CASE WHEN clock IS NULL OR native_count = 0 OR total <> 0 "
                              f"OR self <> 0 THEN {times['total']} END")  # fmt: skip
        return times

    def _durations(self) -> list[str]:
        """Return count and durations in ns; those on a clock of another unit have none."""
        if self.is_overview:
            return []
        ns, tick = str(self.ns), str(self.tick)
        when = "WHEN count = 0 THEN 0"
        if self._table.own_clocks:
            ns, tick = (f"CASE WHEN is_ns THEN 1 ELSE {number} END" for number in (ns, tick))
            when = "WHEN count > 0 AND native_unit IS NOT NULL AND NOT is_ns THEN NULL " + when
        figures = {"mean": f"floor_of(summed * ({ns}), count * ({tick})::HUGEINT)"} | {
            name: f"percentile_of(lengths, {percent}, ({ns}), ({tick}))"
            for name, percent in _PERCENTILES.items()
        }
        return [
            "count",
            *(f"CASE {when} ELSE {text} END AS {name}_ns" for name, text in figures.items()),
        ]

    def _own_clocks(self) -> list[str]:
        columns = {"delegate_ns": "native_ns"}
        if self._owner == "kernel":
            share = (
                "native_total / nullif(sum(native_total) OVER (PARTITION BY clock, native_unit), 0)"
            )
            columns |= {
                "clock": "clock",
                "clock_unit": "native_unit",
                "clock_total": "native_total",
            }
            columns |= {"clock_share": share}
            lengths = {"mean": "summed / count"} | {
                name: f"quantile_cont_of(lengths, {percent})"
                for name, percent in _PERCENTILES.items()
            }
            columns |= {
                f"clock_{name}": f"CASE WHEN native_unit <> 'ns' THEN round({text}, 3) END"
                for name, text in lengths.items()
            }
        return [
            f"CASE WHEN native_count > 0 THEN {value} END AS {name}"
            for name, value in columns.items()
        ]
