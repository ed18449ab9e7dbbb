"""Finds profiles in folders and at URLs, what belongs to each, and where it was recorded.

Next to a profile: its ETRecords and programs, which are those of its own name, otherwise all in its
folder; and its sidecar `run.json`. Symbolic links to folders are not followed; hidden files, and
what is not a regular file, are left out.

The `Dimensions` of a profile, which are device, build, model and tags, come from three places; one
earlier in this list wins, value by value:

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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from viewer.analysis.comparison.sessions import Conditions
from viewer.analysis.links.logged_identities import LoggedIdentities, signatures
from viewer.analysis.nodes.instruction_nodes import kernel_name
from viewer.analysis.nodes.xnnpack_events import types_that_log
from viewer.analysis.nodes.xnnpack_operators import may_be_logged, operators_of
from viewer.codecs.atomic_file import is_same_file
from viewer.codecs.reading import UnreadableFile
from viewer.dataclasses import dataclass, field
from viewer.export.table_files import storable
from viewer.fleet.remote import is_url, list_url, read_head, read_small
from viewer.formats import HEAD_SIZE, LOG, PACKED, PLAIN_CSV, choose
from viewer.model.trace import Trace
from viewer.program.executables import Executable, ExecutableMethod, InstructionKind
from viewer.program.program import Method, Program, base_name
from viewer.recording.plan import is_system_trace
from viewer.recording.run_file import conditions_in

# With these extensions, an unreadable file is a failure; otherwise it is not a profile.
SURELY = (".etdp", ".etdump", ".pftrace")
# The same for what profiles are linked with: a loss of it would leave rows without operators.
_SURELY_RECORDS = (".etrecord", ".pte")
SIDECAR = "run.json"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """One file: its path or URL, its path below its source, its size, and when it changed.

    relative: with "/". changed: a text that differs after a change, such as the time in ns.
    modified: that time, in seconds since 1970; None if it is not known.
    """

    path: str
    relative: str
    size: int
    changed: str
    modified: float | None = None

    @property
    def folder(self) -> str:
        """Its folder, as a path or URL."""
        return self.path.replace(os.sep, "/").rpartition("/")[0]

    @property
    def name(self) -> str:
        """Its name without folders."""
        return self.relative.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class FoundProfile:
    """A profile with the files that it may be linked with, and its sidecar."""

    file: FoundFile
    records: tuple[FoundFile, ...] = ()
    sidecar: FoundFile | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The profiles of some sources, the unreadable files, and the number of files of other kinds.

    unreadable: each file with the reason, as a sentence.
    """

    profiles: tuple[FoundProfile, ...]
    unreadable: tuple[tuple[FoundFile, str], ...]
    others: int


class NoSource(Exception):
    """A source does not exist or cannot be listed; the message says what to do."""


def find_profiles(
    sources: Sequence[str],
    *,
    records: str | None = None,
    leave_out: str | None = None,
) -> Found:
    """Return all profiles in folders, files and URLs, sorted by path; as for `found_profiles`."""
    return joined(found_profiles(sources, records=records, leave_out=leave_out))


def joined(parts: Iterable[Found]) -> Found:
    """Return several as one."""
    every = tuple(parts)
    profiles = [profile for part in every for profile in part.profiles]
    return Found(
        tuple(sorted(profiles, key=lambda profile: profile.file.path)),
        tuple(pair for part in every for pair in part.unreadable),
        sum(part.others for part in every),
    )


def found_profiles(
    sources: Sequence[str],
    *,
    records: str | None = None,
    leave_out: str | None = None,
    is_present: Callable[[str], bool] = lambda _: False,
) -> Iterator[Found]:
    """Yield all profiles, those of some folders at once, as what belongs together is in one folder.

    Of several sources, all are one part: a file of one may belong to a profile of another. records:
    a folder or URL whose ETRecords are for all profiles, instead of those next to each. leave_out:
    a folder to ignore. is_present: whether a path is known to be a profile: its first bytes are not
    read. Raises NoSource.
    """
    record_files = None if records is None else _given_records(records)
    if len(sources) == 1:
        for files in _files(sources[0], leave_out):
            yield _found_in([(sources[0], files)], record_files, is_present)
        return
    every = [(source, files) for source in sources for files in _files(source, leave_out)]
    yield _found_in(every, record_files, is_present)


def _found_in(
    listed: Iterable[tuple[str, Sequence[FoundFile]]],
    record_files: tuple[FoundFile, ...] | None,
    is_present: Callable[[str], bool],
) -> Found:
    """The profiles of some folders. listed: a source, and files of it."""
    profiles: dict[str, FoundFile] = {}
    nearby: dict[str, list[FoundFile]] = {}
    sidecars: dict[str, FoundFile] = {}
    unreadable: list[tuple[FoundFile, str]] = []
    others = 0
    for source, file in ((source, file) for source, files in listed for file in files):
        if file.path in profiles:
            continue
        if file.name == SIDECAR or file.name.endswith(f".{SIDECAR}"):
            sidecars[file.path.replace(os.sep, "/")] = file
            others += 1
        elif is_present(file.path):
            profiles[file.path] = file
        else:
            kind = _kind(file, is_named=file.path == os.path.abspath(source))
            if kind == "profile":
                profiles[file.path] = file
            elif kind == "record":
                nearby.setdefault(file.folder, []).append(file)
            elif kind:
                unreadable.append((file, kind))
            else:
                others += 1
    # Of many profiles with the same records, all have one tuple of these.
    of_folders = {folder: tuple(files) for folder, files in nearby.items()}
    complete = []
    for file in sorted(profiles.values(), key=lambda file: file.path):
        of_folder = of_folders.get(file.folder, ()) if record_files is None else record_files
        stem = file.path.replace(os.sep, "/").rpartition(".")[0]
        sidecar = sidecars.get(f"{stem}.{SIDECAR}") or sidecars.get(f"{file.folder}/{SIDECAR}")
        complete.append(FoundProfile(file, records_of(file, of_folder), sidecar))
    return Found(tuple(complete), tuple(unreadable), others)


def records_of(profile: FoundFile, nearby: tuple[FoundFile, ...]) -> tuple[FoundFile, ...]:
    """Return the ETRecords of a profile's own name, else all that there are, as the same tuple."""
    stem = os.path.splitext(profile.name)[0]
    return tuple(file for file in nearby if os.path.splitext(file.name)[0] == stem) or nearby


def _kind(file: FoundFile, *, is_named: bool = False) -> str:
    """Return "profile", "record", "" for other files, or why a file cannot be read.

    is_named: whether it is a source itself, and not in a folder.
    """
    if is_url(file.path) and file.path.lower().endswith(SURELY):
        return "profile"  # its head takes a request; the worker that reads it finds out
    if is_system_trace(file.path):
        return ""  # it has no inferences
    try:
        if is_url(file.path):
            head = read_head(file.path, HEAD_SIZE)
        else:
            with open(file.path, "rb") as opened:
                head = opened.read(HEAD_SIZE)
        kind = choose(head, file.path)
        if kind.name == PACKED and not is_url(file.path):
            from viewer.formats.packed import inner_head

            head = inner_head(file.path)
            kind = choose(head, file.path)
    except UnreadableFile as error:
        return str(error) if file.path.lower().endswith((*SURELY, *_SURELY_RECORDS)) else ""
    except OSError as error:
        return f"{file.path}: it cannot be read ({error.strerror or error})"
    if kind.name in (LOG, PACKED) and not is_named:
        return ""  # most logs have no profile
    if kind.name == PLAIN_CSV:
        from viewer.formats.table.plain_csv import shows_columns

        return "profile" if shows_columns(head) else ""  # else any table of numbers
    if kind.kind == "trace":
        return "profile"
    if file.path.lower().endswith(kind.suffixes) and kind.name != "Python source":
        return "record"
    if file.path.lower().endswith(_SURELY_RECORDS):
        return f"{file.path}: its content is not what its name states ({kind.name})"
    return ""


def _given_records(folder: str) -> tuple[FoundFile, ...]:
    every = (file for files in _files(folder, None) for file in files)
    found_files = tuple(file for file in every if _kind(file) == "record")
    if not found_files:
        raise NoSource(f"{folder}: there is no ETRecord or program in it (--records)")
    return found_files


def _files(source: str, leave_out: str | None) -> Iterator[list[FoundFile]]:
    """Yield the regular files of a source, those of a folder together. Raises NoSource."""
    if is_url(source):
        is_empty = True
        try:
            for listed in list_url(source):
                is_empty &= not listed
                yield [
                    FoundFile(*file)
                    for file in listed
                    if leave_out is None or not file.url.startswith(f"{leave_out}/")
                ]
        except (OSError, ImportError) as error:
            raise NoSource(f"{source}: it cannot be listed ({error})") from error
        if is_empty:
            raise NoSource(f"{source}: there is no file")
        return
    path = os.path.abspath(source)
    if os.path.isfile(path):
        yield [_file_of(path, os.path.basename(path), os.stat(path))]
    elif os.path.isdir(path):
        yield from _files_below(path, "", leave_out)
    else:
        raise NoSource(f"{source}: no such file or folder")


def _file_of(path: str, relative: str, status: os.stat_result) -> FoundFile:
    changed = str(status.st_mtime_ns)
    return FoundFile(path, relative, status.st_size, changed, status.st_mtime)


def _files_below(folder: str, relative: str, leave_out: str | None) -> Iterator[list[FoundFile]]:
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError:
        return
    inside, files = [], []
    for entry in entries:
        if entry.name.startswith("."):
            continue
        below = f"{relative}/{entry.name}" if relative else entry.name
        try:
            if entry.is_dir(follow_symlinks=False):
                inside.append((entry.path, below))
            elif entry.is_file():
                status = entry.stat()
                files.append(_file_of(entry.path, below, status))
        except OSError:
            continue
    yield files
    for path, below in inside:
        if leave_out is None or not is_same_file(path, leave_out):
            yield from _files_below(path, below, leave_out)


# So many of each kind are compared with a profile in full.
MOST_RECORDS = 8
# An instruction and what it calls: an operator, any, or a delegate. Or, wherever it is, an
# identifier, an operator whose node may log one, or an operator.
_Token = tuple[int, str]
_ANY, _DELEGATE = "", "delegate"
_IDENTIFIER, _LOGGED, _OPERATOR = -1, -2, -3


@dataclass(slots=True)
class RecordIndex:
    """What each method of some records would log.

    To compare each of a hundred records with each profile would take a hundred times as long: those
    that have most in common with what a profile logged are then compared in full.
    """

    # Token -> the methods that have it, by their number.
    _methods_of: dict[_Token, list[int]] = field(default_factory=dict)
    # Of each method, the number of its record and of its tokens.
    _record_of: list[int] = field(default_factory=list)
    _sizes: list[int] = field(default_factory=list)
    # Number of a record -> its kind.
    _kinds: dict[int, str] = field(default_factory=dict)

    def add(self, number: int, record: Program | Executable) -> None:
        """Add a record under a number of its own."""
        for method in record.methods:
            tokens = set(_tokens_of(method))
            for token in tokens:
                self._methods_of.setdefault(token, []).append(len(self._sizes))
            self._record_of.append(number)
            self._sizes.append(len(tokens))
        self._kinds[number] = _kind_of(record)

    def closest(self, trace: Trace) -> list[int]:
        """Return the numbers of the records that a trace may belong to, ascending.

        A record without anything in common with the trace is none of them.
        """
        shares: dict[int, float] = {}
        for logged in set(map(frozenset, _logged_by_scope(trace).values())):
            common = Counter(m for token in logged for m in self._methods_of.get(token, ()))
            for method, count in common.items():
                share = count / (len(logged) + self._sizes[method] - count)
                record = self._record_of[method]
                shares[record] = max(shares.get(record, 0.0), share)
        best = sorted(shares, key=lambda record: (-shares[record], record))
        of_kind = [
            [r for r in best if self._kinds[r] == kind] for kind in set(self._kinds.values())
        ]
        return sorted(record for records in of_kind for record in records[:MOST_RECORDS])


def _kind_of(record: Program | Executable) -> str:
    """What records are compared with: those of their kind, as other kinds log more or less."""
    if isinstance(record, Executable):
        return "program"
    if record.delegates_only:
        return "map"
    has_map = any(method.handles or method.delegates for method in record.methods)
    return "ETRecord" if has_map else "ETRecord of branches alone"


def _logged_by_scope(trace: Trace) -> dict[int, set[_Token]]:
    tokens: dict[int, set[_Token]] = {}
    for run in signatures(trace):
        tokens.setdefault(run.scope, set()).update(_logged(run.identities))
    return tokens


def _logged(identities: LoggedIdentities) -> Iterator[_Token]:
    for instruction, operators in identities.kernels.items():
        yield instruction, _ANY  # a pass may have put another kernel there
        for operator in operators:
            yield instruction, operator
            yield _OPERATOR, operator
    yield from ((instruction, _DELEGATE) for instruction in identities.delegate_calls)
    for identifiers in identities.identifiers.values():
        for text in map(str, identifiers):
            yield _IDENTIFIER, text
            yield from ((_LOGGED, name) for name in operators_of(types_that_log(text)))


def _tokens_of(method: Method | ExecutableMethod) -> Iterator[_Token]:
    """Yield what a method would log."""
    if isinstance(method, ExecutableMethod):
        for instruction in method.instructions:
            if instruction.kind is InstructionKind.KERNEL_CALL:
                name = kernel_name(instruction)
                yield from ((instruction.number, _ANY), (instruction.number, name))
                yield _OPERATOR, name
            elif instruction.kind is InstructionKind.DELEGATE_CALL:
                yield instruction.number, _DELEGATE
        return
    yield from ((_OPERATOR, name) for name in method.in_branches)
    for number, handles in method.handles.items():
        operators = filter(None, map(method.by_handle.get, handles))
        names = {base_name(node.op) for operator in operators for node in operator.nodes}
        if number in method.delegates:
            yield from ((_LOGGED, name) for name in names if may_be_logged(name))
            continue
        yield number, _ANY
        for name in names:
            yield from ((number, name), (_OPERATOR, name))
    for number, delegate in method.delegates.items():
        if number >= 0:
            yield number, _DELEGATE
        yield from ((_IDENTIFIER, str(identifier)) for identifier in delegate.entries or ())


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
    path: str, sidecar: str | None, pattern: PathPattern | None, label: Mapping[str, str] | None
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
