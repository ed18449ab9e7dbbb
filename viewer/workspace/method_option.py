"""The `--method` and `--phases` options of a command line: [FILE:]RUNS[:NUMBERS]=NAME. No Qt.

Names of files, runs and methods may contain ":" and "=". So a text is read with the open files:
FILE counts only if it is one of them, RUNS only if a profile has such runs. "Execute 1" is the
first inference of the runs "Execute", and "Execute · run 1 of 4", as `opscope info` lists it, too,
unless there are runs of this name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from viewer.model.trace import Trace
from viewer.workspace.inference_methods import parse_numbers
from viewer.workspace.open_paths import find_path
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
