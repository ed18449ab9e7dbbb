"""The times of the profiles of a lake, per session: what DuckDB makes of the tables.

A session counts once, with the median over its inferences, as in `opscope compare`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.comparison.conditions import Conditions
from viewer.analysis.comparison.wall_rates import WallRate
from viewer.arrays import Floats
from viewer.fleet.answers.arms import Group

if TYPE_CHECKING:
    import duckdb

# A session: the key of its profile, and its number there.
SessionId = tuple[str, int]
# A group and an arm of it (0 for A, 1 for B), by number.
Side = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LakePart:
    """A set of operators, a call or a name of an arm, as in the table `inference_operators`.

    method: "" if the profiles have no inferences. grain_ns: by how much its times differ at least.
    measured: whether all of its times are.
    """

    method: str
    level: str
    id: str
    label: str
    type: str
    module: str
    source: str
    backend: str
    grain_ns: float
    measured: bool


@dataclass(frozen=True, slots=True)
class ListedOperator:
    """An operator of an ETRecord: its debug handle, and what it is. Unknown texts are ""."""

    debug_handle: int
    type: str
    module: str
    outputs: str
    source: str

    @property
    def identity(self) -> tuple[str, ...]:
        """What it shares with an operator of another arm that is the same."""
        return self.type, self.module, self.outputs


class LakeTimes:
    """The times of the profiles of some groups, on a connection to a lake.

    Makes temporary tables in the memory of the connection.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, groups: Sequence[Group]) -> None:
        self._connection = connection
        chosen = [
            (key, number, arm)
            for number, group in enumerate(groups)
            for arm, keys in enumerate(group.keys)
            for key in keys
        ]
        connection.execute("CREATE OR REPLACE TABLE chosen (key VARCHAR, grp INTEGER, arm INTEGER)")
        connection.execute(
            "INSERT INTO chosen SELECT unnest(?), unnest(?), unnest(?)",
            [list(column) for column in zip(*chosen, strict=True)],
        )
        # Opscope writes no others, but a lake can come from anybody.
        connection.execute(
            """
            CREATE OR REPLACE VIEW timed AS SELECT * FROM inference_operators
            WHERE session IS NOT NULL AND level IS NOT NULL AND id IS NOT NULL AND label IS NOT NULL
            """
        )

    def parts(self) -> dict[Side, list[LakePart]]:
        """Return the parts of every arm."""
        rows = self._connection.execute(
            """
            SELECT grp, arm, coalesce(method, ''), level, id, min(label), coalesce(min(type), ''),
                coalesce(min(module), ''), coalesce(min(source), ''),
                coalesce(string_agg(DISTINCT backend, ' + ' ORDER BY backend), ''),
                coalesce(max(grain_ns), 0), coalesce(bool_and(measured), false)
            FROM timed JOIN chosen USING (key)
            GROUP BY grp, arm, coalesce(method, ''), level, id ORDER BY ALL
            """
        ).fetchall()
        found: dict[Side, list[LakePart]] = {}
        for group, arm, *rest in rows:
            found.setdefault((group, arm), []).append(LakePart(*rest))
        return found

    def conditions(self) -> dict[str, Conditions]:
        """Return how every profile was recorded, by its key."""
        rows = self._connection.execute(
            """
            SELECT DISTINCT key, coalesce(recording, ''), run_order, temperature_c,
                coalesce(temperature_of, ''), frequency_khz
            FROM files JOIN chosen USING (key)
            """
        ).fetchall()
        return {
            key: Conditions(recording, order, None, celsius, of, khz)
            for key, recording, order, celsius, of, khz in rows
        }

    def operators(self) -> dict[Side, dict[str, list[ListedOperator]]]:
        """Return the operators of the ETRecords of every arm, by method, in their order.

        Empty without the table `operators`.
        """
        rows = self._connection.execute(
            """
            SELECT grp, arm, coalesce(method, ''), debug_handle, min(coalesce(operator, '')),
                min(coalesce(module, '')), min(coalesce(outputs, '')), min(coalesce(source, ''))
            FROM operators JOIN chosen USING (key) WHERE debug_handle IS NOT NULL
            GROUP BY grp, arm, coalesce(method, ''), debug_handle ORDER BY ALL
            """
        ).fetchall()
        found: dict[Side, dict[str, list[ListedOperator]]] = {}
        for group, arm, method, *what in rows:
            of_side = found.setdefault((group, arm), {})
            of_side.setdefault(method, []).append(ListedOperator(*what))
        return found

    def mixed(self) -> set[int]:
        """Return the groups with an arm that has profiles of different programs.

        That is, one operator or call is not the same in all of them, so nothing can be paired.
        """
        rows = self._connection.execute(
            """
            SELECT grp FROM operators JOIN chosen USING (key) WHERE debug_handle IS NOT NULL
            GROUP BY grp, arm, method, debug_handle
            HAVING count(DISTINCT (operator, module, outputs)) > 1
            UNION
            SELECT grp FROM timed JOIN chosen USING (key)
            GROUP BY grp, arm, method, level, id HAVING count(DISTINCT label) > 1
            """
        ).fetchall()
        return {group for (group,) in rows}

    def clocks(self) -> dict[int, dict[str, float]]:
        """Return the units of the clocks of every group, with the ns of a tick.

        "ns", or another unit if its rate is assumed.
        """
        rows = self._connection.execute(
            """
            SELECT grp, coalesce(clock, 'ns') AS unit, max(coalesce(ns_per_tick, 1))
            FROM files JOIN chosen USING (key) GROUP BY grp, unit ORDER BY ALL
            """
        ).fetchall()
        found: dict[int, dict[str, float]] = {}
        for group, unit, ns_per_tick in rows:
            found.setdefault(group, {})[unit] = ns_per_tick
        return found

    def sessions(self) -> dict[Side, list[SessionId]]:
        """Return the sessions of every arm, by key and number."""
        rows = self._connection.execute(
            """
            SELECT DISTINCT grp, arm, key, session
            FROM timed JOIN chosen USING (key) ORDER BY ALL
            """
        ).fetchall()
        found: dict[Side, list[SessionId]] = {}
        for group, arm, key, session in rows:
            found.setdefault((group, arm), []).append((key, session))
        return found

    def inferences(self) -> dict[Side, dict[SessionId, dict[str, float]]]:
        """Return the median inference of every session in ns, by method.

        Only those that finished and do not warm up.
        """
        rows = self._connection.execute(
            """
            SELECT grp, arm, key, session, coalesce(method, ''), median(dur_ns)
            FROM inferences JOIN chosen USING (key)
            WHERE finished AND NOT warm_up AND session IS NOT NULL AND dur_ns >= 0
            GROUP BY ALL ORDER BY ALL
            """
        ).fetchall()
        found: dict[Side, dict[SessionId, dict[str, float]]] = {}
        for group, arm, key, session, method, ns in rows:
            of_side = found.setdefault((group, arm), {})
            of_side.setdefault((key, session), {})[method] = float(ns)
        return found

    def rates(self) -> dict[Side, list[WallRate]]:
        """Return how the inferences of each session fill the wall time, as `wall_rate` does.

        Only of sessions of one method and phase whose files state when inferences started.
        """
        rows = self._connection.execute(
            """
            SELECT grp, arm, count(*), sum(dur_ns)::DOUBLE, sum(gap_ns)::DOUBLE, median(gap_ns)
            FROM inferences JOIN chosen USING (key)
            WHERE session IS NOT NULL
            GROUP BY grp, arm, key, session
            HAVING count(gap_ns) > 0 AND sum(dur_ns) + sum(gap_ns) > 0
                AND count(DISTINCT (coalesce(method, ''), coalesce(phase, ''))) = 1
            ORDER BY ALL
            """
        ).fetchall()
        rates: dict[Side, list[WallRate]] = {}
        for group, arm, count, busy, idle, gap in rows:
            wall = busy + idle
            rate = WallRate(1e9 * count / wall, float(gap), idle / wall)
            rates.setdefault((group, arm), []).append(rate)
        return rates

    def medians(
        self,
        rows: Sequence[tuple[Side, LakePart, int]],
        sessions: dict[Side, list[SessionId]],
        counts: dict[Side, int],
    ) -> dict[Side, Floats]:
        """Return the median of every row in every session, of shape (sessions, rows) in ns.

        rows: the row of each part of each arm. counts: the number of rows of each arm. NaN where a
        session does not have a row.
        """
        connection = self._connection
        connection.execute(
            "CREATE OR REPLACE TABLE row_of (grp INTEGER, arm INTEGER, method VARCHAR, "
            "level VARCHAR, id VARCHAR, row_number INTEGER)"
        )
        found = {side: np.full((len(own), counts[side]), np.nan) for side, own in sessions.items()}
        if not rows:
            return found
        columns = [(*side, part.method, part.level, part.id, number) for side, part, number in rows]
        connection.execute(
            "INSERT INTO row_of SELECT unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), "
            "unnest(?)",
            [list(column) for column in zip(*columns, strict=True)],
        )
        connection.execute(
            "CREATE OR REPLACE TABLE place_of (grp INTEGER, arm INTEGER, key VARCHAR, "
            "session BIGINT, place INTEGER)"
        )
        places = [
            (*side, *session, i) for side, own in sessions.items() for i, session in enumerate(own)
        ]
        connection.execute(
            "INSERT INTO place_of SELECT unnest(?), unnest(?), unnest(?), unnest(?), unnest(?)",
            [list(column) for column in zip(*places, strict=True)],
        )
        made = connection.execute(
            """
            SELECT grp * 2 + arm AS side, place, row_number, median(ns) AS ns FROM (
                SELECT grp, arm, key, session, t.method, inference, row_number,
                    sum(self_ns + shared_ns) AS ns
                FROM timed t JOIN chosen USING (key)
                    JOIN row_of r USING (grp, arm, level, id)
                WHERE r.method = coalesce(t.method, '')
                GROUP BY grp, arm, key, session, t.method, inference, row_number
            ) JOIN place_of USING (grp, arm, key, session)
            GROUP BY grp, arm, place, row_number ORDER BY side
            """
        ).fetchnumpy()
        side, place, row, ns = (
            np.asarray(made[name]) for name in ("side", "place", "row_number", "ns")
        )
        bounds = np.searchsorted(side, [2 * group + arm for group, arm in found])
        ends = np.searchsorted(side, [2 * group + arm for group, arm in found], side="right")
        for of_side, first, end in zip(found.values(), bounds, ends, strict=True):
            of_side[place[first:end], row[first:end]] = ns[first:end]
        return found
