"""The section of Summary on all sessions of a program: their median, their range, and each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isfinite

import numpy as np
from PySide6.QtWidgets import QWidget

from viewer.analysis.comparison.spread import Spread
from viewer.analysis.findings.finding import OperatorSets
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.base.swatches import Swatch, colors_of
from viewer.gui.panels.summary.links import FigureLink
from viewer.gui.panels.summary.sections import Action, SectionColumn
from viewer.gui.qt.widgets.labels import label
from viewer.gui.session import navigation
from viewer.model.scope import WHOLE
from viewer.model.text import distinct_names
from viewer.model.times import NARROW_SPACE, counted, format_time, split_time
from viewer.view.open_trace import OpenTrace
from viewer.workspace.session_sets import SessionSet

MOST_SESSIONS = 8
MOST_OPERATORS = 3
_MOST_METHODS = 2  # besides that with the key figures
MEDIANS = "medians after warm-up"
OPERATORS = "Most expensive operators, median and range"
NAMES = "Most expensive events, median and range"


class SessionsSection:
    """Adds the section to a column. Its rows switch to the file of a session."""

    def __init__(
        self, card: SectionColumn, host: PanelHost, sessions: SessionSet, open_trace: OpenTrace
    ) -> None:
        """open_trace: the file that the other sections are about."""
        self._card, self._host, self._session = card, host, host.session
        self._sessions, self._open_trace = sessions, open_trace
        self._main, *others = sessions.inferences
        paths = [session.table.trace.path for session in sessions.arm.sessions]
        self._names = distinct_names(paths)
        card.begin(sessions.text, MEDIANS)
        card.figures(self._figures())
        card.grid([self._method_row(row) for row in others[:_MOST_METHODS]], 0)
        count = len(sessions.arm.sessions)
        card.grid([self._session_row(place) for place in range(min(count, MOST_SESSIONS))], 0)
        if count > MOST_SESSIONS:
            more = counted(count - MOST_SESSIONS, "more session")
            card.line(more, partial(host.show_panel, "links"))
        if sessions.operators:
            title = OPERATORS if sessions.arm.program is not None else NAMES
            card.column.addWidget(label(title, host.theme, "caption", "text2"))
            card.grid([self._operator_row(row) for row in sessions.operators[:MOST_OPERATORS]], 1)

    def _figures(self) -> list[tuple[FigureLink, Action]]:
        """The median of the sessions, and how far they are apart."""
        spread, theme, arm = self._main, self._host.theme, self._sessions.arm
        medians = np.array(spread.of_sessions)
        nearest = int(np.nanargmin(np.abs(medians - spread.median)))
        slowest = int(np.nanargmax(medians))
        of_all = f"median of {spread.sessions}"
        caption = f"{spread.name}, {of_all}" if spread.name else of_all
        number, unit = split_time(format_time(round(spread.median)))
        hint = f"The nearest session is {arm.sessions[nearest].name}"
        median = FigureLink(number, unit, caption, theme, hint)
        figures: list[tuple[FigureLink, Action]] = [(median, self._show(nearest))]
        if spread.share is not None:
            share = f"{100 * spread.share:.1f}"
            apart = FigureLink(share, "%", "fastest to slowest", theme, spread.range_text)
            figures.append((apart, self._show(slowest)))
        return figures

    def _show(self, place: int) -> Action:
        """What switches to the file of a session."""
        return partial(self._show_file, self._sessions.arm.sessions[place].table.trace.path)

    def _show_file(self, path: str) -> None:
        traces = enumerate(self._session.traces)
        number = next((i for i, open_trace in traces if open_trace.file.path == path), None)
        if number is not None:
            navigation.show_file(self._session, number)

    def _session_row(self, place: int) -> Sequence[QWidget | None]:
        session, show, text = self._sessions.arm.sessions[place], self._show(place), self._card.text
        path, ns = session.table.trace.path, self._main.of_sessions[place]
        tone = "text1" if path == self._open_trace.file.path else "accent"
        count = "" if session.is_whole else counted(len(session.runs), "inference")
        return (
            text(self._names[place], show, tone, path, elided=True),
            text(format_time(round(ns)) if isfinite(ns) else "–", show),
            text(count, show, "text2"),
        )

    def _method_row(self, row: Spread) -> Sequence[QWidget | None]:
        show, text = partial(self._host.show_panel, "events"), self._card.text
        return (
            text(row.name, show, elided=True),
            text(format_time(round(row.median)), show, hint=row.range_text),
            text(_share_text(row), show, "text2", row.range_text),
        )

    def _operator_row(self, row: Spread) -> Sequence[QWidget | None]:
        swatch, select, text = None, partial(self._host.show_panel, "operators"), self._card.text
        if row.operators:
            palette = self._open_trace.operator_colors(self._session.state.scheme)
            swatch = Swatch(colors_of(row.operators, palette), self._host.theme)
            select = partial(self._select, row.operators)
        hint = f"{row.range_text} in {counted(row.sessions, 'session')}"
        return (
            swatch,
            text(row.name, select, elided=True),
            text(format_time(round(row.median)), select, hint=hint),
            text(_share_text(row), select, "text2", hint),
        )

    def _select(self, operators: tuple[int, ...]) -> None:
        """Select operators in the file that the other sections are about."""
        place, open_trace = OperatorSets((operators,)), self._open_trace
        slices = open_trace.findings.slices_at(place, WHOLE)
        navigation.show_place(self._session, open_trace, place, slices)


def _share_text(row: Spread) -> str:
    """How far sessions are apart, as a share of their median."""
    return "" if row.share is None else f"{100 * row.share:.1f}{NARROW_SPACE}%"
