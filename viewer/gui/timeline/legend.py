"""The legend: a bar below the rows with the classes of the color scheme, most time first.

Each class is a button with its swatch, title and share of the time of the picked inference, or of
all files of the active clock; the headers column shows which. Files without the scheme's attribute
are colored by name, and their classes follow the others after a label. A click highlights the
slices of a class and dims all others; another click ends that. Nothing is ever hidden. Durations
are shown as a ramp with the duration at which each step starts. The bar covers no slices, and
classes that do not fit are in the menu of its last button. At its right end are the kinds of times
of the open files, if not all of them are measured.
"""

from __future__ import annotations

from functools import partial
from html import escape

import numpy as np
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QMenu, QWidget

from viewer.analysis.links.labels import run_number
from viewer.gui.qt.background import Latest
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.labels import literal
from viewer.gui.session.coloring import highlight_class, shown_scheme
from viewer.gui.timeline.headers.headers import TITLE_INDENT, WIDTH
from viewer.gui.timeline.legend_buttons import (
    HEIGHT,
    TITLE_WIDTH,
    ClassButton,
    LegendButton,
    amount_text,
    class_icon,
    class_tip,
    one_line,
)
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.trace_rasters import TraceRasters
from viewer.model.scope import WHOLE, TimeScope, whole_scope_text
from viewer.model.text import capped, display_name, listed
from viewer.model.times import group_digits
from viewer.model.timing import MEASURED, TIMING_WORDS, kinds_of_time
from viewer.model.trace import RunKind, Trace
from viewer.render.color_schemes import NAMES, scheme_of
from viewer.render.color_shares import Counted, Share, Shares, shares
from viewer.render.palette import RAMP
from viewer.view.cost_scope import per_inference
from viewer.view.open_trace import AT_ONCE

MOST_BUTTONS = 40
_TIMES_TIP = (
    "How the times in the open files were obtained. Placed: the start is not measured. Rounded: "
    "the duration is rounded to whole µs. Estimated: computed from a cost model. Derived: computed "
    "by Opscope. Details shows which apply to a slice."
)
_GAP = 4
_BEFORE_OTHERS = 12


class Legend(QWidget):
    """The classes of the traces of the active clock under the current color scheme."""

    def __init__(self, drawings: Drawings, theme: Theme) -> None:
        super().__init__()
        self._drawings, self._theme = drawings, theme
        self._indent = WIDTH  # of the classes, which are aligned with the slices
        self.shares = Shares()
        self.classes: list[ClassButton] = []
        self.more = LegendButton(theme)
        self.more.setParent(self)
        self.more.clicked.connect(self._show_rest)
        self.others = QLabel(self)  # precedes the classes of files colored by name
        self.others.setFont(theme.font("caption"))
        self.others.setProperty("tone", "text2")
        self.others.hide()
        self.times = QLabel(self)  # "Some times are placed and rounded"
        self.times.setFont(theme.font("caption"))
        self.times.setProperty("tone", "text2")
        self.times.setContentsMargins(2, 0, 2, 0)  # glyphs may extend beyond their width
        self.times.hide()
        self._rest: tuple[Share, ...] = ()
        self._stale = True
        self._kinds: dict[Trace, tuple[str, ...]] = {}  # of times, of the traces that are drawn
        self._counted: list[Counted] | None = None  # the input of the current or pending counts
        self._ordered: list[Share] = []
        self._latest = Latest(self, in_turn=True)
        self._latest.answered.connect(self._take)
        self.setFixedHeight(theme.px(HEIGHT))
        self.setAccessibleName("Legend of colors")
        drawings.recolored.connect(self.refresh)
        drawings.session.workspace_changed.connect(self.refresh)
        drawings.session.run_picked.connect(self.refresh)
        drawings.session.clock_activated.connect(self.refresh)
        drawings.session.coloring_changed.connect(self._check)
        theme.changed.connect(self._retheme)

    # -- contents ----------------------------------------------------------------------------

    def refresh(self) -> None:
        """Count the classes again, in a thread if there are many slices; deferred while hidden."""
        self._stale = not self.isVisible()
        if self._stale:
            self._forget()
            return
        trace, run = self._drawings.session.state.run or (None, None)
        inputs = [self._input(p, run if i == trace else None) for i, p in self._rasters]
        if inputs == self._counted:
            return
        self._counted = inputs
        self._name_times()
        small = sum(len(counted.trace.slices) for counted in inputs) <= AT_ONCE
        self._latest.ask(small, shares, inputs)
        if not small:
            self._list(Shares())

    def _input(self, drawn: TraceRasters, run: int | None) -> Counted:
        """Return what to count of a trace: of all inferences, those that panels cover."""
        open_trace, scope = drawn.open_trace, self._time_scope
        figures = open_trace.figures_for(scope)
        trace, threads = open_trace.trace, open_trace.findings.threads
        if run is None and figures.trace is not trace:
            trace, threads = figures.trace, figures.grouping.threads
        rate, by_name = open_trace.axis.ns_per_tick, self._is_by_name(drawn)
        return Counted(trace, drawn.classes, rate, run, by_name, threads, scope.warm_up)

    @property
    def _time_scope(self) -> TimeScope:
        """The scope of figures of all inferences."""
        return per_inference(WHOLE, self._drawings.session.state)

    @property
    def _rasters(self) -> list[tuple[int, TraceRasters]]:
        """The numbers and rasters of the traces of the active clock.

        Times of different clocks are never added up.
        """
        all_rasters, members = self._drawings.rasters, self._drawings.session.group.traces
        return [(i, all_rasters[i]) for i in members if i < len(all_rasters)]

    def _is_by_name(self, drawn: TraceRasters) -> bool:
        """Whether a trace is colored by name because it does not support the current scheme."""
        return drawn.scheme == NAMES != shown_scheme(self._drawings.session)

    @property
    def scope(self) -> str:
        """What shares refer to, such as "all 5 runs"; not valid for files colored by name."""
        open_rasters, picked = self._drawings.rasters, self._drawings.session.state.run
        all_rasters = [p for _, p in self._rasters if not self._is_by_name(p)]
        if picked is not None and open_rasters[picked[0]] in all_rasters:
            run = open_rasters[picked[0]].open_trace.trace.runs[picked[1]]
            name = "load" if run.kind is RunKind.LOAD else run_number(run)
            return name if len(all_rasters) == 1 else f"{name} and other files"
        if len(all_rasters) != 1:
            clocks = len(self._drawings.session.groups)
            return "all open files" if clocks == 1 else "all files of this clock"
        open_trace, scope = all_rasters[0].open_trace, self._time_scope
        base = open_trace.base_of(scope)
        if not base.is_of_several:
            return whole_scope_text(open_trace.trace, scope)
        text = base.unit.counted(base.count)  # there is no room to say which
        return f"{text} of {base.phase}" if base.phase else text

    def _forget(self) -> None:
        self._latest.cancel()
        self._counted = None

    @property
    def is_ramp(self) -> bool:
        """Whether the classes are durations, which have no shares."""
        return bool(self.classes) and self.classes[0].is_step

    @property
    def is_counting(self) -> bool:
        """Whether the classes are still being counted."""
        return self._latest.pending

    def _take(self, counted: Shares) -> None:
        self._list(counted)

    def _list(self, counted: Shares) -> None:
        if counted == self.shares and self.classes:
            self._check()
            return
        self.shares = counted
        for button in self.classes:
            button.hide()
            button.deleteLater()
        listed, scope = counted.listed, self.scope
        ordered = self._ramp(listed) + [share for share in listed if share.color < RAMP]
        self.classes = []
        self._name_others()
        for share in ordered[:MOST_BUTTONS]:
            button = ClassButton(share, scope, self._theme, self)
            button.clicked.connect(button.pick)
            button.picked.connect(partial(highlight_class, self._drawings.session))
            self.classes.append(button)
        self._ordered = ordered
        self._check()
        self._place()

    def _name_others(self) -> None:
        """Label the files that are colored by name, and explain why in the tooltip."""
        others = [p.open_trace for _, p in self._rasters if self._is_by_name(p)]
        name = display_name(others[0].file.path) if len(others) == 1 else "Other files"
        room = self._theme.px(TITLE_WIDTH)
        metrics = self.others.fontMetrics()
        name = elided_text(metrics, one_line(capped(name)), Qt.TextElideMode.ElideMiddle, room)
        self.others.setTextFormat(Qt.TextFormat.PlainText)
        self.others.setText(f"{name}, by name:")
        self.others.resize(self.others.sizeHint())
        scheme = shown_scheme(self._drawings.session)
        why = "\n".join(
            f"{one_line(display_name(open_trace.file.path))}: "
            f"{open_trace.why_not_by(scheme)}. Its slices are colored by their names."
            for open_trace in others[:8]
        )
        self.others.setToolTip(f'<div style="white-space: pre-wrap">{escape(why)}</div>')

    def _name_times(self) -> None:
        """List the kinds of times of the open files, unless all are measured."""
        traces = [drawn.open_trace.trace for drawn in self._drawings.rasters]
        self._kinds = {t: self._kinds.get(t) or kinds_of_time(t.slices) for t in traces}
        ordered = [kind for kind in TIMING_WORDS if any(kind in k for k in self._kinds.values())]
        only_measured = ordered in ([], [MEASURED])
        apart = [kind for kind in ordered if kind != MEASURED]
        text = "" if only_measured else f"Some times are {listed(apart)}"
        self.times.setText(text)
        self.setToolTip(f"{text}. {_TIMES_TIP}" if text else "")  # also where the label has no room
        self.times.resize(self.times.sizeHint())

    def _ramp(self, listed: tuple[Share, ...]) -> list[Share]:
        """All steps of the ramp, shortest first, including those without slices."""
        steps = {
            (title, int(color)): Share(title, int(color), 0, 0.0)
            for drawn in self._drawings.rasters
            for i in np.flatnonzero(drawn.classes.color >= RAMP).tolist()
            for title, color in [(drawn.classes.titles[i], drawn.classes.color[i])]
        }
        steps |= {(share.title, share.color): share for share in listed if share.color >= RAMP}
        return sorted(steps.values(), key=lambda share: share.color)

    def _check(self) -> None:
        lit = self._drawings.session.state.lit
        for button in self.classes:
            button.setChecked(lit == (button.share.title, button.share.color))
        self.update()

    # -- layout ------------------------------------------------------------------------------

    def set_indent(self, width: int) -> None:
        """Align the classes with the rows, beside a headers column of `width` px."""
        self._indent = width
        self._place()
        self.update()

    def _place(self) -> None:
        """Position all classes that fit, and put the others into the menu."""
        theme = self._theme
        y, tall = theme.px(3), self.height() - 2 * theme.px(3)
        total = len(self._ordered) + self.shares.more if self.classes else 0
        room = self._place_times(self.width() - theme.px(8))
        places = self._places(room)
        if len(places) < total:
            self.more.text_of(f"and {group_digits(total)} more")
            room -= self.more.sizeHint().width() + theme.px(_GAP)
            places = self._places(room)
        end = self._indent + theme.px(8)
        for i, button in enumerate(self.classes):
            button.setVisible(i in places)
            if i in places:
                width = button.sizeHint().width()
                button.setGeometry(places[i], y, width, tall)
                end = max(end, places[i] + width + theme.px(_GAP))
        named = next((i for i in places if self.classes[i].share.by_name), -1)
        self.others.setVisible(named >= 0)
        if named >= 0:
            x = places[named] - theme.px(_GAP) - self.others.width()
            self.others.move(x, (self.height() - self.others.height()) // 2)
        rest = (share for i, share in enumerate(self._ordered) if i not in places)
        self._rest = tuple(rest) if self.classes else ()
        self.more.setVisible(bool(self._rest))
        if self._rest:
            hidden = group_digits(total - len(places))
            self.more.text_of(f"and {hidden} more" if places else f"{hidden} classes")
            self.more.setGeometry(end, y, self.more.sizeHint().width(), tall)

    def _place_times(self, room: int) -> int:
        """Position the kinds of times at the right end, if that leaves most of the bar free.

        Returns the x up to which classes may extend.
        """
        width = self.times.width() + self._theme.px(_BEFORE_OTHERS)
        fits = bool(self.times.text()) and 3 * width < room - self._indent
        self.times.setVisible(fits)
        if fits:
            x, y = room - self.times.width(), (self.height() - self.times.height()) // 2
            self.times.move(x, y)
        return room - width if fits else room

    def _places(self, room: int) -> dict[int, int]:
        """The x positions of the classes that fit up to x = `room`, by class number.

        Space is reserved for the first class of the files colored by name, and the label before it.
        """
        theme, x = self._theme, self._indent + self._theme.px(8)
        widths = [button.sizeHint().width() for button in self.classes]
        first = next((i for i, b in enumerate(self.classes) if b.share.by_name), len(widths))
        word = theme.px(_BEFORE_OTHERS) + self.others.width() + theme.px(_GAP)
        reserved = word + widths[first] if 0 < first < len(widths) else 0
        if 2 * reserved > room - x:
            reserved = 0
        places: dict[int, int] = {}
        for numbers, end in ((range(first), room - reserved), (range(first, len(widths)), room)):
            if numbers.start == first < len(widths):
                x += word
            for i in numbers:
                if x + widths[i] > end:
                    break
                places[i] = x
                x += widths[i] + (1 if self.classes[i].is_step else theme.px(_GAP))
        return places

    def _show_rest(self) -> None:
        menu = self.rest_menu()
        menu.popup(self.more.mapToGlobal(QPoint(0, 0)) - QPoint(0, menu.sizeHint().height()))

    def rest_menu(self) -> QMenu:
        """A menu with the classes that do not fit into the bar."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        scope = self.scope
        lit = self._drawings.session.state.lit
        metrics = menu.fontMetrics()
        for i, share in enumerate(self._rest):
            if share.by_name and (i == 0 or not self._rest[i - 1].by_name):
                menu.addSection(literal(self.others.text()))
            line = one_line(capped(share.title))
            title = elided_text(metrics, line, Qt.TextElideMode.ElideRight, 420)
            action = menu.addAction(class_icon(share.color, self._theme), literal(title))
            action.setText(f"{action.text()}\t{amount_text(share)}")
            action.setToolTip(class_tip(share, scope))
            name = share.title, share.color
            action.setCheckable(lit == name)
            action.setChecked(lit == name)
            action.triggered.connect(
                lambda _=False, name=name: highlight_class(self._drawings.session, name)
            )
        if self.shares.more:
            menu.addAction(f"and {group_digits(self.shares.more)} more").setEnabled(False)
        return menu

    def _retheme(self) -> None:
        for button in self.classes:
            button.update()
        self.more.update()
        self.update()

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the background, and the scheme's title in the headers column."""
        painter, theme, session = QPainter(self), self._theme, self._drawings.session
        painter.fillRect(self.rect(), theme.color("panel"))
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawLine(0, 0, self.width(), 0)
        painter.drawLine(self._indent - 1, 0, self._indent - 1, self.height())
        painter.setFont(theme.font("ruler"))
        painter.setPen(theme.color("text2"))
        middle = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        scheme = scheme_of(shown_scheme(session))
        title = "" if scheme is None else f"Colors: {scheme.legend_title}"
        lines = [title, f"% of {self.scope}"] if self.classes and not self.is_ramp else [title]
        room = self._indent - TITLE_INDENT - theme.px(8)
        tall = theme.px(13)
        y = (self.height() - tall * len(lines)) // 2
        for text in lines:
            elided = elided_text(painter.fontMetrics(), text, Qt.TextElideMode.ElideRight, room)
            painter.drawText(TITLE_INDENT, y, room, tall, middle, elided)
            y += tall
            painter.setPen(theme.color("text3"))
        if self.is_counting:
            left = self._indent + theme.px(8)
            painter.drawText(
                left, 0, self.width() - left, self.height(), middle, "Counting slices…"
            )
        painter.end()

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        """Reposition the classes for the new width."""
        super().resizeEvent(event)
        self._place()

    @guard
    def showEvent(self, event: QShowEvent) -> None:
        """Do the counting that was deferred while hidden."""
        super().showEvent(event)
        if self._stale:
            self.refresh()

    @guard
    def hideEvent(self, event: QHideEvent) -> None:
        """Cancel counting while hidden."""
        super().hideEvent(event)
        if self._latest.pending:
            self._forget()
            self._stale = True
