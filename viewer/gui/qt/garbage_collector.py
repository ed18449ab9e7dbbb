"""Cyclic garbage is collected on the GUI thread alone.

Python collects wherever an allocation happens to ask for it, so also in a reader's thread. What it
finds there may be a widget that a panel has put away, and to destroy a widget on another thread
than its own crashes or stops the program: rebuilding labels while a thread parses JSON ended in a
segmentation fault within two seconds, and now and then a window stood still for good.
"""

from __future__ import annotations

import gc
import sys

from PySide6.QtCore import QObject, QTimer, Slot

INTERVAL_MS = 250
MANY_MODULES = 50


def collect_due() -> None:
    """Collect the oldest generation whose counter is above its threshold, if any is, here."""
    counts, limits = gc.get_count(), gc.get_threshold()
    due = [g for g, limit in enumerate(limits) if limit and counts[g] > limit]
    if due:
        gc.collect(due[-1])


class GuiCollector(QObject):
    """Takes the place of the automatic collection for as long as it lives.

    A generation is collected when its counter is above Python's own threshold, at most one every
    `INTERVAL_MS`. What exists when it is made (modules, classes) is never looked at again, nor what
    comes with many modules at once: pandas, which the first large file needs, takes 50 ms a time.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        # Not collected before: of all modules a few hundred objects are garbage, and to find them
        # would keep the first window waiting for 50 ms.
        gc.freeze()
        gc.disable()
        self._modules = len(sys.modules)
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()

    @Slot()
    def collect(self) -> None:
        """Collect the oldest generation that is due, if any is."""
        modules = len(sys.modules)
        if modules - self._modules >= MANY_MODULES:
            self._modules = modules
            gc.freeze()
        collect_due()

    def stop(self) -> None:
        """Give the collection back to Python."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()
