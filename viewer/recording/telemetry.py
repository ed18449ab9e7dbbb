"""What a device states around a session: its temperature, clocks and load, and a Perfetto trace.

What a device does not state is None, never 0. Linux and Android state it as small files below /sys
and /proc. One command prints them all as lines "path:value", and Android's services add what apps
may not read there. Perfetto on Android (`--alongside perfetto`) may read no file of the shell, so
it gets its configuration through a pipe, and it may only write to a folder of its own.
"""

from __future__ import annotations

import glob
import platform
import re
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress

from viewer.dataclasses import dataclass, field

_CPU = "/sys/devices/system/cpu/cpufreq/policy*/"
FILES = (
    f"{_CPU}scaling_governor",
    f"{_CPU}scaling_min_freq",
    f"{_CPU}scaling_max_freq",
    f"{_CPU}scaling_cur_freq",
    f"{_CPU}stats/time_in_state",
    "/sys/class/thermal/thermal_zone*/type",
    "/sys/class/thermal/thermal_zone*/temp",
    "/sys/class/hwmon/hwmon*/name",
    "/sys/class/hwmon/hwmon*/temp1_input",
    "/sys/class/power_supply/*/temp",
    "/sys/class/power_supply/*/capacity",
    "/proc/loadavg",
)
# `grep` prints the files that can be read, with their paths, in one process on any device.
LINUX_COMMAND = f"grep -s . /dev/null {' '.join(FILES)}; uname -n -m"
ANDROID_COMMAND = (
    f"{LINUX_COMMAND}; dumpsys battery; dumpsys thermalservice | grep -m 1 'Thermal Status'; "
    "getprop ro.product.model; true"
)
_LINE = re.compile(r"(/(?:sys|proc)/[^:\s]+):(.*)")
_OF_CPU = re.compile(r"cpu|soc|pkg|core|k10temp|tdie", re.IGNORECASE)
_BATTERY = re.compile(r"bat|charg|usb|wireless", re.IGNORECASE)
_MOST_ZONES, _MOST_NAME = 24, 40
_COLDEST, _HOTTEST = -40.0, 130.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """CPUs with one clock. Frequencies in kHz."""

    governor: str | None = None
    min_khz: int | None = None
    max_khz: int | None = None
    cur_khz: int | None = None
    ticks: Mapping[int, int] = field(default_factory=dict)  # of each frequency since the start

    def facts(self) -> dict[str, object]:
        """As JSON."""
        return {
            "governor": self.governor,
            "min_khz": self.min_khz,
            "max_khz": self.max_khz,
            "cur_khz": self.cur_khz,
        }


@dataclass(frozen=True, slots=True)
class State:
    """What a device states at a moment. zones: °C by the name of a sensor.

    load: of the last minute. thermal_status: 0 for none, of Android.
    """

    device: str | None = None
    zones: Mapping[str, float] = field(default_factory=dict)
    clusters: Mapping[str, Cluster] = field(default_factory=dict)
    load: float | None = None
    battery_c: float | None = None
    battery_percent: int | None = None
    thermal_status: int | None = None

    @property
    def temperature(self) -> tuple[float, str] | None:
        """The hottest sensor of the CPU or SoC, else of what is no battery, with what it is of."""
        for of, names in (
            ("cpu", [name for name in self.zones if _OF_CPU.search(name)]),
            ("other", [name for name in self.zones if not _BATTERY.search(name)]),
        ):
            if names:
                return max(self.zones[name] for name in names), of
        return None if self.battery_c is None else (self.battery_c, "battery")

    def facts(self) -> dict[str, object]:
        """As JSON, null where it is not known."""
        hottest = self.temperature
        return {
            "temperature_c": None if hottest is None else hottest[0],
            "temperature_of": None if hottest is None else hottest[1],
            "zones_c": dict(list(self.zones.items())[:_MOST_ZONES]) or None,
            "battery_c": self.battery_c,
            "battery_percent": self.battery_percent,
            "thermal_status": self.thermal_status,
            "load": self.load,
            "clusters": {name: cluster.facts() for name, cluster in self.clusters.items()} or None,
        }


UNKNOWN = State()


def state_here() -> State:
    """Return the state of this machine: UNKNOWN on a system without these files."""
    here = platform.uname()
    lines = [f"{here.node} {here.machine}"]
    for path in sorted(path for pattern in FILES for path in glob.glob(pattern)):
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            lines += [f"{path}:{line}" for line in file.read(1 << 16).splitlines()]
    return state_of("\n".join(lines))


def state_of(text: str) -> State:
    """Return the state in the output of one of the commands; lines of other kinds say nothing."""
    values: dict[str, list[str]] = {}
    others: list[str] = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None:
            others.append(line.strip())
        else:
            values.setdefault(match[1], []).append(match[2].strip())
    first = {path: lines[0] for path, lines in values.items()}
    battery = {
        name.strip(): value.strip() for name, _, value in (line.partition(":") for line in others)
    }
    load = first.get("/proc/loadavg", "").split(" ")[0]
    supplies = [path for path in first if path.startswith("/sys/class/power_supply/")]
    return State(
        next((line[:256] for line in reversed(others) if line and ":" not in line), None),
        _zones(first),
        _clusters(values),
        float(load) if re.fullmatch(r"[0-9]+\.[0-9]+", load) else None,
        _tenths(
            battery.get("temperature")
            or next((first[path] for path in supplies if path.endswith("/temp")), "")
        ),
        _whole(
            battery.get("level")
            or next((first[path] for path in supplies if path.endswith("/capacity")), "")
        ),
        _whole(battery.get("Thermal Status", "")),
    )


def mean_khz(before: State, after: State) -> tuple[int, str] | None:
    """Return the clock of the fastest CPUs, and whether it is the "mean" or from "after".

    The mean over the time between two states, if the device counts how long each clock was set.
    """
    clusters = {name: each for name, each in after.clusters.items() if each.cur_khz or each.ticks}
    if not clusters:
        return None
    name = max(clusters, key=lambda x: (clusters[x].max_khz or clusters[x].cur_khz or 0, x))
    earlier = before.clusters.get(name, Cluster()).ticks
    spent = {khz: ticks - earlier.get(khz, 0) for khz, ticks in clusters[name].ticks.items()}
    total = sum(spent.values())
    if earlier and total > 0 and min(spent.values()) >= 0:
        return round(sum(khz * ticks for khz, ticks in spent.items()) / total), "mean"
    current = clusters[name].cur_khz
    return None if current is None else (current, "after")


def _zones(first: Mapping[str, str]) -> dict[str, float]:
    """Temperatures by sensor; of sensors with equal names, the hottest."""
    zones: dict[str, float] = {}
    for suffix, of_name in (("/temp", "/type"), ("/temp1_input", "/name")):
        for path, value in first.items():
            name = first.get(f"{path.removesuffix(suffix)}{of_name}", "")[:_MOST_NAME]
            if path.endswith(suffix) and name and (degrees := _degrees(value)) is not None:
                zones[name] = max(zones.get(name, degrees), degrees)
    return zones


def _clusters(values: Mapping[str, list[str]]) -> dict[str, Cluster]:
    clusters = {}
    for policy in dict.fromkeys(
        path.split("/")[6] for path in values if path.startswith("/sys/devices/system/cpu/cpufreq/")
    ):
        folder = f"{_CPU.partition('policy')[0]}{policy}/"

        def read(name: str, folder: str = folder) -> str:
            return values.get(folder + name, [""])[0]

        clusters[policy] = Cluster(
            read("scaling_governor") or None,
            _positive(read("scaling_min_freq")),
            _positive(read("scaling_max_freq")),
            _positive(read("scaling_cur_freq")),
            dict(_pairs(values.get(f"{folder}stats/time_in_state", ()))),
        )
    return clusters


def _pairs(lines: Iterable[str]) -> Iterable[tuple[int, int]]:
    for line in lines:
        match = re.fullmatch(r"([0-9]{1,12})\s+([0-9]{1,18})", line)
        if match is not None:
            yield int(match[1]), int(match[2])


def _degrees(text: str) -> float | None:
    """A temperature in °C from one in thousandths, or whole degrees.

    None for 0 and for what no device has: sensors that are off state it.
    """
    value = _whole(text)
    if not value or 200 <= abs(value) < 1000:  # tenths or thousandths: nobody knows
        return None
    degrees = float(value) if abs(value) < 200 else value / 1000
    return degrees if _COLDEST < degrees < _HOTTEST else None


def _tenths(text: str) -> float | None:
    """A temperature in °C from one in tenths, as batteries state it."""
    value = _whole(text)
    return value / 10 if value and _COLDEST < value / 10 < _HOTTEST else None


def _positive(text: str) -> int | None:
    return _whole(text) or None


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?[0-9]{1,12}", text) else None


PERFETTO = "perfetto"
FOLDER = "/data/misc/perfetto-traces"
SUFFIX = ".pftrace"
_SPARE_S = 60  # it ends by itself, should nobody end it
_WAITS = 100  # tenths of a second until it has written its file

# Who runs where, the clocks of the CPUs and the GPU, and what the device draws.
_EVENTS = (
    "sched/sched_switch", "sched/sched_waking", "power/cpu_frequency", "power/cpu_idle",
    "power/gpu_frequency", "power/suspend_resume", "thermal/thermal_temperature",
)  # fmt: skip
_COUNTERS = "BATTERY_COUNTER_CURRENT", "BATTERY_COUNTER_VOLTAGE", "BATTERY_COUNTER_CHARGE"


def system_name(dump: str) -> str:
    """The name of the trace of the session of a dump: "001.pftrace" of "001.etdp"."""
    return f"{dump.partition('.')[0]}{SUFFIX}"


def config(timeout: float) -> str:
    """Return the configuration, as text on one line. timeout: the seconds of a session."""
    events = " ".join(f'ftrace_events: "{name}"' for name in _EVENTS)
    counters = " ".join(f"battery_counters: {name}" for name in _COUNTERS)
    return (
        "buffers { size_kb: 65536 fill_policy: RING_BUFFER } "
        "buffers { size_kb: 4096 fill_policy: RING_BUFFER } "
        'data_sources { config { name: "linux.ftrace" target_buffer: 0 ftrace_config { '
        f"{events} compact_sched {{ enabled: true }} }} }} }} "
        'data_sources { config { name: "linux.process_stats" target_buffer: 1 '
        "process_stats_config { scan_all_processes_on_start: true } } } "
        'data_sources { config { name: "android.power" target_buffer: 1 android_power_config { '
        f"battery_poll_ms: 1000 {counters} collect_power_rails: true }} }} }} "
        f"duration_ms: {round((timeout + _SPARE_S) * 1000)}"
    )


class SystemTrace:
    """The trace of one session. name: of its file, here and there. folder: of the recording there.

    The id of the process is in a file of the folder.
    """

    def __init__(self, folder: str, name: str, timeout: float) -> None:
        self.path = f"{FOLDER}/{folder.rpartition('/')[2]}-{name}"
        self._id, self._timeout = f"{folder}/{PERFETTO}", timeout

    @property
    def start(self) -> str:
        """Starts it, and waits until it records. Before Android 12, it cannot be waited for."""
        run = f'printf %s "$c" | {PERFETTO} --txt -c - -o {shlex.quote(self.path)}'
        return (
            f"c={shlex.quote(config(self._timeout))}; "
            f't="$({run} --background-wait || {run} --background)"; '
            f'echo "$t" >{shlex.quote(self._id)} && [ -n "$t" ] && [ -d "/proc/$t" ]'
        )

    @property
    def stop(self) -> str:
        """Ends it, and waits until its file is whole."""
        return f"{end_all(self._id)}; [ -s {shlex.quote(self.path)} ]"


def end_all(path: str) -> str:
    """Return what ends the process whose id is in a file, if it runs."""
    file = shlex.quote(path)
    return (
        f't=; [ -f {file} ] && t="$(cat {file})" && [ -n "$t" ] && kill "$t"; n=0; '
        f'while [ -n "$t" ] && [ -d "/proc/$t" ] && [ $n -lt {_WAITS} ]; do sleep 0.1; '
        f"n=$((n+1)); done; rm -f {file}"
    )


def remove_all(folder: str) -> str:
    """Return what removes all traces of a recording. folder: its folder there."""
    return f"rm -f {FOLDER}/{shlex.quote(folder.rpartition('/')[2])}-*{SUFFIX}"
