"""A Perfetto trace of a whole Android device while a session runs (`--alongside perfetto`).

The commands are of the shell there. Perfetto may read no file of the shell, so it gets its
configuration through a pipe, and it may only write to a folder of its own.
"""

from __future__ import annotations

import shlex

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
