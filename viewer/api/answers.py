"""The answers of commands that are more than one table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from viewer.api.frames import frame_of_rows
from viewer.reports.info import Facts

if TYPE_CHECKING:
    import pandas as pd


class Answer:
    """What a command answers: `facts`, as its `--json` prints them, and its lists as tables.

    A table is an attribute with the name of its list. It has the rows of all files, with the file
    (and the method) in front.

    Attributes:
        facts: What the command prints with `--json`, as dicts and lists.
        tables: The lists as DataFrames, by name.
    """

    def __init__(self, facts: Facts, tables: Mapping[str, pd.DataFrame]) -> None:
        self.facts = facts
        self.tables = dict(tables)

    def __getattr__(self, name: str) -> pd.DataFrame:
        try:
            return self.__dict__["tables"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.tables]

    def __repr__(self) -> str:
        sizes = (f"{name}: {len(table)} rows" for name, table in self.tables.items())
        return f"<Answer with {', '.join(sizes)}>"

    def to_json(self) -> str:
        """Return the answer as the command prints it with `--json`.

        Returns:
            JSON.
        """
        return json.dumps(self.facts, indent=1)


def nested_answer(facts: Facts, name: str, lists: Sequence[str], head: Mapping[str, str]) -> Answer:
    """Return the answer for a list of files (or methods) that have lists of their own.

    name: of the list in the facts, and of its table, which has what is not a list. lists: become
    tables of all of them, with the values of `head` in front: key -> column.
    """
    rows = facts[name]
    own = [{key: value for key, value in row.items() if key not in lists} for row in rows]
    tables = {name: frame_of_rows(own)}
    for part in lists:
        tables[part] = frame_of_rows(
            [
                {**{column: row[key] for key, column in head.items()}, **one}
                for row in rows
                for one in row.get(part, ())
            ]
        )
    return Answer(facts, tables)


def flat_answer(facts: Facts, lists: Sequence[str]) -> Answer:
    """Return the answer for some lists of rows."""
    return Answer(facts, {name: frame_of_rows(facts[name]) for name in lists})
