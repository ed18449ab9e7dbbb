"""The dialog that records: where, what and how many; a log; Stop.

It stays open beside the window, which can be used meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QFontDatabase, QIntValidator
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.qt.accessibility import FramedDialog
from viewer.gui.qt.settings import LAST_FOLDER, Settings
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import ComboBox
from viewer.gui.qt.widgets.labels import label
from viewer.gui.session.recording import Recording, RecordingChoice
from viewer.gui.window.dialogs.file_dialog import FileQuestion, PathKind
from viewer.model.text import visible_controls
from viewer.recording.plan import MOST_INFERENCES, MOST_SESSIONS, Plan
from viewer.recording.recorder import Outcome, Progress, summary
from viewer.recording.target import Finding

_SIZE = 720, 620
_LINES = 5000
# The kinds of targets: what each is called, and what its field is for.
_KINDS = (
    ("local", "This machine, ExecuTorch's wheel", "Python, or empty for python3"),
    ("adb", "Android device, adb", "Serial number, or empty for the only device"),
    ("ssh", "Linux host, SSH", "USER@HOST"),
    ("run", "Any command here", "CMD {pte} {etdump}"),
)
_WITH_RUNNER = ("adb", "ssh")


class RecordDialog(FramedDialog):
    """Asks what to record, and shows how it runs; `recorded` has the outcome of whole sessions."""

    recorded = Signal(object)

    def __init__(
        self, recording: Recording, settings: Settings, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, parent)
        self._recording, self._settings, self._theme = recording, settings, theme
        self.setWindowTitle("Record")
        self.setModal(False)
        self.resize(theme.px(_SIZE[0]), theme.px(_SIZE[1]))
        self._fields: list[QWidget] = []
        self._form = QGridLayout()
        self._form.setHorizontalSpacing(theme.px(12))
        self._form.setVerticalSpacing(theme.px(8))
        self._form.setColumnStretch(1, 1)
        self.program = self._add_file("&Program", "The .pte or .vmfb to run", self._choose_program)
        self.other = self._add_file("&Compare with", "Another one, to run in turn",
                                    self._choose_program)  # fmt: skip
        self.where = ComboBox(theme)
        for kind, title, _ in _KINDS:
            self.where.addItem(title, kind)
        self._add_row("&Where", self.where)
        self.target = self._add_text("&Target")
        self.runner = self._add_file("&Runner", "executor_runner with the event tracer",
                                     self._choose_runner)  # fmt: skip
        self.sessions = self._add_count("&Sessions", Plan("", ()).sessions, MOST_SESSIONS)
        self.inferences = self._add_count("&Inferences", Plan("", ()).inferences, MOST_INFERENCES)
        self.folder = self._add_file(
            "&Folder", "A new folder for the sessions", self._choose_folder
        )
        self.resume = QCheckBox("&Go on with the recording in this folder")
        self._form.addWidget(self.resume, self._form.rowCount(), 1)
        self.log = QPlainTextEdit()
        self.log.setReadOnly(True)
        self.log.setMaximumBlockCount(_LINES)
        self.log.setAccessibleName("Log")
        self.log.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.bar = QProgressBar()
        self.bar.setAccessibleName("Sessions")
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 1)
        self.left = label("", theme, "body", "text2")
        self.check_button, self.stop_button = QPushButton("C&heck"), QPushButton("St&op")
        self.record_button, self.close_button = QPushButton("Recor&d"), QPushButton("C&lose")
        self.record_button.setProperty("primary", True)
        self.record_button.setDefault(True)
        foot = QHBoxLayout()
        foot.addWidget(self.left, 1)
        for button, act in (
            (self.check_button, self._check),
            (self.close_button, self.close),
            (self.stop_button, self._stop),
            (self.record_button, self._record),
        ):
            button.clicked.connect(act)
            button.setAutoDefault(button is self.record_button)
            foot.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(theme.px(12))
        column.addLayout(self._form)
        column.addWidget(self.log, 1)
        column.addWidget(self.bar)
        column.addLayout(foot)
        self.where.currentIndexChanged.connect(self._follow)
        self.program.textChanged.connect(self._propose_folder)
        recording.progressed.connect(self._progressed)
        recording.checked.connect(self._checked)
        recording.ended.connect(self._ended)
        recording.failed.connect(self._failed)
        self._proposed = ""
        self._follow()

    # -- the form ----------------------------------------------------------------------------

    def _add_row(self, title: str, field: QWidget, button: QPushButton | None = None) -> None:
        row = self._form.rowCount()
        name = label(title, self._theme, "body")
        name.setTextFormat(Qt.TextFormat.AutoText)
        name.setBuddy(field)
        field.setAccessibleName(title.replace("&", ""))
        self._form.addWidget(name, row, 0)
        self._form.addWidget(field, row, 1)
        self._fields.append(field)
        if button is not None:
            self._form.addWidget(button, row, 2)
            self._fields.append(button)

    def _add_text(self, title: str, hint: str = "") -> QLineEdit:
        field = QLineEdit()
        field.setPlaceholderText(hint)
        self._add_row(title, field)
        return field

    def _add_file(self, title: str, hint: str, choose: Callable[[QLineEdit], None]) -> QLineEdit:
        field, button = QLineEdit(), QPushButton("…")
        field.setPlaceholderText(hint)
        button.setAccessibleName(f"Choose: {title.replace('&', '')}")
        button.setAutoDefault(False)
        button.clicked.connect(partial(choose, field))
        self._add_row(title, field, button)
        return field

    def _add_count(self, title: str, value: int, most: int) -> QLineEdit:
        field = self._add_text(title)
        field.setValidator(QIntValidator(1, most, field))
        field.setText(str(value))
        field.textChanged.connect(self._follow)
        return field

    def _choose_program(self, field: QLineEdit, *_: object) -> None:
        self._fill(
            field,
            PathKind.OPEN_FILE,
            "Choose a program",
            "Choose the program file that the runner loads.",
            "Programs (*.pte *.bpte *.vmfb);;All files (*)",
        )

    def _choose_runner(self, field: QLineEdit, *_: object) -> None:
        instruction = "Choose the program that runs models on the device or here."
        self._fill(field, PathKind.OPEN_FILE, "Choose a runner", instruction)

    def _choose_folder(self, field: QLineEdit, *_: object) -> None:
        instruction = "Choose the folder that the recording is written to."
        self._fill(field, PathKind.FOLDER, "Choose a folder", instruction)

    def _fill(
        self, field: QLineEdit, kind: PathKind, title: str, instruction: str, filters: str = ""
    ) -> None:
        """Ask for a path, and write it to a field."""
        start = field.text() or self._settings.get(LAST_FOLDER)
        path = FileQuestion(kind, title, instruction, start, filters).ask(self, self._theme).path
        if path:
            field.setText(path)

    @Slot()
    def _follow(self) -> None:
        """Show what the chosen kind of target needs, and what can be done now."""
        kind = self.where.currentData()
        self.target.setPlaceholderText(next(hint for name, _, hint in _KINDS if name == kind))
        is_running = self._recording.is_running
        for field in (*self._fields, self.resume):
            field.setEnabled(not is_running)
        self.runner.setEnabled(not is_running and kind in _WITH_RUNNER)
        counts = self.sessions, self.inferences
        is_complete = all(field.hasAcceptableInput() for field in counts)
        is_complete = is_complete and all(map(QLineEdit.text, (self.program, self.folder)))
        for button in (self.check_button, self.record_button):
            button.setEnabled(not is_running and is_complete)
        self.stop_button.setEnabled(is_running)

    @Slot()
    def _propose_folder(self) -> None:
        """Propose a folder beside the program that does not exist, unless the user wrote one."""
        stem = os.path.splitext(self.program.text().strip())[0]
        if self.folder.text() == self._proposed:
            names = (f"{stem}-recording{end}" for end in ("", *(f"-{i}" for i in range(2, 1000))))
            free = next((name for name in names if not os.path.lexists(name)), "")
            self._proposed = free if stem else ""
            self.folder.setText(self._proposed)
        self._follow()

    @property
    def choice(self) -> RecordingChoice:
        """What is chosen."""
        kind, target = self.where.currentData(), self.target.text().strip()
        programs = (self.program.text().strip(), self.other.text().strip())
        return RecordingChoice(
            f"{kind}:{target}" if target else kind,
            tuple(filter(None, programs)),
            int(self.sessions.text()),
            int(self.inferences.text()),
            self.runner.text().strip() if kind in _WITH_RUNNER else "",
            self.folder.text().strip(),
            self.resume.isChecked(),
        )

    # -- recording ---------------------------------------------------------------------------

    @Slot()
    def _check(self) -> None:
        self._recording.check(self.choice)
        self._follow()

    @Slot()
    def _record(self) -> None:
        self.log.clear()
        self._recording.start(self.choice)
        self._follow()

    @Slot()
    def _stop(self) -> None:
        self.stop_button.setEnabled(False)
        self.left.setText("Stopping")
        self._recording.stop()

    def _say(self, text: str) -> None:
        self.log.appendPlainText(visible_controls(text))

    @Slot(object)
    def _progressed(self, progress: Progress) -> None:
        self._say(progress.text)
        self.bar.setRange(0, progress.total)
        self.bar.setValue(progress.done)
        left = "" if progress.left_s is None else f", {progress.left_s:.0f} s left"
        self.left.setText(f"{progress.done} of {progress.total} sessions{left}")

    @Slot(object)
    def _checked(self, findings: list[Finding]) -> None:
        for finding in findings:
            cure = f": {finding.cure}" if finding.cure else ""
            self._say(f"{'ok' if finding.is_good else 'missing'}: {finding.text}{cure}")
        self._follow()

    @Slot(object)
    def _ended(self, outcome: Outcome) -> None:
        for fault in outcome.faults:
            self._say(fault)
        self.left.setText(summary(outcome) if outcome.whole else "")
        self._follow()
        if all(outcome.whole.values()) and outcome.whole:
            self.recorded.emit(outcome)
            self._proposed = self.folder.text()
            self._propose_folder()

    @Slot(str)
    def _failed(self, sentence: str) -> None:
        self._say(sentence)
        self._follow()
