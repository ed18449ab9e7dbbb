"""Progress text for files being read: bytes of each file, overall rate and remaining time.

Rate and remaining time cover all files together, because they share one disk and one interpreter.
This module does not use Qt.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from viewer.model.text import bytes_text, display_name
from viewer.model.times import NARROW_SPACE

# Rates before this time are unreliable: the first blocks come from a cache, or wait for the disk.
_SURE_AFTER = 0.5  # seconds
_LONGEST_NAME = 32  # characters; longer names are shortened in the middle


@dataclass(slots=True)
class _File:
    first: int  # bytes already read at the first report
    done: int
    total: int


class ReadingProgress:
    """Tracks bytes read per file; `clock` returns the time in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._files: dict[str, _File] = {}
        self._began = 0.0

    def reported(self, path: str, done: int, total: int) -> None:
        """Record that `done` of `total` bytes are read; a total of 0 or less means unknown."""
        if not self._files:
            self._began = self._clock()
        file = self._files.setdefault(path, _File(done, done, total))
        file.done, file.total = done, total

    def clear(self) -> None:
        """Forget all files, when reading has ended."""
        self._files.clear()

    @property
    def share(self) -> float:
        """Fraction of the bytes read, 0 to 1, over all files whose size is known."""
        total = sum(max(file.total, 0) for file in self._files.values())
        done = sum(file.done for file in self._files.values() if file.total > 0)
        return min(done / total, 1.0) if total else 0.0

    def text(self, paths: Sequence[str]) -> str:
        """The status text for `paths`, which are the files being read or waiting, in order."""
        named = [self._file_text(path) for path in paths if path in self._files]
        others = len(paths) - len(named)
        if not named:
            return f"Reading {_short(display_name(paths[0]))}" if paths else "Reading"
        wait = [f"{others} more"] if others else []
        return f"Reading {' · '.join([*named, *wait, *self._speed()])}"

    def _file_text(self, path: str) -> str:
        file, name = self._files[path], _short(display_name(path))
        if file.total <= 0:
            return f"{name} {bytes_text(file.done)}"
        return f"{name} {bytes_text(min(file.done, file.total))} of {bytes_text(file.total)}"

    def _speed(self) -> list[str]:
        """Rate and remaining time as texts; empty until there is enough data."""
        passed = self._clock() - self._began
        read = sum(file.done - file.first for file in self._files.values())
        if passed < _SURE_AFTER or read <= 0:
            return []
        rate = read / passed
        left = sum(max(file.total - file.done, 0) for file in self._files.values())
        texts = [f"{bytes_text(round(rate))}/s"]
        return [*texts, f"{_duration(left / rate)} left"] if left else texts


def _short(name: str) -> str:
    half = _LONGEST_NAME // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[: half - 1]}…{name[-half:]}"


def _duration(seconds: float) -> str:
    """A rough duration such as "about 12 s" or "about 3 min"."""
    whole = max(round(seconds), 1)
    if whole < 90:
        return f"about {whole}{NARROW_SPACE}s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"about {minutes}{NARROW_SPACE}min"
    return f"about {round(seconds / 3600)}{NARROW_SPACE}h"
