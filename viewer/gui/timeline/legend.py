"""The legend: a bar below the rows with the classes of the color scheme, most time first.

Each class is a button with its swatch, title and share of the time of the picked inference, or of
all files of the active clock. Files without the scheme's attribute are colored by name, and their
classes follow the others after a label. At the right end are the kinds of times of the open files,
if not all of them are measured.
"""

from __future__ import annotations

from functools import partial
from html import escape

import numpy as np
from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QHideEvent,
    QIcon,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QAbstractButton, QLabel, QMenu, QWidget

from viewer.analysis.links.labels import run_number
from viewer.gui.qt.background import Latest
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.labels import elided_text, literal
from viewer.gui.session.choices import highlight_class, shown_scheme
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.trace_rasters import TraceRasters
from viewer.gui.timeline.track_headers import TITLE_INDENT, WIDTH
from viewer.model.figures import WHOLE, TimeScope, whole_scope_text
from viewer.model.text import capped, display_name, listed, name_text
from viewer.model.times import counted, format_share, format_time, group_digits
from viewer.model.timing import MEASURED, TIMING_WORDS, kinds_of_time
from viewer.model.trace import RunKind, Trace
from viewer.render.color_schemes import NAMES, scheme_of
from viewer.render.color_shares import Counted, Share, Shares, shares
from viewer.render.palette import (
    RAMP,
    UNATTRIBUTED,
    UNLINKED,
    canvas_rgb,
    contrast,
    edge_rgb,
    fills,
    label_colors,
)
from viewer.view.open_trace import AT_ONCE
from viewer.view.selection import per_inference

HEIGHT = 30  # of the legend, px
SWATCH = 12
TITLE_WIDTH = 180  # px, maximum width of a title
_DIMS = "Click to dim everything else; click again to show everything."
_HATCHED = (UNLINKED, UNATTRIBUTED)
# Swatches with less contrast to the canvas get an outline.
_VISIBLE = 2.0


class LegendButton(QAbstractButton):
    """A flat, custom-painted button with a background on hover."""

    role: FontRole = "caption"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)  # repaints when the mouse enters or leaves

    def text_of(self, text: str) -> None:
        """Set the text and the accessible name."""
        self.setText(text)
        self.setAccessibleName(text)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        width = self._metrics(self.text()) + 2 * self.theme.px(6)
        return QSize(width, self.theme.px(HEIGHT - 6))

    def _metrics(self, text: str) -> int:
        self.setFont(self.theme.font(self.role))
        return self.fontMetrics().horizontalAdvance(text)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._ground(painter)
        painter.setFont(self.theme.font(self.role))
        painter.setPen(self.theme.color("text2"))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self.text())
        painter.end()

    def _ground(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        room = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        token = "selection" if self.isChecked() else "hover" if self.underMouse() else ""
        painter.setPen(
            QPen(self.theme.color("accent"), 1.5) if self.hasFocus() else Qt.PenStyle.NoPen
        )
        painter.setBrush(self.theme.color(token) if token else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(room, 4, 4)


class ClassButton(LegendButton):
    """A class with swatch, title and share; a step of the duration ramp shows where it starts."""

    picked = Signal(object)  # (title, palette index)

    def __init__(self, share: Share, scope: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.share = share
        self.is_step = share.color >= RAMP
        self.setCheckable(True)
        text = one_line(share.title)
        if self.is_step:
            start = text.partition(" – ")[0]
            text = f"from {start}" if " – " in text else start
        self.amount = "" if self.is_step else amount_text(share)
        self.setFont(theme.font(self.role))
        self.title = elided_text(
            self.fontMetrics(), text, Qt.TextElideMode.ElideMiddle, theme.px(TITLE_WIDTH)
        )
        self.setToolTip(class_tip(share, scope))
        self.setAccessibleName(f"{share.title}, {_facts(share, scope)}")
        self.setAccessibleDescription(_DIMS)  # the name covers the rest of the tooltip

    def pick(self) -> None:
        """Emit `picked` for this class; the session decides whether it is highlighted."""
        self.picked.emit((self.share.title, self.share.color))

    @guard(QSize())
    def sizeHint(self) -> QSize:
        theme, title = self.theme, self._metrics(self.title)
        tall = theme.px(HEIGHT - 6)
        if self.is_step:
            return QSize(title + 2 * theme.px(8), tall)
        amount = self._metrics(self.amount) + theme.px(6)
        return QSize(theme.px(6 + SWATCH + 6 + 6) + title + amount, tall)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        painter.setFont(theme.font(self.role))
        if self.is_step:
            self._paint_step(painter)
            painter.end()
            return
        self._ground(painter)
        side = theme.px(SWATCH)
        paint_class(
            painter,
            QRectF(theme.px(6), (self.height() - side) / 2, side, side),
            self.share.color,
            theme,
        )
        x = theme.px(6 + SWATCH + 6)
        middle = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.setPen(theme.color("text1"))
        painter.drawText(x, 0, self.width(), self.height(), middle, self.title)
        x += self._metrics(self.title) + theme.px(6)
        painter.setPen(theme.color("text2"))
        painter.drawText(x, 0, self.width(), self.height(), middle, self.amount)
        painter.end()

    def _paint_step(self, painter: QPainter) -> None:
        theme, color = self.theme, self.share.color
        room = QRectF(self.rect()).adjusted(0, theme.px(3), 0, -theme.px(3))
        painter.fillRect(room, QColor.fromRgb(fills(theme.dark)[color]))
        if self.isChecked() or self.hasFocus() or self.underMouse():
            token = "ring" if self.isChecked() else "accent" if self.hasFocus() else "text2"
            painter.setPen(QPen(theme.color(token), 2))
            painter.drawRect(room.adjusted(1, 1, -1, -1))
        painter.setPen(QColor.fromRgb(label_colors(theme.dark)[color]))
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter, self.title)


def paint_class(painter: QPainter, room: QRectF, color: int, theme: Theme) -> None:
    """Paint the swatch of a palette index the way slices look: filled, or hatched."""
    fill = fills(theme.dark)[color]
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    edge = QColor.fromRgb(edge_rgb(fill))
    bare = theme.dark and contrast(fill, canvas_rgb(True)) > _VISIBLE
    line = theme.color("line") if theme.dark else edge
    painter.setPen(Qt.PenStyle.NoPen if bare else QPen(line, 1))
    painter.setBrush(QColor.fromRgb(fill))
    inside = room if bare else room.adjusted(0.5, 0.5, -0.5, -0.5)
    painter.drawRoundedRect(inside, 2.5, 2.5)
    if color in _HATCHED:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QBrush(theme.color("text3"), Qt.BrushStyle.BDiagPattern))
        painter.drawRoundedRect(inside, 2.5, 2.5)
    painter.restore()


def class_icon(color: int, theme: Theme) -> QIcon:
    """The swatch of a palette index as an icon."""
    side = theme.px(SWATCH)
    pixmap = QPixmap(2 * side, 2 * side)
    pixmap.setDevicePixelRatio(2)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    paint_class(painter, QRectF(0, 0, side, side), color, theme)
    painter.end()
    return QIcon(pixmap)


def one_line(title: str) -> str:
    """A title as one line; titles come from files and may contain anything or be empty."""
    return name_text(title[:300])


def amount_text(share: Share) -> str:
    """The share of the time, or the number of slices if they have no duration."""
    return format_share(share.ns, share.whole) if share.ns > 0 else counted(share.count, "slice")


def _facts(share: Share, scope: str) -> str:
    parts = [counted(share.count, "slice")]
    if share.ns > 0:
        part = format_share(share.ns, share.whole)
        of = "the files colored by name" if share.by_name else scope
        parts.append(f"{format_time(share.ns)} self, {part} of {of}")
    return " · ".join(parts)


def class_tip(share: Share, scope: str) -> str:
    """The tooltip of a class: full title, share of a scope, and what a click does."""
    title = name_text(share.title[:1000])
    text = f"{title}\n{_facts(share, scope)}\n{_DIMS}"
    return f'<div style="white-space: pre-wrap">{escape(text)}</div>'


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
        self._latest = Latest(self, self._list, in_turn=True)
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
        """The numbers and rasters of the traces of the active clock: others' times never add up."""
        all_rasters, members = self._drawings.rasters, self._drawings.session.group.traces
        return [(i, all_rasters[i]) for i in members if i < len(all_rasters)]

    def _is_by_name(self, drawn: TraceRasters) -> bool:
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
        if self._latest.pending:
            left = self._indent + theme.px(8)
            painter.drawText(
                left, 0, self.width() - left, self.height(), middle, "Counting slices…"
            )
        painter.end()

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
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
        super().hideEvent(event)
        if self._latest.pending:
            self._forget()
            self._stale = True
