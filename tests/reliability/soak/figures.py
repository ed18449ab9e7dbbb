"""What a process holds: memory, descriptors, threads, widgets and objects."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import reduce
from operator import and_, or_

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtGui import QPixmapCache
from PySide6.QtWidgets import QApplication

from viewer.formats.memory import release_freed


@dataclass(frozen=True, slots=True)
class Figures:
    """What the process holds.

    memory: resident, in bytes; objects: QObjects known to Python; by_class: their classes, and the
    files of descriptors.
    """

    memory: int
    descriptors: int
    threads: int
    widgets: int
    objects: int
    by_class: Counter[str] = field(default_factory=Counter, compare=False)

    def grown(self, since: Figures, memory: int, others: int) -> list[str]:
        """What is more than at another time by these percentages, in words."""
        found = []
        for one in fields(self):
            if one.compare:
                before, now = getattr(since, one.name), getattr(self, one.name)
                percent = memory if one.name == "memory" else others
                if now * 100 > before * (100 + percent):
                    found.append(f"{one.name} {before:,} → {now:,}")
        classes = (self.by_class - since.by_class).most_common(12)
        more = ", ".join(f"{count} × {name}" for name, count in classes)
        return [f"{text} (more: {more})" if "memory" not in text else text for text in found]


def largest(measured: Sequence[Figures]) -> Figures:
    """The largest of each figure, which may be of different times."""
    return _each(max, measured, reduce(or_, (one.by_class for one in measured)))


def smallest(measured: Sequence[Figures]) -> Figures:
    """The smallest of each figure, which may be of different times."""
    return _each(min, measured, reduce(and_, (one.by_class for one in measured)))


def _each(
    chosen: Callable[[Iterable[int]], int], measured: Sequence[Figures], by_class: Counter[str]
) -> Figures:
    names = [one.name for one in fields(Figures) if one.compare]
    return Figures(*(chosen(getattr(one, n) for one in measured) for n in names), by_class)


def figures() -> Figures:
    """Measure, after all garbage is freed and Qt's cache of pixmaps (up to 10 MB) is empty."""
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
    QPixmapCache.clear()
    release_freed()
    with open("/proc/self/statm", encoding="ascii") as statm:
        pages = int(statm.read().split()[1])
    files = _open_files()
    widgets = QApplication.allWidgets()
    objects = [one for one in shiboken6.getAllValidWrappers() if isinstance(one, QObject)]
    by_class = Counter(one.metaObject().className() for one in {*widgets, *objects})
    return Figures(
        pages * os.sysconf("SC_PAGE_SIZE"),
        sum(files.values()),
        threading.active_count(),
        len(widgets),
        len(objects),
        by_class | files,
    )


def _open_files() -> Counter[str]:
    """What the descriptors of this process are, without the numbers of sockets and pipes."""
    found: Counter[str] = Counter()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the listing itself
            found[os.readlink(f"/proc/self/fd/{number}").partition(":[")[0]] += 1
    return found
