"""The link options of a command line or session file, and how they are applied to a workspace.

`--method` and `--phases` are written [FILE:]RUNS[:NUMBERS]=NAME. Names of files, runs and methods
may contain ":" and "=". So FILE counts only if it is an open file, RUNS only if a profile has such
runs. "Execute 1" is the first inference of the runs "Execute", and "Execute · run 1 of 4", as
`opscope info` lists it, too, unless there are runs of this name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial

from viewer.analysis.links.delegate_clocks import clock_names, clocks_text, timed_clocks
from viewer.analysis.links.pairing import column_names, said, takes_column
from viewer.dataclasses import dataclass, replace
from viewer.formats import WHOLE, WITH_COLUMNS
from viewer.model.times import RateOrigin, format_rate
from viewer.model.trace import Trace
from viewer.program.source_files import Substitution
from viewer.workspace.clocks import DEBUG_INFO, STATED, SameClock
from viewer.workspace.open_paths import find_path
from viewer.workspace.user_choices import chosen_phases, parse_numbers, single_choices
from viewer.workspace.workspace import Workspace

# "Execute 1", "Execute · run 1 of 4"
_NUMBERED = re.compile(r"(?P<runs>.+?)(?: · run)? (?P<number>\d{1,9})(?: of \d+)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One reading of a text: its profile (None: all with such runs), runs, numbers and method.

    The method is a phase in --phases, and may be "" there.
    """

    file: str | None
    runs: str
    numbers: str | None
    method: str

    @property
    def rank(self) -> tuple[bool, bool]:
        """The order of application: what is chosen for more inferences comes first."""
        return self.numbers is not None, self.file is not None


def apply_methods(texts: Sequence[str], workspace: Workspace) -> list[str]:
    """Choose the methods that texts ask for; returns a message for each that is not possible.

    A choice for one file overrides one for all, and one for some inferences one for all of them.
    """
    return _apply("--method", texts, workspace, workspace.choose_method)


def apply_phases(texts: Sequence[str], workspace: Workspace) -> list[str]:
    """Choose phases as `apply_methods` chooses methods."""
    return _apply("--phases", texts, workspace, workspace.set_phase)


def _apply(
    option: str,
    texts: Sequence[str],
    workspace: Workspace,
    choose: Callable[[str, str, str, Collection[int]], None],
) -> list[str]:
    complaints: list[str] = []
    readings: list[tuple[str, _Reading]] = []
    for text in texts:
        try:
            readings.append((text, _read(text, workspace)))
        except ValueError as error:
            complaints.append(f"{option} {text}: {error}")
    methods: dict[tuple[str, str, int, bool], str] = {}
    for text, reading in sorted(readings, key=lambda both: both[1].rank):
        for trace in _profiles(reading.file, reading.runs, workspace):
            try:
                numbers = _numbers(trace, reading)
                places = [(trace.path, reading.runs, n, reading.file is not None) for n in numbers]
                for place in places:
                    if methods.setdefault(place, reading.method) != reading.method:
                        raise ValueError(
                            f"inference {place[2]} of {reading.runs} is {methods[place]} by "
                            f"another {option}"
                        )
                choose(trace.path, reading.runs, reading.method, numbers)
            except ValueError as error:
                complaints.append(f"{option} {text}: {error}")
    return complaints


def _numbers(trace: Trace, reading: _Reading) -> tuple[int, ...]:
    """Return the numbers of the inferences, () for all; ValueError if they are none."""
    if reading.numbers is None:
        return ()
    runs = (run for run in trace.inferences() if trace.scopes[run.scope].name == reading.runs)
    most = max((run.number for run in runs), default=0)
    if not most:
        raise ValueError(f"{reading.runs} of {trace.path} has no inferences")
    return parse_numbers(reading.numbers, most)


def _read(text: str, workspace: Workspace) -> _Reading:
    """Return the reading of a text whose profile has such runs; ValueError if there is none."""
    methods = {method.name for program in workspace.programs for method in program.methods}
    readings = [
        reading
        for reading in _readings(text, workspace)
        if _profiles(reading.file, reading.runs, workspace)
    ]
    # A stable sort: else the first.
    readings.sort(key=lambda reading: reading.method not in methods)
    if readings:
        return readings[0]
    files = [reading.file for reading in _readings(text, workspace) if reading.file is not None]
    names = {s.name for t in workspace.traces for s in t.scopes if t.path == (files or [t.path])[0]}
    raise ValueError(f"no inferences have this name; the names are {', '.join(sorted(names))}")


def _readings(text: str, workspace: Workspace) -> Iterator[_Reading]:
    """Yield all ways to read a text, those with a file first."""
    paths = [trace.path for trace in workspace.traces]
    for file, rest in [*_files(text, paths), (None, text)]:
        for left, method in _cut(rest, "="):
            if left:
                yield _Reading(file, left, None, method)
                # The last ":" first: the numbers have none.
                for runs, numbers in reversed(list(_cut(left, ":"))):
                    yield _Reading(file, runs, numbers, method)
                if numbered := _NUMBERED.fullmatch(left):
                    yield _Reading(file, numbered["runs"], numbered["number"], method)


def _files(text: str, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield an open profile that a text begins with, and what follows its ":"; longest first."""
    listed = list(paths)
    for typed, rest in reversed(list(_cut(text, ":"))):
        path = find_path(listed, typed) if typed else None
        if path is not None:
            yield path, rest


def _cut(text: str, separator: str) -> Iterator[tuple[str, str]]:
    """Yield the text split at each occurrence of a character."""
    return ((text[:i], text[i + 1 :]) for i, character in enumerate(text) if character == separator)


def _profiles(file: str | None, runs: str, workspace: Workspace) -> list[Trace]:
    """Return the profiles with such runs: of all, or that one file."""
    return [
        trace
        for trace in workspace.traces
        if file in (None, trace.path) and any(scope.name == runs for scope in trace.scopes)
    ]


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of a command line, or of a session file, for its files.

    pairs: (profile, ETRecord) pairs, the ETRecord None for no link. methods: what a command line
    says before and after the first "=" of a --method option; methods_of: (profile, runs, method);
    inferences_of: (profile, runs, numbers of the inferences, method). columns: (profile, identifier
    column) pairs; the profile is None for all with such a column, the column "" for none. clocks:
    (profile, ns per tick); a rate without a profile applies to all files that state none, and to
    the cycles in debug info; cycles: a rate only for these cycles.
    delegate_clocks: (profile, name of a delegate's clock, ns per cycle or tick); "" as the profile
    applies to all files with such a clock. source_paths: recorded folders and their locations on
    this machine. parts: (file, the share of it to open, from its start); "" as the file applies to
    all. A session file has none: it opens whole files. table_columns: (file, what the columns of
    this plain CSV are, as --columns states it); "" as the file applies to all. same_clocks: which
    profiles share a clock; one without paths is of all that state the time of day. phases: what a
    command line says before and after the last "=" of a --phases option; phases_of: (profile, runs,
    numbers of the inferences, phase), "" for none.
    """

    pairs: tuple[tuple[str, str | None], ...] = ()
    methods: tuple[tuple[str, str], ...] = ()
    columns: tuple[tuple[str | None, str], ...] = ()
    clocks: tuple[tuple[str, Fraction], ...] = ()
    source_paths: tuple[Substitution, ...] = ()
    methods_of: tuple[tuple[str, str, str], ...] = ()
    cycles: Fraction | None = None
    inferences_of: tuple[tuple[str, str, tuple[int, ...], str], ...] = ()
    delegate_clocks: tuple[tuple[str, str, Fraction], ...] = ()
    parts: tuple[tuple[str, Fraction], ...] = ()
    table_columns: tuple[tuple[str, str], ...] = ()
    same_clocks: tuple[SameClock, ...] = ()
    phases: tuple[tuple[str, str], ...] = ()
    phases_of: tuple[tuple[str, str, tuple[int, ...], str], ...] = ()

    def part_of(self, path: str) -> Fraction:
        """The share of a file to open: the one stated for it, else for all files, else 1."""
        stated = {os.path.abspath(file) if file else "": part for file, part in self.parts}
        return stated.get(os.path.abspath(path), stated.get("", WHOLE))

    def columns_of(self, path: str) -> str:
        """What is stated of the columns of a plain CSV: for it, else for all files, else ""."""
        stated = {os.path.abspath(of) if of else "": text for of, text in self.table_columns}
        return stated.get(os.path.abspath(path), stated.get("", ""))


NO_CHOICES = Choices()


def apply(choices: Choices, workspace: Workspace) -> list[str]:
    """Apply choices to a workspace; returns a message for each that is not possible.

    Source paths are not applied here: the caller sets them first, because companions depend on
    them.
    """
    complaints = _apply_clocks(choices.clocks, workspace)
    complaints += _keep_table_columns(choices, workspace)
    if choices.cycles is not None and workspace.clocks.cycle_rate is not None:
        workspace.set_clock(DEBUG_INFO, choices.cycles)
    for profile_or_none, column in choices.columns:
        complaints += _apply_column(profile_or_none, column, workspace)
    for profile, record in choices.pairs:
        complaints += _tried(f"--pair {profile}={record}", workspace.pair, profile, record)
    whole = ((profile, runs, (), method) for profile, runs, method in choices.methods_of)
    for profile, runs, numbers, method in (*whole, *choices.inferences_of):
        choose = partial(workspace.choose_method, profile, runs, method, numbers)
        complaints += _tried(f"the method of {runs}", choose)
    texts = [f"{before}={after}" for before, after in choices.methods]
    complaints += apply_methods(texts, workspace)
    for profile, runs, numbers, phase in choices.phases_of:
        choose = partial(workspace.set_phase, profile, runs, phase, numbers)
        complaints += _tried(f"the phases of {runs}", choose)
    texts = [f"{before}={after}" for before, after in choices.phases]
    complaints += apply_phases(texts, workspace)
    complaints += _apply_same_clocks(choices.same_clocks, workspace)
    # The links decide which backend a clock belongs to, so these come last.
    return complaints + _apply_delegate_clocks(choices.delegate_clocks, workspace)


def _tried(what: str, choose: Callable[..., object], *values: object) -> list[str]:
    """Apply a choice; returns why it is not possible, after what it is."""
    try:
        choose(*values)
    except ValueError as error:
        return [f"{what}: {error}"]
    return []


def chosen(workspace: Workspace) -> Choices:
    """Return the user's choices in a workspace, to apply to another one with the same files."""
    choices = workspace.choices
    open_now = {trace.path for trace in workspace.traces}
    rates = {path: rate for path, rate in choices.clocks.items() if path in open_now}
    cycles = workspace.clocks.cycle_rate
    is_chosen = cycles is not None and cycles.origin is RateOrigin.CHOSEN
    return Choices(
        pairs=tuple(choices.pairs.items()),
        methods_of=tuple(
            (trace.path, trace.scopes[scope].name, method)
            for trace in workspace.traces
            for (path, _), methods in choices.methods.items()
            if path == trace.path
            for scope, method in methods.items()
            if scope < len(trace.scopes)  # the file may have changed since
        ),
        inferences_of=tuple(
            (trace.path, *single_choice)
            for trace in workspace.traces
            for single_choice in single_choices(trace, choices)
        ),
        columns=tuple((path, column or "") for path, column in choices.columns.items()),
        clocks=tuple(rates.items()),
        delegate_clocks=tuple(
            (path, name, rate)
            for (path, name), rate in choices.delegate_clocks.items()
            if path in open_now
        ),
        cycles=cycles.ns_per_tick if cycles is not None and is_chosen else None,
        source_paths=choices.source_paths,
        table_columns=tuple(
            (path, text) for path, text in choices.table_columns.items() if path in open_now
        ),
        same_clocks=tuple(
            replace(same_clock, paths=paths)
            for same_clock in choices.same_clocks
            if len(paths := tuple(path for path in same_clock.paths if path in open_now)) > 1
        ),
        phases_of=tuple(
            (trace.path, *chosen_phase)
            for trace in workspace.traces
            for chosen_phase in chosen_phases(trace, choices)
        ),
    )


def _apply_same_clocks(statements: Sequence[SameClock], workspace: Workspace) -> list[str]:
    complaints = []
    for same_clock in statements:
        try:
            if same_clock.paths:
                workspace.share_clock(same_clock.paths, by_date=same_clock.by_date)
            else:
                workspace.share_stated_clock()
        except ValueError as error:
            written = "=".join(map(os.path.basename, same_clock.paths)) or STATED
            complaints.append(f"--same-clock {written}: {error}")
    return complaints


def _keep_table_columns(choices: Choices, workspace: Workspace) -> list[str]:
    """Keep the columns that were stated for the open tables, which a session saves."""
    tables = [t.path for t in workspace.traces if t.format in WITH_COLUMNS]
    for path in tables:
        if text := choices.columns_of(path):
            workspace.choose(workspace.choices.with_table_columns(path, text))
    used = {os.path.abspath(path) for path in tables}
    return [
        f"--columns {text}: {of or 'no open file'} is {'no' if of else 'a'} plain CSV"
        for of, text in choices.table_columns
        if (os.path.abspath(of) not in used if of else not used)
    ]


def _apply_column(of: str | None, column: str, workspace: Workspace) -> list[str]:
    """Apply one identifier column, to one profile or to all that have it."""
    written = f"--identifier-column {column if of is None else f'{of}={column}'}: "
    try:
        traces = workspace.traces if of is None else [workspace.open_trace(of)]
        has = [t for t in traces if takes_column(t) and column in ("", *column_names(t))]
        for trace in has if of is None else traces:
            workspace.identify(trace.path, column or None)
    except ValueError as error:
        return [f"{written}{error}"]
    if has or not column:
        return []
    names = dict.fromkeys(n for t in traces if takes_column(t) for n in column_names(t))
    there_are = f"the columns are {said(list(names))}" if names else "no profile needs one"
    return [f"{written}no open profile has such a column; {there_are}"]


def _apply_clocks(clocks: tuple[tuple[str, Fraction], ...], workspace: Workspace) -> list[str]:
    """Apply clock rates; a rate for one file overrides one for all files."""
    complaints = []
    for path, rate in sorted(clocks, key=lambda clock: clock[0] != ""):
        written = f"--clock {path}={format_rate(rate)}" if path else f"--clock {format_rate(rate)}"
        paths = [path] if path else [t.path for t in workspace.traces if t.clock.assumed]
        if not path and workspace.clocks.cycle_rate is not None:
            workspace.set_clock(DEBUG_INFO, rate)
        elif not paths:
            complaints.append(f"{written}: every open profile states its clock rate")
        for each in paths:
            complaints += _tried(written, workspace.set_clock, each, rate)
    return complaints


def _apply_delegate_clocks(
    clocks: tuple[tuple[str, str, Fraction], ...], workspace: Workspace
) -> list[str]:
    """Apply rates of delegates' clocks; a rate for one file overrides one for all files.

    A rate of a clock that counts a unit of time changes nothing, and is no mistake: the same
    options may be for several files, and Opscope once took the ns of Vulkan for ticks.
    """
    complaints = []
    for path, name, rate in sorted(clocks, key=lambda clock: clock[0] != ""):
        tables = {trace.path: workspace.links(trace) for trace in workspace.traces}
        names = {of: clock_names(table) for of, table in tables.items()}
        timed = {of: timed_clocks(table) for of, table in tables.items()}
        paths = (
            [path] if path else [of for of, listed_names in names.items() if name in listed_names]
        )
        written = f"--clock {path}:{name}={format_rate(rate)}"
        if not paths and not any(name in value for value in timed.values()):
            every = {clock: unit for value in timed.values() for clock, unit in value.items()}
            listed = {name for value in names.values() for name in value}
            there_are = clocks_text(listed, every, "the clocks are", "there are none")
            complaints.append(f"{written}: no open profile has this delegate clock; {there_are}")
        for each in paths:
            if name in timed.get(each, {}):
                continue
            complaints += _tried(written, workspace.set_delegate_clock, each, name, rate)
    return complaints
