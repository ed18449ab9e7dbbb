"""What the message bar says of links: which pairs of files must be looked at, and what to do."""

from __future__ import annotations

from functools import partial

from viewer.gui.session.linking import pair_files
from viewer.gui.session.session import Session
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.shell import Shell
from viewer.view.open_trace import OpenTrace


class LinkWarnings:
    """The doubts about the links of one session, with the way to overrule them."""

    def __init__(self, session: Session, docks: Docks, shell: Shell) -> None:
        self._session, self._docks, self._message = session, docks, shell.message

    @property
    def texts(self) -> set[str]:
        """What there is to say now."""
        return {text for _, text in self._doubts()}

    def show(self) -> None:
        """Say which pairs of files must be looked at, with the way to overrule it."""
        space, doubts = self._session.workspace, self._doubts()
        for shown, text in doubts:
            candidates = space.candidates(shown.file)
            # One button for all of it: with several doubts it could be of any of them.
            alone = len(doubts) == 1 and len(candidates) == 1
            # A record that asks for a column has nothing to be linked by before one is chosen.
            if alone and shown.table.program is None and not space.identifiers.proposal(shown.file):
                pair = (shown.trace.path, candidates[0].program.path)
                self._message.show_warning(text, "Link anyway", partial(self._pair, *pair))
            else:
                show_links = partial(self._docks.show_panel, "links")
                self._message.show_warning(text, "Choose…", show_links)

    def _doubts(self) -> list[tuple[OpenTrace, str]]:
        session = self._session
        return [
            (shown, text)
            for shown in session.traces
            for text in session.workspace.warnings(shown.file)
        ]

    def _pair(self, trace: str, program: str) -> None:
        pair_files(self._session, trace, program, self.show)
