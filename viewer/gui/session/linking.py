"""Link choices: the program that a profile is linked to, and what its identifiers are.

Links are recomputed off the GUI thread if traces are large.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from viewer.gui.session.session import Session
from viewer.gui.session.workspace_edits import Change, Edit


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
