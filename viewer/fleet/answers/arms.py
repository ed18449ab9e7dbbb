"""The arms of a comparison of a lake: which profiles are A and B, by device, build, model or tags.

Profiles of different models or devices are never in one arm: there is one comparison for each
combination of what the conditions of the arms leave open, a *group*.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
