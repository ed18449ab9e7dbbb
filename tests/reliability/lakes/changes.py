"""Changes of a lake: of its manifest, of its files and folders, of bytes and values in it.

Each kind says whether rows may then be missing without a word: only if nothing in the lake can
show it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from tests.reliability.fuzz import byte_changes, json_changes
from tests.reliability.fuzz.values import HOSTILE, NAMES, Dice
from tests.reliability.lakes.sound import OUTSIDE

_HEX = "0123456789abcdef"
_NAME = f"{_HEX}-{_HEX[:12]}"
# What a change raises after one that removed or spoiled what it looks for.
_IN_THE_WAY = (
    OSError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
    pa.ArrowException,
)


def change(lake: Path, dice: Dice) -> tuple[list[str], bool]:
    """Change a lake in one to three ways; returns their names, and whether figures may differ."""
    made, is_forged = [], False
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        kind = dice.choice(CHANGES)
        with contextlib.suppress(*_IN_THE_WAY):
            forged = kind(lake, dice)
            made.append(kind.__name__.strip("_"))
            is_forged |= bool(forged)
    return made, is_forged


# -- manifests -------------------------------------------------------------------------------------


def _manifest(lake: Path, dice: Dice) -> Path:
    return dice.choice(_manifests(lake))


def _manifests(lake: Path) -> list[Path]:
    return [path for path in sorted((lake / "_manifest").glob("*.jsonl")) if _is_plain(path)]


def _lines(path: Path) -> list[Any]:
    return [json.loads(text) for text in path.read_bytes().splitlines()]


def _write(path: Path, lines: list[Any]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _value_of_a_line(lake: Path, dice: Dice) -> None:
    path = _manifest(lake, dice)
    lines = _lines(path)
    json_changes.change(lines, dice)
    _write(path, lines)


def _text_of_a_manifest(lake: Path, dice: Dice) -> None:
    path = _manifest(lake, dice)
    path.write_bytes(json_changes.text_changed(path.read_bytes(), dice))


def _lines_of_a_manifest(lake: Path, dice: Dice) -> None:
    path = _manifest(lake, dice)
    lines = path.read_bytes().splitlines(keepends=True)
    at, how = dice.randrange(len(lines)), dice.randrange(5)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(dice.randrange(len(lines)), lines[at])
    elif how == 2:
        dice.shuffle(lines)
    elif how == 3:
        lines[at:] = []
    else:
        lines.insert(at, dice.choice((b"[" * 100_000, b"\0" * 50, b"9" * 9000, b"{}")) + b"\n")
    path.write_bytes(b"".join(lines))


def _number_of_a_line(lake: Path, dice: Dice) -> None:
    path = _manifest(lake, dice)
    lines = _lines(path)
    files = [file for line in lines for file in (*line.get("files", ()), line.get("file")) if file]
    holders = [*files, *(line["rows"] for line in lines if "rows" in line)]
    holder = dice.choice(holders)
    key = dice.choice([key for key, value in holder.items() if isinstance(value, int)])
    holder[key] = dice.choice((holder[key] + 1, holder[key] - 1, 0, -1, 2**63, 1e308, True, "5"))
    _write(path, lines)


def _path_of_a_line(lake: Path, dice: Dice) -> None:
    """A line that names a file outside, in each form that joins of paths fall for."""
    outside = lake.parent / OUTSIDE
    target = dice.choice(("victim.txt", "autostart/x.desktop", "project/uv.lock", "new.txt"))
    named = dice.choice((
        str(outside / target), f"../{OUTSIDE}/{target}", f"table=files/../../{OUTSIDE}/{target}",
        f"_tmp/../../{OUTSIDE}/{target}", f"table=files/schema=1/../../../{OUTSIDE}/{target}",
        f"..\\{OUTSIDE}\\{target}", f"../{OUTSIDE}/{target}\0.parquet", ".", "", "_lock",
        "_manifest",
        f"table=files/schema=1/{_NAME}.parquet/../../../../{OUTSIDE}/{target}",
        f"table=files/schema=1/build=/../../../{OUTSIDE}/{target}",
        f"table=files/schema=1/build=x/../../../../{OUTSIDE}/{_NAME}.parquet",
        f"table=files/schema=1/{_NAME}.parquet\n", f"//{outside}/{target}",
    ))  # fmt: skip
    (lake / "_tmp" / _HEX).mkdir(exist_ok=True)
    (lake / "_tmp" / _HEX / "p").write_text("x")
    part = dice.choice((f"_tmp/{_HEX}/p", named, f"_tmp/{_HEX}/{_NAME}.files.parquet"))
    file = {"table": "files", "schema": 1, "path": named, "part": part, "size": 1, "rows": 1}
    if dice.random() < 0.5:
        line = {"kind": "files", "batch": _NAME, "at": 1, "files": [file]}
    else:
        replaces = [named, *(dice.choice(_parquets(lake)) for _ in range(dice.randrange(2)))]
        line = {"kind": "compact", "at": 2e9, "file": file, "replaces": replaces, "dropped": []}
    if dice.random() < 0.4:
        lines = _lines(path := _manifest(lake, dice))
        for found in lines:
            for old in (*found.get("files", ()), found.get("file")):
                if old and dice.random() < 0.3:
                    old[dice.choice(("path", "part"))] = named
            if "replaces" in found:
                found["replaces"].append(named)
        _write(path, lines)
    else:
        _write(lake / "_manifest" / f"{dice.choice(('zz', _HEX))}.jsonl", [line])


def _circle(lake: Path, dice: Dice) -> None:
    names = [f"compact-{number:016x}" for number in range(dice.choice((1, 2, 3, 50)))]
    file = {"table": "files", "schema": 1, "size": 5, "rows": 0}
    lines = [
        {
            "kind": "compact", "at": dice.choice((1.0, number, -number, 2e9)), "dropped": [],
            "file": {**file, "path": f"table=files/schema=1/{name}.parquet",
                     "part": f"_tmp/{_HEX}/{name}.files.parquet"},
            "replaces": [f"table=files/schema=1/{names[number - 1]}.parquet"],
        }
        for number, name in enumerate(names)
    ]  # fmt: skip
    if dice.random() < 0.3:
        real = [path for path in _parquets(lake) if path.startswith("table=files/")]
        lines[0]["replaces"] += real
    _write(lake / "_manifest" / f"{dice.choice(('0', 'z'))}.jsonl", lines)


def _manifest_file(lake: Path, dice: Dice) -> None:
    path, how = _manifest(lake, dice), dice.randrange(5)
    if how == 0:
        path.unlink()
    elif how == 1:
        shutil.copy(path, path.with_name("copy.jsonl"))
    else:
        _replace(path, lake, dice)


# -- files and folders -----------------------------------------------------------------------------


def _parquets(lake: Path) -> list[str]:
    """Those that are files still: to open a pipe takes for ever."""
    found = [*lake.glob("table=*/**/*.parquet"), *lake.glob("_tmp/*/*.parquet")]
    return sorted(path.relative_to(lake).as_posix() for path in found if _is_plain(path))


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _parquet(lake: Path, dice: Dice) -> Path:
    return lake / dice.choice(_parquets(lake))


def _missing_file(lake: Path, dice: Dice) -> None:
    _parquet(lake, dice).unlink()


def _cut_file(lake: Path, dice: Dice) -> None:
    path = _parquet(lake, dice)
    data = path.read_bytes()
    path.write_bytes(data[: dice.randrange(len(data))] if dice.random() < 0.7 else data * 2)


def _swapped_files(lake: Path, dice: Dice) -> None:
    one, other = _parquet(lake, dice), _parquet(lake, dice)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def _stray_file(lake: Path, dice: Dice) -> None:
    path = _parquet(lake, dice)
    shutil.copy(path, path.with_name(f"{_NAME}.parquet"))


def _other_kind_of_file(lake: Path, dice: Dice) -> None:
    _replace(_parquet(lake, dice), lake, dice)


def _folder(lake: Path, dice: Dice) -> None:
    """A link in the place of a folder or of the lock, to what lies outside."""
    names = ["_tmp", "_manifest", "_lock", *(path.name for path in lake.glob("table=*"))]
    path = lake / dice.choice(names)
    if path.name.startswith("table=") and dice.random() < 0.5:
        path = next(path.iterdir())
    _replace(path, lake, dice)


def _builds(lake: Path, dice: Dice) -> None:
    """What looks like the temporary folder and the lock of a dead build."""
    outside, parts = lake.parent / OUTSIDE, lake / "_tmp"
    parts.mkdir(exist_ok=True)
    for name in (f"{_HEX}.lock", _HEX, f"{_HEX}.ended", "uv.lock", "uv"):
        if dice.random() < 0.6:
            target = dice.choice(
                (outside / "project", outside / "victim.txt", outside / "new", outside)
            )
            (parts / name).symlink_to(target)


def _replace(path: Path, lake: Path, dice: Dice) -> None:
    """Put a link, a folder, a pipe or nothing in the place of a file or folder."""
    outside = lake.parent / OUTSIDE
    kept = path.with_name(path.name + ".kept")
    path.rename(kept)
    how = dice.randrange(6)
    if how == 0:
        path.mkdir()
    elif how == 1:
        os.mkfifo(path)
    elif how == 2:
        path.symlink_to(kept.name)
    elif how == 3:
        path.symlink_to(path.name)
    elif how < 5:
        inside = sorted(one for one in outside.rglob("*") if one.is_dir() == kept.is_dir())
        path.symlink_to(dice.choice((*inside, outside / "new")))
    if how not in (2, 5):
        if kept.is_dir():
            shutil.rmtree(kept)
        else:
            kept.unlink()


# -- snapshots -------------------------------------------------------------------------------------


def _snapshot_part(lake: Path, dice: Dice) -> Path:
    """A part of a snapshot, or its header."""
    return dice.choice(sorted(path for path in lake.glob("_snapshots/*/*") if _is_plain(path)))


def _bytes_of_a_snapshot(lake: Path, dice: Dice) -> None:
    path = _snapshot_part(lake, dice)
    others = [_snapshot_part(lake, dice).read_bytes() for _ in range(2)]
    path.write_bytes(byte_changes.changed(path.read_bytes(), others, dice))


def _other_kind_of_snapshot_part(lake: Path, dice: Dice) -> None:
    path = _snapshot_part(lake, dice)
    _replace(dice.choice((path, path.parent, path.parent.parent)), lake, dice)


def _swapped_snapshots(lake: Path, dice: Dice) -> None:
    """A part of one snapshot in the place of that of another, or another part."""
    first, second = _snapshot_part(lake, dice), _snapshot_part(lake, dice)
    shutil.copy(first, second)


def _lines_without_their_snapshot(lake: Path, dice: Dice) -> None:
    """Lines before the place that a snapshot states, and after it."""
    _snapshot_part(lake, dice)
    path = _manifest(lake, dice)
    data = path.read_bytes()
    place = dice.randrange(len(data) + 1)
    path.write_bytes(dice.choice((data[:place], data + data, data[place:], b"\n" + data)))


def _values_of_a_snapshot(lake: Path, dice: Dice) -> bool:
    """Forged: other values, with a header that states just these bytes."""
    part = _snapshot_part(lake, dice)
    header = part.with_name("snapshot.json")
    facts = json.loads(header.read_bytes().partition(b"\n")[2])
    if part == header:
        json_changes.change(facts, dice)
    else:
        rows = parquet.read_table(part)
        for _ in range(dice.choice((1, 1, 3))):
            rows = _with_other_values(rows, dice)
        parquet.write_table(rows, part, compression="zstd", store_schema=False)
        data = part.read_bytes()
        facts["parts"][part.stem] = {"size": len(data), "checksum": zlib.crc32(data)}
    text = json.dumps(facts).encode()
    header.write_bytes(b"%08x\n%s\n" % (zlib.crc32(text), text))
    return True


# -- bytes and values ------------------------------------------------------------------------------


def _bytes_of_a_file(lake: Path, dice: Dice) -> bool:
    """Without checksums, nothing can show that a page has other values."""
    path = _parquet(lake, dice)
    others = [_parquet(lake, dice).read_bytes() for _ in range(2)]
    path.write_bytes(byte_changes.changed(path.read_bytes(), others, dice))
    return not _has_checksums(lake)


def _values_of_a_file(lake: Path, dice: Dice) -> bool:
    """Other values in a file; often with a manifest that states just these bytes."""
    path = _parquet(lake, dice)
    rows = parquet.read_table(path)
    for _ in range(dice.choice((1, 1, 3))):
        rows = _with_other_values(rows, dice)
    parquet.write_table(rows, path, compression="zstd")
    if dice.random() < 0.4:
        return not _has_checksums(lake)
    size, name = path.stat().st_size, path.relative_to(lake).as_posix()
    for manifest in _manifests(lake):
        lines = _lines(manifest)
        for line in lines:
            for file in (*line.get("files", ()), line.get("file")):
                if file and name in (file["path"], file["part"]):
                    file.update(size=size, checksum=None)
        _write(manifest, lines)
    return True


def _with_other_values(rows: pa.Table, dice: Dice) -> pa.Table:
    at = dice.randrange(rows.num_columns)
    field, values = rows.schema.field(at), rows.column(at).to_pylist()
    how = dice.randrange(6)
    if how == 0:
        return rows.remove_column(at)
    if how == 1:
        kind = dice.choice(
            (pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.list_(pa.int64()))
        )
        name = dice.choice((field.name, field.name.upper(), "extra", 'x"; DROP VIEW files; --'))
        return rows.append_column(name, pa.nulls(len(values), kind))
    known: tuple[Any, ...] = (None,)
    if pa.types.is_string(field.type):
        known = (None, *(name for name in NAMES if "\ud800" not in name), '{"a": 1}', "[1]", "{")
    elif pa.types.is_int64(field.type):
        known = (None, 0, -1, 2**63 - 1, -(2**63), 1000 * (values[0] or 0) if values else 0)
    elif pa.types.is_int32(field.type):
        known = (None, 0, -1, -2, 2**31 - 1)
    elif pa.types.is_binary(field.type) or pa.types.is_fixed_size_binary(field.type):
        known = (None, b"\xff" * 32, bytes(32), *values[:2])
    elif pa.types.is_float64(field.type):
        known = (None, 0.0, float("nan"), float("inf"), -1e308)
    elif pa.types.is_boolean(field.type):
        known = (None, True, False)
    if how == 2 and not pa.types.is_string(field.type):
        return rows.set_column(at, field.name, rows.column(at).cast(pa.string()))
    made = [dice.choice(known) if dice.random() < 0.5 else value for value in values]
    with contextlib.suppress(OverflowError):
        return rows.set_column(at, field, pa.array(made, field.type))
    return rows


def _has_checksums(lake: Path) -> bool:
    texts = [path.read_bytes() for path in _manifests(lake)]
    return any(b'"checksum": ' in text and b'"checksum": null' not in text for text in texts)


def _hostile_line(lake: Path, dice: Dice) -> None:
    """A line of a known kind with any values."""
    path = _manifest(lake, dice)
    lines = _lines(path)
    line = dict(dice.choice(lines))
    for key in list(line):
        if key != "kind" and dice.random() < 0.4:
            line[key] = dice.choice(HOSTILE)
    lines.insert(dice.randrange(len(lines) + 1), line)
    _write(path, lines)


CHANGES: tuple[Callable[[Path, Dice], bool | None], ...] = (
    _value_of_a_line, _text_of_a_manifest, _lines_of_a_manifest, _number_of_a_line,
    _path_of_a_line, _path_of_a_line, _circle, _hostile_line, _manifest_file, _missing_file,
    _cut_file, _swapped_files, _stray_file, _other_kind_of_file, _folder, _folder, _builds,
    _bytes_of_a_file, _bytes_of_a_file, _values_of_a_file, _values_of_a_file,
    _bytes_of_a_snapshot, _other_kind_of_snapshot_part, _swapped_snapshots,
    _lines_without_their_snapshot, _values_of_a_snapshot, _values_of_a_snapshot,
)  # fmt: skip
