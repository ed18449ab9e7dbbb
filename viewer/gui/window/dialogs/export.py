"""The dialog for a Perfetto export: what to export, with which contents, and the resulting size.

The exporter itself estimates the size, by encoding a sample of the slices in a thread after each
change. The dialog writes nothing: it emits `options_accepted` with the options and the file type.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QHBoxLayout,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from viewer.codecs.atomic_file import NothingToExport
from viewer.dataclasses import replace
from viewer.export.perfetto.writer import FileSize
from viewer.gui.qt.accessibility import FramedDialog
from viewer.gui.qt.background import Latest
from viewer.gui.qt.settings import (
    EXPORT_ANNOTATIONS,
    EXPORT_COUNTERS,
    EXPORT_DERIVED,
    EXPORT_FLOWS,
    EXPORT_GZIP,
    EXPORT_MARKS,
    EXPORT_OWN_NAMES,
    Setting,
    Settings,
)
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import laid_out
from viewer.gui.qt.widgets.labels import Hairline, label
from viewer.gui.session.export_scope import (
    bookmarks_of_view,
    clocks_text,
    derived_of_view,
    selection,
    shifts,
    visible_range,
)
from viewer.gui.session.session import Session
from viewer.model.text import bytes_text
from viewer.model.times import counted, with_computed
from viewer.workspace.perfetto_export import (
    RANGE,
    SELECTION,
    WHOLE,
    ExportFlows,
    PerfettoJob,
    PerfettoOptions,
)
from viewer.workspace.snapshot import Snapshot

SUFFIXES = (".pftrace", ".pftrace.gz")
WORKING = "Calculating the size…"
NO_NOTES = "Without annotations the file has no source lines, handles or exact ticks."
_WIDTH = 560


class ExportDialog(FramedDialog):
    """Asks what to export; emits `options_accepted` with options and file suffix when accepted.

    `flows` caches the flows found for it. `order` lists (trace, track) in display order. `hidden`
    is the timeline's text on missing tracks, such as "2 tracks hidden", or "".
    """

    options_accepted = Signal(object, str)

    def __init__(
        self,
        session: Session,
        settings: Settings,
        theme: Theme,
        order: tuple[tuple[int, int], ...] = (),
        hidden: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, parent)
        self._session, self._settings, self._theme = session, settings, theme
        self._order, self._hidden = order, hidden
        self._shifts = shifts(session)
        self.flows = ExportFlows()
        self._latest = Latest(self, self._measured)
        self._latest.failed.connect(self._failed)
        self.setWindowTitle("Export Perfetto trace")
        self.setMinimumWidth(theme.px(_WIDTH))
        column = laid_out(QVBoxLayout(self), gap=8, margins=(20, 16, 20, 16))
        self.parts = self._add_parts(column)
        column.addSpacing(8)
        self.contents = self._add_contents(column)
        column.addSpacing(8)
        self.types = self._add_types(column)
        column.addSpacing(4)
        self.clocks = label("", theme, "body", "text2", wrap=True)
        self.clocks.setAccessibleName("Clocks of the file")
        column.addWidget(self.clocks)
        column.addWidget(Hairline(theme, "line"))
        self.sentence = label("", theme, "body", wrap=True)
        self.sentence.setAccessibleName("Contents of the file")
        self.sentence.setMinimumHeight(4 * self.sentence.fontMetrics().lineSpacing())
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        column.addWidget(self.sentence)
        self.save, self.cancel = QPushButton("Save as…"), QPushButton("Cancel")
        self.save.setProperty("primary", True)
        self.save.setDefault(True)
        self.save.clicked.connect(self._accept)
        self.cancel.clicked.connect(self.reject)
        # Not waited for, since sampling a large trace takes seconds.
        self.finished.connect(self._latest.cancel)
        # The options are of the open files, which a second start or a reload may replace.
        session.workspace_changed.connect(self.reject)
        foot = laid_out(QHBoxLayout(), 1, self.cancel, self.save)
        column.addLayout(foot)
        self._measure()

    # -- controls ------------------------------------------------------------------------------

    def _heading(self, text: str, column: QVBoxLayout) -> None:
        column.addWidget(label(text, self._theme, "section", "text2"))

    def _add_parts(self, column: QVBoxLayout) -> dict[str, QRadioButton]:
        """Add a button for each part; unavailable ones show the reason after their name."""
        self._heading("Range", column)
        self._wishes: dict[str, PerfettoOptions | str] = {
            WHOLE: PerfettoOptions(),
            RANGE: visible_range(self._session),
            SELECTION: selection(self._session),
        }
        named = {WHOLE: "Whole trace", RANGE: "Visible range", SELECTION: "Selection"}
        buttons, group = {}, QButtonGroup(self)
        for what, name in named.items():
            options = self._wishes[what]
            why = options if isinstance(options, str) else ""
            button = buttons[what] = QRadioButton(f"{name} · {why}" if why else name)
            button.setAccessibleName(f"{name}. {why}".strip())
            button.setEnabled(not why)
            group.addButton(button)
            column.addWidget(button)
        buttons[WHOLE].setChecked(True)
        group.buttonToggled.connect(self._measure)
        return buttons

    def _add_contents(self, column: QVBoxLayout) -> dict[str, QCheckBox]:
        """Add a check box for each optional content; the choices are stored."""
        self._heading("Include", column)
        session = self._session
        plotted = any(open_trace.counters for open_trace in session.traces)
        boxes = {}
        for name, setting, text, why in (
            ("flows", EXPORT_FLOWS, "Data-flow arrows", ""),
            (
                "counters",
                EXPORT_COUNTERS,
                "Counters: NPU units, planned memory",
                "" if plotted else "none in these files",
            ),
            (
                "annotations",
                EXPORT_ANNOTATIONS,
                "Annotations: operator, source line, handles, identifier, bytes",
                "",
            ),
            (
                "own_names",
                EXPORT_OWN_NAMES,
                "Slice names of the file; operators as the argument “label”",
                "",
            ),
            (
                "marks",
                EXPORT_MARKS,
                "Bookmarks and their notes",
                "" if session.state.bookmarks else "none",
            ),
            (
                "derived",
                EXPORT_DERIVED,
                "Tracks derived by queries, as processes of their own",
                "" if derived_of_view(session) else "none",
            ),
        ):
            box = boxes[name] = QCheckBox(f"{text} · {why}" if why else text)
            box.setAccessibleName(box.text())
            box.setEnabled(not why)
            box.setChecked(not why and self._settings.get(setting))
            box.toggled.connect(lambda on, setting=setting: self._chosen(setting, on))
            column.addWidget(box)
        return boxes

    def _add_types(self, column: QVBoxLayout) -> dict[str, QRadioButton]:
        self._heading("File", column)
        buttons, group = {}, QButtonGroup(self)
        for suffix, text in zip(SUFFIXES, ("Perfetto trace", "gzipped"), strict=True):
            button = buttons[suffix] = QRadioButton(f"{suffix} · {text}")
            button.setAccessibleName(f"File type {suffix}, {text}")
            group.addButton(button)
            column.addWidget(button)
        buttons[SUFFIXES[self._settings.get(EXPORT_GZIP)]].setChecked(True)
        buttons[SUFFIXES[1]].toggled.connect(lambda on: self._chosen(EXPORT_GZIP, on))
        return buttons

    def _chosen(self, setting: Setting[bool], on: bool) -> None:
        self._settings.set(setting, on)
        if setting is EXPORT_GZIP:
            self._tell()
        else:
            self._measure()

    # -- result --------------------------------------------------------------------------------

    @property
    def options(self) -> PerfettoOptions:
        """The options that are currently chosen."""
        what = next(what for what, button in self.parts.items() if button.isChecked())
        options = self._wishes[what]
        assert not isinstance(options, str)  # unavailable parts cannot be chosen
        return replace(
            options,
            shifts=self._shifts,
            order=self._order,
            bookmarks=bookmarks_of_view(self._session)
            if self.contents["marks"].isChecked()
            else (),
            derived=derived_of_view(self._session) if self.contents["derived"].isChecked() else (),
            flows=self.contents["flows"].isChecked(),
            counters=self.contents["counters"].isChecked(),
            annotations=self.contents["annotations"].isChecked(),
            own_names=self.contents["own_names"].isChecked(),
        )

    @property
    def suffix(self) -> str:
        """The suffix of the chosen file type."""
        return next(suffix for suffix, button in self.types.items() if button.isChecked())

    @Slot()
    def _measure(self, *_: object) -> None:
        self._size: FileSize | str = WORKING
        self._tell()
        self._latest.submit(_size, Snapshot.of(self._session.workspace), self.options, self.flows)

    @Slot(object)
    def _measured(self, size: FileSize | str) -> None:
        self._size = size
        self._tell()

    @Slot(str)
    def _failed(self, sentence: str) -> None:
        self._measured(sentence)

    def _tell(self) -> None:
        size, options = self._size, self.options
        clocks = clocks_text(self._session, options)
        self.clocks.setText(clocks)
        self.clocks.setVisible(bool(clocks))
        self.save.setEnabled(not isinstance(size, str) or size is WORKING)
        if isinstance(size, str):
            self.sentence.setText(size)
            return
        sentences = [size_text(size)]
        if size.over_edge:
            cross, be = ("crosses", "is") if size.over_edge == 1 else ("cross", "are")
            sentences.append(
                f"{counted(size.over_edge, 'slice')} {cross} the range boundary and {be} exported "
                "in full."
            )
        if self._hidden and options.what != SELECTION:
            sentences.append(f"{self._hidden} in the window, but exported, too.")
        if size.left_out:
            sentences.append(f"Not all flows are exported: {size.left_out}.")
        if not options.annotations:
            sentences.append(NO_NOTES)
        self.sentence.setText(" ".join(sentences))

    @Slot()
    def _accept(self) -> None:
        options, suffix = self.options, self.suffix
        self.accept()
        self.options_accepted.emit(options, suffix)


def _size(
    opened: Snapshot, perfetto_options: PerfettoOptions, flows: ExportFlows
) -> FileSize | str:
    """The size of the file, or why it cannot be written."""
    try:
        return PerfettoJob(opened, perfetto_options, flows).size()
    except NothingToExport as error:
        return str(error)


def size_text(size: FileSize) -> str:
    """ "627 slices (+100 derived) on 1 track: about 95 kB, 14 kB gzipped."."""
    slices = with_computed(_many(size.slices - size.computed, "slice"), size.computed)
    what = f"{slices} on {counted(size.tracks, 'track')}"
    if size.flows:
        what += f" with {_many(size.flows, 'flow')}"
    return f"{what}: about {bytes_text(size.raw)}, {bytes_text(size.packed)} gzipped."


def _many(count: int, thing: str) -> str:
    """ "727 slices", "1.2 million slices"."""
    return f"{count / 1e6:.1f} million {thing}s" if count >= 1_000_000 else counted(count, thing)
