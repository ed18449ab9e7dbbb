"""The arms of a comparison of a lake: which profiles are A and B, and their times per session.

Profiles of different models or devices are never in one arm: there is one comparison for each
combination of what the conditions of the arms leave open, a *group*. A session counts once, with
the median over its inferences, as in `opscope compare`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.comparison.arms import WallRate
from viewer.analysis.comparison.sessions import Conditions
from viewer.arrays import Floats, lists_by_key
from viewer.dataclasses import dataclass
from viewer.model.text import natural, one_line

if TYPE_CHECKING:
    import duckdb


DIMENSIONS = ("model", "device", "build")
TAG = "tag."
_NEXT = re.compile(r",(?=\s*(?:model|device|build|tag\.[^=,]+)\s*=)")


class WrongArms(Exception):
    """The conditions of arms choose nothing that can be compared; the message says why."""


@dataclass(frozen=True, slots=True)
class ArmChoice:
    """The conditions of an arm: names of dimensions or tags ("tag.quant"), with their values."""

    conditions: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The conditions as they are written: "build=2, device=pixel"."""
        return ", ".join(f"{name}={value}" for name, value in self.conditions)

    def includes(self, values: Mapping[str, str]) -> bool:
        """Return whether a profile with these values is in the arm."""
        return all(values.get(name) == value for name, value in self.conditions)


def parse_arm(text: str) -> ArmChoice:
    """Return the conditions in "build=2,device=pixel". Raises ValueError for anything else."""
    values: dict[str, str] = {}
    for part in _NEXT.split(text):
        name, sign, value = (word.strip() for word in part.partition("="))
        is_known = name in DIMENSIONS or (name.startswith(TAG) and len(name) > len(TAG))
        if not sign or not is_known or not value:
            raise ValueError(
                f"{text!r} is not an arm: write device=, build=, model= or tag.NAME= with a value, "
                "separated by commas, such as build=2,device=pixel"
            )
        if name in values:
            raise ValueError(f"{text!r} is not an arm: it has {name} twice")
        values[name] = value
    return ArmChoice(tuple(values.items()))


@dataclass(frozen=True, slots=True)
class LakeProfile:
    """A profile of a lake: its key, and what is known of it by the name of a dimension or tag."""

    key: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Group:
    """Profiles that are comparable: of one model, one device, and so on.

    values: those of the dimensions that no arm has a condition for; "" if not known. keys: the
    profiles of A and of B.
    """

    values: tuple[tuple[str, str], ...]
    keys: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def label(self) -> str:
        """What the profiles have in common: "model=attention, device=pixel"."""
        filled = [f"{name}={one_line(value)}" for name, value in self.values if value]
        return ", ".join(filled) or "all profiles"


def lake_profiles(connection: duckdb.DuckDBPyConnection) -> list[LakeProfile]:
    """Return all profiles of a lake, by their keys."""
    rows = connection.execute(
        "SELECT key, model, device, build, tags FROM files WHERE key IS NOT NULL ORDER BY key"
    ).fetchall()
    profiles = []
    for key, *texts, tags in rows:
        values = {n: v for n, v in zip(DIMENSIONS, texts, strict=True) if v is not None}
        profiles.append(LakeProfile(key, values | _tags(tags)))
    return profiles


def _tags(text: str | None) -> dict[str, str]:
    """The tags of a profile, by their names in conditions; {} for what Opscope did not write."""
    try:
        parsed = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return {f"{TAG}{n}": str(v) for n, v in parsed.items()} if isinstance(parsed, dict) else {}


def groups_of(
    profiles: Iterable[LakeProfile], a: ArmChoice, b: ArmChoice
) -> tuple[list[Group], list[str]]:
    """Return the groups that have profiles in both arms, and notes on those that do not.

    Raises WrongArms if there are none, or if the arms share profiles.
    """
    chosen = {name for arm in (a, b) for name, _ in arm.conditions}
    free = [name for name in DIMENSIONS if name not in chosen]
    keys_of_values: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
    counts = Counter[str]()
    for profile in profiles:
        sides = [arm.includes(profile.values) for arm in (a, b)]
        if all(sides):
            raise WrongArms(f"A ({a.text}) and B ({b.text}) share profiles")
        if not any(sides):
            continue
        counts["AB"[sides[1]]] += 1
        values = tuple(profile.values.get(name, "") for name in free)
        keys_of_values.setdefault(values, ([], []))[sides[1]].append(profile.key)
    for name, arm in (("A", a), ("B", b)):
        if not counts[name]:
            raise WrongArms(f"no profile of the lake is in {name} ({arm.text})")
    groups = [
        Group(tuple(zip(free, values, strict=True)), (tuple(of_a), tuple(of_b)))
        for values, (of_a, of_b) in sorted(
            keys_of_values.items(), key=lambda pair: [natural(value) for value in pair[0]]
        )
        if of_a and of_b
    ]
    if not groups:
        raise WrongArms(f"no {' and '.join(free)} has profiles in both arms")
    return groups, _notes(list(keys_of_values.items()), free)


def _notes(
    groups: Sequence[tuple[tuple[str, ...], tuple[list[str], list[str]]]], free: Sequence[str]
) -> list[str]:
    notes = []
    for name, other in ((0, 1), (1, 0)):
        alone = [values for values, keys in groups if keys[name] and not keys[other]]
        if alone:
            text = ", ".join(
                f"{dimension}={one_line(value)}"
                for dimension, value in zip(free, min(alone), strict=True)
                if value
            )
            more = f" and {len(alone) - 1} more" if len(alone) > 1 else ""
            notes.append(f"Only in {'AB'[name]}, so left out: {text or 'all profiles'}{more}.")
    return notes


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
        self._fill("chosen", "key VARCHAR, grp INTEGER, arm INTEGER", chosen)
        # Opscope writes no others, but a lake can come from anybody.
        connection.execute(
            """
            CREATE OR REPLACE VIEW timed AS SELECT * FROM inference_operators
            WHERE session IS NOT NULL AND level IS NOT NULL AND id IS NOT NULL AND label IS NOT NULL
            """
        )

    def _fill(self, table: str, columns: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Create a table with some rows."""
        self._connection.execute(f"CREATE OR REPLACE TABLE {table} ({columns})")
        if rows:
            cells = ", ".join(["unnest(?)"] * len(rows[0]))
            values = [list(column) for column in zip(*rows, strict=True)]
            self._connection.execute(f"INSERT INTO {table} SELECT {cells}", values)

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
        return lists_by_key(((group, arm), LakePart(*rest)) for group, arm, *rest in rows)

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
        return lists_by_key(((group, arm), (key, session)) for group, arm, key, session in rows)

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
        return lists_by_key(
            ((group, arm), WallRate(1e9 * count / (busy + idle), float(gap), idle / (busy + idle)))
            for group, arm, count, busy, idle, gap in rows
        )

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
        found = {side: np.full((len(own), counts[side]), np.nan) for side, own in sessions.items()}
        if not rows:
            return found
        self._fill(
            "row_of",
            "grp INTEGER, arm INTEGER, method VARCHAR, level VARCHAR, id VARCHAR, "
            "row_number INTEGER",
            [(*side, part.method, part.level, part.id, number) for side, part, number in rows],
        )
        places = [
            (*side, *session, i) for side, own in sessions.items() for i, session in enumerate(own)
        ]
        columns = "grp INTEGER, arm INTEGER, key VARCHAR, session BIGINT, place INTEGER"
        self._fill("place_of", columns, places)
        made = self._connection.execute(
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
