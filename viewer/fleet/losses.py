"""What a lake lost: files that are not as its manifest states, and what of it no other file has.

Every file is compared with the manifest before an answer: its size, its CRC-32, its rows and
columns. That takes 20 µs a file and a second for 5 GB; DuckDB itself checks none of it, and adds up
damaged pages without a word.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from viewer.dataclasses import dataclass
from viewer.fleet.lake_folder import BucketFolder, LakeFolder
from viewer.fleet.manifest import Manifest
from viewer.fleet.manifest_lines import LakeFile
from viewer.fleet.schemas import BOOL, FLOAT, INT, TABLES, lake_type
from viewer.model.times import counted, group_digits

_AT_ONCE = 1 << 20
_MOST_SHOWN = 3
MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a file does not count. is_damaged: it is there, and is no Parquet file of its table."""

    reason: str
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class LostFile:
    """A file that does not count. rows: how many of its rows no other file has."""

    path: str
    fault: Fault
    rows: int


@dataclass(frozen=True, slots=True)
class Losses:
    """What the answers of a lake lack.

    files: those with rows that no other file has. ignored: lines of the manifest that cannot be
    read. strays: Parquet files that no line names.
    """

    files: tuple[LostFile, ...] = ()
    ignored: int = 0
    strays: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """What is lost, a sentence for each kind."""
        said = []
        if self.files:
            rows = sum(lost_file.rows for lost_file in self.files)
            sentences = [f"{lost_file.path} ({lost_file.fault.reason})" for lost_file in self.files]
            said.append(
                f"answers lack {counted(rows, 'row')} of {counted(len(self.files), 'file')}: "
                f"{_listed(sentences)}. opscope fleet build reads their profiles again"
            )
        if self.strays:
            said.append(
                f"answers lack {counted(len(self.strays), 'Parquet file')} that the manifest does "
                f"not name: {_listed(self.strays)}"
            )
        if self.ignored:
            said.append(
                f"{counted(self.ignored, 'line')} of the manifest cannot be read: what they state "
                "does not count"
            )
        return said


def _listed(names: list[str] | tuple[str, ...]) -> str:
    left = len(names) - _MOST_SHOWN
    more = f" and {group_digits(left)} more" if left > 0 else ""
    return ", ".join(names[:_MOST_SHOWN]) + more


class FileChecks:
    """Compares files of a lake with its manifest; each again only once it changed."""

    def __init__(self, folder: LakeFolder | BucketFolder) -> None:
        self._folder = folder
        self._known: dict[LakeFile, tuple[tuple[object, ...], Fault | None]] = {}

    def fault(self, file: LakeFile, place: str, size: int | None) -> Fault | None:
        """Return why a file does not count, None if it does.

        place, size: where a listing has it, and how large; None if nowhere. In a bucket, the size
        is all that is compared: its contents cannot change but as a whole, and are verified by it.
        """
        if size is None:
            return Fault(MISSING)
        if size != file.size:
            return Fault(f"{size:,} bytes in place of {file.size:,}")
        if self._folder.is_bucket:
            return None
        status = self._folder.status(place)
        if status is None:
            return Fault(MISSING)
        stamp = (place, status.st_ino, status.st_mtime_ns)
        stamped = self._known.get(file)
        if stamped is None or stamped[0] != stamp:
            try:
                with self._folder.read(place) as opened:
                    stamped = stamp, _fault_of(opened, file)
            except FileNotFoundError:
                return Fault(MISSING)
            except OSError as error:
                return Fault(error.strerror or str(error), is_damaged=True)
            self._known[file] = stamped
        return stamped[1]

    def damage(self, file: LakeFile) -> str:
        """Return why a file cannot be read to its end, "" if it can."""
        try:
            with self._folder.read(file.path) as opened:
                return _damage_of(opened, file, all_pages=True)[0]
        except OSError as error:
            return error.strerror or str(error)


def checksum(file: BinaryIO) -> int:
    """The CRC-32 of a file. Raises OSError."""
    crc = 0
    file.seek(0)
    while block := file.read(_AT_ONCE):
        crc = zlib.crc32(block, crc)
    file.seek(0)
    return crc


def _fault_of(opened: BinaryIO, file: LakeFile) -> Fault | None:
    is_same = file.checksum in (None, checksum(opened))
    damage, rows = _damage_of(opened, file, all_pages=not is_same)
    if damage:
        return Fault(damage, is_damaged=True)
    if rows != file.rows:
        return Fault(f"{counted(rows, 'row')} in place of {file.rows:,}")
    return None if is_same else Fault("its bytes are not those that were written")


def _damage_of(opened: BinaryIO, file: LakeFile, *, all_pages: bool) -> tuple[str, int]:
    """Why a file is no Parquet file of its table, "" if it is one, and the number of its rows."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(opened, page_checksum_verification=all_pages) as content:
            wrong = _wrong_column(content.schema_arrow, file.table)
            if all_pages:
                for _ in content.iter_batches():
                    pass
            return wrong, content.metadata.num_rows
    # Damage can also make it need all memory, or have names that are not UTF-8.
    except (OSError, pa.ArrowException, ValueError, MemoryError) as error:
        return str(error).partition("\n")[0] or type(error).__name__, 0


def _wrong_column(schema: object, table: str) -> str:
    """What is wrong with the columns of a file, "" for nothing. Later versions add some."""
    from pyarrow import types

    is_of = {INT: types.is_int64, FLOAT: types.is_float64, BOOL: types.is_boolean}
    expected = {column.name: lake_type(column) for column in TABLES[table].columns}
    seen = set()
    for field in schema:  # type: ignore[attr-defined]
        if field.name.casefold() in seen:
            return f"it has the column {field.name} twice"
        seen.add(field.name.casefold())
        if field.name in expected and not is_of.get(expected[field.name], types.is_string)(
            field.type
        ):
            return f"its column {field.name} is {field.type}, not {expected[field.name]}"
    return ""


def table_files(folder: LakeFolder | BucketFolder) -> Iterator[tuple[str, int]]:
    """Yield the Parquet files in the folders of tables, with their sizes. Raises OSError."""
    for name, size in folder.entries(".").items():
        if size is None and name.startswith("table="):
            for path, file_size in folder.files_below(name):
                if path.endswith(".parquet"):
                    yield path, file_size


def lost_parts(manifest: Manifest, faults: Mapping[str, Fault]) -> set[tuple[str, str]]:
    """The batches and tables whose rows do not count. faults: of files, by path."""
    if not faults:
        return set()
    return {(batch, table) for batch, table, path in manifest.places() if path in faults}


def lost_files(manifest: Manifest, faults: Mapping[str, Fault]) -> tuple[LostFile, ...]:
    """The files with a fault that have rows which no other file has. Raises OSError."""
    if not faults:
        return ()
    lost = lost_parts(manifest, faults)
    outdated = manifest.outdated()
    # A file whose profiles were read again is no loss; nor are rows that queries leave out.
    missing = {path: manifest.files[path].rows for path in faults}
    for key in outdated | manifest.of_several_batches():
        tables: dict[str, dict[str, int]] = {}
        for table, batch, rows in manifest.rows_of(key):
            tables.setdefault(table, {})[batch] = rows
        for table, batch_rows in tables.items():
            is_elsewhere = key in outdated or any(
                (batch, table) not in lost for batch, rows in batch_rows.items() if rows
            )
            for batch, rows in batch_rows.items():
                if is_elsewhere and rows and (batch, table) in lost:
                    missing[manifest.place_of(batch, table)] -= rows
    return tuple(
        LostFile(path, fault, missing[path]) for path, fault in faults.items() if missing[path] > 0
    )
