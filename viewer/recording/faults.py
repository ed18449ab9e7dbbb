"""What went wrong in a program that ran for a recording, in words and with the cure.

A fault is *final* if another try would end the same way: the recording then stops at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from viewer.recording.process import Ended

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
