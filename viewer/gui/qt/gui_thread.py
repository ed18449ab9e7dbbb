"""Runs calls from worker threads on the GUI thread, without giving workers any Qt object.

A worker must never hold the last reference to a QObject: it would be destroyed on the wrong thread,
which ends the process. So workers know their owner only by a weak reference, and one object that
lives as long as the program delivers their calls.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import shiboken6
from PySide6.QtCore import QObject, Qt, Signal, Slot


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
        """Run `owner.method(*arguments)` on the GUI thread; may be called from any thread.

        Does nothing if the owner no longer exists by then.
        """

        def run() -> None:
            owner = self._owner()
            if owner is not None and shiboken6.isValid(owner):
                getattr(owner, method)(*arguments)

        if _carrier is not None:
            _carrier.handed_in.emit(run)
