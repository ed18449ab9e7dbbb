"""Link choices: the program that a profile is linked to, and what its identifiers are.

`link_summary` describes in a few words how a profile is linked.

Links are recomputed off the GUI thread if traces are large.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from viewer.analysis.links.labels import unlinked_text
from viewer.gui.session.session import Session
from viewer.gui.session.workspace_edits import Change, Edit
from viewer.model.times import NARROW_SPACE, counted
from viewer.model.trace import Run, RunKind
from viewer.program.program import Program
from viewer.view.open_trace import OpenTrace

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
    from viewer.analysis.links.coverage import coverage_of

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
