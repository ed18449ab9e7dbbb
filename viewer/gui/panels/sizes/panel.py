"""The Sizes panel: what the bytes of a program file are for, as a treemap above a table.

It shows one open program file, or two of them side by side during a comparison of profiles that ran
them.
"""

from __future__ import annotations

from copy import copy
from threading import Event

import numpy as np
from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from viewer.arrays import Ints
from viewer.codecs.reading import Cancelled
from viewer.dataclasses import dataclass, replace
from viewer.gui.panels.base.panel import (
    AnswerPanel,
    PanelHost,
    Question,
    Sentence,
    head_row,
    page_splitter,
    plain_column,
    subtitle_label,
)
from viewer.gui.panels.base.table import TableModel
from viewer.gui.panels.sizes.answer import (
    Copies,
    Grouping,
    SizesAnswer,
    SizesQuestion,
    SizeTree,
    find_copies,
    select_users,
    selected_rows,
    size_tree,
    work_out,
)
from viewer.gui.panels.sizes.table import (
    PARTS,
    PartRows,
    PartsView,
    PartTexts,
    beside_text,
    box_name,
    box_size_text,
    copies_text,
    count_text,
    figures,
)
from viewer.gui.panels.sizes.treemap_view import TreemapView
from viewer.gui.qt.background import Latest, WhenVisible
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import ComboBox, SegmentBar, laid_out, tool_button
from viewer.gui.qt.widgets.labels import ElidedLabel, anchor, figures_html, label, span
from viewer.gui.qt.widgets.tables import FilterLine, NoRows, marked_rows
from viewer.gui.session.choices import operator_palette
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import counted
from viewer.program.executables import Executable
from viewer.render.box_pictures import NONE, Rest
from viewer.render.palette import Palette

NOTHING = (
    "No program (.pte) is open. Open the file that the runtime loads to see what its bytes are for."
)
_FIELD_WIDTH = 200  # px
_PICTURE_PART = 50  # percent of the height
_SOON_MS = 150  # after the first picture
_AT_ONCE = 5000  # rows that are grouped at once: 30 ms

_GROUPING_TIPS = {
    Grouping.KIND: "What the bytes are for: constants, named data, delegates, the program",
    Grouping.OPERATOR: "The operators that use them; without the ETRecord kernels and backends",
    Grouping.MODULE: "The smallest module with all operators that use them",
}
_CHANGE_TIP = (
    "Color boxes by their change: orange is larger in B, green is smaller, gray is equal.\n"
    "Otherwise, boxes have the colors of their operators."
)

ALL_GROUPS = "All"
_IN, _OUT = "double-click a group to zoom in", "Esc zooms out"
_LONGEST_STEP = 40  # characters of a name
_MOST_STEPS = 6  # the outermost and the innermost of more

Files = tuple[Executable, Executable | None]  # the second one is that of B
Paths = tuple[str, str]  # "" for no B


def choices_of(session: Session) -> list[Files]:
    """Return what can be shown: the compared files, then each open one; of two, also both."""
    files, compared = session.workspace.executables, _compared(session)
    choices: list[Files] = [(file, None) for file in files]
    if compared is not None:
        return [compared, *choices]
    return [*choices, (files[0], files[1])] if len(files) == 2 else choices


def shown_files(session: Session, chosen: Paths | None) -> Files | None:
    """Return what to show: the chosen files, else the compared ones, else one that ran."""
    choices = choices_of(session)
    for files in choices:
        if paths_of(files) == chosen:
            return files
    if not choices or choices[0][1] is not None:
        return choices[0] if choices else None
    space = session.workspace
    ran = {id(space.what_ran(trace)) for trace in space.traces}
    return next((files for files in choices if id(files[0]) in ran), choices[0])


def _compared(session: Session) -> Files | None:
    """Return the program files that the profiles of A and B ran, None if one is missing."""
    chosen, space = session.state.compared, session.workspace
    if chosen is None or not chosen.in_tables:
        return None
    sides = list[Executable]()
    for arm in (chosen.a, chosen.b):
        ran = [space.what_ran(trace) for trace in space.traces if trace.path in arm.paths]
        programs = {id(file): file for file in ran if file is not None}
        if len(programs) != 1:
            return None
        sides += programs.values()
    a, b = sides
    return None if a is b else (a, b)


def paths_of(files: Files) -> Paths:
    return files[0].path, "" if files[1] is None else files[1].path


def range_count(file: Executable) -> int:
    """Return how many ranges a file states, which is about the number of its parts."""
    stored = file.stored
    constants = sum(len(d.constants) for method in file.methods for d in method.delegates)
    return len(stored.constants) + len(stored.named) + len(stored.delegates) + constants


class PathBar(QWidget):
    """The line; `chosen(root)` when a link is clicked."""

    chosen = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._steps: list[Rest] = []
        self.links = label("", theme, "caption", "text2", html=True)
        self.links.setMinimumWidth(0)
        self.links.setAccessibleName("Groups around the treemap")
        self.links.linkActivated.connect(self._choose)
        laid_out(QHBoxLayout(self), (self.links, 1), margins=(0, 0, 0, theme.px(4)))

    def show_path(self, answer: SizesAnswer, tree: SizeTree, root: Rest) -> None:
        """Show the groups from the file to what fills the treemap."""
        self._steps = [Rest(node, 0) for node in tree.sizes.around(root.node)]
        if root.skip > 0:
            self._steps.append(root)
        theme, tokens = self._theme, self._theme.tokens
        parts = []
        for number, step in enumerate(self._steps):
            name = box_name(answer, tree, step) if number else ALL_GROUPS
            name = name if len(name) <= _LONGEST_STEP else f"{name[: _LONGEST_STEP - 1]}…"
            is_last = number == len(self._steps) - 1
            link = anchor(str(number), name, theme)
            parts.append(span(name, tokens.text1) if is_last else link)
        if len(parts) > _MOST_STEPS:
            parts = [parts[0], span("…", tokens.text3), *parts[-(_MOST_STEPS - 2) :]]
        path_text = span(" › ", tokens.text3).join(parts)
        rows = len(tree.rows_in(*root))
        hint = _OUT if len(self._steps) > 1 else _IN
        more = f"{box_size_text(answer, tree, root)} · {counted(rows, 'part')} · {hint}"
        self.links.setText(f"{path_text}&nbsp;&nbsp;&nbsp;{span(more, tokens.text2)}")

    @Slot(str)
    def _choose(self, number: str) -> None:
        self.chosen.emit(self._steps[int(number)])


@dataclass(frozen=True, eq=False)
class _Page:
    """An answer, and its trees by groups that were shown."""

    answer: SizesAnswer
    trees: dict[Grouping, SizeTree]


def _answer(question: SizesQuestion, by: Grouping) -> _Page:
    answer = work_out(question)
    by = by if answer.has_modules else Grouping.KIND if by is Grouping.MODULE else by
    _ = answer.own_colors, answer.used  # cached: the GUI thread needs them at once
    return _Page(answer, {by: size_tree(answer, by)})


def _afterwards(answer: SizesAnswer, texts: PartTexts, cancelled: Cancelled) -> Copies | None:
    """Prepare the texts that a filter searches, then look for parts with equal bytes."""
    texts.prepare()
    return find_copies(answer, cancelled)


class SizesPanel(AnswerPanel[_Page]):
    SYNC_LIMIT = 300  # stored ranges: 20 ms

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host)
        self.grouping = Grouping.KIND
        self._chosen: tuple[str, str] | None = None  # paths of the chosen files, "" for no B
        self._asked: Files | None = None
        self.tree: SizeTree | None = None  # that of the treemap
        self._growing = Latest(self, self._take_tree)
        self._colors: Palette = np.empty(0, np.uint8)
        self.copies: Copies | None = None
        self._copying = Latest(self, self._show_copies)
        self._copying.failed.connect(self._fail_copies)
        self._stop = Event()  # ends reading the file
        self._copies_seen = WhenVisible(self)
        self._copies_seen.due.connect(self._look_for_copies)
        # a thread would delay the first picture
        self._soon = QTimer(self, interval=_SOON_MS, singleShot=True)
        self._soon.timeout.connect(self._look_for_copies)
        self.model = TableModel(PARTS, theme)
        self.table = PartsView(self.model, theme)
        self.treemap = TreemapView(theme)
        page = self._make_page()
        self.set_page(page, head=self._head(), fading=(self.table, self.treemap))
        self.model.setParent(self)
        self.chooser.activated.connect(self._choose_files)
        self.groupings.picked.connect(self._pick_grouping)
        self.by_change.toggled.connect(self.treemap.color_by_change)
        self.filter.textChanged.connect(self._filter)
        self.table.chosen.connect(self._choose_row)
        self.treemap.picked.connect(self._choose_box)
        self.treemap.range_changed.connect(self._follow_zoom)
        self.path.chosen.connect(self.treemap.go_to)
        self.refresh_on(session.workspace_changed)
        session.compared.connect(self._follow_files)
        session.selection_changed.connect(self._mark)
        session.coloring_changed.connect(self._color)
        theme.changed.connect(self._retheme)
        self.refresh()

    def _make_page(self) -> QWidget:
        theme = self._theme
        self.chooser = ComboBox(theme)
        self.chooser.setAccessibleName("Program")
        self.figures = label("", theme, html=True)
        self.figures.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.by_change = tool_button("Changes", _CHANGE_TIP, "Color by change")
        self.by_change.setProperty("framed", True)
        self.by_change.setCheckable(True)
        fixed = QSizePolicy.Policy.Fixed
        self.by_change.setSizePolicy(fixed, fixed)
        self.groupings = SegmentBar("Groups of the treemap", _GROUPING_TIPS)
        self.path = PathBar(theme)
        picture = QWidget()
        around = plain_column(picture)
        around.setContentsMargins(theme.px(12), 0, theme.px(12), theme.px(4))
        around.addWidget(self.path)
        around.addWidget(self.treemap, 1)
        self.filter = FilterLine("Filter parts", "Filter parts", self.table, theme)
        self.filter.setMaximumWidth(theme.px(_FIELD_WIDTH))
        self.subtitle = subtitle_label(theme)
        head = head_row(theme, 8, self.filter, (self.subtitle, 1))
        rows = QWidget()
        plain_column(rows, head, (NoRows(self.table, self.filter, theme).over_table(), 1))
        self.splitter = page_splitter(Qt.Orientation.Vertical, picture, rows, _PICTURE_PART)
        self.summary = ElidedLabel("", theme, "caption", "text1")
        self.footer = ElidedLabel("", theme, "caption", "text2")
        self.summary.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(4))
        self.footer.setContentsMargins(theme.px(12), 0, theme.px(12), theme.px(6))
        page = QWidget()
        plain_column(page, (self.splitter, 1), self.summary, self.footer)
        return page

    def _head(self) -> QHBoxLayout:
        return head_row(
            self._theme, 12, self.chooser, (self.figures, 1), self.by_change, self.groupings
        )

    # -- question --------------------------------------------------------------------------------

    @Slot()
    def refresh(self) -> None:
        self._asked = None
        super().refresh()

    def question(self) -> Question | None:
        self._offer()
        files = shown_files(self._session, self._chosen)
        if files is None:
            return None
        self._asked = files
        a, b = files
        question = SizesQuestion(copy(self._session.workspace), a, b)
        size = sum(range_count(file) for file in files if file is not None)
        before = None if self.answer is None else self.answer.answer.question
        stays = before is not None and (before.executable, before.other) == files
        return Question(_answer, (question, self.grouping), size, stays=stays)

    @Slot()
    def _follow_files(self) -> None:
        """Show other files, if a comparison started or ended."""
        self._chosen = None
        if self._asked != shown_files(self._session, self._chosen):
            self.refresh()
        else:
            self._offer()

    def _offer(self) -> None:
        """List what can be shown, if there is a choice."""
        choices = choices_of(self._session)
        current = shown_files(self._session, self._chosen)
        names = [
            " → ".join(display_name(file.path) for file in files if file is not None)
            for files in choices
        ]
        self.chooser.offer(names, -1 if current is None else choices.index(current))
        self.chooser.setVisible(len(choices) > 1)

    def empty_state(self) -> Sentence:
        return Sentence(NOTHING, "Open files…", self.host.open_files)

    def clear_page(self) -> None:
        self._stop_copying()
        self._growing.cancel()
        self.tree = self.copies = None
        self.model.show(None)
        self.treemap.show_tree(None, None, np.empty(0, np.uint8))

    # -- contents --------------------------------------------------------------------------------

    @property
    def shown_answer(self) -> SizesAnswer | None:
        """What is shown, None without a file."""
        return None if self.answer is None or self.is_empty else self.answer.answer

    def show_answer(self, page: _Page) -> None:
        answer, self.copies = page.answer, None
        self._growing.cancel()
        if self.grouping not in page.trees:
            self.grouping = next(iter(page.trees))
        self.tree = page.trees[self.grouping]
        if not answer.is_compared:
            self.by_change.setChecked(False)
        self.groupings.press(self.grouping)
        self.groupings.buttons[Grouping.MODULE].setVisible(answer.has_modules)
        self.by_change.setVisible(answer.is_compared)
        self.show_page()
        self._show_figures()
        self.summary.setText(copies_text(answer, None))
        side_text = beside_text(answer)
        self.footer.setText(side_text)
        self.footer.setVisible(bool(side_text))
        self._colors = answer.colors(*self._palettes(answer))
        self.model.color(self._colors)
        self.model.show(PartRows(PartTexts(answer)))
        self._show_tree()
        self._say_count()
        self._mark()
        self._stop_copying()
        self._soon.start()

    def _show_figures(self) -> None:
        if (answer := self.shown_answer) is not None:
            self.figures.setText(figures_html(figures(answer), self._theme))

    def _show_tree(self) -> None:
        if (answer := self.shown_answer) is not None:
            self.treemap.show_tree(answer, self.tree, self._colors)
            self.treemap.show_copies(self.copies)

    @Slot()
    def _look_for_copies(self) -> None:
        """Look for equal bytes once the panel is visible: this reads the file."""
        self._stop_copying()
        answer = self.shown_answer
        if answer is not None and self.copies is None and not self._copies_seen.defer():
            rows = self.model.contents
            assert rows is not None
            self._copying.submit(_afterwards, answer, rows.texts, self._stop.is_set)

    @Slot(str)
    def _fail_copies(self, message: str) -> None:
        self.summary.setText(message)

    def _stop_copying(self) -> None:
        self._soon.stop()
        self._copying.cancel()
        self._stop.set()
        self._stop = Event()

    @Slot(object)
    def _show_copies(self, copies: Copies) -> None:
        answer, rows = self.shown_answer, self.model.contents
        if answer is None or rows is None:
            return
        self.copies = copies
        self.summary.setText(copies_text(answer, copies))
        self.model.show(replace(rows, copies=copies), stays=True)
        self.treemap.show_copies(copies)

    def _say_count(self) -> None:
        if (answer := self.shown_answer) is not None:
            self.subtitle.setText(count_text(answer, self.model.rowCount()))

    def _palettes(self, answer: SizesAnswer) -> tuple[Palette | None, Palette | None]:
        """Return the color of every operator of each file, as on the timeline."""
        of_b = None if answer.b is None else operator_palette(self._session, answer.b.program)
        return operator_palette(self._session, answer.a.program), of_b

    @Slot()
    def _color(self) -> None:
        if (answer := self.shown_answer) is not None:
            self._colors = answer.colors(*self._palettes(answer))
            self.model.color(self._colors)
            self._show_tree()

    @Slot()
    def _retheme(self) -> None:
        self.treemap.retheme()
        self._show_figures()
        self.model.color(self._colors)
        self._follow_zoom()

    @Slot()
    def _follow_zoom(self) -> None:
        """Show where the picture is, and only the rows that are in it."""
        answer, tree, rows = self.shown_answer, self.tree, self.model.contents
        if answer is None or tree is None or rows is None:
            return
        root = self.treemap.root
        self.path.show_path(answer, tree, root)
        only = None if self.treemap.shows_all else tree.rows_in(*root)
        if only is not None or rows.only is not None:
            self.model.show(replace(rows, only=only))
        self._say_count()
        self._mark_rows(self._marked_rows())

    @Slot(str)
    def _filter(self, text: str) -> None:
        self.model.set_filter(text)
        self._say_count()
        self._mark_rows(self._marked_rows())

    # -- choices ---------------------------------------------------------------------------------

    @Slot(int)
    def _choose_files(self, index: int) -> None:
        choices = choices_of(self._session)
        if 0 <= index < len(choices):
            self._chosen = paths_of(choices[index])
            self.refresh()

    @Slot(object)
    def _pick_grouping(self, grouping: Grouping) -> None:
        self.grouping = grouping
        answer = self.shown_answer
        if answer is not None and self.answer is not None:
            tree, at_once = self.answer.trees.get(grouping), len(answer) <= _AT_ONCE
            self._growing.ask(at_once or tree is not None, _grown, answer, grouping, tree)

    @Slot(object)
    def _take_tree(self, grown: tuple[Grouping, SizeTree]) -> None:
        """Show the same rows in other groups, and keep what is marked."""
        if self.answer is None or self.shown_answer is None:
            return
        grouping, tree = grown
        self.answer.trees[grouping] = tree
        rows = self._marked_rows()
        self.tree = tree
        self._show_tree()
        self.treemap.mark(tree.node[rows].tolist())
        self._mark_rows(rows)

    # -- selection -------------------------------------------------------------------------------

    @Slot(int)
    def _choose_row(self, place: int) -> None:
        tree = self.tree
        if tree is not None and 0 <= place < self.model.rowCount():
            row = self.model.item_of(place)
            self._choose(np.array([row], np.int64), [int(tree.node[row])])

    @Slot(object)
    def _choose_box(self, box: Rest) -> None:
        if (tree := self.tree) is not None:
            rows = tree.rows_in(box.node, max(box.skip, 0))
            nodes = [box.node] if box.skip <= 0 else tree.node[rows].tolist()
            self._choose(rows, nodes)

    def _choose(self, rows: Ints, nodes: list[int]) -> None:
        """Mark some rows, and select the operators that use them with their slices."""
        answer = self.shown_answer
        if answer is None:
            return
        with self.choosing():
            select_users(self._session, answer, rows)
        self.treemap.mark(nodes)
        self._mark_rows(rows)

    @Slot()
    def _mark(self) -> None:
        """Mark what the selected operators and slices use."""
        answer, tree = self.shown_answer, self.tree
        if answer is None or tree is None or self._choosing:
            return
        used = selected_rows(self._session, answer)
        marked, shared = (used.own, used.shared) if len(used.own) else (used.shared, used.own)
        self.treemap.mark(tree.node[marked].tolist(), tree.node[shared].tolist())
        self._mark_rows(marked)

    def _marked_rows(self) -> Ints:
        """Return the rows of what is marked in the treemap."""
        tree = self.tree
        if tree is None:
            return np.empty(0, np.int64)
        rows = [tree.rows_in(node) for node in self.treemap.marked.tolist()[:1]]
        rest = tree.row[self.treemap.marked[1:]]
        return np.unique(np.concatenate([*rows, rest[rest != NONE]])).astype(np.int64)

    def _mark_rows(self, rows: Ints) -> None:
        """Select rows in the table, and scroll to the first."""
        places = self.model.rows_of_items(rows)
        if places != marked_rows(self.table):
            self.table.mark(places)


def _grown(answer: SizesAnswer, by: Grouping, tree: SizeTree | None) -> tuple[Grouping, SizeTree]:
    return by, tree or size_tree(answer, by)
