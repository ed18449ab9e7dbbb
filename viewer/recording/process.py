"""Runs one program, and says what went wrong in it: nothing else starts one for a recording.

An argument list, never a shell; a process group of its own, which is ended as a whole at the
deadline, at a stop and when Opscope ends; output that is bounded, and decoded with replacement.

A fault is stated in words and with the cure. It is *final* if another try would end the same way:
the recording then stops at once.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from threading import Lock, Thread
from typing import IO

from viewer.codecs.ending import at_end, wait_if_ending
from viewer.dataclasses import dataclass, field

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


TRACER = "-DEXECUTORCH_BUILD_DEVTOOLS=ON -DEXECUTORCH_ENABLE_EVENT_TRACER=ON"


class Fault(Exception):
    """A session, or all of a recording, that cannot be; the message says why and what to do."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class _Sign:
    """What a program prints, what it means, with its groups in braces, and whether it is final."""

    pattern: str
    meaning: str
    is_final: bool = True


# The first that matches counts. A pattern with (?m) is of the line that it is in.
_SIGNS = (
    _Sign(r"^opscope: (.*)$", "{0}"),  # of resources/record/session.py
    # adb
    _Sign(
        r"device unauthorized|unauthorized\.",
        "the device does not allow this computer; unlock it and accept USB debugging",
    ),
    _Sign(r"device offline", "the device is offline; reconnect it, or run adb reconnect", False),
    _Sign(
        r"more than one device",
        "several devices are connected; name one with --on adb:SERIAL, as adb devices lists them",
    ),
    _Sign(
        r"device '?[^'\n]*'? not found|no devices/emulators found|error: closed|protocol fault"
        r"|device still connecting",
        "the device is not connected; check the cable, or run adb devices",
        False,
    ),
    _Sign(
        r"no permissions",
        "this user may not use the device; add a udev rule for it (Debian: "
        "android-sdk-platform-tools-common), and reconnect it",
    ),
    _Sign(r"cannot connect to daemon|failed to start daemon", "adb's server does not start; run "
          "adb kill-server, then adb start-server"),
    # ssh
    _Sign(
        r"Host key verification failed|No \S+ host key is known",
        "the key of the host is not known; connect once with ssh in a terminal and compare it",
    ),
    _Sign(
        r"Permission denied \([a-z,-]+\)",
        "the host accepts no key of this user; ssh-copy-id adds one. No password is asked for",
    ),
    _Sign(
        r"Could not resolve hostname (\S+?):",
        "there is no host {0}; check --on ssh:USER@HOST",
    ),
    _Sign(
        r"Connection refused|No route to host|Network is unreachable|Connection timed out"
        r"|Connection reset|Connection closed|Broken pipe",
        "the host does not answer; check that it is on and runs an SSH server",
        False,
    ),
    # the system of the device, or of this machine
    _Sign(r"No space left on device|ENOSPC", "the disk is full; free some space, then --resume"),
    _Sign(
        r"runner: (?:can't execute: )?Permission denied",
        "the folder there does not allow programs (noexec); name a runner that is there already "
        "with --runner",
    ),
    _Sign(r"Read-only file system", "the folder cannot be written (read-only file system)"),
    _Sign(
        r"Exec format error|not executable: \S+ ELF|cannot execute binary file",
        "the runner is built for another processor; build it for that of the device",
    ),
    _Sign(
        r"library \"([^\"]+)\" not found"
        r"|error while loading shared libraries: ([^:\s]+)",
        "the runner needs {0}; copy it to the device with --push",
    ),
    _Sign(r"Out of memory|MemoryError|std::bad_alloc", "the program does not fit the memory"),
    # runners of ExecuTorch
    _Sign(
        r"unknown command line flag '-*(etdump_path)'",
        f"the runner has no event tracer; build it with {TRACER}",
    ),
    _Sign(
        r"unknown command line flag '-*(\w+)'",
        "the runner does not know --{0}; build it from a newer ExecuTorch",
    ),
    _Sign(
        r"flag '-*(\w+)' not recognized",
        "the runner does not know --{0}; torq-run-module, and iree-run-module of Torq, know "
        "--torq_profile_host",
    ),
    _Sign(
        r"No module named '?(executorch|torch)",
        "this Python has no {0}; run pip install {0} with it, or name another with "
        "--on local:PYTHON",
    ),
    _Sign(
        r"Missing operator: \[[0-9]+\] ([\w:.]+)",
        "the runner has no kernel for {0} (0x14); build it with that operator library",
    ),
    _Sign(
        r"Backend (\S+) is not registered",
        "the runner has no backend {0} (0x20); build it with that backend",
    ),
)  # fmt: skip

# `executorch::runtime::Error`, by number: what it means, and the cure.
_CODES = {
    0x01: "internal error of the runtime (0x1)",
    0x02: "data outside of the program is missing, or the state is invalid (0x2); copy the .ptd "
    "file with --push",
    0x10: "the operation is not supported (0x10)",
    0x12: "an input is missing or invalid (0x12); check --inputs",
    0x14: "the runner has no kernel for an operator (0x14); build it with that operator library",
    0x20: "a backend is not in the runner (0x20); build it with the backend of the program",
    0x21: "the memory of the runner is too small (0x21)",
    0x22: "a file cannot be accessed (0x22)",
    0x23: "the program file is damaged or of another version (0x23); export it again",
    0x24: "data outside of the program is invalid (0x24); copy the .ptd file with --push",
    0x25: "the runner is out of resources (0x25)",
    0x30: "the backend cannot run the program (0x30); export it with the same version",
}
_CODE = re.compile(
    r"(?:error|status|failed|returned|with)[^\n]{0,40}?\b0x([0-9a-f]{1,2})\b", re.IGNORECASE
)
_SIGN_PATTERNS = tuple((re.compile(sign.pattern, re.MULTILINE), sign) for sign in _SIGNS)
_MOST_READ, _MOST_QUOTED = 200_000, 160


def fault_of(what: str, ended: Ended) -> Fault:
    """Return the fault of a program that did not end well. what: it did, such as "the runner"."""
    if ended.is_stopped:
        return Fault(f"{what} was stopped")
    if ended.code is None:
        return Fault(f"{what}: {ended.how}; --timeout sets the limit")
    if (explained := explained_fault(what, ended.output)) is not None:
        return explained
    lines = [line.strip() for line in ended.output[-_MOST_READ:].splitlines() if line.strip()]
    last = f": {lines[-1][:_MOST_QUOTED]}" if lines else ", without a word"
    return Fault(f"{what}: {ended.how}{last}")


def explained_fault(what: str, output: str) -> Fault | None:
    """Return the fault that an output is known to mean; None if it says nothing that is known."""
    text = output[-_MOST_READ:]
    for pattern, sign in _SIGN_PATTERNS:
        if (match := pattern.search(text)) is not None:
            groups = [group for group in match.groups() if group]
            return Fault(f"{what}: {sign.meaning.format(*groups)}", is_final=sign.is_final)
    codes = [int(code, 16) for code in _CODE.findall(text)]
    if stated := [code for code in codes if code in _CODES]:
        return Fault(f"{what}: {_CODES[stated[-1]]}", is_final=True)
    return None
