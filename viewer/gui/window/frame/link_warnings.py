"""Warnings about links in the message bar: which file pairs need attention, and what to do."""

from __future__ import annotations

from functools import partial

from viewer.gui.session.linking import pair_files
from viewer.gui.session.session import Session
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.shell import Shell
from viewer.view.open_trace import OpenTrace


class LinkWarnings:
    """Shows warnings about the links of one session, with a way to override them."""

    def __init__(self, session: Session, docks: Docks, shell: Shell) -> None:
        self._session, self._docks, self._message = session, docks, shell.message

    @property
    def texts(self) -> set[str]:
        """The texts of all current warnings."""
        return {text for _, text in self._doubts()}

    def show(self) -> None:
        """Show a warning for each file pair that needs attention, with a button to resolve it."""
        space, doubts = self._session.workspace, self._doubts()
        for open_trace, text in doubts:
            candidates = space.candidates(open_trace.file)
            # Offer the direct button only for a single warning; otherwise it would be ambiguous.
            alone = len(doubts) == 1 and len(candidates) == 1
            # If a column of identifiers is proposed, nothing can be linked until it is chosen.
            if (
                alone
                and open_trace.table.program is None
                and not space.identifiers.proposal(open_trace.file)
            ):
                pair = (open_trace.trace.path, candidates[0].program.path)
                self._message.show_warning(text, "Link anyway", partial(self._pair, *pair))
            else:
                show_links = partial(self._docks.show_panel, "links")
                self._message.show_warning(text, "Choose ETRecord…", show_links)

    def _doubts(self) -> list[tuple[OpenTrace, str]]:
        session = self._session
        return [
            (open_trace, text)
            for open_trace in session.traces
            for text in session.workspace.warnings(open_trace.file)
        ]

    def _pair(self, trace: str, program: str) -> None:
        pair_files(self._session, trace, program, self.show)
