"""Builds lakes of small fleets, and states what is in them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.paths import ROOT
from viewer.fleet import unit as batch
from viewer.fleet.build import BuildOptions, Progress, build
from viewer.fleet.engine import Engine, InProcess
from viewer.fleet.lake import Lake
from viewer.fleet.manifest_lines import UnitOutcome
from viewer.fleet.query import connect
from viewer.fleet.schemas import TABLES
from viewer.fleet.unit import Batch, BatchResult

TABLES_OF_TESTS = ("operators", "inference_operators", "inferences")
# Runs the command line with batches of two profiles, so that few profiles are many batches.
SMALL_BATCHES = (
    "import sys, viewer.fleet.build as build; build.MOST_UNITS = 2;"
    "from viewer.cli import main; sys.exit(main(sys.argv[1:]))"
)
# The same, waiting after the first profiles for a signal, or for the end of its input.
HELD = """
import sys
import viewer.fleet.build as build
from viewer.cli import main
from viewer.cli.commands.fleet import build as command

def show_and_wait(shown, progress):
    show(shown, progress)
    if progress.ended:
        sys.stdin.read()

build.MOST_UNITS, command._SHOWN_S = 2, 0
show, command._Report._show = command._Report._show, show_and_wait
sys.exit(main(sys.argv[1:]))
"""
POISON = "poison"


def options(*sources: Path | str, **given: Any) -> BuildOptions:
    """Options of a build with the tables of tests, and with the path pattern of fleets."""
    values = {"tables": TABLES_OF_TESTS, "pattern": "{build}/{device}/{model}/{name}.etdp"}
    return BuildOptions(tuple(map(str, sources)), **(values | given))


def built(
    lake: Path | str,
    *sources: Path | str,
    engine: Callable[[int], Engine] = lambda _: InProcess(),
    told: Callable[[Progress, UnitOutcome | None], None] = lambda *_: None,
    **given: Any,
) -> Progress:
    """Build a lake in this process, or on an engine."""
    return build(str(lake), options(*sources, **given), engine, told)[1]


def rows(lake: Path | str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, sorted."""
    found = {}
    with connect(Lake(str(lake))) as connection:
        for table in TABLES:
            every = connection.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall()
            found[table] = every
    return found


def outdated(lake: Path) -> set[str]:
    """The keys whose sources have another key by now."""
    return Lake(str(lake)).read().outdated()


def files_on_disk(lake: Path) -> set[str]:
    """The Parquet files in the folders of tables, as a reader without the manifest finds them."""
    return {
        path.relative_to(lake).as_posix() for path in lake.glob("table=*/**/*") if path.is_file()
    }


def check_whole(lake: Path, profiles: int) -> None:
    """Check that no profile is lost or doubled, and that the manifest lists exactly the files."""
    opened = Lake(str(lake))
    listed = {file.path for file in opened.read().live_files()}
    assert files_on_disk(lake) == listed
    keys = [row[0] for row in rows(lake)["files"]]
    assert (len(keys), len(set(keys))) == (profiles, profiles)
    assert os.listdir(lake / "_tmp") == []


def command(*arguments: object, code: str = SMALL_BATCHES) -> list[str]:
    """The command line of `opscope` with small batches."""
    return [sys.executable, "-c", code, *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    """The environment of processes that import the tests."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def work_with_poison(one: Batch) -> BatchResult:
    """Do the work of a batch, as if a fault in a library ended the process at some file."""
    if any(POISON in unit.profile.file.name for unit in one.units):
        os.kill(os.getpid(), signal.SIGKILL)
    return batch.work(one)


def sources_of(lake: Path) -> Sequence[str]:
    """The names of the profiles with rows."""
    return sorted(os.path.basename(row[5]) for row in rows(lake)["files"])
