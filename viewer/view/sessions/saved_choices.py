"""The user's decisions in a session file: links, methods, columns, clocks and source paths. No Qt.

They refer to files by input number (see `viewer.view.sessions.session_file`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from viewer.formats.table.stated_columns import is_columns
from viewer.model.times import parse_ratio
from viewer.program.sources.files import Substitution
from viewer.workspace.link_choices import Choices, chosen
from viewer.workspace.shared_clocks import SameClock
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
        rate = _rate(clock.ns_per_tick)
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


def _rate(text: str) -> Fraction | None:
    try:
        return parse_ratio(text)
    except ValueError:
        return None


def _substitutions(saved: Sequence[SourcePath]) -> Iterator[Substitution]:
    """Yield the substitutions that are valid on this machine."""
    for source_path in saved:
        with contextlib.suppress(ValueError):  # saved on another operating system
            yield Substitution(source_path.recorded, source_path.here)
