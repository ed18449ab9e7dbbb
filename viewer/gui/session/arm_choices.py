"""What can be an arm of a comparison: open files, or some inferences of one of them. No widgets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from viewer.analysis.comparison.arms import Arm, is_one_file
from viewer.analysis.comparison.session_test import LEAST_SESSIONS
from viewer.analysis.findings.finding import joined
from viewer.analysis.links.labels import series_names
from viewer.dataclasses import dataclass
from viewer.gui.session.comparison import arm_of_runs
from viewer.gui.session.navigation import run_span_ns
from viewer.gui.session.session import Session
from viewer.model.inference_views import series_of
from viewer.model.text import display_name
from viewer.model.trace import Run
from viewer.model.warm_up import counted_inferences
from viewer.view.open_comparison import choice_of
from viewer.view.state import Bookmark, ChosenArm, ComparedArms
from viewer.workspace.comparison_arms import arm_of, arm_problem
from viewer.workspace.user_choices import parse_numbers

NEEDED = f"needs {LEAST_SESSIONS} + {LEAST_SESSIONS}"


@dataclass(frozen=True, slots=True)
class ArmFile:
    """An open profile as a row of a list.

    model: the file that its slices are linked to, "" for none. inferences: those that count.
    warm_up: how many are left out. phases: the methods and phases, "" for one.
    """

    path: str
    model: str
    inferences: int
    warm_up: int
    phases: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The cells of its row."""
        count = str(self.inferences) if self.inferences else "whole file"
        return display_name(self.path), self.model, count, str(self.warm_up), self.phases


TITLES = ("File", "Model", "Inferences", "Warm-up", "Phase")


def arm_files(session: Session) -> tuple[ArmFile, ...]:
    """Return the open profiles."""
    space = session.workspace
    rows = []
    for trace in space.traces:
        every, steady = (counted_inferences(trace, warm_up=warm) for warm in (True, False))
        model = display_name(path) if (path := space.links(trace).program_path) else ""
        phases = joined([name for name in runs_by_phase(session, trace.path) if name])
        rows.append(ArmFile(trace.path, model, len(steady), len(every) - len(steady), phases))
    return tuple(rows)


def runs_by_phase(session: Session, path: str) -> dict[str, list[Run]]:
    """Return the inferences of a profile that count, by the name of their method or phase."""
    table = session.workspace.links(session.workspace.open_trace(path))
    trace = table.trace
    runs = counted_inferences(trace, warm_up=False)
    names = series_names(table, dict.fromkeys(series_of(trace, run) for run in runs))
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(names[series_of(trace, run)], []).append(run)
    return by_name


def named_bookmarks(session: Session, path: str) -> list[Bookmark]:
    """Return the bookmarks on the clock of a profile."""
    number = _number_of(session, path)
    clock = session.groups.of(number).key
    return [mark for mark in session.state.bookmarks if mark.clock in ("", clock)]


def by_numbers(session: Session, path: str, a: str, b: str) -> ComparedArms:
    """Return the arms of inferences with some numbers, "1" and "2-10". Raises ValueError.

    Of several methods, they are numbered in that of the picked inference, else in the one with the
    most inferences.
    """
    every = list(session.workspace.open_trace(path).inferences())
    picked, number = session.state.run, _number_of(session, path)
    scopes = [run.scope for run in every]
    scope = max(dict.fromkeys(scopes), key=scopes.count)
    if picked is not None and picked[0] == number:
        scope = session.traces[number].file.runs[picked[1]].scope
    runs = [run for run in every if run.scope == scope]
    numbers = [parse_numbers(text, max(run.number for run in runs)) for text in (a, b)]
    return _arms(session, path, [[run for run in runs if run.number in part] for part in numbers])


def by_phase(session: Session, path: str, a: str, b: str) -> ComparedArms:
    """Return the arms of two methods or phases. Raises ValueError if they are the same."""
    if a == b:
        raise ValueError("Choose two different methods or phases")
    by_name = runs_by_phase(session, path)
    return _arms(session, path, [by_name[a], by_name[b]])


def at_bookmark(session: Session, path: str, mark: Bookmark) -> ComparedArms:
    """Return the arms that a bookmark splits: before and after it, or inside and outside a range.

    An inference across an edge is in neither. Raises ValueError if an arm has none.
    """
    number = _number_of(session, path)
    in_a, in_b = _halves(mark)
    runs = counted_inferences(session.workspace.open_trace(path), warm_up=False)
    spans = [(run, run_span_ns(session, number, run)) for run in runs]
    halves = [[run for run, span in spans if test(*span)] for test in (in_a, in_b)]
    return _arms(session, path, halves)


_Test = Callable[[int, int], bool]


def _halves(mark: Bookmark) -> tuple[_Test, _Test]:
    if mark.t0 == mark.t1:
        return lambda start, end: end <= mark.t0, lambda start, end: start >= mark.t0
    return (
        lambda start, end: start >= mark.t0 and end <= mark.t1,
        lambda start, end: end <= mark.t0 or start >= mark.t1,
    )


def _arms(session: Session, path: str, runs: Sequence[list[Run]]) -> ComparedArms:
    if not all(runs):
        empty = "AB"[[bool(part) for part in runs].index(False)]
        raise ValueError(f"{empty} has no inference")
    if len({run.scope for part in runs for run in part}) > 1 and any(
        len({run.scope for run in part}) > 1 for part in runs
    ):
        raise ValueError("An arm has inferences of several methods: choose those of one")
    trace = session.workspace.open_trace(path)
    a, b = (arm_of_runs(trace, part) for part in runs)
    return ComparedArms(a, b)


def of_files(a: Sequence[str], b: Sequence[str]) -> ComparedArms:
    """Return the arms of some files. Raises ValueError if an arm has none."""
    if not a or not b:
        empty = joined([name for name, paths in (("A", a), ("B", b)) if not paths])
        raise ValueError(f"{len(a)} + {len(b)}: add files to {empty}, {NEEDED} for a verdict")
    return ComparedArms(ChosenArm(tuple(a)), ChosenArm(tuple(b)))


def verdict_text(session: Session, chosen: ComparedArms) -> str:
    """Return whether arms can have a verdict: "2 + 7: no verdict, needs 3 + 3"; or ValueError."""
    space = session.workspace
    arms = [arm_of(space, choice_of(space, arm), arm.paths) for arm in (chosen.a, chosen.b)]
    for name, arm in zip("AB", arms, strict=True):
        if problem := arm_problem(arm):
            raise ValueError(f"{name}: {problem}")
    return count_text(*arms)


def count_text(a: Arm, b: Arm) -> str:
    """Return the numbers of sessions, and whether they are enough."""
    if is_one_file(a, b):
        return f"Parts of one file: no verdict, {NEEDED} sessions"
    counts = f"{len(a.sessions)} + {len(b.sessions)}"
    if min(len(a.sessions), len(b.sessions)) < LEAST_SESSIONS:
        return f"{counts}: no verdict, {NEEDED}"
    return f"{counts} sessions: enough for a verdict"


def _number_of(session: Session, path: str) -> int:
    return next(i for i, trace in enumerate(session.traces) if trace.file.path == path)
