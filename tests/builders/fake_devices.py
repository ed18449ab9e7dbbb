"""Programs on PATH that behave like adb, ssh and runners, with the faults of a scenario.

A folder is the device: `/data/local/tmp`, `/tmp` and Perfetto's folder of the command lines are in
it. Every call is a line of `calls.jsonl`, as it came. A fault answers the n-th call that contains a
text. Its `logcat` prints `log.txt`, and its `perfetto` writes `system.pftrace` once it is ended.
"""

import json
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.paths import DATA

DUMP = DATA / "etdump/attn_portable_x5.etdp"
SERIAL = "R5CT10XYZ"
LISTED = f"List of devices attached\n{SERIAL}\tdevice\n\n"
STATE = """\
/sys/devices/system/cpu/cpufreq/policy0/scaling_governor:schedutil
/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq:2050000
/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq:1800000
/sys/class/thermal/thermal_zone0/type:cpu-0-0
/sys/class/thermal/thermal_zone0/temp:41200
/proc/loadavg:0.52 0.40 0.31 1/900 1234
localhost aarch64
Current Battery Service state:
  level: 85
  temperature: 310
Thermal Status: 0
Pixel 9
"""
# What is behind each name, on the device of a test.
_FAKE = r"""
import json, os, subprocess, sys, time
root, name, argv = os.environ["FAKE_DEVICE"], os.path.basename(sys.argv[0]), sys.argv[1:]
with open(root + "/calls.jsonl", "a+") as file:
    file.seek(0)
    earlier = [json.loads(line) for line in file]
    file.write(json.dumps([name, *argv]) + "\n")
with open(root + "/scenario.json") as file:
    scenario = json.load(file)
line = " ".join(argv)
for fault in scenario["faults"]:
    if fault["text"] in line:
        nth = 1 + sum(fault["text"] in " ".join(one[1:]) for one in earlier)
        if fault["first"] <= nth <= fault["last"]:
            time.sleep(fault["seconds"])
            sys.stdout.write(fault["output"])
            sys.stdout.flush()
            sys.exit(fault["code"])
def place(path):
    for folder in ("/data/local/tmp", "/data/misc/perfetto-traces", "/tmp"):
        path = path.replace(folder + "/opscope-", root + "/files/opscope-")
    return path
def copy(source, target):
    with open(source, "rb") as file:
        data = file.read()
    with open(target, "wb") as file:
        file.write(data[: len(data) // 2] if scenario["truncates"] else data)
def shell(line):
    if "grep -s ." in line:
        sys.stdout.write(scenario["state"])
        sys.exit(0)
    sys.exit(subprocess.call(["/bin/sh", "-c", place(line)]))
if name == "adb":
    words = argv[2:] if argv[:1] == ["-s"] else argv
    if words == ["devices"]:
        sys.stdout.buffer.write(scenario["listed"].encode("utf-8", "surrogateescape"))
    elif words[0] == "shell":
        shell(words[1])
    elif words[0] in ("push", "pull"):
        copy(place(words[1]), place(words[2]))
elif name == "ssh":
    shell(argv[-1])
"""
_LOGCAT = """#!/bin/sh
cat "$FAKE_DEVICE/log.txt" 2>/dev/null
"""
# It runs in a session of its own, as on a device, until it is ended; then its file is whole.
_PERFETTO = """#!/bin/sh
for word; do
  [ "$last" = -o ] && out=$word
  last=$word
done
cat >"$FAKE_DEVICE/perfetto.txt"
export out
setsid sh -c '
  exec 9>&1 >/dev/null 2>&1 </dev/null
  (exec 9>&-; trap "cp $FAKE_DEVICE/system.pftrace $out; exit" TERM; while :; do sleep 0.02; done) &
  echo $! >&9
  exec 9>&-
  wait' &
"""
_RUNNER = """#!/bin/sh
# etdump_path
for word; do
  case $word in
    --etdump_path=*) out=${word#*=} ;;
  esac
done
%s
"""


@dataclass
class FakeDevice:
    """A device in a folder: its scenario, and what it was asked."""

    folder: Path
    environment: Mapping[str, str]
    faults: list[dict[str, object]] = field(default_factory=list)
    listed: str = LISTED
    state: str = STATE
    truncates: bool = False

    def write(self) -> None:
        """Write the scenario, as the programs read it."""
        scenario = {
            "faults": self.faults,
            "listed": self.listed,
            "state": self.state,
            "truncates": self.truncates,
        }
        (self.folder / "scenario.json").write_text(json.dumps(scenario))

    def fail(
        self,
        text: str,
        output: str = "",
        code: int = 1,
        calls: tuple[int, int] = (1, 999),
        seconds: float = 0,
    ) -> None:
        """Answer calls with a text so, from the first to the last of these numbers."""
        first, last = calls
        self.faults.append(
            {"text": text, "output": output, "code": code, "first": first, "last": last,
             "seconds": seconds}
        )  # fmt: skip
        self.write()

    def calls(self, name: str = "") -> list[list[str]]:
        """The calls of all programs, or of one, as they came."""
        path = self.folder / "calls.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        every = [json.loads(line) for line in lines]
        return [call for call in every if name in ("", call[0])]

    def runner(self, body: str = "") -> Path:
        """A runner to push: by default, it writes a dump."""
        return program(self.folder / "executor_runner", _RUNNER % (body or f'cp "{DUMP}" "$out"'))


def processes_of(device: FakeDevice) -> list[str]:
    """The processes of a device that run, by their ids; none on a system without /proc."""
    running = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"FAKE_DEVICE={device.folder}\0".encode() in (folder / "environ").read_bytes():
                running.append(folder.name)
    return running


def program(path: Path, text: str) -> Path:
    """Write an executable file."""
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def fake_device(folder: Path, monkeypatch, names: Sequence[str] = ("adb", "ssh")):
    """Put the programs on PATH, before all others, and return their device."""
    programs = folder / "bin"
    (folder / "files").mkdir(parents=True)
    programs.mkdir()
    for name in names:
        program(programs / name, f"#!{sys.executable} -SE\n{_FAKE}")
    program(programs / "logcat", _LOGCAT)
    program(programs / "perfetto", _PERFETTO)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_DEVICE", str(folder))
    device = FakeDevice(folder, dict(os.environ))
    device.write()
    return device
