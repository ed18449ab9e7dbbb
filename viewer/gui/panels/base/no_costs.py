"""Why a profile has no costs to show, as a sentence; the same in every panel that shows costs."""

from __future__ import annotations

from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.session.costs import CostAnswer
from viewer.gui.session.session import Session
from viewer.model.text import display_name


def why_no_costs(session: Session, answer: CostAnswer) -> str:
    """Why no operator cost anything, and what to do about it."""
    shown = answer.shown
    warnings = session.workspace.warnings(shown.file)
    if warnings:
        return warnings[0]
    if shown.table.program is None:
        return (
            f"No record or source is open that belongs to {display_name(shown.trace.path)}. "
            "Open it to see what each operator cost."
        )
    where = scope_text(shown, answer.scope)
    return f"Nothing in {where} is linked to an operator. Links tells why."
