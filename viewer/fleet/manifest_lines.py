"""The lines of a manifest: what each kind has, how it is read, and how it is written.

A lake can come from a stranger, so a line is validated once, here, where it is read. A path in a
line can only be that of a Parquet file in the folder of its table, or in `_tmp`.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal
from urllib.parse import quote

import msgspec

from viewer import __version__
from viewer.dataclasses import asdict, dataclass, field
from viewer.fleet.schemas import TABLES

# done: rows were written. kept: the lake has them already. failed: the file cannot be read.
# refused: it crashed its worker twice, or does not fit the memory of a worker.
DONE, KEPT, FAILED, REFUSED = "done", "kept", "failed", "refused"


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """The result of a unit. state: `DONE`, `KEPT`, `FAILED` or `REFUSED`; reason: why it failed.

    rows: table -> number of rows. problems: number of rows of `problems`. seconds: of work.
    """

    source: str
    size: int
    stamp: str
    state: str
    key: str = ""
    reason: str = ""
    seconds: float = 0.0
    rows: Mapping[str, int] = field(default_factory=dict)
    problems: int = 0


@dataclass(slots=True)
class SourceState:
    """The last outcome of a source, the last key that it had, and when."""

    outcome: UnitOutcome
    moment: float
    key: str
    key_moment: float


class DamagedSnapshot(OSError):
    """A snapshot of a manifest cannot be used."""


PARTS, SNAPSHOTS = "_tmp", "_snapshots"
IS_SNAPSHOT = re.compile(r"[0-9]{12}-[0-9a-f]{8}")
_TABLE, _ID = "|".join(TABLES), "[0-9a-f]{16}"
_NAME = rf"{_ID}-[0-9a-f]{{12}}|compact-{_ID}"
# A partition has any value, of characters that no file system takes for a part of a path.
PARTITIONS = ("build", "device", "model")
_PARTITION = rf"(?:(?:{'|'.join(PARTITIONS)})=[A-Za-z0-9_.~%-]{{1,200}}/)?"
_PATH = rf"table=({_TABLE})/schema=([1-9][0-9]{{0,3}})/{_PARTITION}({_NAME})\.parquet"
_IS_PATH = re.compile(_PATH)
_IS_PART = re.compile(rf"{PARTS}/{_ID}/({_NAME})\.({_TABLE})\.parquet")

_Text = Annotated[str, msgspec.Meta(pattern=r"\A[^\0]*\Z")]
_Path = Annotated[str, msgspec.Meta(pattern=rf"\A(?:{_PATH})\Z")]
_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
_Time = Annotated[float, msgspec.Meta(ge=0, lt=2**53)]
_Key = Annotated[str, msgspec.Meta(pattern=r"\A(?:[0-9a-f]{64})?\Z")]
_Table = Annotated[str, msgspec.Meta(pattern=rf"\A(?:{_TABLE})\Z")]


@dataclass(frozen=True, slots=True)
class LakeFile:
    """One Parquet file. path: below the lake. part: where it is until it is renamed to `path`.

    checksum: CRC-32 of its bytes; None if the version that wrote it had none. Raises ValueError for
    paths of another form.
    """

    table: str
    schema: int
    path: str
    part: str
    size: _Count
    rows: _Count
    checksum: _Count | None = None

    def __post_init__(self) -> None:
        path, part = _IS_PATH.fullmatch(self.path), _IS_PART.fullmatch(self.part)
        if path is None or part is None:
            raise ValueError(f"{self.path}, {self.part}: not the paths of a file of a lake")
        if path.groups() != (self.table, str(self.schema), part[1]) or part[2] != self.table:
            raise ValueError(f"{self.path}, {self.part}: not of one file")

    @property
    def partition(self) -> str:
        """The folder of its partition with its "/"; "" without one."""
        return "".join(f"{part}/" for part in self.path.split("/")[2:-1])

    @property
    def name(self) -> str:
        """The name of its batch, or of its compaction."""
        return self.path.rpartition("/")[2].partition(".")[0]


class UnitLine(msgspec.Struct, tag_field="kind", tag="unit"):
    """The outcome of one profile; one with rows names its batch."""

    at: _Time
    source: _Text
    size: _Count
    stamp: _Text
    state: Literal["done", "kept", "failed", "refused"]
    batch: _Text
    key: _Key
    reason: _Text
    seconds: _Time
    rows: dict[_Table, _Count]
    problems: _Count

    @property
    def outcome(self) -> UnitOutcome:
        """The outcome, as a build has it."""
        return UnitOutcome(
            self.source, self.size, self.stamp, self.state, self.key, self.reason, self.seconds,
            self.rows, self.problems,
        )  # fmt: skip


class FilesLine(msgspec.Struct, tag_field="kind", tag="files"):
    """A batch is complete: its Parquet files."""

    batch: _Text
    files: tuple[LakeFile, ...]


class CompactLine(msgspec.Struct, tag_field="kind", tag="compact"):
    """One file replaces others. dropped: the keys whose rows it leaves out."""

    at: _Time
    file: LakeFile
    replaces: tuple[_Path, ...]
    dropped: tuple[_Key, ...]

    def __post_init__(self) -> None:
        if not all(path.startswith(f"table={self.file.table}/") for path in self.replaces):
            raise ValueError(f"{self.file.path} replaces files of another table")


class BuildLine(msgspec.Struct, tag_field="kind", tag="build"):
    """A build starts."""


class EndLine(msgspec.Struct, tag_field="kind", tag="end"):
    """A build ends. build: that another one took for dead, so that it publishes nothing more."""

    build: _Text = ""


Line = UnitLine | FilesLine | CompactLine | BuildLine | EndLine


_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def parsed(text: bytes) -> Line:
    """Return a line. Raises ValueError or RecursionError for anything else."""
    try:
        return _DECODER.decode(text)
    except ValueError:
        # It refuses the paths that are not UTF-8, as Python writes them; json takes ten times as
        # long.
        line: Line = msgspec.convert(json.loads(text), Line)
        return line


def partition_of(column: str, value: str | None) -> str:
    """The folder of a partition, as Hive names it, with its "/"."""
    text = (
        "__HIVE_DEFAULT_PARTITION__" if value is None else quote(value, safe="", errors="replace")
    )
    if len(text) > 200:  # the names of folders have a limit
        text = f"{text[:180]}~{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return f"{column}={text}/"


def build_line(build: str, options: Mapping[str, object]) -> dict[str, object]:
    """The line of a build that starts."""
    return {
        "kind": "build", "build": build, "at": time.time(), "version": __version__,
        "options": options,
    }  # fmt: skip


def fence_line(build: str) -> dict[str, object]:
    """The line after which a build, which seems dead, publishes nothing more."""
    return {"kind": "end", "build": build, "at": time.time()}


def unit_line(unit: UnitOutcome, build: str, batch: str = "") -> dict[str, object]:
    """The line of an outcome. batch: with its rows."""
    facts = asdict(unit) | {"seconds": round(unit.seconds, 4), "rows": dict(unit.rows)}
    return {
        "kind": "unit", "build": build, "batch": batch, "at": time.time(),
        "version": __version__, **facts,
    }  # fmt: skip


def files_line(batch: str, files: Sequence[LakeFile]) -> dict[str, object]:
    """The line that completes a batch."""
    return {"kind": "files", "batch": batch, "at": time.time(), "files": [asdict(f) for f in files]}


def compact_line(
    file: LakeFile, replaces: Sequence[str], dropped: Iterable[str]
) -> dict[str, object]:
    """The line of a file that replaces others. replaces: their paths. dropped: keys left out."""
    return {
        "kind": "compact", "at": time.time(), "version": __version__, "file": asdict(file),
        "replaces": list(replaces), "dropped": sorted(dropped),
    }  # fmt: skip
