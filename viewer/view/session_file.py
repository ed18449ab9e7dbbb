"""Session files (`.opscope`): what was open, how it was linked and seen, as readable JSON. No Qt.

    {"opscope_session": 1, "tool": "Opscope 0.1",
     "inputs": [{"path": "runs/net.etdp", "size": 4711, "sha256": "...", "absolute": "/..."}],
     "choices": {...}, "view": {...}}

Inputs are named by their place relative to the file, so that both can be moved together, to another
machine too; else by where they were, by a name beside the file, or there by size and hash. What is
not found is asked for. Choices and view name files by their number among the inputs, slices by
their position in their file (`source_row`), tracks by their names, times by ns from the begin of
the first profile: so all of it holds where another input is missing or has changed.

Values of the wrong type are refused as a whole, with the place in the file; numbers and names of
what is not there are left out, each with a sentence.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import msgspec

import viewer
from viewer.codecs.atomic_file import WriteCancelled, write_whole
from viewer.codecs.file_stamps import FileStamp, hash_facts, stamp_of
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, never_cancelled
from viewer.formats import head_of
from viewer.program.sources.files import Substitution
from viewer.view.state import LONGEST_NAME, LONGEST_NOTE
from viewer.workspace.link_choices import Choices, chosen
from viewer.workspace.workspace import Workspace

SUFFIX = ".opscope"
VERSION = 1
_FIRST_KEY = b'"opscope_session"'
_HEAD = 256  # bytes in which the first key stands
# A million selected slices are 8 MB of numbers; what is longer was not written by Opscope.
_LONGEST = 64 << 20
# So many files beside a session file are compared by size to find one that was renamed.
_MOST_LOOKED_AT = 2000


Ns = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
Number = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]


class SavedInput(msgspec.Struct, frozen=True, omit_defaults=True):
    """One open file. path: relative to the session file where it can be, with "/" between."""

    path: str
    size: int = -1
    sha256: str = ""
    absolute: str = ""


class LinkChoice(msgspec.Struct, frozen=True):
    """A profile and the record that it is linked to because the user says so; None for none."""

    profile: int
    record: int | None


class MethodChoice(msgspec.Struct, frozen=True):
    """Of which method the runs of a scope of a profile are."""

    profile: int
    scope: str
    method: str


class ColumnChoice(msgspec.Struct, frozen=True):
    """The column whose values are a profile's identifiers, "" for none."""

    profile: int
    column: str


class ClockChoice(msgspec.Struct, frozen=True):
    """How long a tick of a profile lasts, "5/4"; of the cycles of debug info where it is None."""

    profile: int | None
    ns_per_tick: str


class SourcePath(msgspec.Struct, frozen=True):
    """What was recorded below one path lies below another one."""

    recorded: str
    here: str


class SavedChoices(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the user decided about the inputs."""

    links: tuple[LinkChoice, ...] = ()
    methods: tuple[MethodChoice, ...] = ()
    columns: tuple[ColumnChoice, ...] = ()
    clocks: tuple[ClockChoice, ...] = ()
    source_paths: tuple[SourcePath, ...] = ()


class SavedRows(msgspec.Struct, frozen=True):
    """Slices of one input, by their positions in it."""

    input: int
    rows: tuple[Number, ...]


class SavedPlace(msgspec.Struct, frozen=True, array_like=True):
    """A process of an input, or a track of it: [0, "net.etdp"], [0, "net.etdp", "forward"]."""

    input: int
    process: str
    thread: str | None = None


class SavedMove(msgspec.Struct, frozen=True):
    """A process or track that was dragged before another one, None: after them all."""

    what: SavedPlace
    before: SavedPlace | None = None


class RowHeight(msgspec.Struct, frozen=True):
    """How high the rows of a process are, in px."""

    what: SavedPlace
    px: int


class SavedTracks(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which tracks are seen, and how they lie."""

    folded: tuple[SavedPlace, ...] = ()
    pinned: tuple[SavedPlace, ...] = ()
    hidden: tuple[SavedPlace, ...] = ()
    moved: tuple[SavedMove, ...] = ()
    heights: tuple[RowHeight, ...] = ()
    filter: str = ""
    order: str = ""


class SavedBookmark(msgspec.Struct, frozen=True, omit_defaults=True):
    """A mark: a moment where both times are one."""

    start_ns: Ns
    end_ns: Ns
    name: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)] = ""
    note: Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)] = ""


class SavedArea(msgspec.Struct, frozen=True):
    """A selected span of time on some tracks."""

    start_ns: Ns
    end_ns: Ns
    tracks: tuple[SavedPlace, ...]


class SavedOperators(msgspec.Struct, frozen=True):
    """Highlighted operators of the record of an input, by their positions in it."""

    input: int
    operators: tuple[int, ...]


class SavedRun(msgspec.Struct, frozen=True):
    """The inference that costs are of: its position among the runs of an input."""

    input: int
    run: int


class SavedView(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was seen and selected. Times are ns from the begin of the first profile.

    front: the panels that stood before their fellow tabs, by the names of
    `viewer.gui.window.frame.docks`.
    """

    start_ns: Ns = 0
    end_ns: Ns = 0
    slice: SavedRows | None = None
    others: tuple[SavedRows, ...] = ()
    operators: SavedOperators | None = None
    area: SavedArea | None = None
    tracks: SavedTracks = SavedTracks()
    color_by: str = ""
    lit: tuple[str, int] | None = None
    run: SavedRun | None = None
    inferences: str = ""
    measured: tuple[Ns, Ns] | None = None
    marks: tuple[SavedBookmark, ...] = ()
    mark: int | None = None
    search: str = ""
    only_hits: bool = False
    ruler: str = ""
    front: tuple[str, ...] = ()


class SavedSession(msgspec.Struct, frozen=True):
    """A whole session file."""

    opscope_session: int
    inputs: tuple[SavedInput, ...]
    choices: SavedChoices = SavedChoices()
    view: SavedView | None = None
    tool: str = f"Opscope {viewer.__version__}"


@dataclass(frozen=True, slots=True)
class FoundInput:
    """Where an input is now, None if it was not found; and whether its size is another."""

    input: SavedInput
    path: str | None
    changed: bool = False


# -- writing -------------------------------------------------------------------------------------


def input_of(path: str, stamp: FileStamp | None, folder: str) -> SavedInput:
    """An open file as a session file in a folder names it, not hashed yet."""
    try:
        shown = os.path.relpath(path, folder)
    except ValueError:  # on another drive
        shown = path
    return SavedInput(shown.replace(os.sep, "/"), -1 if stamp is None else stamp.size, "", path)


def encoded(session: SavedSession) -> bytes:
    """The bytes of a session file."""
    return bytes(msgspec.json.format(msgspec.json.encode(_clean(session)), indent=2)) + b"\n"


def _clean(session: SavedSession) -> Any:
    """The same as plain values, with texts that UTF-8 can hold: a file name may be any bytes."""
    return _storable(msgspec.to_builtins(session))


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: _storable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(one) for one in value]
    return value


def write(
    path: str,
    session: SavedSession,
    stamps: Sequence[FileStamp | None],
    progress: Progress,
    cancelled: Cancelled,
) -> int:
    """Hash the inputs and write the file, whole or not at all; returns how many inputs it has.

    stamps: of the inputs when they were read; one that has changed since is not hashed. Raises
    OSError, WriteCancelled.
    """
    inputs, count = [], len(session.inputs)
    for done, (one, stamp) in enumerate(zip(session.inputs, stamps, strict=True)):
        progress(done, count)
        facts = hash_facts(one.absolute, stamp, cancelled)
        inputs.append(msgspec.structs.replace(one, sha256=facts.get("sha256", "")))
    if cancelled():
        raise WriteCancelled
    write_whole(path, encoded(msgspec.structs.replace(session, inputs=tuple(inputs))))
    progress(count, count)
    return count


# -- reading -------------------------------------------------------------------------------------


def is_session(path: str) -> bool:
    """Whether a file begins as a session file does; False for what cannot be read, or is no file
    on a disk: to read that may take forever."""
    try:
        head = head_of(path)[:_HEAD]
    except UnreadableFile:
        return False
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" and _FIRST_KEY in head


def read(path: str) -> SavedSession:
    """A session file. Raises UnreadableFile."""
    stamp = stamp_of(path)
    if stamp is None:
        raise UnreadableFile(path, "there is no such file", remedy="Check the path")
    if stamp.size > _LONGEST:
        raise UnreadableFile(
            path,
            f"it has {stamp.size} bytes, a session file at most {_LONGEST}",
            remedy="Open the profiles themselves",
        )
    try:
        with open(path, "rb") as file:
            data = file.read(_LONGEST + 1).removeprefix(b"\xef\xbb\xbf")
        version = msgspec.json.decode(data, type=_Version).opscope_session
        if version == VERSION:
            return msgspec.json.decode(data, type=SavedSession)
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise UnreadableFile(
            path,
            f"this is no session file: {error}",
            remedy="Open the profiles themselves and save the session again",
        ) from error
    raise UnreadableFile(
        path,
        f"a newer Opscope wrote it (session format {version}; this one reads {VERSION})",
        remedy="Open it with that version",
    )


class _Version(msgspec.Struct):
    opscope_session: int


def find_inputs(session: SavedSession, folder: str, cancelled: Cancelled) -> list[FoundInput]:
    """Where the inputs are, looked for from the folder of the session file on.

    Raises WriteCancelled if `cancelled` turns true: files beside may have to be hashed.
    """
    found: list[FoundInput] = []
    beside: list[tuple[str, FileStamp]] | None = None
    for one in session.inputs:
        place = next((path for path in _places(one, folder) if stamp_of(path) is not None), None)
        if place is None and one.sha256 and one.size >= 0:
            beside = list(_files_in(folder)) if beside is None else beside
            place = next(
                (
                    path
                    for path, stamp in beside
                    if stamp.size == one.size
                    and hash_facts(path, stamp, cancelled).get("sha256") == one.sha256
                ),
                None,
            )
        stamp = None if place is None else stamp_of(place)
        changed = stamp is not None and one.size >= 0 and stamp.size != one.size
        found.append(FoundInput(one, place, changed))
    return found


def _places(one: SavedInput, folder: str) -> Iterator[str]:
    """Where an input may be: only plain local paths, as the file is data."""
    parts = [part for part in one.path.split("/") if part]
    if "\0" in one.path + one.absolute or not parts:
        return
    for path in (os.path.join(folder, *one.path.split("/")), one.absolute):
        # No name of another machine or of a device: Windows knows those by two leading slashes.
        if path and not path.startswith(("//", "\\\\")) and os.path.isabs(path):
            yield os.path.normpath(path)
    yield os.path.join(folder, parts[-1])


def _files_in(folder: str) -> Iterator[tuple[str, FileStamp]]:
    """The plain files of a folder, of very many the first ones by name."""
    try:
        names = sorted(os.listdir(folder))[:_MOST_LOOKED_AT]
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        stamp = stamp_of(path)
        if stamp is not None:
            yield path, stamp


def changed_inputs(found: Sequence[FoundInput], cancelled: Callable[[], bool]) -> list[str]:
    """The paths of those whose content is not what it was when the session was saved."""
    changed = []
    for one in found:
        if one.path is None or not one.input.sha256:
            continue
        facts = hash_facts(one.path, stamp_of(one.path), cancelled)
        if facts.get("sha256", one.input.sha256) != one.input.sha256:
            changed.append(one.path)
    return changed


# -- choices -------------------------------------------------------------------------------------


def kept_choices(workspace: Workspace, inputs: Sequence[str]) -> SavedChoices:
    """What the user decided in a workspace, by the numbers of its files among some inputs."""
    number = {path: i for i, path in enumerate(inputs)}
    made = chosen(workspace)
    return SavedChoices(
        links=tuple(
            LinkChoice(number[profile], None if record is None else number[record])
            for profile, record in made.pairs
            if profile in number and (record is None or record in number)
        ),
        methods=tuple(
            MethodChoice(number[profile], scope, method)
            for profile, scope, method in made.methods_of
        ),
        columns=tuple(
            ColumnChoice(number[profile], column)
            for profile, column in made.columns
            if profile in number
        ),
        clocks=(
            *(ClockChoice(number[profile], str(rate)) for profile, rate in made.clocks),
            *([] if made.cycles is None else [ClockChoice(None, str(made.cycles))]),
        ),
        source_paths=tuple(SourcePath(s.recorded, s.local) for s in made.source_paths),
    )


def choices_of(saved: SavedChoices, paths: Sequence[str | None]) -> Choices:
    """The same as choices by path; those of an input that is not there are left out.

    paths: where each input is now, None for none.
    """

    def path(number: int | None) -> str | None:
        known = number is not None and 0 <= number < len(paths)
        return paths[number] if known and number is not None else None

    clocks, cycles = [], None
    for clock in saved.clocks:
        rate = _rate(clock.ns_per_tick)
        if rate is not None and clock.profile is None:
            cycles = rate
        elif rate is not None and (of := path(clock.profile)):
            clocks.append((of, rate))
    return Choices(
        pairs=tuple(
            (profile, path(one.record))
            for one in saved.links
            if (profile := path(one.profile)) and (one.record is None or path(one.record))
        ),
        columns=tuple(
            (profile, one.column) for one in saved.columns if (profile := path(one.profile))
        ),
        clocks=tuple(clocks),
        source_paths=tuple(_substitutions(saved.source_paths)),
        methods_of=tuple(
            (profile, one.scope, one.method)
            for one in saved.methods
            if (profile := path(one.profile))
        ),
        cycles=cycles,
    )


def _rate(text: str) -> Fraction | None:
    try:
        rate = Fraction(text) if len(text) < 50 else Fraction(0)
    except (ValueError, ZeroDivisionError):
        return None
    return rate if rate > 0 else None


def _substitutions(saved: Sequence[SourcePath]) -> Iterator[Substitution]:
    """Those that hold on this machine."""
    for one in saved:
        with contextlib.suppress(ValueError):  # it was stored on another system
            yield Substitution(one.recorded, one.here)


def with_inputs(paths: Sequence[str]) -> tuple[list[str], list[Choices], list[str]]:
    """Files, with the inputs of session files in place of these; the choices of each session, and a
    sentence for each file that cannot be had. For commands without a window."""
    files: list[str] = []
    choices: list[Choices] = []
    complaints: list[str] = []
    for path in paths:
        if not is_session(path):
            files.append(path)
            continue
        try:
            saved = read(path)
        except UnreadableFile as error:
            complaints.append(str(error))
            continue
        found = find_inputs(saved, os.path.dirname(os.path.abspath(path)), never_cancelled)
        complaints += (f"{path}: {f.input.path} was not found" for f in found if f.path is None)
        files += (f.path for f in found if f.path is not None)
        choices.append(choices_of(saved.choices, [f.path for f in found]))
    return list(dict.fromkeys(files)), choices, complaints
