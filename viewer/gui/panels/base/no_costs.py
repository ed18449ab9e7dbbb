"""Why a profile has no costs to show, and the button that helps; shared by all cost panels."""

from __future__ import annotations

from PySide6.QtCore import SignalInstance

from viewer.gui.panels.base.page_panel import Sentence
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.session.costs import CostAnswer
from viewer.gui.session.session import Session
from viewer.model.text import display_name


def no_costs(
    session: Session, answer: CostAnswer, open_files: SignalInstance, show_links: SignalInstance
) -> Sentence:
    """Explain why no operator has a cost, with a button that emits one of the two signals.

    The button emits `show_links` if an open program could be linked to the profile, else
    `open_files`.
    """
    why = _why(session, answer)
    if session.workspace.candidates(answer.shown.file):
        return Sentence(why, "Choose ETRecord…", show_links)
    return Sentence(why, "Open files…", open_files)


def _why(session: Session, answer: CostAnswer) -> str:
    shown = answer.shown
    warnings = session.workspace.warnings(shown.file)
    if warnings:
        return warnings[0]
    if shown.table.program is None:
        return (
            f"Open the matching ETRecord of {display_name(shown.trace.path)} to see cost per "
            f"operator."
        )
    where = scope_text(shown, answer.scope)
    return f"Nothing in {where} is linked to an operator. Links shows why."
