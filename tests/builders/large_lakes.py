"""Writes the manifest of a lake of millions of profiles, as builds of them would have left it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from viewer.fleet.losses import checksum
from viewer.fleet.schemas import TABLES

BUILD = "fedcba9876543210"
_OF_BATCH, _OF_FILE = 64, 1_000_000
_TABLES = ("files", "inference_operators")


def source_of(number: int) -> str:
    """The path of a profile."""
    device, build = number // 1000 % 50, number // 50_000
    return f"/farm/build-{build:05}/phone-{device:02}/model/run{number:09}.etdp"


def key_of(number: int) -> str:
    """The key of a profile."""
    return hashlib.sha256(b"%d" % number).hexdigest()


def write_large(lake: Path, profiles: int, *, first: int = 0, is_compacted: bool = True) -> None:
    """Write a lake whose every 1000th profile failed, or more of one.

    first: the number of the first profile. is_compacted: into files of a million rows each; their
    rows have no values. Otherwise the files of its batches are missing.
    """
    for name in ("_manifest", "_tmp"):
        (lake / name).mkdir(parents=True, exist_ok=True)
    with open(lake / "_manifest" / f"{first:016x}.jsonl", "w") as file:
        for line in _lines(lake, first, first + profiles, is_compacted=is_compacted):
            file.write(json.dumps(line) + "\n")


def _lines(lake: Path, start: int, stop: int, *, is_compacted: bool) -> Iterator[dict[str, object]]:
    yield {"kind": "build", "build": BUILD, "at": 1.0}
    waiting: dict[str, list[str]] = {table: [] for table in _TABLES}
    rows = 0
    for first in range(start, stop, _OF_BATCH):
        name = f"{first:016x}-{first:012x}"
        numbers = range(first, min(first + _OF_BATCH, stop))
        for number in numbers:
            yield _unit(number, name)
        done = sum(number % 1000 != 0 for number in numbers)
        rows += done
        files = [_file(table, name, done) for table in _TABLES]
        yield {"kind": "files", "batch": name, "at": 2.0, "files": files}
        for file in files:
            waiting[str(file["table"])].append(str(file["path"]))
        if is_compacted and (rows >= _OF_FILE or numbers.stop == stop):
            for table, paths in waiting.items():
                file = _file(table, f"compact-{first:016x}", rows)
                file |= _written(lake / str(file["path"]), table, rows)
                yield {"kind": "compact", "at": 3.0, "file": file, "replaces": list(paths),
                       "dropped": []}  # fmt: skip
                paths.clear()
            rows = 0


def _unit(number: int, batch: str) -> dict[str, object]:
    is_done = number % 1000 != 0
    return {
        "kind": "unit", "build": BUILD, "batch": batch if is_done else "", "at": 1.5,
        "version": "1.0", "source": source_of(number), "size": 170_000 + number % 1000,
        "stamp": f"{number:024x}", "state": "done" if is_done else "failed",
        "key": key_of(number) if is_done else "",
        "reason": "" if is_done else f"{source_of(number)}: this is no profile",
        "seconds": 0.0171, "rows": dict.fromkeys(_TABLES, 1) if is_done else {}, "problems": 0,
    }  # fmt: skip


def _file(table: str, name: str, rows: int) -> dict[str, object]:
    return {
        "table": table, "schema": 1, "path": f"table={table}/schema=1/{name}.parquet",
        "part": f"_tmp/{BUILD}/{name}.{table}.parquet", "size": 10, "rows": rows, "checksum": 5,
    }  # fmt: skip


def _written(path: Path, table: str, rows: int) -> dict[str, object]:
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = TABLES[table].arrow()
    nulls = pa.Table.from_arrays([pa.nulls(rows, column.type) for column in schema], schema=schema)
    parquet.write_table(nulls, path, store_schema=False)
    with open(path, "rb") as file:
        return {"size": path.stat().st_size, "checksum": checksum(file)}
