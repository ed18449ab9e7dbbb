"""The basis of all proofs: slices as a table of DuckDB, the time of groups, and the verdict.

Slices are ticks, places, parents and identities. The time of groups is SQL from the definitions of
`resources/help/statistics.md`. The table `given` has the group of each slice (`Raw.give`). A *part*
of a slice is its time outside the slices directly inside it. It is that of the innermost slice
around it, or itself, that has a group: its *owner*. The verdict is what was checked, what could not
be and why, and what differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isclose
from typing import TYPE_CHECKING, Any

import numpy as np

from viewer.arrays import Ints, lists_by_key
from viewer.dataclasses import dataclass, field
from viewer.model.inference_views import thread_of_rows
from viewer.model.queries import counted_slices, execute_keys, foreign, tree, unfinished
from viewer.model.recorded_names import SAMPLES
from viewer.model.timing import Timing, rounded_zeros
from viewer.model.trace import KeyKind, Trace, Unit
from viewer.query.engine import package

if TYPE_CHECKING:
    import duckdb


# More would take minutes and gigabytes.
MOST_SLICES = 300_000
TOO_MANY = f"it has more than {MOST_SLICES:,} slices"


class Raw:
    """A connection of DuckDB with the table `slices` of one profile.

    id: the number of the slice. place, reach: its rank in preorder, and that of the last slice
    inside it. parent: the slice around it. began, ended: its ticks. thread: as in
    `viewer.model.inference_views.thread_of_rows`. native: a clock of its own timed it.
    computed: made of other slices; derived: and there are others. counts, steady: whether the whole
    trace counts it, with and without the warm-up; everything: always, as in a range. is_open: it
    has no end. is_zero: the file cut it to 0. samples: how many it is made of, 1 for others.
    """

    def __init__(self, trace: Trace, ns_per_tick: Fraction) -> None:
        """ns_per_tick: the rate of the figures."""
        self.trace, self.rate = trace, ns_per_tick
        self.connection: duckdb.DuckDBPyConnection = package().connect()
        self.connection.execute("SET enable_progress_bar = false")
        slices, count = trace.slices, len(trace.slices)
        shape, row = tree(slices), slices.rows()
        place, parent, reach = np.empty(count, np.int64), np.full(count, -1), np.arange(count)
        place[shape.index] = np.arange(count)
        inner = np.flatnonzero(shape.parent >= 0)
        parent[shape.index[inner]] = shape.index[shape.parent[inner]]
        for i in inner[::-1].tolist():  # a parent is before what is inside it
            up = shape.parent[i]
            reach[up] = max(reach[up], reach[i])
        native, is_zero = np.zeros((2, count), np.bool_)
        native[foreign(slices)], is_zero[rounded_zeros(slices)] = True, True
        all_of_them, none = np.ones(count, np.bool_), np.zeros(count, np.bool_)
        computed = none if slices.derived is None else slices.derived
        counts = [counted_slices(trace, warm_up=warm_up) for warm_up in (True, False)]
        is_open = unfinished(slices)
        unit = np.array([int(track.unit) for track in trace.tracks], np.int64)
        track = slices.row_track[row].astype(np.int64)
        self.register("slices", {
            "id": np.arange(count),
            "place": place, "reach": reach[place], "parent": parent,
            "began": slices.start, "ended": slices.end,
            "track": track, "thread": thread_of_rows(trace)[0][row], "unit": unit[track],
            "key": slices.key.astype(np.int64),
            "kind": trace.keys.kind[slices.key].astype(np.int64),
            "is_execute": execute_keys(trace)[slices.key],
            "native": native, "computed": computed, "derived": none if computed.all() else computed,
            "counts": all_of_them if counts[0] is None else counts[0],
            "steady": all_of_them if counts[1] is None else counts[1],
            "everything": all_of_them,
            "is_open": none if is_open is None else is_open,
            "is_zero": is_zero, "samples": _samples(trace),
        })  # fmt: skip
        self.run("UPDATE slices SET parent = NULL WHERE parent < 0")

    def register(self, name: str, columns: Mapping[str, Any]) -> None:
        """Make a table of some arrays of one length."""
        import pyarrow as pa

        arrow = pa.table({column: pa.array(values) for column, values in columns.items()})
        self.connection.register("columns_of_table", arrow)
        self.run(f"CREATE OR REPLACE TABLE {name} AS FROM columns_of_table")
        self.connection.unregister("columns_of_table")

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        return self.connection.execute(sql).fetchall()

    def number(self, sql: str) -> int:
        """Return the only value of a query, 0 for none."""
        return int(self.run(sql)[0][0] or 0)

    def ns(self, ticks: int | Fraction) -> int:
        """Return a time in ns, rounded down."""
        return ticks * self.rate.numerator // self.rate.denominator

    def give(self, group: Ints) -> None:
        """Make the table `given`: the group of each slice that has one, -1 for none."""
        self.register("given", {"id": np.arange(len(group)), "g": group.astype(np.int64)})
        self.run("DELETE FROM given WHERE g < 0")


def _samples(trace: Trace) -> Ints:
    slices, ones = trace.slices, np.ones(len(trace.slices), np.int64)
    column = slices.columns.get(SAMPLES)
    if slices.timing is None or column is None or column.values.dtype.kind != "i":
        return ones
    return np.where(slices.timing & np.uint8(Timing.SAMPLED) > 0, column.values, ones)


# Of figures that are computed in float64.
_RELATIVE = 1e-12
# Of figures that a report rounds to three and six digits.
MILLI, MICRO = 0.000_501, 0.000_000_501


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure that is not what its definition gives."""

    figure: str
    reported: Any
    derived: Any


@dataclass(slots=True)
class Verdict:
    """The result for some files. unchecked: (figure, reason) -> how many."""

    checked: int = 0
    unchecked: Counter[tuple[str, str]] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def same(self, figure: str, reported: Any, derived: Any) -> None:
        """Check a figure that both ways give exactly."""
        self.checked += 1
        if reported != derived:
            self.differences.append(Difference(figure, reported, derived))

    def near(self, figure: str, reported: float | None, exact: Fraction, within: float) -> None:
        """Check a figure that was rounded; `within` is half of its last digit."""
        self.checked += 1
        value = float(exact)
        if reported is None or not isclose(reported, value, rel_tol=_RELATIVE, abs_tol=within):
            self.differences.append(Difference(figure, reported, value))

    def floor(self, figure: str, reported: int | None, exact: Fraction) -> None:
        """Check a figure that was rounded down from one computed in float64."""
        self.checked += 1
        slack = abs(exact) * Fraction(_RELATIVE)
        low, high = (exact - slack) // 1, (exact + slack) // 1
        if reported is None or not low <= reported <= high:
            self.differences.append(Difference(figure, reported, int(exact // 1)))

    def same_time(
        self, raw: Raw, figure: str, row: Mapping[str, Any], name: str, ticks: int | None
    ) -> None:
        """Check a time of a row in ticks, and in ns rounded down."""
        ns = None if ticks is None else raw.ns(ticks)
        self.same(f"{figure}: {name}_ticks", row[f"{name}_ticks"], ticks)
        self.same(f"{figure}: {name}_ns", row[f"{name}_ns"], ns)

    def skip(self, figure: str, reason: str, count: int = 1) -> None:
        """Note figures that cannot be checked."""
        if count:
            self.unchecked[figure, reason] += count

    def facts(self) -> dict[str, Any]:
        """Return the result as data, for `--json`."""
        return {
            "checked": self.checked,
            "unchecked": [
                {"figure": figure, "reason": reason, "count": count}
                for (figure, reason), count in self.unchecked.items()
            ],
            "differences": [
                {"figure": each.figure, "shown": each.reported, "derived": each.derived}
                for each in self.differences
            ],
        }


def figures_in(facts: Any) -> int:
    """Return how many numbers some facts have."""
    if isinstance(facts, Mapping):
        return sum(map(figures_in, facts.values()))
    if isinstance(facts, list | tuple):
        return sum(map(figures_in, facts))
    return int(isinstance(facts, int | float) and not isinstance(facts, bool))


# Pairs of a moment and a slice, of slices that overlap on a thread.
MOST_PAIRS = 100_000_000
OVERLAPS = "too many slices overlap on a thread"

# Which slices are occurrences of their group, and which time is charged to. A derived slice next to
# those that it is made of would be another occurrence, and charge the time again.
_MEMBERS = """
CREATE OR REPLACE TABLE member AS WITH grouped AS (
    SELECT s.*, g, {stated} AS stated FROM slices s LEFT JOIN given USING (id)
), charging AS (
    SELECT *, CASE WHEN stated THEN g END AS charging,
        coalesce(bool_or(stated) OVER (PARTITION BY g), false) AS has_stated FROM grouped
)
SELECT * EXCLUDE (g, stated, has_stated, charging),
    CASE WHEN NOT native THEN charging END AS charged,
    CASE WHEN NOT native AND (stated OR NOT has_stated) THEN g END AS occurs, g AS named
FROM charging"""
_STATED = {True: "bool_or(NOT derived) OVER (PARTITION BY key)", False: "NOT derived"}

# The time of each slice outside those directly inside it.
_PARTS = """
CREATE OR REPLACE TABLE parts AS WITH timed AS (
    SELECT id, parent, place, began, ended FROM slices WHERE NOT native
), before AS (
    SELECT p.id, coalesce(
        max(c.ended) OVER (PARTITION BY c.parent ORDER BY c.place
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), p.began) AS a, c.began AS b
    FROM timed c JOIN slices p ON p.id = c.parent
), after AS (
    SELECT t.id, coalesce(max(c.ended), any_value(t.began)) AS a, any_value(t.ended) AS b
    FROM timed t LEFT JOIN timed c ON c.parent = t.id GROUP BY t.id
)
SELECT id, a, b FROM (FROM before UNION ALL FROM after) WHERE b > a"""

# Each part with its owner; `counts` if nothing up to the owner is left out.
_OWNED = """
CREATE OR REPLACE TABLE owned AS
SELECT p.a, p.b, m.thread, m.track, m.unit, o.id AS owner, o.{group} AS g, o.began, o.ended,
    o.place, coalesce(u.id = o.id AND o.{counts}, false) AS counts
FROM parts p JOIN slices m USING (id)
JOIN nearest_owner n USING (id) JOIN member o ON o.id = n.up
LEFT JOIN nearest_limit l USING (id) LEFT JOIN member u ON u.id = l.up"""

_CLUSTERS = """
CREATE OR REPLACE TABLE clustered AS WITH reached AS (
    SELECT *, max(b) OVER (PARTITION BY thread ORDER BY a, b
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM owned
)
SELECT * EXCLUDE (before),
    sum(CASE WHEN before IS NULL OR a >= before THEN 1 ELSE 0 END)
        OVER (ORDER BY thread, a, b ROWS UNBOUNDED PRECEDING) AS cluster FROM reached"""

# Each moment of a thread once: of slices that overlap, to the one that started last.
_MOMENTS = """
CREATE OR REPLACE TABLE moments AS WITH many AS (
    SELECT * FROM clustered QUALIFY count(*) OVER (PARTITION BY cluster) > 1
), edges AS (
    SELECT cluster, a AS t FROM many UNION SELECT cluster, b FROM many
), steps AS (
    SELECT cluster, t, lead(t) OVER (PARTITION BY cluster ORDER BY t) AS until FROM edges
), best AS (
    SELECT t AS a, until AS b, g, counts FROM steps JOIN many USING (cluster)
    WHERE many.a <= t AND many.b >= until
    QUALIFY row_number() OVER (PARTITION BY cluster, t
        ORDER BY began DESC, ended, many.a DESC, place DESC) = 1
)
SELECT a, b, g, counts FROM best UNION ALL
SELECT a, b, g, counts FROM clustered QUALIFY count(*) OVER (PARTITION BY cluster) = 1"""

# Time of the whole in which no slice with a group runs on the track.
_REST = """
WITH whole AS (
    SELECT track, unit, began AS a, ended AS b FROM member
    WHERE {whole} AND {counts} AND NOT native AND NOT derived AND {unnamed}
), deltas AS (
    SELECT track, a AS t, 1 AS whole, 0 AS charged FROM whole UNION ALL
    SELECT track, b, -1, 0 FROM whole UNION ALL
    SELECT track, a, 0, 1 FROM owned UNION ALL SELECT track, b, 0, -1 FROM owned
    UNION ALL SELECT h.track, s.began, 0, 1 FROM slices s,
        (SELECT DISTINCT track FROM slices WHERE unit = {hal}) h
        WHERE s.unit = {host} AND s.parent IS NULL
    UNION ALL SELECT h.track, s.ended, 0, -1 FROM slices s,
        (SELECT DISTINCT track FROM slices WHERE unit = {hal}) h
        WHERE s.unit = {host} AND s.parent IS NULL
), swept AS (
    SELECT t, lead(t) OVER w - t AS long, sum(whole) OVER up AS whole, sum(charged) OVER up AS busy
    FROM (SELECT track, t, sum(whole) AS whole, sum(charged) AS charged FROM deltas GROUP BY ALL)
    WINDOW w AS (PARTITION BY track ORDER BY t),
        up AS (PARTITION BY track ORDER BY t ROWS UNBOUNDED PRECEDING)
)
SELECT sum({long}) FROM (
    SELECT t AS a, t + long AS b, whole, busy FROM swept WHERE long IS NOT NULL
) WHERE whole > 0 AND busy = 0"""

_TOTALS = """
SELECT g, sum({long}) FROM (
    SELECT {group} AS g, began AS a, ended AS b FROM member WHERE occurs IS NOT NULL AND {counts}
    QUALIFY coalesce(max(reach) OVER (PARTITION BY occurs ORDER BY place
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) < place, true)
) GROUP BY g"""

# Those in the order of their durations: the median and the 90th percentile are between two of them.
_DURATIONS = """
WITH ranked AS (
    SELECT g, is_zero, long, row_number() OVER (PARTITION BY g ORDER BY long) - 1 AS nth,
        count(*) OVER (PARTITION BY g) AS many FROM occurrence
)
SELECT g, count(*), sum(long), min(long), max(long),
    sum(CASE WHEN nth = (many - 1) // 2 THEN long::HUGEINT ELSE 0 END
        + CASE WHEN nth = many // 2 THEN long::HUGEINT ELSE 0 END),
    sum(CASE WHEN nth = 9 * (many - 1) // 10 THEN (10 - 9 * (many - 1) % 10) * long::HUGEINT
        WHEN nth = 9 * (many - 1) // 10 + 1 THEN 9 * (many - 1) % 10 * long::HUGEINT ELSE 0 END),
    count(*) FILTER (is_zero)
FROM ranked GROUP BY g"""


@dataclass(slots=True)
class Derived:
    """The figures of a group, in ticks. twice_p50, ten_p90: the median and the percentile, whole.

    zeros: how many of its slices the file cut to 0. wall: None if it cannot be derived. twice_each:
    twice the median self time in an inference.
    """

    total: int = 0
    self_ticks: int = 0
    wall: int | None = 0
    count: int = 0
    sum: int = 0
    min: int = 0
    max: int = 0
    twice_p50: int = 0
    ten_p90: int = 0
    zeros: int = 0
    twice_each: int = 0

    @property
    def lengths(self) -> tuple[Fraction, ...]:
        """Mean, shortest, longest, median and 90th percentile of the durations, in ticks."""
        mean, p50, p90 = (self.sum, self.count or 1), (self.twice_p50, 2), (self.ten_p90, 10)
        ends = (self.min, 1), (self.max, 1)
        return tuple(Fraction(*part) for part in (mean, *ends, p50, p90))


@dataclass(frozen=True, slots=True)
class Window:
    """The ticks that figures cover. closed: what starts at the last one counts."""

    first: int
    last: int
    closed: bool = False

    def sql(self) -> str:
        """Return the length in it of what is between the ticks a and b."""
        return f"greatest(0, least(b, {self.last}) - greatest(a, {self.first}))"

    def starts(self, began: str) -> str:
        """Return whether what begins at a tick counts."""
        return f"({began} >= {self.first} AND {began} {'<=' if self.closed else '<'} {self.last})"


def length(window: Window | None) -> str:
    """Return how much of what is between the ticks a and b counts."""
    return "b - a" if window is None else window.sql()


def starts(window: Window | None, began: str = "began") -> str:
    """Return whether what begins at a tick counts."""
    return "true" if window is None else window.starts(began)


@dataclass(frozen=True, slots=True)
class Grouping:
    """How a grouping charges time, as the definition of its key says.

    per_slice: the group is that of the slice, not of its identity. of_calls: the whole is what
    the runtime timed. each: every slice counts, as by name. scopes: the table `scope` has the
    slices without wall time. by_innermost: a moment is that of the innermost slice, and so of the
    group around this, as where operators call one another. counts: the column of the slices that
    count. window: of a range. inferences: how many have the median of self times, of the table
    `in_inference`, 0 for none. parts: how many the groups are divided into by the table `part_of`;
    the numbers of groups are those of cells then.
    """

    per_slice: bool = False
    of_calls: bool = False
    each: bool = False
    scopes: bool = False
    by_innermost: bool = False
    counts: str = "counts"
    window: Window | None = None
    inferences: int = 0
    parts: int = 0

    @property
    def cell(self) -> str:
        """The column of what figures are of, if it is not that of their groups."""
        return "cell" if self.parts else ""


def derive(raw: Raw, grouping: Grouping) -> tuple[dict[int, Derived], int | None]:
    """Return the figures of the groups of `given`, and the time in none; None if unknown."""
    counts, long = grouping.counts, length(grouping.window)
    prepare(raw, per_slice=grouping.per_slice)
    if grouping.parts:
        _divide(raw, grouping.parts)
    derived: dict[int, Derived] = {}
    totals = _TOTALS.format(counts=counts, long=long, group=grouping.cell or "occurs")
    for g, total in raw.run(totals):
        derived.setdefault(g, Derived()).total = int(total)
    assign_owners(raw, grouping.cell or "charged", "charged IS NOT NULL", counts)
    for g, ticks in raw.run(f"SELECT g, sum({long}) FROM owned WHERE counts GROUP BY g"):
        derived.setdefault(g, Derived()).self_ticks = int(ticks)
    if grouping.inferences:
        sums = ("SELECT g, n, sum(b - a) FROM owned JOIN in_inference i ON i.id = owner "
                "WHERE counts GROUP BY g, n")  # fmt: skip
        add_medians(derived, raw.run(sums), grouping.inferences)
    rest = _wall(raw, grouping, derived)
    _durations(raw, grouping, derived)
    return derived, rest


def add_medians(
    derived: dict[int, Derived], sums: Sequence[tuple[int, int, int]], inferences: int
) -> None:
    """Fill in the medians of inferences; sums: group, inference and ticks, of others 0."""
    for g, ticks_of in lists_by_key((g, int(ticks)) for g, _, ticks in sums).items():
        ordered = sorted([*ticks_of, *[0] * (inferences - len(ticks_of))])
        middle = ordered[(inferences - 1) // 2] + ordered[inferences // 2]
        derived.setdefault(g, Derived()).twice_each = middle


def _divide(raw: Raw, parts: int) -> None:
    """Give each slice of `member` its cell: its group, and its part or that around it.

    One that `part_of` has with -1 is in none, whatever is around it.
    """
    raw.run("ALTER TABLE member ADD COLUMN cell BIGINT")
    _nearest(raw, "nearest_part", "id IN (SELECT id FROM part_of)")
    raw.run(
        f"UPDATE member SET cell = named * {parts + 1} + coalesce((SELECT nullif(p.p, -1) "
        "FROM nearest_part n JOIN part_of p ON p.id = n.up WHERE n.id = member.id), "
        f"{parts}) WHERE named IS NOT NULL"
    )


def prepare(raw: Raw, *, per_slice: bool = False) -> None:
    """Make the tables `member` and `parts` of `given`."""
    raw.run(_MEMBERS.format(stated=_STATED[not per_slice]))
    raw.run(_PARTS)


def assign_owners(raw: Raw, group: str, is_owner: str, counts: str) -> None:
    """Make the table `owned`; is_owner: a condition on `member`."""
    _nearest(raw, "nearest_owner", is_owner)
    _nearest(raw, "nearest_limit", f"({is_owner}) OR (NOT {counts} AND NOT native)")
    raw.run(_OWNED.format(group=group, counts=counts))


def moments(raw: Raw) -> bool:
    """Make the table `moments` of `owned`; False if too many slices overlap."""
    raw.run(_CLUSTERS)
    pairs = "SELECT sum(2 * n * n) FROM (SELECT count(*) AS n FROM clustered GROUP BY cluster)"
    if raw.number(pairs) > MOST_PAIRS:
        return False
    raw.run(_MOMENTS)
    return True


def rest_of(
    raw: Raw, *, of_calls: bool, counts: str, unnamed: str = "true", window: Window | None = None
) -> int:
    """Return the time of the whole in which nothing of `owned` runs."""
    instructions = f"{KeyKind.OPERATOR_CALL:d}, {KeyKind.DELEGATE_CALL:d}, {KeyKind.CONTROL:d}"
    whole = "parent IS NULL"
    if of_calls and raw.number("SELECT count(*) FROM slices WHERE is_execute"):
        whole = f"(is_execute OR (parent IS NULL AND kind IN ({instructions})))"
    return raw.number(
        _REST.format(
            whole=whole, counts=counts, unnamed=unnamed, long=length(window),
            hal=int(Unit.HAL), host=int(Unit.HOST),
        )
    )  # fmt: skip


def union_of(source: str, of: str = "thread") -> str:
    """Return a query of the time in which slices of a source run, by thread, each moment once."""
    return f"""
    SELECT {of}, sum(greatest(0, ended - greatest(began, coalesce(before, began)))) FROM (
        SELECT *, max(ended) OVER (PARTITION BY thread ORDER BY began, ended
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM {source}
    ) GROUP BY thread"""


def _wall(raw: Raw, grouping: Grouping, derived: dict[int, Derived]) -> int | None:
    """Fill in wall times, and return the time in no group."""
    counts, in_scopes = grouping.counts, "id IN (FROM scope)"
    if grouping.by_innermost:
        # The group of a moment is that around its innermost slice.
        raw.run("CREATE OR REPLACE TABLE around AS "
                f"SELECT n.id, o.{grouping.cell or 'charged'} AS g FROM nearest_owner n "
                "JOIN member o ON o.id = n.up")  # fmt: skip
        raw.run("ALTER TABLE member ADD COLUMN IF NOT EXISTS innermost BIGINT")
        raw.run("UPDATE member SET innermost = coalesce("
                "(SELECT g FROM around WHERE around.id = member.id), -1)")  # fmt: skip
        assign_owners(
            raw, "innermost", f"NOT native AND NOT derived AND {in_scopes} IS NOT TRUE", counts
        )
    elif grouping.scopes:
        is_owner = f"charged IS NOT NULL AND NOT {in_scopes}"
        assign_owners(raw, grouping.cell or "charged", is_owner, counts)
    if not moments(raw):
        for figures in derived.values():
            figures.wall = None
        return None
    long = length(grouping.window)
    walls = dict(raw.run(f"SELECT g, sum({long}) FROM moments WHERE counts GROUP BY g"))
    if grouping.by_innermost:
        rest = int(walls.pop(-1, 0))
    else:
        rest = rest_of(
            raw, of_calls=grouping.of_calls, counts=counts, unnamed="charged IS NULL",
            window=grouping.window,
        )  # fmt: skip
    for g, ticks in walls.items():
        derived.setdefault(g, Derived()).wall = int(ticks)
    return rest


def _durations(raw: Raw, grouping: Grouping, derived: dict[int, Derived]) -> None:
    """Fill in the durations of slices: by other keys than names, one inside its group is a part."""
    _nearest(raw, "nearest_owner", "occurs IS NOT NULL", of_parent=True)
    apart = "true" if grouping.each else "o.occurs IS DISTINCT FROM m.occurs"
    raw.run(
        "CREATE OR REPLACE TABLE occurrence AS "
        f"SELECT m.{grouping.cell or 'occurs'} AS g, m.ended - m.began AS long, m.is_zero "
        "FROM member m "
        "JOIN nearest_owner n USING (id) LEFT JOIN member o ON o.id = n.up "
        f"WHERE m.occurs IS NOT NULL AND m.{grouping.counts} AND NOT m.is_open AND {apart} "
        f"AND {starts(grouping.window, 'm.began')}"
    )
    add_durations(raw, derived)


def add_durations(raw: Raw, derived: dict[int, Derived]) -> None:
    """Fill in the durations of the table `occurrence`: g, long, is_zero."""
    for g, *values in raw.run(_DURATIONS):
        figures = derived.setdefault(g, Derived())
        figures.count, figures.sum, figures.min, figures.max = map(int, values[:4])
        figures.twice_p50, figures.ten_p90, figures.zeros = map(int, values[4:])


def _nearest(raw: Raw, table: str, is_owner: str, *, of_parent: bool = False) -> None:
    """Make a table of the nearest owner around each slice, or itself; `up` is NULL without figures.

    of_parent: not itself. From each slice, jumps to where the one above it has jumped already.
    """
    raw.run(f"CREATE OR REPLACE TABLE {table} AS SELECT id, parent AS up, ({is_owner}) AS stops "
            "FROM member")  # fmt: skip
    jump = (f"CREATE OR REPLACE TABLE {table} AS SELECT a.id, a.stops, "
            "CASE WHEN b.stops OR b.id IS NULL THEN a.up ELSE b.up END AS up "
            f"FROM {table} a LEFT JOIN {table} b ON b.id = a.up")  # fmt: skip
    more = f"SELECT count(*) FROM {table} a JOIN {table} b ON b.id = a.up WHERE NOT b.stops"
    while raw.number(more):
        raw.run(jump)
    if not of_parent:
        raw.run(f"UPDATE {table} SET up = id WHERE stops")
