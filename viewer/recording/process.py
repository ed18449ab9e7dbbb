"""Runs one program: the only place of Opscope that starts one for a recording.

An argument list, never a shell; a process group of its own, which is ended as a whole at the
deadline, at a stop and when Opscope ends; output that is bounded, and decoded with replacement.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import IO

from viewer.codecs.ending import at_end, wait_if_ending

# Bytes of output that are stored from its start and from its end; what is between them is dropped.
MOST_AT_START, MOST_AT_END = 1 << 20, 3 << 20
_BLOCK = 1 << 16
_POLL_S, _GRACE_S = 0.05, 2.0

# Signals that a shell states as 128 + their number; others may be codes of a program.
_FATAL = {
    getattr(signal, name, None)
    for name in ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGKILL", "SIGSEGV", "SIGTERM")
}
_groups: set[int] = set()  # of the programs that run


class NoProgram(Exception):
    """A program is not there or cannot be started; the message says which, and why."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run: its arguments, how many seconds it may take, and its variables.

    source, target: files that are its input and its output; "" for none, and for `Ended.output`.
    title: what it does, for a log.
    """

    argv: tuple[str, ...]
    timeout: float
    environment: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    target: str = ""
    title: str = "Preparing"

    @property
    def text(self) -> str:
        """The command as a shell reads it, on one line."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        files = [
            f"{sign}{shlex.quote(path)}"
            for sign, path in (("<", self.source), (">", self.target))
            if path
        ]
        return " ".join([*variables, shlex.join(self.argv), *files])


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended.

    code: its exit code, negative for a signal; None if it was ended here. is_late: at its deadline.
    is_stopped: because the user stopped the recording. output: stdout and stderr as they came.
    dropped: bytes of output that were not stored.
    """

    code: int | None
    output: str
    seconds: float
    dropped: int = 0
    is_late: bool = False
    is_stopped: bool = False

    @property
    def is_good(self) -> bool:
        """Whether it ended by itself, with exit code 0."""
        return self.code == 0

    @property
    def how(self) -> str:
        """How it ended, in words: "exit code 7", "SIGSEGV", "no end after 120 s"."""
        if self.is_stopped:
            return "stopped"
        if self.is_late or self.code is None:
            return f"no end after {self.seconds:.0f} s"
        number = -self.code if self.code < 0 else self.code - 128  # a shell adds 128
        if self.code < 0 or number in _FATAL:
            with suppress(ValueError):
                return f"ended by {signal.Signals(number).name}"
        return f"exit code {self.code}"


def program_path(name: str) -> str:
    """Return the absolute path of a program on PATH, or of a file. Raises NoProgram."""
    path = shutil.which(os.path.expanduser(name))
    if path is None:
        raise NoProgram(f"there is no program {name}")
    return os.path.abspath(path)


def path_or_name(name: str) -> str:
    """Return the absolute path of a program, its name if it is not there: to print is possible."""
    try:
        return program_path(name)
    except NoProgram:
        return name


def run_command(command: Command, is_stopped: Callable[[], bool]) -> Ended:
    """Run a program to its end, its deadline, or until `is_stopped`. Raises NoProgram."""
    wait_if_ending()
    start = time.monotonic()
    with ExitStack() as files:
        try:
            source = files.enter_context(open(command.source or os.devnull, "rb"))
            target = files.enter_context(open(command.target, "wb")) if command.target else None
            process = subprocess.Popen(
                command.argv,
                stdin=source,
                stdout=target or subprocess.PIPE,
                stderr=subprocess.PIPE if target else subprocess.STDOUT,
                env={**_environment(), **command.environment},
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in a name
            reason = getattr(error, "strerror", None) or str(error)
            name = getattr(error, "filename", None) or command.argv[0]
            raise NoProgram(f"{name}: {reason}") from error
    _groups.add(process.pid)
    pipe = process.stderr if command.target else process.stdout
    assert pipe is not None
    output = _Output(pipe)
    is_late = was_stopped = False
    try:
        while True:
            try:
                process.wait(_POLL_S)
                break
            except subprocess.TimeoutExpired:
                was_stopped = is_stopped()
                is_late = time.monotonic() - start > command.timeout
                if was_stopped or is_late:
                    break
    finally:
        _end(process)
        _groups.discard(process.pid)
    seconds = time.monotonic() - start
    text, dropped = output.end()
    code = None if was_stopped or is_late else process.returncode
    return Ended(code, text, seconds, dropped, is_late and not was_stopped, was_stopped)


def _environment() -> dict[str, str]:
    """The environment of the user: a bundle has its own libraries."""
    variables = dict(os.environ)
    if getattr(sys, "frozen", False) and "LD_LIBRARY_PATH" in variables:
        variables["LD_LIBRARY_PATH"] = variables.pop("LD_LIBRARY_PATH_ORIG", "")
    return variables


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and all that it started: first asked to, then killed."""
    if process.poll() is None:
        _signal(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
    _signal(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # what it left behind, too
    process.wait()


def _signal(group: int, number: int) -> None:
    with suppress(OSError):  # it has ended
        if sys.platform == "win32":
            os.kill(group, number)
        else:
            os.killpg(group, number)


def _end_groups() -> None:
    """Kill all programs that run, as this process ends."""
    for group in tuple(_groups):
        _signal(group, getattr(signal, "SIGKILL", signal.SIGTERM))


at_end(_end_groups)


class _Output:
    """The output of a program, read by a thread so that it never waits: its start and its end."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe, self._lock = pipe, Lock()
        self._start, self._end, self._dropped = bytearray(), bytearray(), 0
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        descriptor = self._pipe.fileno()
        with suppress(OSError, ValueError):
            while block := os.read(descriptor, _BLOCK):
                with self._lock:
                    room = max(MOST_AT_START - len(self._start), 0)
                    self._start += block[:room]
                    self._end += block[room:]
                    if len(self._end) > MOST_AT_END + _BLOCK:
                        more = len(self._end) - MOST_AT_END
                        del self._end[:more]
                        self._dropped += more

    def end(self) -> tuple[str, int]:
        """Return the text and the number of dropped bytes.

        Something outside of the group may hold the pipe open: nobody waits for it.
        """
        self._thread.join(_GRACE_S)
        if not self._thread.is_alive():
            self._pipe.close()
        with self._lock:
            dropped = self._dropped
            gap = f"\n… {dropped} bytes left out …\n".encode() if dropped else b""
            data = bytes(self._start) + gap + bytes(self._end)
        return data.decode("utf-8", "replace").replace("\r\n", "\n"), dropped
