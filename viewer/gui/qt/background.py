"""Work off the GUI thread: only the latest query of a visible panel is answered.

Questions about a whole trace are asked `in_turn`: one at a time, those of visible panels first.
Several at once would each hold what they need for all slices, and make a frame wait for the GIL.

A worker must never hold the last reference to a QObject: it would be destroyed on the wrong thread,
which ends the process. So workers know their owner only by a weak reference, `GuiOwner`, and one
object that lives as long as the program delivers their calls on the GUI thread.

For the same reason, cyclic garbage is collected on the GUI thread alone (`GuiCollector`). Python
runs a collection on whichever thread happens to allocate, which includes reader threads: rebuilding
labels while a thread parsed JSON ended in a segmentation fault within two seconds, and sometimes a
window froze for good.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import shiboken6
from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, SignalInstance, Slot
from PySide6.QtWidgets import QWidget

from viewer.formats.memory import release_freed
from viewer.gui.qt.crash_report import guard, report

LATE_MS = 100
# Two, so that an outdated slow query does not block the latest one.
AT_ONCE = 2
_QUIT_SECONDS = 2.0
# Frames while two threads answer questions about 10 million slices: median 11.3 to 8.7 ms on two
# processors, 95 % within 29 to 22 ms.
_NICE = 5
# What takes so long has freed enough to be worth returning to the system.
_RELEASES_AFTER = 0.5


class _Carrier(QObject):
    """Runs functions from other threads on the GUI thread."""

    handed_in = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.handed_in.connect(self._run, Qt.ConnectionType.QueuedConnection)

    @Slot(object)
    def _run(self, call: Callable[[], None]) -> None:
        call()


_carrier: _Carrier | None = None


class GuiOwner:
    """A weak handle to a QObject for its worker threads; create it on the GUI thread."""

    def __init__(self, owner: QObject) -> None:
        global _carrier
        if _carrier is None:
            _carrier = _Carrier()
        self._owner = weakref.ref(owner)

    def call(self, method: str, *arguments: Any) -> None:
        """Run `owner.method(*arguments)` on the GUI thread, unless the owner is gone by then."""

        def run() -> None:
            owner = self._owner()
            if owner is not None and shiboken6.isValid(owner):
                getattr(owner, method)(*arguments)

        if _carrier is not None:
            _carrier.handed_in.emit(run)


class _Queue:
    """The owners of questions that wait for their turn; only the GUI thread touches it.

    A question that is outdated, whose panel is hidden by now, or that takes long runs on, and holds
    up no visible one that does not.
    """

    def __init__(self) -> None:
        self._waiting: list[weakref.ref[Latest]] = []
        self._running: list[weakref.ref[Latest]] = []

    def enter(self, latest: Latest) -> None:
        """Let the next question of an owner run when it is its turn."""
        if all(waiting() is not latest for waiting in self._waiting):
            self._waiting.append(weakref.ref(latest))
        self.start()

    def start(self) -> None:
        """Start what may run now."""
        running = [owner for owner in _alive(self._running) if owner.is_working]
        waiting = [owner for owner in _alive(self._waiting) if owner.is_waiting]
        while waiting:
            first = min(waiting, key=lambda owner: owner.rank)
            if any(owner.rank <= first.rank for owner in running):
                break
            waiting.remove(first)
            if first.begin():
                running.append(first)
        self._waiting = [weakref.ref(owner) for owner in waiting]
        self._running = [weakref.ref(owner) for owner in running]


def _alive(owners: list[weakref.ref[Latest]]) -> list[Latest]:
    latest = (owner() for owner in owners)
    return [owner for owner in latest if owner is not None and shiboken6.isValid(owner)]


class Latest(QObject):
    """Answers the queries of one panel; only the latest query counts."""

    answered = Signal(object)
    failed = Signal(str)
    late = Signal()
    about_to_answer = Signal()

    def __init__(
        self,
        parent: QObject | None = None,
        take: Callable[[Any], object] | SignalInstance | None = None,
        *,
        apart: bool = False,
        in_turn: bool = False,
    ) -> None:
        """take: gets answers. in_turn: whether a query waits for others, as it takes much memory.

        If `apart`, `answered` is emitted one event loop turn after `about_to_answer`.

        Use that for answers that change much: Qt processes an event along with everything that
        follows from it, including painting, and doing that all at once for a large trace blocks for
        100 ms.
        """
        super().__init__(parent)
        if take is not None:
            self.answered.connect(take)
        self._apart, self._in_turn = apart, in_turn
        self.takes_long = False  # so that others have their turn first
        self._taken: tuple[_Question, object, Exception | None] | None = None
        self._turn = QTimer(self, singleShot=True)
        self._turn.timeout.connect(self._emit_answer)
        self._working: list[_Question] = []
        self._next: _Question | None = None
        self._latest: _Question | None = None
        self._shut = False
        self._owner = GuiOwner(self)
        self._clock = QTimer(self, interval=LATE_MS, singleShot=True)
        self._clock.timeout.connect(self.late)

    @property
    def pending(self) -> bool:
        """Whether the latest query has no answer yet."""
        return self._latest is not None

    def submit(self, function: Callable[..., object], *args: Any) -> None:
        """Run `function(*args)` in a thread; it must be pure and must not use QObjects.

        Emits `answered` with the result or `failed` with a message on the GUI thread, unless
        another query or `cancel` comes first. Emits `late` after 100 ms without an answer.
        """
        if self._shut:
            return
        # The 100 ms count from the first unanswered query, since the shown numbers are that old.
        if not self.pending:
            self._clock.start()
        self._latest = self._next = _Question(function, args, self._owner)
        self._start()

    def ask(self, at_once: bool, function: Callable[..., object], *args: Any) -> None:
        """Like `submit`, but with `at_once`, run it and emit `answered` before returning."""
        if not at_once:
            self.submit(function, *args)
            return
        self.cancel()
        self.answered.emit(function(*args))

    def cancel(self) -> None:
        """Cancel the latest query; its answer is discarded."""
        self._next = self._latest = self._taken = None
        self._clock.stop()
        if self._in_turn:
            _queue.start()

    def shutdown(self) -> None:
        """Cancel everything, and wait at most 2 seconds for running queries."""
        self.cancel()
        self._shut = True
        deadline = time.monotonic() + _QUIT_SECONDS
        for question in self._working:
            question.silent = True
        for question in self._working:
            question.thread.join(max(0.0, deadline - time.monotonic()))

    @property
    def rank(self) -> tuple[bool, bool]:
        """The place among queries in turn: those for widgets that nobody sees now are last."""
        widget = self.parent()
        is_hidden = isinstance(widget, QWidget) and widget.visibleRegion().isEmpty()
        return is_hidden, self.takes_long

    @property
    def is_waiting(self) -> bool:
        """Whether the latest query has not begun."""
        return self._next is not None

    @property
    def is_working(self) -> bool:
        """Whether the latest query runs."""
        return self._latest in self._working

    def begin(self) -> bool:
        """Start the latest query unless too many older ones still run; returns whether it did."""
        if self._next is None or len(self._working) >= AT_ONCE:
            return False
        question, self._next = self._next, None
        self._working.append(question)
        question.thread.start()
        return True

    def _start(self) -> None:
        if self._in_turn:
            _queue.enter(self)
        else:
            self.begin()

    @Slot(object, object, object)
    def _take(self, question: _Question, answer: object, error: Exception | None) -> None:
        self._working.remove(question)
        self._start()
        if question is not self._latest:
            return
        self._taken = question, answer, error
        if self._apart:
            self._turn.start(0)
            if error is None:
                self.about_to_answer.emit()
        else:
            self._emit_answer()

    @Slot()
    def _emit_answer(self) -> None:
        taken, self._taken = self._taken, None
        if taken is None or taken[0] is not self._latest:
            return
        _, answer, error = taken
        self._latest = None
        self._clock.stop()
        if error is None:
            self.answered.emit(answer)
        else:
            self.failed.emit(f"This could not be computed ({type(error).__name__}: {error})")


class _Question:
    def __init__(
        self, function: Callable[..., object], args: tuple[Any, ...], owner: GuiOwner
    ) -> None:
        self._function = function
        self._args = args
        self._owner = owner
        self.silent = False
        # A daemon thread, so that the program can exit while an outdated query is still running.
        self.thread = threading.Thread(target=self._run, name="query", daemon=True)

    def _run(self) -> None:
        _let_the_gui_thread_go_first()
        answer: object = None
        failure: Exception | None = None
        began = time.monotonic()
        try:
            answer = self._function(*self._args)
        except Exception as error:
            # After the shutdown, the interpreter may already be unloading modules; that is no
            # error.
            if not self.silent:
                report(error, getattr(self._function, "__qualname__", repr(self._function)))
            failure = error.with_traceback(None)
        if time.monotonic() - began > _RELEASES_AFTER:
            release_freed()
        if not self.silent:
            self._owner.call("_take", self, answer, failure)
            if _carrier is not None:  # also if the owner is gone
                _carrier.handed_in.emit(_queue.start)


def _let_the_gui_thread_go_first() -> None:
    """Lower the priority of the calling thread, and of those that it starts.

    On Linux, `nice` is of a thread; elsewhere, it would be of the whole process.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            os.nice(_NICE)


_queue = _Queue()


INTERVAL_MS = 250
MANY_MODULES = 50


def collect_due() -> None:
    """Collect the oldest generation above its threshold, if any, on the calling thread."""
    counts, limits = gc.get_count(), gc.get_threshold()
    if due := [g for g, limit in enumerate(limits) if limit and counts[g] > limit]:
        gc.collect(due[-1])


class GuiCollector(QObject):
    """Replaces Python's automatic garbage collection while it exists.

    It collects a generation when its counter exceeds Python's own threshold, at most one generation
    every `INTERVAL_MS`. Objects that exist when it is created (modules, classes) are frozen and
    never scanned again. The same goes for objects present after many modules were imported at once:
    pandas, needed for the first large file, would add 50 ms to each collection.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        # Freeze without collecting first: only a few hundred of these objects are garbage, and
        # finding them would delay the first window by 50 ms.
        gc.freeze()
        gc.disable()
        self._modules = len(sys.modules)
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()

    @Slot()
    def collect(self) -> None:
        """Collect the oldest generation that is due, if any."""
        modules = len(sys.modules)
        if modules - self._modules >= MANY_MODULES:
            self._modules = modules
            gc.freeze()
        collect_due()

    def stop(self) -> None:
        """Turn Python's automatic collection on again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()


BEING_COUNTED = "Calculating…"


class WhenVisible(QObject):
    """Tells whether a panel is visible; emits `due` when deferred work should be done."""

    due = Signal()

    def __init__(self, panel: QWidget) -> None:
        super().__init__(panel)
        self._panel = panel
        self._waits = False
        # delays `due`, as nothing may change while the panel is painted
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self.due)

    def defer(self) -> bool:
        """Whether the panel is invisible, so that the caller must defer its work until `due`."""
        self._soon.stop()
        self._wait(self._panel.visibleRegion().isEmpty())
        return self._waits

    @Slot()
    def request(self) -> None:
        """Emit `due` now if the panel is visible, else as soon as it is."""
        if not self.defer():
            self.due.emit()

    def _wait(self, waits: bool) -> None:
        if waits and not self._waits:
            self._panel.installEventFilter(self)
        elif self._waits and not waits:
            self._panel.removeEventFilter(self)
        self._waits = waits

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Notice the first paint of the panel."""
        if event.type() == QEvent.Type.Paint:
            self._wait(False)
            self._soon.start(0)
        return False
