"""Restricts cyclic garbage collection to the GUI thread.

Python runs a collection on whichever thread happens to allocate, which includes reader threads. A
collection there may destroy a discarded widget on the wrong thread, which crashes or hangs the
program: rebuilding labels while a thread parsed JSON ended in a segmentation fault within two
seconds, and sometimes a window froze for good.
"""

from __future__ import annotations

import gc
import sys

from PySide6.QtCore import QObject, QTimer, Slot

INTERVAL_MS = 250
MANY_MODULES = 50


def collect_due() -> None:
    """Collect the oldest generation above its threshold, if any, on the calling thread."""
    counts, limits = gc.get_count(), gc.get_threshold()
    due = [g for g, limit in enumerate(limits) if limit and counts[g] > limit]
    if due:
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
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL_MS)
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
