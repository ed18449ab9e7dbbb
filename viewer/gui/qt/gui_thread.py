"""Bring a call from a worker thread to the GUI thread, and nothing of Qt the other way.

A worker must never hold the last reference to a QObject: it would be destroyed on the wrong thread,
which ends the process. So workers know their owner by a weak reference only, and one object that
lives as long as the program carries their calls over.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import shiboken6
from PySide6.QtCore import QObject, Qt, Signal, Slot


class _Carrier(QObject):
    """Runs on the GUI thread what other threads hand in."""

    handed_in = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.handed_in.connect(self._run, Qt.ConnectionType.QueuedConnection)

    @Slot(object)
    def _run(self, call: Callable[[], None]) -> None:
        call()


_carrier: _Carrier | None = None


class GuiOwner:
    """A QObject as its workers may know it. Make it on the GUI thread."""

    def __init__(self, owner: QObject) -> None:
        global _carrier
        if _carrier is None:
            _carrier = _Carrier()
        self._owner = weakref.ref(owner)

    def call(self, method: str, *arguments: Any) -> None:
        """From any thread: have `owner.method(*arguments)` run on the GUI thread.

        Nothing happens if the owner is gone by then.
        """

        def run() -> None:
            owner = self._owner()
            if owner is not None and shiboken6.isValid(owner):
                getattr(owner, method)(*arguments)

        if _carrier is not None:
            _carrier.handed_in.emit(run)
