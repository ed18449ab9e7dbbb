"""The lakes that are changed, and the witnesses beside them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from pathlib import Path

from tests.builders.fleet_dumps import RECORDED, Template, write_fleet
from tests.builders.lakes import built
from viewer.fleet.build import compact
from viewer.fleet.lake import Lake, session_of

# Folders and files that a lake must not touch: what lies around a folder of downloads.
OUTSIDE = "outside"


def write_sound(folder: Path, fleet: Path) -> list[Path]:
    """Write a fleet of six profiles and sound lakes of it; returns their folders.

    As built, with files not renamed yet, compacted, with a changed profile, without checksums,
    as of an older version, with one or two snapshots and lines after them, and with
    partitions.
    """
    write_fleet(fleet, 6, models=2, devices=1, builds=3)
    batched = _built(folder / "batched", fleet)
    half = _copy(batched, "half")
    for number, file in enumerate(Lake(str(half)).read().live_files()):
        if number % 2:
            (half / file.part).parent.mkdir(exist_ok=True)
            (half / file.path).rename(half / file.part)
    compacted = _copy(batched, "compacted")
    compact(Lake(str(compacted)), lambda *_: None)
    old = _copy(batched, "old")
    for path in (old / "_manifest").glob("*.jsonl"):
        lines = [json.loads(text) for text in path.read_bytes().splitlines()]
        for line in lines:
            for file in line.get("files", ()):
                file.pop("checksum")
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    changed = _copy(batched, "changed")
    first = min(fleet.rglob("*.etdp"))
    shutil.copy2(first, folder / "first")
    first.write_bytes(Template.of(RECORDED[0][0]).variant(3.0, 9))
    _built(changed, fleet)
    shutil.copy2(folder / "first", first)
    recompacted = _copy(changed, "recompacted")
    compact(Lake(str(recompacted)), lambda *_: None)
    snapped = _copy(batched, "snapped")
    _snap(snapped)
    first.write_bytes(Template.of(RECORDED[0][0]).variant(3.0, 9))
    _built(snapped, fleet)
    twice = _copy(snapped, "twice")
    _snap(twice)
    shutil.copy2(folder / "first", first)
    _built(twice, fleet)
    partitioned = _built(folder / "partitioned", fleet, partition="build")
    return [batched, half, compacted, old, changed, recompacted, snapped, twice, partitioned]


def _snap(lake: Path) -> None:
    """Write a snapshot."""
    session = session_of(Lake(str(lake)))
    session.end(least=1)
    session.close()


def _built(lake: Path, fleet: Path, partition: str | None = None) -> Path:
    from viewer.fleet import build

    most, build.MOST_UNITS = build.MOST_UNITS, 2
    try:
        built(lake, fleet, partition=partition)
    finally:
        build.MOST_UNITS = most
    return lake


def _copy(lake: Path, name: str) -> Path:
    return Path(shutil.copytree(lake, lake.with_name(name)))


def write_witnesses(folder: Path) -> None:
    """Write what must stay: settings, a project, and what looks like builds and lakes."""
    outside = folder / OUTSIDE
    for name in (
        "autostart/x.desktop", "victim.txt", "project/uv.lock", "project/uv/data.txt",
        "project/Cargo.lock", "0123456789abcdef.lock", "0123456789abcdef/data.parquet",
        "table=files/schema=1/x.parquet", "schema=1/x.parquet", "x.jsonl", "_lock", "_tmp/x",
    ):  # fmt: skip
        path = outside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"witness {name}\n")


def tree(folder: Path, leave_out: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a folder: types, permissions, times and contents."""
    found: dict[str, tuple[object, ...]] = {}
    for place, folders, files in os.walk(folder):
        if Path(place) == leave_out.parent:
            folders[:] = [name for name in folders if name != leave_out.name]
        for name in (*folders, *files):
            path = os.path.join(place, name)
            status = os.lstat(path)
            content = ""
            if stat.S_ISREG(status.st_mode):
                content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            times = (status.st_mtime_ns,) if name != leave_out.name else ()
            found[path] = (status.st_mode, status.st_ino, content, *times)
    return found
