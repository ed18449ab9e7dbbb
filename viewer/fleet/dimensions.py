"""Where a profile was recorded: device, build, model and tags.

They come from three places; one earlier in this list wins, value by value:

    --labels CSV     a row per profile: its column "file", then device, build, model, tags
    --from-path      parts of the path, such as "{device}/{build}/{name}.etdp"
    run.json         {"device": "…", "build": "…", "model": "…", "tags": {"os": "14"}} next to the
                     profile: NAME.run.json for one profile, run.json for all of a folder

A wrong run.json, or a path that does not match, is a problem of that profile and stops nothing.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from viewer.analysis.comparison.conditions import Conditions
from viewer.export.tables.parquet import storable
from viewer.fleet.remote import read_small
from viewer.recording.run_file import conditions_in

NAMES = ("device", "build", "model")
MOST_BYTES, MOST_TAGS, MOST_LENGTH = 65_536, 64, 256
_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,63})\}")
_IGNORED = "name"


class WrongDimensions(Exception):
    """A pattern or a CSV of labels cannot be used; the message says why and what is expected."""


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Where a profile was recorded; None if it is not known. problems: (kind, first) each."""

    device: str | None = None
    build: str | None = None
    model: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[tuple[str, str], ...] = ()

    def identity(self) -> list[object]:
        """What is part of the key of a unit of work."""
        return [self.device, self.build, self.model, sorted(self.tags.items())]


class PathPattern:
    """A pattern such as "{device}/{build}/{name}.etdp" for the end of paths.

    {name} is ignored; a field other than device, build and model is a tag.
    """

    def __init__(self, text: str) -> None:
        """Raises WrongDimensions."""
        fields = _FIELD.findall(text)
        if not set(fields) - {_IGNORED} or len(set(fields)) < len(fields):
            raise WrongDimensions(
                f"--from-path {text!r}: name different fields in braces, such as "
                '"{device}/{build}/{name}.etdp"'
            )
        parts = _FIELD.split(text)
        expression = "".join(
            f"(?P<{part}>[^/]+)" if i % 2 else re.escape(part) for i, part in enumerate(parts)
        )
        self.text = text
        self._expression = re.compile(rf"(?:^|.*/){expression}", re.DOTALL)

    def values(self, path: str) -> dict[str, str] | None:
        """Return the fields of a path or URL, None if it does not match."""
        match = self._expression.fullmatch(path.replace(os.sep, "/"))
        if match is None:
            return None
        return {name: value for name, value in match.groupdict().items() if name != _IGNORED}


def read_labels(path: str) -> dict[str, dict[str, str]]:
    """Return the rows of a CSV of labels by their column "file". Raises WrongDimensions."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
    except (OSError, ValueError, csv.Error) as error:
        raise WrongDimensions(f"--labels {path}: it cannot be read as CSV ({error})") from error
    if not rows or "file" not in rows[0]:
        raise WrongDimensions(
            f'--labels {path}: it needs the column "file" (a path below the source, or a file '
            "name), then device, build, model or others"
        )
    return {row["file"]: _filled(row) for row in rows if row["file"]}


def _filled(row: Mapping[str, object]) -> dict[str, str]:
    """The cells of a row that have a text; those of a row that is too long have no name."""
    return {k: v for k, v in row.items() if k and k != "file" and isinstance(v, str) and v}


def from_sidecar(path: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the values of a run.json, and its problems: what is wrong, and where.

    Tags have the prefix "tags.".
    """
    try:
        data = read_small(path, MOST_BYTES + 1)
    except OSError as error:
        return {}, [("run.json cannot be read", error.strerror or str(error))]
    if len(data) > MOST_BYTES:
        return {}, [("run.json is larger than 64 KiB", path)]
    try:
        parsed = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return {}, [("run.json is not JSON", str(error)[:MOST_LENGTH])]
    if not isinstance(parsed, dict):
        return {}, [("run.json is not a JSON object", type(parsed).__name__)]
    values = {name: parsed[name] for name in NAMES if parsed.get(name) is not None}
    problems: list[tuple[str, str]] = []
    tags = parsed.get("tags", {})
    if not isinstance(tags, dict):
        problems.append(("run.json: tags are not an object", type(tags).__name__))
        tags = {}
    if len(tags) > MOST_TAGS:
        problems.append((f"run.json has more than {MOST_TAGS} tags", str(len(tags))))
        tags = dict(list(tags.items())[:MOST_TAGS])
    values |= {f"tags.{name}": value for name, value in tags.items() if value is not None}
    texts: dict[str, str] = {}
    for name, value in values.items():
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            problems.append(("run.json: a value is not a text or number", name[:MOST_LENGTH]))
        elif len(text := str(value)) > MOST_LENGTH or len(name) > MOST_LENGTH:
            problems.append((f"run.json: a text is longer than {MOST_LENGTH}", name[:MOST_LENGTH]))
        elif text:
            texts[storable(name)] = storable(text)
    return texts, problems


def sidecar_conditions(path: str | None) -> Conditions:
    """Return how a profile was recorded, as its run.json states it; unknown without one."""
    if path is None:
        return Conditions()
    try:
        return conditions_in(json.loads(read_small(path, MOST_BYTES).decode("utf-8-sig")))
    except (OSError, ValueError, RecursionError):  # `from_sidecar` reports it
        return Conditions()


def dimensions_of(
    path: str,
    sidecar: str | None,
    pattern: PathPattern | None,
    label: Mapping[str, str] | None,
) -> Dimensions:
    """Return where a profile was recorded. path: of the profile."""
    values: dict[str, str] = {}
    problems: list[tuple[str, str]] = []
    if sidecar is not None:
        values, problems = from_sidecar(sidecar)
    if pattern is not None:
        of_path = pattern.values(path)
        if of_path is None:
            problems.append(("the path does not match --from-path", pattern.text))
        values |= _named(of_path or {})
    values |= _named(label or {})
    tags = {k.removeprefix("tags."): v for k, v in values.items() if k.startswith("tags.")}
    device, build, model = (values.get(name) for name in NAMES)
    return Dimensions(device, build, model, tags, tuple(problems))


def _named(values: Mapping[str, str]) -> dict[str, str]:
    return {k if k in NAMES else f"tags.{k}": storable(v) for k, v in values.items()}
