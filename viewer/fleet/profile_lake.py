"""A lake from Python: `viewer.lake(path).sql(...)` as a DataFrame. Needs the extra `fleet`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from viewer.api.sql import frame_of_result
from viewer.codecs.memory_budget import parse_limit
from viewer.dataclasses import replace
from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.query import Limits, NoDuckDB, WrongQuery, query
from viewer.fleet.schemas import TABLES

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NoDuckDB", "ProfileLake", "UnusableLake", "WrongQuery"]


def lake(path: str | os.PathLike[str]) -> ProfileLake:
    """Open a lake, which `opscope fleet build` makes of many profiles.

    Args:
        path: Its folder, or its place in a bucket, such as "s3://bucket/lake".

    Returns:
        The lake; nothing but its manifest is read yet.

    Raises:
        UnusableLake: If there is no lake.
    """
    return ProfileLake(path)


class ProfileLake:
    """The tables of many profiles.

    Attributes:
        path: Its folder.
        tables: The names of its tables.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a lake.

        Args:
            path: Its folder.

        Raises:
            UnusableLake: If the folder is no lake.
        """
        self._lake = Lake(os.fspath(path))
        self.path = self._lake.path
        self.tables = tuple(TABLES)

    def sql(
        self, select: str, *, max_seconds: float = 60.0, max_memory: str = "2G"
    ) -> pd.DataFrame:
        """Run one query with DuckDB; each table is a view with its name.

        Profiles whose files changed since the lake was built are left out.

        Args:
            select: One SELECT.
            max_seconds: How long it may take.
            max_memory: How much memory it may take, such as "512M".

        Returns:
            The columns of the query. Whole numbers, texts and truth values are of pandas' types
            that can be missing.

        Raises:
            WrongQuery: If DuckDB does not accept it, or it reaches a limit.
            NoDuckDB: If the extra `fleet` is not installed.
            UnusableLake: If files of the lake are damaged.
            ValueError: For another form of `max_memory`.
        """
        limits = replace(Limits(max_seconds), memory=parse_limit(max_memory))
        return frame_of_result(*query(self._lake, select, limits))

    @property
    def losses(self) -> tuple[str, ...]:
        """What the last query could not read, as sentences.

        Returns:
            One sentence for each kind of loss; none if every file is as the manifest states.
        """
        return tuple(self._lake.losses.sentences)

    def __repr__(self) -> str:
        return f"viewer.lake({self.path!r})"
