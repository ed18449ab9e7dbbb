"""Records off the GUI thread; one recording at a time, which can be stopped."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal, Slot

from viewer.dataclasses import dataclass
from viewer.gui.qt.background import GuiOwner
from viewer.gui.qt.crash_report import report
from viewer.recording.plan import Plan, Program, WrongPlan, sha256_of
from viewer.recording.recorder import Outcome, Progress, check, notes_of, record, target_of
from viewer.recording.target import Finding

_QUIT_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class RecordingChoice:
    """What the user wants: targets, programs and counts as `Plan` has them, and the folder."""

    on: str
    programs: tuple[str, ...]
    sessions: int
    inferences: int
    runner: str
    folder: str
    resume: bool = False

    def plan(self) -> Plan:
        """Return the plan. Raises OSError for a program that cannot be read."""
        programs = tuple(Program(os.path.abspath(p), sha256_of(p)) for p in self.programs)
        return Plan(self.on, programs, self.sessions, self.inferences, runner=self.runner)


class Recording(QObject):
    """Checks and records in a thread. All signals are emitted on the GUI thread.

    Each `start` ends in one of `ended` and `failed`, each `check` in one of `checked` and `failed`.
    """

    progressed = Signal(object)  # Progress
    ended = Signal(object)  # Outcome
    checked = Signal(object)  # list[Finding]
    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._owner = GuiOwner(self)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether it records or checks."""
        return self._thread is not None

    def start(self, choice: RecordingChoice) -> None:
        """Record; does nothing while it runs."""
        self._run(_record, choice)

    def check(self, choice: RecordingChoice) -> None:
        """Look for what is missing; does nothing while it runs."""
        self._run(_check, choice)

    def stop(self) -> None:
        """End the session that runs; whole ones stay."""
        self._stop.set()

    def shut_down(self) -> None:
        """Stop, and wait a moment until what runs has ended: the window closes."""
        self.stop()
        if self._thread is not None:
            self._thread.join(_QUIT_SECONDS)

    def _run(self, work: _Work, choice: RecordingChoice) -> None:
        if self.is_running:
            return
        self._stop = threading.Event()
        # Not a daemon: a session that runs is ended, also if the program quits.
        self._thread = threading.Thread(
            target=_call, args=(work, choice, self._owner, self._stop), name="recording"
        )
        self._thread.start()

    @Slot(object)
    def _progress(self, progress: Progress) -> None:
        self.progressed.emit(progress)

    @Slot(object)
    def _take(self, answer: Outcome | list[Finding] | str) -> None:
        self._thread = None
        if isinstance(answer, str):
            self.failed.emit(answer)
        elif isinstance(answer, Outcome):
            self.ended.emit(answer)
        else:
            self.checked.emit(answer)


_Report = Callable[[Progress], None]
_Work = Callable[[RecordingChoice, _Report, Callable[[], bool]], Outcome | Sequence[Finding]]


def _record(choice: RecordingChoice, tell: _Report, is_stopped: Callable[[], bool]) -> Outcome:
    plan = choice.plan()
    for note in notes_of(plan):
        tell(Progress(note, 0, plan.left({}), None))
    return record(plan, choice.folder, tell, is_stopped, resume=choice.resume)


def _check(
    choice: RecordingChoice, tell: _Report, is_stopped: Callable[[], bool]
) -> Sequence[Finding]:
    return check(target_of(choice.plan(), choice.folder), is_stopped)


def _call(work: _Work, choice: RecordingChoice, owner: GuiOwner, stop: threading.Event) -> None:
    """Do the work in this thread, and hand its answer to the GUI thread."""
    answer: object
    try:
        answer = work(choice, lambda progress: owner.call("_progress", progress), stop.is_set)
    except WrongPlan as error:
        answer = str(error)
    except OSError as error:
        answer = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except Exception as error:
        report(error, "recording")
        answer = f"The recording failed because of an error in Opscope ({error!r})"
    owner.call("_take", answer)
