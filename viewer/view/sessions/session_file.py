"""Session files (`.opscope`): the open files, their links and the view, as readable JSON. No Qt.

    {"opscope_session": 1, "tool": "Opscope 0.1",
     "inputs": [{"path": "runs/net.etdp", "size": 4711, "sha256": "...", "absolute": "/..."}],
     "choices": {...}, "view": {...}}

Inputs are found by their path relative to the session file, so that both can be moved together,
else by their absolute path, by name next to the session file, or there by size and hash. The user
is asked for missing ones. Choices and view refer to files by input number, to slices by their row
in the file (`source_row`), to tracks by name, and to clock groups by the input of their first
profile, from whose start times count in ns. So they stay valid if another input is missing or has
changed.

A value of the wrong type rejects the whole file, with its place in the file; numbers and names of
missing things are skipped, each with a message.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Annotated, Any

import msgspec

import viewer
from viewer.codecs.atomic_file import WriteCancelled, write_whole
from viewer.codecs.file_bytes import FileStamp, hash_facts, stamp_of
from viewer.codecs.json_values import memory_needed
from viewer.codecs.memory_budget import BUDGET, NotEnoughMemory, size_of
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.dataclasses import dataclass
from viewer.formats import too_large
from viewer.formats.table.stated_columns import is_columns
from viewer.model.times import parse_ratio
from viewer.program.source_files import Substitution
from viewer.view.derived_tracks import LONGEST_QUERY
from viewer.view.state import LONGEST_NAME, LONGEST_NOTE
from viewer.workspace.clocks import SameClock
from viewer.workspace.link_choices import Choices, chosen
from viewer.workspace.workspace import Workspace


class LinkChoice(msgspec.Struct, frozen=True):
    """A profile and the ETRecord that the user linked it to; None for no link."""

    profile: int
    record: int | None


class MethodChoice(msgspec.Struct, frozen=True):
    """The method of the runs in a scope of a profile."""

    profile: int
    scope: str
    method: str


class InferencesChoice(msgspec.Struct, frozen=True):
    """The method of some inferences in a scope of a profile, by their numbers in it."""

    profile: int
    scope: str
    numbers: tuple[int, ...]
    method: str


class PhaseChoice(msgspec.Struct, frozen=True):
    """The phase of some inferences in a scope of a profile, by their numbers; "" for none."""

    profile: int
    scope: str
    numbers: tuple[int, ...]
    phase: str


class ColumnChoice(msgspec.Struct, frozen=True):
    """The column whose values are a profile's identifiers, "" for none."""

    profile: int
    column: str


class ClockChoice(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ns per tick of a profile, "5/4"; of the cycles in debug info if the profile is None.

    delegate: the name of a delegate's clock in the profile, "" for the clock of the profile.
    """

    profile: int | None
    ns_per_tick: str
    delegate: str = ""


class TableColumns(msgspec.Struct, frozen=True):
    """What the columns of a plain CSV are, as the option --columns states it."""

    profile: int
    columns: str


class SharedClock(msgspec.Struct, frozen=True, omit_defaults=True):
    """Profiles that share a clock; by_date: placed by the time of day that they state."""

    profiles: tuple[int, ...]
    by_date: bool = False


class SourcePath(msgspec.Struct, frozen=True):
    """A path prefix in recorded source paths, and its replacement on this machine."""

    recorded: str
    here: str


class SavedChoices(msgspec.Struct, frozen=True, omit_defaults=True):
    """The user's decisions about the inputs."""

    links: tuple[LinkChoice, ...] = ()
    methods: tuple[MethodChoice, ...] = ()
    columns: tuple[ColumnChoice, ...] = ()
    clocks: tuple[ClockChoice, ...] = ()
    source_paths: tuple[SourcePath, ...] = ()
    # Not part of `methods`: an older Opscope skips it, instead of taking it for the whole scope.
    inferences: tuple[InferencesChoice, ...] = ()
    table_columns: tuple[TableColumns, ...] = ()
    same_clocks: tuple[SharedClock, ...] = ()
    phases: tuple[PhaseChoice, ...] = ()


# Saved form -> its field in `SavedChoices`, and in `Choices` what it has: a path, and its values.
_OF_PROFILES: dict[type[Any], tuple[str, str]] = {
    MethodChoice: ("methods", "methods_of"),
    InferencesChoice: ("inferences", "inferences_of"),
    ColumnChoice: ("columns", "columns"),
    TableColumns: ("table_columns", "table_columns"),
    PhaseChoice: ("phases", "phases_of"),
}


def kept_choices(workspace: Workspace, inputs: Sequence[str]) -> SavedChoices:
    """Return the user's decisions in a workspace, by the input numbers of its files."""
    number = {path: i for i, path in enumerate(inputs)}
    choices = chosen(workspace)
    return SavedChoices(
        links=tuple(
            LinkChoice(number[profile], None if record is None else number[record])
            for profile, record in choices.pairs
            if profile in number and (record is None or record in number)
        ),
        clocks=(
            *(ClockChoice(number[profile], str(rate)) for profile, rate in choices.clocks),
            *(
                ClockChoice(number[profile], str(rate), name)
                for profile, name, rate in choices.delegate_clocks
            ),
            *([] if choices.cycles is None else [ClockChoice(None, str(choices.cycles))]),
        ),
        source_paths=tuple(SourcePath(s.recorded_path, s.local) for s in choices.source_paths),
        same_clocks=tuple(
            SharedClock(tuple(number[path] for path in same_clock.paths), same_clock.by_date)
            for same_clock in choices.same_clocks
        ),
        **{
            name: tuple(
                form(number[profile], *values)
                for profile, *values in getattr(choices, field)
                if profile in number
            )
            for form, (name, field) in _OF_PROFILES.items()
        },
    )


def choices_of(saved: SavedChoices, paths: Sequence[str | None]) -> Choices:
    """Return saved choices by path, without those of missing inputs.

    paths: the current path of each input, None if missing.
    """

    def path(number: int | None) -> str | None:
        is_path = number is not None and 0 <= number < len(paths)
        return paths[number] if is_path and number is not None else None

    clocks, delegate_clocks, cycles = [], [], None
    for clock in saved.clocks:
        rate = stated_ratio(clock.ns_per_tick)
        if rate is not None and clock.profile is None:
            cycles = rate
        elif rate is not None and (profile_path := path(clock.profile)):
            if clock.delegate:
                delegate_clocks.append((profile_path, clock.delegate, rate))
            else:
                clocks.append((profile_path, rate))
    return Choices(
        pairs=tuple(
            (profile, path(link_choice.record))
            for link_choice in saved.links
            if (profile := path(link_choice.profile))
            and (link_choice.record is None or path(link_choice.record))
        ),
        clocks=tuple(clocks),
        delegate_clocks=tuple(delegate_clocks),
        source_paths=tuple(_substitutions(saved.source_paths)),
        cycles=cycles,
        same_clocks=tuple(
            SameClock(profiles, shared_clock.by_date)
            for shared_clock in saved.same_clocks
            # Of a session of which only one of them is there, nothing is left to say.
            if len(profiles := tuple(p for n in shared_clock.profiles if (p := path(n)))) > 1
        ),
        **{
            field: tuple(
                (profile, *msgspec.structs.astuple(choice)[1:])
                for choice in getattr(saved, name)
                if _says_something(choice) and (profile := path(choice.profile))
            )
            for name, field in _OF_PROFILES.values()
        },
    )


def _says_something(choice: Any) -> bool:
    """Whether a saved choice is of any inferences, and of columns that can be read."""
    if isinstance(choice, TableColumns):
        return is_columns(choice.columns)
    return bool(getattr(choice, "numbers", True))


def stated_ratio(text: str) -> Fraction | None:
    """Return the positive ratio that a text states, None if it states none."""
    try:
        return parse_ratio(text)
    except ValueError:
        return None


def _substitutions(saved: Sequence[SourcePath]) -> Iterator[Substitution]:
    """Yield the substitutions that are valid on this machine."""
    for source_path in saved:
        with contextlib.suppress(ValueError):  # saved on another operating system
            yield Substitution(source_path.recorded, source_path.here)


SUFFIX = ".opscope"
VERSION = 1
# A million selected slices are 8 MB of numbers; Opscope does not write larger files.
_LONGEST = 64 << 20
# Maximum number of files next to a session file that are checked for a renamed input.
_MOST_LOOKED_AT = 2000


Ns = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
Number = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]


class SavedInput(msgspec.Struct, frozen=True, omit_defaults=True):
    """One open file. path: relative to the session file if possible, with "/" as separator."""

    path: str
    size: int = -1
    sha256: str = ""
    absolute: str = ""


class SavedRows(msgspec.Struct, frozen=True):
    """Slices of one input, by their rows in it."""

    input: int
    rows: tuple[Number, ...]


class SavedPlace(msgspec.Struct, frozen=True, array_like=True):
    """A process of an input, or one of its tracks: [0, "net.etdp"], [0, "net.etdp", "forward"]."""

    input: int
    process: str
    thread: str | None = None


class SavedMove(msgspec.Struct, frozen=True):
    """A process or track that was dragged before another one, or to the end (None)."""

    what: SavedPlace
    before: SavedPlace | None = None


class RowHeight(msgspec.Struct, frozen=True):
    """The row height of a process, in px."""

    what: SavedPlace
    px: int


class SavedTracks(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which tracks are visible, and how they are arranged."""

    folded: tuple[SavedPlace, ...] = ()
    pinned: tuple[SavedPlace, ...] = ()
    hidden: tuple[SavedPlace, ...] = ()
    moved: tuple[SavedMove, ...] = ()
    heights: tuple[RowHeight, ...] = ()
    filter: str = ""
    order: str = ""


class SavedTie(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a clock group moves with others; see `viewer.view.clock_groups.Tie`. scale: "5/4"."""

    scale: str = "1"
    anchor_ns: Ns | None = None
    reason: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)] = ""


class SavedClock(msgspec.Struct, frozen=True, omit_defaults=True):
    """The visible range of a clock group, named by an input, and its strip; height: in px."""

    input: int
    start_ns: Ns
    end_ns: Ns
    tie: SavedTie | None = None
    collapsed: bool = False
    height: int | None = None


class SavedBookmark(msgspec.Struct, frozen=True, omit_defaults=True):
    """A bookmark; a moment if both times are equal.

    clock: the input that names its clock group; None in files of earlier versions, for the first.
    """

    start_ns: Ns
    end_ns: Ns
    name: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)] = ""
    note: Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)] = ""
    clock: int | None = None


class SavedArea(msgspec.Struct, frozen=True, omit_defaults=True):
    """A selected time range on some tracks; clock: as of a bookmark."""

    start_ns: Ns
    end_ns: Ns
    tracks: tuple[SavedPlace, ...]
    clock: int | None = None


class SavedOperators(msgspec.Struct, frozen=True):
    """Highlighted operators of an input's ETRecord, by their positions in it."""

    input: int
    operators: tuple[int, ...]


class SavedRun(msgspec.Struct, frozen=True):
    """The inference that costs refer to: its position among the runs of an input."""

    input: int
    run: int


class SavedArm(msgspec.Struct, frozen=True, omit_defaults=True):
    """An arm of a comparison: its inputs, and only some of their inferences; () for all.

    scope: the name of the scope in which they are numbered, "" if the profiles have only one.
    """

    inputs: tuple[int, ...]
    numbers: tuple[Number, ...] = ()
    scope: str = ""


class SavedComparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """The two arms that are compared; made, cut: the user's pairs, as in `HandPairs`.

    relative: whether times are relative to the inference. stretched: whether paired calls begin at
    one place.
    """

    a: SavedArm
    b: SavedArm
    made: tuple[tuple[str, str], ...] = ()
    cut: tuple[tuple[str, str], ...] = ()
    relative: bool = False
    stretched: bool = False


class SavedDerived(msgspec.Struct, frozen=True, omit_defaults=True):
    """A query whose rows are drawn as tracks; clock: as of a bookmark."""

    name: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
    sql: Annotated[str, msgspec.Meta(max_length=LONGEST_QUERY)]
    clock: int | None = None


class SavedChart(msgspec.Struct, frozen=True):
    """A query whose rows are drawn as a chart; kind: "bars", "line" or "points"."""

    name: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
    sql: Annotated[str, msgspec.Meta(max_length=LONGEST_QUERY)]
    kind: str


class SavedTable(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the user chose in a table of groups.

    by, then: its keys, "" for the default. hidden: the columns that are not shown, None for those
    of the design. picked: those that the user added, the last one last.
    """

    table: str
    by: str = ""
    then: str = ""
    hidden: tuple[str, ...] | None = None
    picked: tuple[str, ...] = ()


class SavedNumbers(msgspec.Struct, frozen=True, omit_defaults=True):
    """What logged values are compared with, and the debug buffers that were chosen.

    reference: None if the user chose no file; is_off: they chose nothing at all, not even B of a
    comparison. case: the test case of a bundled program, None for the one that the profile states.
    """

    reference: SavedInput | None = None
    case: Number | None = None
    is_off: bool = False
    buffers: tuple[SavedInput, ...] = ()


class SavedPanels(msgspec.Struct, frozen=True):
    """How the user arranged the panels, by their ids.

    opened: opened by hand although they had nothing to show, or do not open by themselves. closed:
    closed by hand although they open by themselves. recent: brought to the front, the latest last.
    hidden: areas that are hidden; floating: panels in windows of their own. sizes: the width of the
    side panels in px, that of the left half of the bottom panels and their height, both in
    thousandths of the room; () for those of the design.
    """

    opened: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    floating: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()


class SavedView(msgspec.Struct, frozen=True, omit_defaults=True):
    """The visible ranges, selection and settings. Times are ns from the start of a profile.

    start_ns, end_ns: the range of the first profile's clock group, all that earlier versions know.
    clocks: every clock group; clock: the input of the active one; strips: the inputs of some, from
    top to bottom. file: the input that panels show. measured: on the group of the input
    measured_on, None as of a bookmark. front: the panels in front of their tab groups, by their
    names in `viewer.gui.window.frame.docks`, all that earlier versions know of `panels`.
    """

    start_ns: Ns = 0
    end_ns: Ns = 0
    clocks: tuple[SavedClock, ...] = ()
    clock: int | None = None
    strips: tuple[int, ...] = ()
    slice: SavedRows | None = None
    others: tuple[SavedRows, ...] = ()
    operators: SavedOperators | None = None
    area: SavedArea | None = None
    tracks: SavedTracks = SavedTracks()
    color_by: str = ""
    lit: tuple[str, int] | None = None
    run: SavedRun | None = None
    file: int | None = None
    warm_up: bool = False
    phase: str = ""
    inferences: str = ""
    measured: tuple[Ns, Ns] | None = None
    measured_on: int | None = None
    bookmarks: tuple[SavedBookmark, ...] = msgspec.field(default=(), name="marks")
    mark: int | None = None
    search: str = ""
    only_hits: bool = False
    ruler: str = ""
    front: tuple[str, ...] = ()
    panels: SavedPanels | None = None
    compared: SavedComparison | None = None
    numbers: SavedNumbers = SavedNumbers()
    derived: tuple[SavedDerived, ...] = ()
    charts: tuple[SavedChart, ...] = ()
    tables: tuple[SavedTable, ...] = ()


class SavedSession(msgspec.Struct, frozen=True):
    """A whole session file."""

    opscope_session: int
    inputs: tuple[SavedInput, ...]
    choices: SavedChoices = SavedChoices()
    view: SavedView | None = None
    tool: str = f"Opscope {viewer.__version__}"


@dataclass(frozen=True, slots=True)
class FoundInput:
    """The current path of an input, None if not found; and whether its size has changed."""

    input: SavedInput
    path: str | None
    changed: bool = False


# -- writing -------------------------------------------------------------------------------------


def input_of(path: str, stamp: FileStamp | None, folder: str) -> SavedInput:
    """Return an open file as an entry of a session file in a folder, not hashed yet."""
    try:
        shown_path = os.path.relpath(path, folder)
    except ValueError:  # on another drive
        shown_path = path
    return SavedInput(
        shown_path.replace(os.sep, "/"), -1 if stamp is None else stamp.size, "", path
    )


def encoded(session: SavedSession) -> bytes:
    """Return the bytes of a session file."""
    try:
        data = msgspec.json.encode(session)
    except UnicodeEncodeError:  # cleaning takes 10 times as long
        # Plain values with valid UTF-8 texts, since a file name may be any bytes.
        data = msgspec.json.encode(_storable(msgspec.to_builtins(session)))
    return bytes(msgspec.json.format(data, indent=2)) + b"\n"


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: _storable(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(part) for part in value]
    return value


def write(
    path: str,
    session: SavedSession,
    stamps: Sequence[FileStamp | None],
    progress: Progress,
    cancelled: Cancelled,
) -> int:
    """Hash the inputs and write the file, completely or not at all; returns the number of inputs.

    stamps: of the inputs when they were read; one that has changed since is not hashed. Raises
    OSError, WriteCancelled.
    """
    inputs, count = [], len(session.inputs)
    for done, (saved_input, stamp) in enumerate(zip(session.inputs, stamps, strict=True)):
        progress(done, count)
        facts = hash_facts(saved_input.absolute, stamp, cancelled)
        inputs.append(msgspec.structs.replace(saved_input, sha256=facts.get("sha256", "")))
    if cancelled():
        raise WriteCancelled
    write_whole(path, encoded(msgspec.structs.replace(session, inputs=tuple(inputs))))
    progress(count, count)
    return count


# -- reading -------------------------------------------------------------------------------------


def read(path: str) -> SavedSession:
    """Read a session file. Raises UnreadableFile."""
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
            size = min(os.fstat(file.fileno()).st_size, _LONGEST)  # a read of 64 MB takes 64 MB
            data = file.read(size + 1).removeprefix(b"\xef\xbb\xbf")
        with BUDGET.reading(size=size_of(path)) as allowance:
            allowance.take(len(data) + memory_needed(data))
        version = msgspec.json.decode(data, type=_Version).opscope_session
        if version == VERSION:
            return msgspec.json.decode(data, type=SavedSession)
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    except NotEnoughMemory as error:
        raise too_large(path, error) from error
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise UnreadableFile(
            path,
            f"this is not a session file: {error}",
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
    """Find the inputs, starting from the folder of the session file.

    Raises WriteCancelled if `cancelled` turns true, since nearby files may have to be hashed.
    """
    found_inputs: list[FoundInput] = []
    nearby: list[tuple[str, FileStamp]] | None = None
    for saved_input in session.inputs:
        place = place_of(saved_input, folder)
        if place is None and saved_input.sha256 and saved_input.size >= 0:
            nearby = list(_files_in(folder)) if nearby is None else nearby
            place = next(
                (
                    path
                    for path, stamp in nearby
                    if stamp.size == saved_input.size
                    and hash_facts(path, stamp, cancelled).get("sha256") == saved_input.sha256
                ),
                None,
            )
        stamp = None if place is None else stamp_of(place)
        changed = stamp is not None and saved_input.size >= 0 and stamp.size != saved_input.size
        found_inputs.append(FoundInput(saved_input, place, changed))
    return found_inputs


def place_of(saved_input: SavedInput, folder: str) -> str | None:
    """Return where an input is, by its paths and its name; None if it is not there."""
    return next((path for path in _places(saved_input, folder) if stamp_of(path) is not None), None)


def _places(saved_input: SavedInput, folder: str) -> Iterator[str]:
    """Yield possible paths of an input: only plain local paths, since the file is untrusted."""
    parts = [part for part in saved_input.path.split("/") if part]
    if "\0" in saved_input.path + saved_input.absolute or not parts:
        return
    for path in (os.path.join(folder, *saved_input.path.split("/")), saved_input.absolute):
        # No network or device paths, which Windows marks with two leading slashes.
        if path and not path.startswith(("//", "\\\\")) and os.path.isabs(path):
            yield os.path.normpath(path)
    yield os.path.join(folder, parts[-1])


def _files_in(folder: str) -> Iterator[tuple[str, FileStamp]]:
    """Yield the regular files of a folder, at most `_MOST_LOOKED_AT` by name."""
    try:
        names = sorted(os.listdir(folder))[:_MOST_LOOKED_AT]
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        stamp = stamp_of(path)
        if stamp is not None:
            yield path, stamp


def changed_inputs(found_inputs: Sequence[FoundInput], cancelled: Callable[[], bool]) -> list[str]:
    """Return the paths of inputs whose content has changed since the session was saved."""
    changed = []
    for found_input in found_inputs:
        if found_input.path is None or not found_input.input.sha256:
            continue
        facts = hash_facts(found_input.path, stamp_of(found_input.path), cancelled)
        if facts.get("sha256", found_input.input.sha256) != found_input.input.sha256:
            changed.append(found_input.path)
    return changed
