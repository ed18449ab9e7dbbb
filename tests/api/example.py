"""What a user's program looks like; mypy checks it with the package, and a test runs it."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import viewer


def most_expensive(profile: viewer.Profile, count: int = 5) -> pd.DataFrame:
    """The operators that take the most time of their own."""
    operators = profile.operators
    return operators.nlargest(count, "self_ns")[["module", "operator", "self_ns", "source"]]


def main(*files: str | Path) -> int:
    try:
        profile = viewer.open(*files)
    except viewer.UnreadableFile as error:
        print(error.path, error.reason)
        return 1
    print(profile.summary())
    print(most_expensive(profile))
    slices: pd.DataFrame = profile.slices_with("name", "dur_ns", "operators")
    total: int = int(slices["dur_ns"].sum())
    print(f"{total} ns in {len(profile.query('linked'))} linked slices")
    print(profile.stats("module", inference=2).head())
    print(profile.delegation().delegates.head())
    return 0


def is_slower(before: list[Path], after: list[Path]) -> bool:
    """Whether an inference is proven to be slower."""
    change: viewer.ComparedProfiles = viewer.compare(before, after, by="operator")
    print(change.sentence, len(change.table))
    verdict: str = change.verdict
    return verdict == "slower"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
