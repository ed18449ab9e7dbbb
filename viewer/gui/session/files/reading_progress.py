"""How far the files are that are being read, each with its own figure, how fast, and how long yet.

Rate and remaining time are of all of them together: they share one disk and one interpreter. No Qt.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from viewer.model.text import bytes_text, display_name
from viewer.model.times import NARROW_SPACE

# A rate is told after so long: the first blocks come from a cache, or wait for a disk to start.
_SURE_AFTER = 0.5  # seconds
_LONGEST_NAME = 32  # characters; what is longer is told without its middle


@dataclass(slots=True)
class _File:
    first: int  # bytes that were read when it was first told
    done: int
    total: int


class ReadingProgress:
    """Bytes by file. `clock` is asked for seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._files: dict[str, _File] = {}
        self._began = 0.0

    def reported(self, path: str, done: int, total: int) -> None:
        """So many bytes of a file are read. A total of 0 or less is not known."""
        if not self._files:
            self._began = self._clock()
        known = self._files.setdefault(path, _File(done, done, total))
        known.done, known.total = done, total

    def clear(self) -> None:
        """Nothing is read any more."""
        self._files.clear()

    @property
    def share(self) -> float:
        """Which part of the bytes that are known of is read, 0 to 1."""
        total = sum(max(file.total, 0) for file in self._files.values())
        done = sum(file.done for file in self._files.values() if file.total > 0)
        return min(done / total, 1.0) if total else 0.0

    def text(self, paths: Sequence[str]) -> str:
        """What is read, of the paths that are being read or wait for it, in their order."""
        named = [self._one(path) for path in paths if path in self._files]
        others = len(paths) - len(named)
        if not named:
            return f"Reading {_short(display_name(paths[0]))}" if paths else "Reading"
        wait = [f"{others} more"] if others else []
        return f"Reading {' · '.join([*named, *wait, *self._speed()])}"

    def _one(self, path: str) -> str:
        file, name = self._files[path], _short(display_name(path))
        if file.total <= 0:
            return f"{name} {bytes_text(file.done)}"
        return f"{name} {bytes_text(min(file.done, file.total))} of {bytes_text(file.total)}"

    def _speed(self) -> list[str]:
        """Rate and remaining time, as soon as they can be told."""
        passed = self._clock() - self._began
        read = sum(file.done - file.first for file in self._files.values())
        if passed < _SURE_AFTER or read <= 0:
            return []
        rate = read / passed
        left = sum(max(file.total - file.done, 0) for file in self._files.values())
        said = [f"{bytes_text(round(rate))}/s"]
        return [*said, f"{_duration(left / rate)} left"] if left else said


def _short(name: str) -> str:
    half = _LONGEST_NAME // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[: half - 1]}…{name[-half:]}"


def _duration(seconds: float) -> str:
    """ "about 12 s", "about 3 min": no more figures than are known."""
    whole = max(round(seconds), 1)
    if whole < 90:
        return f"about {whole}{NARROW_SPACE}s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"about {minutes}{NARROW_SPACE}min"
    return f"about {round(seconds / 3600)}{NARROW_SPACE}h"
