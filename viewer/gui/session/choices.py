"""What the user chooses for open files: colors, tracks, phases, programs, source paths, columns.

Each change of the view or the workspace is one undo step. Links are recomputed off the GUI thread
if traces are large. Keys and columns of tables are no part of the history: they are for the session
file. Panels are created late, so they ask for their choice, and follow `restored`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec
from PySide6.QtCore import Signal, Slot

from viewer.analysis.links.coverage import coverage_of
from viewer.analysis.links.labels import series_names, unlinked_text
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.group_keys import ARGUMENT, argument_names
from viewer.dataclasses import dataclass, replace
from viewer.gui.session.session import OfSession, Session
from viewer.gui.session.workspace_edits import Change, Edit
from viewer.model.inference_views import series_of
from viewer.model.times import NARROW_SPACE, counted
from viewer.model.trace import Run, RunKind, Trace
from viewer.program.program import Program
from viewer.program.source_files import Substitution
from viewer.render.arrangement import TrackView
from viewer.render.color_schemes import BY_ID, NAMES, scheme_of
from viewer.render.layout import HeaderPart
from viewer.render.palette import Palette
from viewer.view.open_trace import OpenTrace
from viewer.view.sessions.session_file import SavedTable
from viewer.workspace.user_choices import UserChoices, in_phases

MOST_ARGUMENTS = 60  # to choose from


def set_scheme(session: Session, scheme: str) -> None:
    """Color by a scheme, "arg:NAME" for an argument, and clear the highlight; or ValueError."""
    if scheme_of(scheme) is None:
        raise ValueError(f"no scheme {scheme!r}; there are {', '.join(BY_ID)}")
    state = session.state
    lit = state.lit if scheme == state.scheme else None
    session.change(replace(state, scheme=scheme, lit=lit))


def highlight_class(session: Session, name: tuple[str, int] | None) -> None:
    """Highlight one class of the scheme, given as (title, palette index), and dim the rest.

    None, or the class that is already highlighted, clears the highlight.
    """
    session.change(replace(session.state, lit=None if name == session.state.lit else name))


def scheme_problem(session: Session, scheme: str) -> str:
    """Why no open trace supports the scheme, as a sentence; "" if any trace does."""
    if not session.traces:
        return "No profile is open"
    reasons = [open_trace.why_not_by(scheme) for open_trace in session.traces]
    return reasons[0] if all(reasons) else ""


def shown_scheme(session: Session) -> str:
    """The scheme on screen: the chosen one, or names if no open trace supports it."""
    scheme = session.state.scheme
    return NAMES if session.traces and scheme_problem(session, scheme) else scheme


def argument_schemes(session: Session) -> list[str]:
    """The schemes of the arguments of open traces, by name, with that on screen."""
    names = {name for open_trace in session.traces for name in argument_names(open_trace.trace)}
    listed = [f"{ARGUMENT}{name}" for name in sorted(names, key=str.casefold)]
    chosen = shown_scheme(session)
    more = [chosen] if chosen in listed[MOST_ARGUMENTS:] else []
    return [*listed[:MOST_ARGUMENTS], *more]


def operator_palette(session: Session, program: Program | None) -> Palette | None:
    """The color of every operator of a program, as on the timeline; None without a profile."""
    profiles = (profile for profile in session.traces if profile.table.program is program)
    first = None if program is None else next(profiles, None)
    return None if first is None else first.operator_colors(session.state.scheme)


def choose_phases(session: Session, trace_path: str, phases: Mapping[int, str]) -> None:
    """Put inferences of a trace, by their positions in `Trace.runs`, into phases."""
    trace = session.workspace.open_trace(trace_path)
    choices = in_phases(UserChoices(phases=session.state.phases), trace, phases)
    table, of = session.workspace.links(trace), choices.phases.get(trace_path, {})
    runs = (replace(run, phase=of.get((run.scope, run.number), run.phase)) for run in trace.runs)
    after = replace(table, trace=replace(trace, runs=tuple(runs)))
    phase = _renamed(session.state.phase, table, after)
    session.change(replace(session.state, phases=choices.phases, phase=phase))


def phases_by_times(session: Session, trace_path: str) -> None:
    """Discard the phases that were chosen for a trace: the times decide."""
    choices = UserChoices(phases=session.state.phases).without_phases(trace_path)
    session.change(replace(session.state, phases=choices.phases))


def _renamed(phase: str, before: LinkTable, after: LinkTable) -> str:
    """Return what a phase is called after a change: the name of most of its inferences."""
    old, new = _phase_of_runs(before), _phase_of_runs(after)
    names = Counter(new[place] for place, name in old.items() if name == phase)
    return phase if phase in (*names, "") or not names else names.most_common(1)[0][0]


def _phase_of_runs(table: LinkTable) -> dict[int, str]:
    """Return the phase of each inference by its position, as the list of inferences names it."""
    trace: Trace = table.trace
    series = {
        place: series_of(trace, run) for place, run in enumerate(trace.runs) if run.number > 0
    }
    names = series_names(table, dict.fromkeys(series.values()))
    return {place: names[of] for place, of in series.items()}


def toggle_part(session: Session, part: HeaderPart) -> None:
    """Collapse or expand a process or track."""
    arrange_tracks(session, session.state.tracks.toggled(part))


def arrange_tracks(session: Session, tracks: TrackView, *, joins: bool = False) -> None:
    """Change visibility or order of the tracks; `joins` merges this into the last undo step."""
    session.change(replace(session.state, tracks=tracks), remember=not joins)


def toggle_strip(session: Session, clock: str) -> None:
    """Collapse or expand the strip of a clock group."""
    session.change(replace(session.state, strips=session.state.strips.toggled(clock)))


def shown_clocks(session: Session) -> list[str]:
    """Return the keys of the clock groups that have strips, from top to bottom.

    Also if the user shows only some: that of the active one, and that of the selected slice.
    """
    state, groups = session.state, session.groups
    keys = state.strips.shown(groups.keys)
    needed = [groups.by_key(state.clock).key]
    if state.slice is not None:
        needed.append(groups.of(state.slice.trace).key)
    return list(dict.fromkeys((*keys, *needed)))


class TableChoices(OfSession):
    """The choices of one session. `changed`: the user chose; `restored`: a session file did."""

    changed = Signal()
    restored = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._by_name: dict[str, SavedTable] = {}
        session.workspace_changed.connect(self._forget_keys)

    @property
    def saved(self) -> tuple[SavedTable, ...]:
        """All choices that are not the default."""
        return tuple(each for each in self._by_name.values() if each != SavedTable(each.table))

    def choice_of(self, table: str) -> SavedTable:
        """Return what was chosen in a table."""
        return self._by_name.get(table, SavedTable(table))

    def choose(self, table: str, **fields: Any) -> None:
        """Replace parts of a choice."""
        before = self.choice_of(table)
        self._by_name[table] = msgspec.structs.replace(before, **fields)
        if self._by_name[table] != before:
            self.changed.emit()

    def restore(self, saved: Sequence[SavedTable]) -> None:
        """Take the choices of a session file."""
        self._by_name.update((each.table, each) for each in saved)
        self.restored.emit()

    @Slot()
    def _forget_keys(self) -> None:
        """Start with the default keys for other files; columns stay."""
        if not self._session.workspace.paths:
            for table, choice in self._by_name.items():
                self._by_name[table] = msgspec.structs.replace(choice, by="", then="")


def add_substitution(session: Session, substitution: Substitution) -> None:
    """Map sources recorded below one path to another path, and emit `sources_changed`."""
    session.edit_workspace_now(lambda space: space.substitute(substitution))
    session.sources_changed.emit()


def remove_substitution(session: Session, substitution: Substitution) -> None:
    """Remove a substitution, and emit `sources_changed`."""
    session.edit_workspace_now(lambda space: space.withdraw(substitution))
    session.sources_changed.emit()


UNDECIDED = "method undecided"


@dataclass(frozen=True, slots=True)
class LinkSummary:
    """How a profile is linked. brief: for little space. token: the color of its dot.

    by_reason: the number of slices per link reason. is_linked: to a file, so that the brief text
    has what matters.
    """

    text: str
    brief: str
    token: str
    by_reason: Mapping[str, int]
    is_linked: bool = False


def link_summary(session: Session, open_trace: OpenTrace) -> LinkSummary:
    """Return the linked share by time and by slices, and the match; or why nothing is linked."""
    candidates = session.workspace.candidates(open_trace.file)
    warned = bool(session.workspace.warnings(open_trace.file))
    facts = coverage_of(session.workspace.links(open_trace.file))
    program = open_trace.table.program
    if program is not None and program.is_recorded:
        text = f"{program.format}: {_recorded_text(program)}"
        return LinkSummary(text, program.format, "ok", facts["by_reason"])
    if program is None or open_trace.table.trace_match is None:
        best = next((c.trace_match.match for c in candidates), None)
        foreign = best is not None and best.checkable and not best.belongs
        undecided = "not linked" if candidates else f"{unlinked_text(open_trace.file)} linked"
        text = "ETRecord does not match" if foreign else undecided
        return LinkSummary(text, text, "warning" if warned else "text2", facts["by_reason"])
    match = open_trace.table.trace_match.match
    time, slices = facts["covered_time"], facts["coverage"]
    parts = [f"{whole_percent(time)} of linkable time"] if time is not None else []
    parts += [f"{whole_percent(slices)} of slices"] if slices is not None else []
    if any(open_trace.table.trace_match.undecided):
        checked = UNDECIDED
    else:
        checked = f"match {match.value:.2f}" if match.checkable else "match unknown"
    text = " · ".join([*([f"Linked: {', '.join(parts)}"] if parts else []), checked])
    share, what = (slices, "slices") if time is None else (time, "time")
    linked = [] if share is None else [f"Linked · {whole_percent(share)} of {what}"]
    is_sure = bool(linked) and match.checkable and match.value == 1 and checked != UNDECIDED
    brief = " · ".join([*linked, *([] if is_sure else [checked])])
    token = "warning" if warned else "ok"
    return LinkSummary(text, brief, token, facts["by_reason"], bool(linked))


def _recorded_text(program: Program) -> str:
    """Return what a profile records about its operators: "22 modules, 41 source lines"."""
    operators = program.operators
    if not program.is_nested:
        return counted(len(operators), "operator")
    parts = [(len(program.module_paths), "module"), (len(program.source_lines), "source function")]
    texts = [counted(count, noun) for count, noun in parts if count]
    return ", ".join(texts) or counted(len(operators), "operator")


def whole_percent(share: float) -> str:
    """Return a share as a whole percentage; 100 only means all, and 0 only means none."""
    whole = min(max(round(share * 100), 1 if share else 0), 100 if share == 1 else 99)
    return f"{whole}{NARROW_SPACE}%"


def pair_files(
    session: Session,
    trace_path: str,
    program_path: str | None,
    then: Callable[[], None] | None = None,
) -> None:
    """Link a profile to a program, or to None, as the user chose; then call `then`."""
    session.edit_workspace(
        Edit(lambda space: space.pair(trace_path, program_path), lambda _: then and then())
    )


def match_automatically(session: Session, trace_path: str) -> None:
    """Discard the user's link choice for a profile, and match it by its contents."""
    _edit_columns(session, lambda space: space.match_automatically(trace_path))


def set_identifier_column(session: Session, trace_path: str, column: str | None) -> None:
    """Choose the column with a profile's identifiers, remembered for this form of profile."""
    _edit_columns(session, lambda space: space.identify(trace_path, column, remember=True))


def choose_method(
    session: Session, trace_path: str, scope: str, method: str, numbers: Collection[int] = ()
) -> None:
    """Choose the method of the inferences in `scope`: of all, or of those with some numbers."""
    session.edit_workspace(
        Edit(lambda space: space.choose_method(trace_path, scope, method, numbers))
    )


def _edit_columns(session: Session, change: Change) -> None:
    session.edit_workspace(Edit(change, lambda _: session.columns_remembered.emit()))


def inference_to_link(session: Session) -> tuple[int, Run] | None:
    """Return the trace and inference of the selected slice, if its method can be chosen."""
    ref = session.state.slice
    open_trace = None if ref is None else session.traces[ref.trace]
    if ref is None or open_trace is None or open_trace.table.program is None:
        return None
    program, trace = open_trace.table.program, open_trace.trace
    number = trace.run_at(trace.slices.track(ref.index), int(trace.slices.start[ref.index]))
    run = None if number is None else trace.runs[number]
    if run is None or run.kind is not RunKind.INFERENCE or run.count > 1:
        return None
    return None if program.text_lines or len(program.methods) < 2 else (ref.trace, run)
