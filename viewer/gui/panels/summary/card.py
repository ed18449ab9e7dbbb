"""The summary of a trace: time, delegated share, operators, inferences, findings, problems.

Of models that are open without a profile: what they hold, and the next step.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QSizePolicy, QWidget

from viewer.analysis.findings.finding import (
    Finding,
    FindingPlace,
    OperatorSets,
    PanelRef,
    RunRef,
    SliceKeys,
    share_text,
)
from viewer.analysis.findings.inferences import SlowestInference
from viewer.analysis.sequence.wall_time import tokens_text
from viewer.analysis.summaries import (
    Expensive,
    HeldCount,
    MedianInference,
    Summary,
    executable_contents,
    program_contents,
)
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.cost_painting import Swatch, colors_of, paint_part, paint_parts
from viewer.gui.panels.base.file_caption import (
    FileCaption,
    InferenceList,
    InferenceModel,
    InferenceRow,
    inference_rows,
)
from viewer.gui.panels.base.panel import PanelHost
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.summary.phases import (
    MOST_INFERENCES,
    PhaseActions,
    course_bars,
    course_texts,
    phase_entry,
    wall_parts,
)
from viewer.gui.panels.summary.sections import (
    Action,
    FigureLink,
    FindingLink,
    IconMark,
    SectionColumn,
    SessionsSection,
)
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, label
from viewer.gui.session import navigation
from viewer.gui.session.choices import link_summary
from viewer.gui.session.navigation import show_place
from viewer.model.figures import STEADY, TimeScope, inferences_text, left_out
from viewer.model.inference_views import Inferences
from viewer.model.text import display_name, name_text
from viewer.model.times import (
    NARROW_SPACE,
    counted,
    format_time,
    group_digits,
    split_time,
    tick_to_ns,
)
from viewer.view.open_trace import OpenTrace
from viewer.workspace.session_sets import SessionSet

if TYPE_CHECKING:
    from viewer.gui.panels.summary.course_strip import CourseStrip


SLOWEST = 5  # then these are
MOST_FINDINGS = 3
MOST_FILES = 6
WITHOUT_SHARED = "without shared calls"
_VIEW_NAMES = {Inferences.TYPICAL: "the typical one", Inferences.MEAN: "their mean"}
_MOST_METHODS = 2  # with a key figure each; more have a list
_MOST_LISTED = 8

_BAR, _MARK = 8, 8

OPEN_PROFILE = "Open a profile…"
TIME_TITLE = "Time of an inference"
NEXT_STEP = "A profile of this model shows how long each operator takes."


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the bar. token: its color, "" for hatched. panel: the panel that lists it."""

    name: str
    token: str
    ns: float
    panel: str


def parts_of(summary: Summary) -> tuple[Part, ...]:
    """Return the parts of the total of a summary, in ns, as in Delegation; () if not known."""
    report, costs = summary.delegation, summary.costs
    if report is not None:
        first = ("Delegated", "accent", report.delegated, "delegation")
        second = ("Not delegated", "slab", report.not_delegated, "delegation")
        whole, panel = report.whole, "delegation"
    elif summary.is_linked and costs.whole:
        first = ("Operators", "accent", costs.single, "operators")
        second = ("Shared", "slab", costs.shared, "operators")
        whole, panel = costs.whole, "operators"
    elif summary.directions is not None:
        directions, panel = summary.directions, "model"
        first = "Forward", "accent", directions.forward, panel
        second = "Backward", "slab", directions.backward, panel
        whole = directions.forward + directions.backward + directions.other
    else:
        return ()
    name = "No operator" if summary.directions is None else "Other"
    rest = name, "", whole - first[2] - second[2], panel
    rows = first, second, rest
    figures = summary.base.parts(*(ticks for _, _, ticks, _ in rows))
    return tuple(
        Part(name, token, ns, at) for (name, token, _, at), ns in zip(rows, figures, strict=True)
    )


class PartsBar(QWidget):
    """The bar; a legend tells its colors."""

    def __init__(self, parts: tuple[Part, ...], theme: Theme) -> None:
        super().__init__()
        self._parts, self._theme = parts, theme
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(", ".join(f"{one.name} {format_time(one.ns)}" for one in parts))

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(100), self._theme.px(_BAR))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, sizes = QPainter(self), [(part.token, part.ns) for part in self._parts]
        whole = sum(ns for _, ns in sizes)
        paint_parts(painter, QRectF(self.rect()), sizes, whole, self._theme)
        painter.end()


class PartMark(QWidget):
    """The color of one part, in the legend."""

    def __init__(self, part: Part, theme: Theme) -> None:
        super().__init__()
        self._part, self._theme = part, theme
        self.setFixedSize(theme.px(12), theme.px(_MARK))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, side = QPainter(self), self._theme.px(_MARK)
        paint_part(painter, QRectF(0, 0, side, side), self._part.token, self._theme)
        painter.end()


@dataclass(frozen=True, slots=True, eq=False)
class SummaryAnswer:
    """The summary of a trace in a scope.

    sessions: the set that the trace is in, None for none. sets: all, as they are for `sets_of`.
    """

    shown: OpenTrace
    scope: TimeScope
    summary: Summary
    sessions: SessionSet | None = None
    sets: tuple[SessionSet, ...] = ()
    sets_of: tuple[Any, ...] = ()


class SummaryCard(SectionColumn):
    """The sections for one trace; a section without content is absent. problems: their number."""

    def __init__(self, host: PanelHost, answer: SummaryAnswer, problems: int) -> None:
        super().__init__(host)
        self._session, self._answer = host.session, answer
        self._shown, self._summary = answer.shown, answer.summary
        self.path = answer.shown.file.path
        self._rate = answer.shown.axis.ns_per_tick
        self._unit = answer.shown.file.unit
        self.list: InferenceList | None = None
        self.strip: CourseStrip | None = None
        self._warnings()
        self._title()
        self._key_figures()
        if answer.sessions is not None:
            SessionsSection(self, host, answer.sessions, answer.shown)
        self._parts()
        self._wall_time()
        self._course()
        self._modules()
        self._expensive()
        self._inferences()
        self._findings()
        self._state(problems)
        self._other_files()
        self.end()

    # -- sections ----------------------------------------------------------------------------------

    def _warnings(self) -> None:
        """The reasons why files do not match, before anything else."""
        for text in self._session.workspace.warnings(self._shown.file):
            row = QHBoxLayout()
            row.setSpacing(self._theme.px(8))
            row.addWidget(IconMark("warning", "warning", self._theme), 0, Qt.AlignmentFlag.AlignTop)
            row.addWidget(label(text, self._theme, wrap=True), 1)
            self.column.addLayout(row)
            self.line("Show links", self._panel("links"))

    def _title(self) -> None:
        shown, summary = self._shown, self._summary
        scopes = {run.scope for run in shown.file.inferences()}
        picked = summary.inference
        scope = picked.scope if picked is not None else next(iter(scopes), -1)
        method = shown.table.method_of_scope(scope) if len(scopes) == 1 or picked else None
        file = display_name(shown.file.path)
        report = summary.delegation
        backends = dict.fromkeys(one.backend for one in report.instances) if report else {}
        rest = [file] if method else []
        rest += [backend for backend in backends if backend]
        row = QHBoxLayout()
        row.setSpacing(self._theme.px(8))
        row.addWidget(label(method or file, self._theme, "operator"))
        caption = FileCaption(self._host)
        caption.setText(" · ".join(rest) or self._scope_text())
        row.addWidget(caption, 1)
        if self.column.count():
            self.begin("")
        self.column.addLayout(row)
        inferences = self._session.state.inferences
        if inferences in _VIEW_NAMES and not self._is_typical:
            view = _VIEW_NAMES[inferences]
            text = f"Figures of the {self._unit.plural} as they ran; the timeline shows {view}."
            self.column.addWidget(label(text, self._theme, "caption", "text2", wrap=True))
        elif summary.outliers and picked is None:
            text = f"{summary.outliers.text}, which skews the figures of all {self._unit.plural}."
            self.column.addWidget(label(text, self._theme, "caption", "text2", wrap=True))
            show = partial(self._session.show_inferences, Inferences.TYPICAL)
            self.line(self._unit.worded("Show the typical inference"), show)

    @property
    def _is_typical(self) -> bool:
        """Whether the figures are those of the typical inference, because the view shows it."""
        return self._summary.scope.typical_of > 0

    def _key_figures(self) -> None:
        summary, file = self._summary, self._shown.file
        median, picked, slowest = summary.median, summary.inference, summary.slowest
        figures: list[tuple[FigureLink, Action]] = []
        if picked is not None:
            position = next(i for i, run in enumerate(file.runs) if run is picked)
            ticks = picked.end - picked.start
            what = f"{picked.text}, typical" if self._is_typical else self._scope_text()
            figures.append((self._time(ticks, what, self._scope_text()), self._pick(position)))
        elif median is None and not any(file.inferences()):
            figures.append((self._time(summary.span, "duration"), self._fit))
            statistics = self._panel("statistics")
            hint = summary.busy or summary.of
            busy = "busy time"
            if summary.threads > 1 or summary.whole > summary.span:
                busy = "busy time, threads added up" if summary.threads else "busy time, added up"
            figures.append((self._time(summary.whole, busy, hint), statistics))
            if summary.threads:
                noun = "thread" if summary.threads == 1 else "threads"
                count = FigureLink(group_digits(summary.threads), "", noun, self._theme)
                figures.append((count, statistics))
        elif median is None and summary.methods:
            figures += [self._of_method(one) for one in summary.methods[:_MOST_METHODS]]
        elif median is None:
            one = self._time(summary.whole, self._scope_text()), self._panel("statistics")
            figures.append(one)
        if median is not None:
            hint = f"The median of {self._unit.counted(median.runs)}"
            one = self._time(median.ticks, self._median_text(), hint), self._pick(median.run)
            figures.append(self._levels_of(median) if median.levels else one)
        if (report := summary.delegation) is not None:
            number, unit = _split_share(share_text(report.delegated, report.whole))
            what = f"delegated in {summary.phase}" if summary.phase else "delegated"
            link = FigureLink(number, unit, what, self._theme)
            # Of several methods, the medians stay together, and the slowest says more than 0 %.
            if picked is not None or not summary.methods:
                figures.insert(1, (link, self._panel("delegation")))
            elif report.delegated:
                figures.append((link, self._panel("delegation")))
        if len(figures) < 3 and slowest is not None and (picked is None or self._is_typical):
            figures.append((self._time(slowest.ticks, "slowest"), self._pick(slowest.run)))
        self.figures(figures)
        if picked is None and len(summary.methods) > _MOST_METHODS:
            self._methods(summary.methods)

    def _levels_of(self, one: MedianInference) -> tuple[FigureLink, Action]:
        """The medians of the first and of the last level."""
        first, last = (
            split_time(format_time(tick_to_ns(level.ticks, self._rate)))
            for level in (one.levels[0], one.levels[-1])
        )
        before = first[0] if first[1] == last[1] else " ".join(first)
        caption = ", ".join(filter(None, (one.name, "first → last level")))
        hint = "; ".join(
            f"{format_time(tick_to_ns(level.ticks, self._rate))} from {self._unit.noun} "
            f"{group_digits(level.first)} on"
            for level in one.levels
        )
        link = FigureLink(f"{before} → {last[0]}", last[1], caption, self._theme, hint)
        return link, self._pick(one.run)

    def _wall_time(self) -> None:
        """Where the wall time went: loads, phases, sampling, and what is idle."""
        parts = tuple(Part(*part, "events") for part in wall_parts(self._summary.wall, self._rate))
        if len(parts) > 1 and self._summary.inference is None:
            self.begin("Wall time", format_time(sum(part.ns for part in parts)))
            self._bar_of(parts)
            for one in self._phases():
                if text := tokens_text(one.name, one.tokens, self._rate):
                    self.line(text, self._pick(one.run), "text1")

    def _phases(self) -> tuple[MedianInference, ...]:
        return self._summary.methods or tuple(filter(None, [self._summary.median]))

    def _course(self) -> None:
        """How long inferences took in their order, per phase."""
        summary, shown = self._summary, self._shown
        if len(course_bars(shown)) <= MOST_INFERENCES:
            return  # all of them are listed
        from viewer.gui.panels.summary.course_strip import strip_of

        self.strip = strip = strip_of(shown, summary.inference, self._theme)
        self.begin("In order", self._unit.counted(len(strip.weights)))
        strip.picked.connect(lambda run: self._pick(run)())
        strip.menu_of.connect(self._fill_menu)
        self.column.addWidget(strip)
        for text, run in course_texts(shown, self._phases()):
            if run >= 0:
                self.line(text, self._pick(run), "text1")
            else:
                self.column.addWidget(label(text, self._theme, "caption", "text2", wrap=True))
        for text in self._session.workspace.phase_evidence(shown.file):
            self.column.addWidget(label(text, self._theme, "caption", "text2", wrap=True))
        self._phases_link()

    def _phases_link(self) -> None:
        """A link to the menu of all phases."""
        link = self.text(phase_entry(self._shown.file), lambda: self._open_phases(link), "accent")
        self.column.addWidget(link)

    def _open_phases(self, link: QWidget) -> None:
        menu = QMenu(self.window())
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._fill_menu(menu)
        menu.popup(link.mapToGlobal(link.rect().bottomLeft()))

    def _fill_menu(self, menu: QMenu, run: int | None = None) -> None:
        PhaseActions(self._session, self._shown.file, self.window()).fill(menu, run)

    def _of_method(self, one: MedianInference) -> tuple[FigureLink, Action]:
        if one.levels:
            return self._levels_of(one)
        caption = f"{one.name}, median" if one.runs > 1 else one.name
        hint = f"The median of {self._unit.counted(one.runs)} of {one.name}"
        return self._time(one.ticks, caption, hint), self._pick(one.run)

    def _methods(self, methods: Sequence[MedianInference]) -> None:
        """What the inferences of each method take; no figure covers several."""
        self.begin("Methods", f"median per {self._unit.noun}")
        rows: list[Sequence[QWidget | None]] = []
        for one in methods[:_MOST_LISTED]:
            show = self._pick(one.run)
            rows.append(
                (
                    self.text(one.name, show, elided=True),
                    self.text(format_time(tick_to_ns(one.ticks, self._rate)), show),
                    self.text(self._unit.counted(one.runs), show, "text2"),
                )
            )
        self.grid(rows, 0)
        if len(methods) > _MOST_LISTED:
            self.line(counted(len(methods) - _MOST_LISTED, "more method"), self._panel("events"))

    def _parts(self) -> None:
        parts = parts_of(self._summary)
        if not sum(part.ns for part in parts):
            return
        if self._summary.base.name:
            self.begin(self._unit.worded(TIME_TITLE), self._per())
        self._bar_of(parts)

    def _bar_of(self, parts: tuple[Part, ...]) -> None:
        """A bar of parts with its legend."""
        whole = sum(part.ns for part in parts)
        self.column.addSpacing(self._theme.px(4))
        self.column.addWidget(PartsBar(parts, self._theme))
        rows = []
        for part in (part for part in parts if part.ns):
            show = self._panel(part.panel)
            time, share = format_time(part.ns), share_text(part.ns, whole)
            rows.append(
                (
                    PartMark(part, self._theme),
                    self.text(part.name, show, elided=True),
                    self.text(time, show),
                    self.text(share, show, "text2"),
                )
            )
        self.grid(rows, 1)

    def _modules(self) -> None:
        """The modules whose own operators take most, each with its forward and backward part."""
        summary = self._summary
        if not summary.modules:
            return
        self.begin("Hottest modules", self._per() or self._scope_text())
        rows: list[Sequence[QWidget | None]] = []
        whole, base = summary.expensive_whole, summary.base
        for hot in summary.modules:
            select = partial(self._show_place, SliceKeys(hot.keys))
            forward, backward = map(base.text, (hot.forward, hot.backward))
            hint = f"{hot.path}\nforward {forward}, backward {backward}"
            rows.append(
                (
                    self.text(name_text(hot.name), select, hint=hint, elided=True),
                    self.text(base.text(hot.ticks), select, hint=hint),
                    self.text(share_text(hot.wall, whole), select, "text2"),
                )
            )
        self.grid(rows, 0)
        first = summary.modules[0]
        if first.backward:
            forward, backward = map(base.text, (first.forward, first.backward))
            text = f"{first.name}: forward {forward}, backward {backward}"
            self.column.addWidget(label(text, self._theme, "caption", "text2", wrap=True))

    def _expensive(self) -> None:
        summary = self._summary
        if not summary.expensive:
            return
        title = "Most expensive operators" if summary.is_linked else "Most expensive events"
        # An inference is named by its key figure already.
        is_noted = summary.without_shared and summary.inference is not None
        scope = self._per() or self._scope_text()
        if summary.busy and not summary.is_linked:
            # Busy time is no time that a key figure names, and tables add up that of all tracks.
            scope = f"{scope} · % of {summary.base.text(summary.expensive_whole)}"
        self.begin(title, WITHOUT_SHARED if is_noted else scope)
        self.grid([self._expensive_row(one) for one in summary.expensive], 1)
        if summary.without_shared and not is_noted:
            self.column.addWidget(label(WITHOUT_SHARED, self._theme, "caption", "text2"))

    def _expensive_row(self, one: Expensive) -> Sequence[QWidget | None]:
        shown, theme = self._shown, self._theme
        place: FindingPlace = SliceKeys(one.keys)
        swatch, line = None, None
        if one.operators:
            place = OperatorSets((one.operators,))
            palette = shown.operator_colors(self._session.state.scheme)
            swatch = Swatch(colors_of(one.operators, palette), theme)
        if one.place is not None:
            path, number = one.place
            hint = f"{display_name(path)}:{one.lines}"
            show = partial(self._host.show_source, path, number)
            line = self.text(f":{one.lines}", show, "accent", hint)
        select = partial(self._show_place, place)
        time = self._summary.base.text(one.ticks, one.zeros)
        share = "" if one.is_cut else share_text(one.wall, self._summary.expensive_whole)
        return (
            swatch,
            self.text(name_text(one.label), select, elided=True),
            line,
            self.text(time, select),
            self.text(share, select, "text2"),
        )

    def _inferences(self) -> None:
        rows = inference_rows(self._shown.file, self._shown.table, self._rate)
        if len(rows) < 2:
            return
        listed = rows
        if len(rows) > MOST_INFERENCES:
            listed = tuple(sorted(rows, key=lambda row: -row.ns)[:SLOWEST])
            self.begin(f"Slowest {self._unit.plural}", self._counted())
        else:
            self.begin(self._unit.plural.capitalize(), self._counted())
        self._list(listed)
        if len(listed) < len(rows):
            self.line(f"All {self._unit.counted(len(rows))}", self._host.show_inferences)
        else:
            self._phases_link()
        if self._summary.slowest is not None:
            self._slowest(self._summary.slowest)

    def _list(self, rows: Sequence[InferenceRow]) -> None:
        model = InferenceModel(self)
        self.list = InferenceList(model, self._theme)
        self.list.setAccessibleName(self._unit.plural.capitalize())
        model.show(rows)
        number = self._number
        picked = self._session.state.run
        model.make_current(picked[1] if picked and picked[0] == number else -1)
        self.list.setFixedHeight(self.list.height_of(len(rows)))
        self.list.picked.connect(lambda run: self._pick(run)())
        self.column.addWidget(self.list)

    def _slowest(self, slowest: SlowestInference) -> None:
        """Which inference is the slowest; why, if a finding would say so."""
        self.column.addSpacing(self._theme.px(2))
        self.line(slowest.text, self._pick(slowest.run), "text1")
        if slowest.why:
            self.column.addWidget(label(slowest.why, self._theme, "caption", "text2", wrap=True))

    def _findings(self) -> None:
        findings = self._summary.findings
        if not findings.found:
            return
        count = len(findings.found) + findings.left_out
        self.begin(f"Findings {group_digits(count)}", f"{findings.scope} · by possible gain")
        for finding in findings.found[:MOST_FINDINGS]:
            self._finding(finding)
        if more := count - min(len(findings.found), MOST_FINDINGS):
            self.line(f"{counted(more, 'more finding')}", self._panel("findings"))

    def _finding(self, finding: Finding) -> None:
        gain = finding.gain
        figure = share_text(gain.ticks, gain.whole) if gain.share is not None else ""
        detail = gain.text or finding.detail
        hint = f"{finding.detail}\n{finding.rule}"
        link = FindingLink(figure, finding.action, detail, self._theme, hint)
        link.clicked.connect(partial(self._show_finding, finding))
        self.column.addWidget(link)

    def _state(self, problems: int) -> None:
        """Whether there are problems, and how the files match."""
        state = link_summary(self._session, self._shown)
        rows: list[Sequence[QWidget | None]] = []
        icon, token = ("warning", "warning") if problems else ("check", "ok")
        text = counted(problems, "problem") if problems else "No problems in the files"
        link = self.text(text, self._panel("problems"), elided=True)
        rows.append((IconMark(icon, token, self._theme), link))
        table = self._shown.table
        if table.program is not None or bool((table.states > 0).any()):
            link = self.text(state.brief, self._panel("links"), hint=state.text, elided=True)
            rows.append((IconMark("dot", state.token, self._theme), link))
        self.begin("")
        self.grid(rows, 1)

    def _other_files(self) -> None:
        session, number = self._session, self._number
        members = () if self._answer.sessions is None else self._answer.sessions.traces
        others = [
            i
            for i, open_trace in enumerate(session.traces)
            if i != number and open_trace.file not in members
        ]
        if not others:
            return
        self.begin("Other profiles")
        rows: list[Sequence[QWidget | None]] = []
        for other in others[:MOST_FILES]:
            trace = session.traces[other].file
            ns = tick_to_ns(trace.end - trace.start, session.traces[other].axis.ns_per_tick)
            show = partial(self._show_file, other)
            name = self.text(display_name(trace.path), show, hint=trace.path, elided=True)
            rows.append((name, self.text(format_time(ns), show)))
        self.grid(rows, 0)
        if len(others) > MOST_FILES:
            self.line(f"{len(others) - MOST_FILES} more", self._panel("links"))

    # -- parts -------------------------------------------------------------------------------------

    def _time(self, ticks: int | Fraction, caption: str, hint: str = "") -> FigureLink:
        number, unit = split_time(format_time(tick_to_ns(ticks, self._rate)))
        return FigureLink(number, unit, caption, self._theme, hint)

    def _per(self) -> str:
        """What the figures of operators are per: "mean of 3 decode"; "" if of one inference."""
        base, phase = self._summary.base, self._summary.phase
        return " ".join(filter(None, (base.name, phase))) if base.name else ""

    def _scope_text(self) -> str:
        return scope_text(self._shown, self._summary.scope)

    def _counted(self) -> str:
        return inferences_text(self._shown.file, self._all())

    def _all(self) -> TimeScope:
        return TimeScope(warm_up=self._session.state.warm_up)

    def _median_text(self) -> str:
        covers = STEADY if self._is_typical else self._all()
        is_less = left_out(self._shown.file, covers).warm_up > 0
        text = "median after warm-up" if is_less else "median"
        median = self._summary.median
        return f"{median.name}, median" if median is not None and median.name else text

    # -- where links lead --------------------------------------------------------------------------

    def _panel(self, name: str) -> Action:
        return partial(self._host.show_panel, name)

    def _pick(self, run: int) -> Action:
        return partial(self._show_place, RunRef(run))

    def _show_place(self, place: FindingPlace) -> None:
        shown, scope = self._shown, self._answer.scope
        finding_slices = shown.findings.slices_at(place, scope)
        show_place(self._session, shown, place, finding_slices)

    def _show_finding(self, finding: Finding) -> None:
        if isinstance(finding.place, PanelRef):
            self._host.show_panel(finding.place.name)
        else:
            self._show_place(finding.place)

    @property
    def _number(self) -> int | None:
        """The position of the trace, however its inferences are displayed; None if it is closed."""
        numbers = range(len(self._session.traces))
        return next((i for i in numbers if self._session.as_run(i) is self._shown), None)

    def _fit(self) -> None:
        navigation.fit_file(self._session, self._number)

    def _show_file(self, number: int) -> None:
        """Switch to another profile, as it opens alone."""
        navigation.show_file(self._session, number)


def _split_share(text: str) -> tuple[str, str]:
    number, _, unit = text.rpartition(NARROW_SPACE)
    return (number, unit) if number else (unit, "")


class ModelCard(SectionColumn):
    """One section per ETRecord, source or program file, and a button that opens a profile."""

    def __init__(self, host: PanelHost) -> None:
        super().__init__(host)
        theme, space = host.theme, host.session.workspace
        for program in space.programs:
            self._file(program.path, program.format, program_contents(program))
        for executable in space.executables:
            self._file(executable.path, executable.format, executable_contents(executable))
        self.begin("")
        self.column.addWidget(label(NEXT_STEP, theme, "cell", "text2", wrap=True))
        row = QHBoxLayout()
        self.button = QPushButton(OPEN_PROFILE)
        self.button.clicked.connect(self._host.open_files)
        row.addWidget(self.button)
        row.addStretch(1)
        self.column.addSpacing(theme.px(4))
        self.column.addLayout(row)
        self.end()

    def _file(self, path: str, kind: str, held: Sequence[HeldCount]) -> None:
        """One file: its name and what it holds; a file that holds nothing to list is left out."""
        if not held:
            return
        theme = self._theme
        if self.column.count():
            self.begin("")
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        row.addWidget(label(display_name(path), theme, "operator"))
        row.addWidget(ElidedLabel(kind, theme, "caption", "text2"), 1)
        self.column.addLayout(row)
        rows: list[Sequence[QWidget]] = []
        for one in held:
            show = partial(self._host.show_panel, one.panel)
            noun = one.noun if one.count == 1 else _plural(one.noun)
            rows.append(
                (self.text(group_digits(one.count), show), self.text(noun, show, elided=True))
            )
        self.grid(rows, 1)


def _plural(noun: str) -> str:
    first, space, rest = noun.partition(" ")
    return f"{first}s{space}{rest}" if first == "operator" else f"{noun}s"
