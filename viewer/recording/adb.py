"""An Android device over adb, which Perfetto may trace meanwhile."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from viewer.recording.device import COPY_S, SHORT_S, Device, copy_time, copying
from viewer.recording.plan import Plan, WrongPlan
from viewer.recording.process import Command
from viewer.recording.system_trace import PERFETTO, SystemTrace, end_all, remove_all, system_name
from viewer.recording.target import Ask, Finding
from viewer.recording.telemetry import ANDROID_COMMAND

_WAIT_S, _TRACE_S = 60.0, 180.0
_SERIAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:()\[\]-]{0,200}")
# What rows of `adb devices` state instead of "device".
_STATES = {
    "unauthorized": "does not allow this computer; unlock it and accept USB debugging",
    "offline": "is offline; reconnect it, or run adb reconnect",
    "no permissions": "may not be used by this user; add a udev rule for it (Debian: "
    "android-sdk-platform-tools-common), and reconnect it",
    "recovery": "is in recovery; start Android on it",
    "sideload": "is in recovery; start Android on it",
    "bootloader": "is in its bootloader; start Android on it",
}


class Adb(Device):
    """An Android device over adb."""

    tool, parent = "adb", "/data/local/tmp"
    has_runner = False
    # At once: times of the log are converted from those of day with how far they are apart now.
    log = "logcat -d -v monotonic -v usec --pid=$p -s ExecuTorch 2>/dev/null; "

    def __init__(self, plan: Plan, incoming: str, serial: str) -> None:
        """Raises WrongPlan. serial: "" for the only device."""
        super().__init__(plan, incoming)
        if serial and not _SERIAL.fullmatch(serial):
            raise WrongPlan(f"{serial!r} is no serial number: adb devices lists them")
        self.serial, self.is_named = serial or "SERIAL", bool(serial)
        self.state = self.shell(ANDROID_COMMAND)

    def _command(self, timeout: float, *words: str) -> Command:
        return Command((self.tool_path, "-s", self.serial, *words), timeout)

    def shell(self, line: str, timeout: float = SHORT_S) -> Command:
        return self._command(timeout, "shell", line)

    def push(self, path: str, name: str) -> Command:
        command = self._command(copy_time(path), "push", path, f"{self.folder}/{name}")
        return replace(command, title=copying(path))

    def fetch(self, dump: str) -> Command:
        here = os.path.join(self.incoming, dump)
        return self._command(COPY_S, "pull", f"{self.folder}/{dump}", here)

    def recover(self) -> Command:
        return self._command(_WAIT_S, "wait-for-device")

    def _trace(self, dump: str) -> SystemTrace:
        return SystemTrace(self.folder, system_name(dump), self.plan.timeout)

    def begin(self, dump: str) -> Command | None:
        return self.shell(self._trace(dump).start) if self.plan.alongside else None

    def finish(self, dump: str) -> list[Command]:
        if not self.plan.alongside:
            return []
        trace, here = self._trace(dump), os.path.join(self.incoming, system_name(dump))
        return [
            self.shell(trace.stop),
            self._command(_TRACE_S, "pull", trace.path, here),
            self.shell(f"rm -f {shlex.quote(trace.path)}"),
        ]

    @property
    def _end_line(self) -> str:
        if not self.plan.alongside:
            return super()._end_line
        ends = end_all(f"{self.folder}/{PERFETTO}"), remove_all(self.folder)
        return "; ".join((super()._end_line, *ends))

    def clean(self) -> Command | None:
        if not self.plan.alongside:
            return super().clean()
        remove = "" if self.plan.keep else f"; rm -rf {shlex.quote(self.folder)}"
        return self.shell(f"{self._end_line}{remove}")

    def check(self, ask: Ask) -> list[Finding]:
        """Whether adb is there, the device is the only one or named, and its runner is there."""
        tool = self.check_tool("install Android's platform tools (Debian: apt install adb)")
        if not tool.is_good:
            return [tool]
        listed = ask(Command((self.tool_path, "devices"), SHORT_S))
        if not listed.is_good:
            return [tool, Finding(False, "adb devices fails", "run adb kill-server, then again")]
        device = self._device(_rows(listed.output))
        both = [tool, device]
        if not device.is_good:
            return both
        if self.plan.alongside:
            is_there = ask(self.shell(f"command -v {PERFETTO}")).is_good
            both.append(
                Finding(True, "perfetto: on the device")
                if is_there
                else Finding(
                    False,
                    "the device has no perfetto",
                    "it needs Android 9 or newer; leave out --alongside",
                )
            )
        return [*both, *self.check_runner(ask)]

    def _device(self, rows: Sequence[tuple[str, str]]) -> Finding:
        """What is known of the device; the only one that is ready becomes the target."""
        of_name = [row for row in rows if row[0] == self.serial] if self.is_named else list(rows)
        ready = [serial for serial, state in of_name if state == "device"]
        if len(ready) > 1:
            each = ", ".join(f"--on adb:{serial}" for serial in ready)
            return Finding(False, f"{len(ready)} devices are connected", f"name one: {each}")
        if ready and _SERIAL.fullmatch(ready[0]):
            self.serial = ready[0]
            self.state = self.shell(ANDROID_COMMAND)
            return Finding(True, f"device: {ready[0]}")
        if ready:
            return Finding(False, f"the serial number of the device, {ready[0]}, is no plain text",
                           "connect it over the network: adb connect HOST")  # fmt: skip
        for serial, state in of_name:
            key = next((name for name in _STATES if state.startswith(name)), "")
            why, _, cure = _STATES.get(key, f"is not ready ({state}); reconnect it").partition("; ")
            return Finding(False, f"device {serial} {why}", cure)
        which = f"device {self.serial} is not connected" if self.is_named else "there is no device"
        return Finding(False, which, "connect it, allow USB debugging, and check adb devices")


def _rows(text: str) -> list[tuple[str, str]]:
    """The serial numbers and states in the output of `adb devices`."""
    lines = text.partition("List of devices attached")[2].splitlines()
    rows = (re.fullmatch(r"(.+?)(?:\t|\s{2,})(\S.*)", line.rstrip()) for line in lines)
    return [(row[1].strip(), row[2].strip()) for row in rows if row is not None]
