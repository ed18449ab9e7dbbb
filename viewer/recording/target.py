"""Where a recording runs: this machine, a host over ssh, or an Android device over adb.

A target gives the commands of its kind, which `--dry-run` prints unrun. On a device, the only shell
is the one there, and `shlex.quote` quotes each of its words. Names there are made here, so no name
of the user gets there, but those of `--push`, which have to be simple.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
from collections.abc import Callable, Sequence

from viewer.dataclasses import dataclass, replace
from viewer.recording.plan import TORQ_MODULE, Plan, WrongPlan, parse_words, sha256_of
from viewer.recording.process import Command, Ended, NoProgram, fault_of, path_or_name, program_path
from viewer.recording.telemetry import (
    ANDROID_COMMAND,
    LINUX_COMMAND,
    PERFETTO,
    SystemTrace,
    end_all,
    remove_all,
    system_name,
)
from viewer.resources import resource

Ask = Callable[[Command], Ended]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check says about a part: whether it is there, and the cure if it is not."""

    is_good: bool
    text: str
    cure: str = ""


class Target:
    """A place to record. By default, nothing is to be copied to it, and its state is not known.

    incoming: the folder here to which dumps come. state: the command that prints its state, None if
    there is none. is_here: whether it is this machine. runner_sha256: of the program that runs
    programs, once it was checked; None if it is not known.
    """

    state: Command | None = None
    is_here = False
    runner_sha256: str | None = None

    def __init__(self, plan: Plan, incoming: str) -> None:
        self.plan, self.incoming = plan, incoming

    def dump_name(self, number: int) -> str:
        """The name of the profile of a session, which no earlier session had."""
        return f"{number:03d}{'.csv' if self.plan.is_torq else '.etdp'}"

    def check(self, ask: Ask) -> list[Finding]:
        """Return what is there and what is missing."""
        raise NotImplementedError

    def session(self, dump: str, arm: str) -> Command:
        """The command that runs the program of an arm and writes a dump of this name."""
        raise NotImplementedError

    def prepare(self) -> list[Command]:
        """What copies the programs, before the first session."""
        return []

    def fetch(self, dump: str) -> Command | None:
        """What copies a dump to `incoming`; None if it is written there."""
        return None

    def begin(self, dump: str) -> Command | None:
        """What starts to trace the whole target, before the session of a dump."""
        return None

    def finish(self, dump: str) -> list[Command]:
        """What ends that, and copies the trace to `incoming`."""
        return []

    def end_session(self) -> Command | None:
        """What ends a session that goes on there although its command here was ended."""
        return None

    def recover(self) -> Command | None:
        """What waits for a target that was lost."""
        return None

    def clean(self) -> Command | None:
        """What removes all that was copied."""
        return None

    @property
    def left_behind(self) -> str:
        """What to do if `clean` fails or was left out; "" if nothing is there."""
        return ""


PYTHON = "python3" if os.name == "posix" else "python"
INSTALL = "pip install executorch"
# What `resources/record/session.py` prints before what it learned.
MARK = "opscope-session "
_CHECK_S = 120.0
# Prints the version, and whether the extension is there; imports neither.
_LOOK = (
    "import importlib.metadata as m, importlib.util as u; "
    "print('opscope-version', m.version('executorch'), bool(u.find_spec('torch')))"
)
_FIELD = re.compile(r"\{([a-z]+)\}")


class Local(Target):
    """The Python of the user, in a new process for every session."""

    is_here = True

    def __init__(self, plan: Plan, incoming: str, python: str) -> None:
        super().__init__(plan, incoming)
        self.name = python or PYTHON

    def session(self, dump: str, arm: str) -> Command:
        """The process that runs a program and writes a dump."""
        plan = self.plan
        argv = [
            path_or_name(self.name),
            str(resource("record", "session.py")),
            f"--program={plan.program(arm).path}",
            f"--etdump={os.path.join(self.incoming, dump)}",
            f"--inferences={plan.inferences}",
        ]
        argv += [f"--method={plan.method}"] if plan.method else []
        argv += [f"--threads={plan.threads}"] if plan.threads else []
        argv += [f"--inputs={plan.inputs}"] if plan.inputs else []
        return Command(tuple(argv), plan.timeout, plan.environment)

    def check(self, ask: Ask) -> list[Finding]:
        """Whether the Python is there and has the wheel."""
        try:
            python = program_path(self.name)
        except NoProgram as error:
            return [Finding(False, str(error), "name a Python with --on local:PYTHON")]
        findings = [Finding(True, f"Python: {python}")]
        ended = ask(Command((python, "-c", _LOOK), _CHECK_S))
        version = re.search(r"opscope-version (\S+) (\w+)", ended.output)
        cure = f"run {Command((python, '-m', *INSTALL.split()), 0).text}"
        if version is None:
            return [*findings, Finding(False, "this Python has no executorch", cure)]
        if version[2] != "True":
            return [*findings, Finding(False, "this Python has no torch, which executorch needs",
                    cure.replace("executorch", "torch"))]  # fmt: skip
        if version[1].startswith(("0.", "1.0.")):
            return [*findings, Finding(False, f"executorch {version[1]} has no event tracer",
                    f"{cure}>=1.5".replace("executorch>=1.5", "'executorch>=1.5'"))]  # fmt: skip
        return [*findings, Finding(True, f"executorch {version[1]}")]


class Custom(Target):
    """A command of the user that writes an ETDump. What it runs on is not known."""

    def __init__(self, plan: Plan, incoming: str, text: str) -> None:
        """Raises WrongPlan."""
        super().__init__(plan, incoming)
        self.words = _custom_words(text, len(plan.programs) > 1)

    def session(self, dump: str, arm: str) -> Command:
        """The command with its fields filled in; each stays one argument."""
        values = {
            "pte": self.plan.program(arm).path,
            "etdump": os.path.join(self.incoming, dump),
            "inferences": str(self.plan.inferences),
            "method": self.plan.method or "forward",
            "threads": str(self.plan.threads or -1),
        }
        name, *rest = (
            _FIELD.sub(lambda field: values.get(field[1], field[0]), word) for word in self.words
        )
        return Command((path_or_name(name), *rest), self.plan.timeout, self.plan.environment)

    def check(self, ask: Ask) -> list[Finding]:
        """Whether the program is there."""
        try:
            return [Finding(True, f"program: {program_path(self.words[0])}")]
        except NoProgram as error:
            return [Finding(False, str(error), "check its name, or write its path")]


def _custom_words(text: str, has_two: bool) -> tuple[str, ...]:
    """Return the words of `run:"CMD {pte} {etdump}"`. Raises WrongPlan. has_two: programs."""
    words = parse_words(text)
    fields = {field for word in words for field in _FIELD.findall(word)}
    if not words or "etdump" not in fields or (has_two and "pte" not in fields):
        raise WrongPlan(
            'run: needs a command that names its files: --on run:"CMD {pte} {etdump}"; also '
            "{inferences}, {method} and {threads}"
        )
    return words


RUNNER, TORQ_RUNNER, OLD_TORQ_RUNNER = "executor_runner", "torq-run-module", "iree-run-module"
SHORT_S, COPY_S = 30.0, 60.0
_BYTES_PER_S = 1_000_000  # a slow cable
_SIMPLE = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9._+-]{0,120}")
_HOST = re.compile(
    r"((?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9_][A-Za-z0-9_.-]*)(?::([0-9]{1,5}))?"
)
_TRACER, _BLOCK = b"etdump_path", 1 << 20
_BUILD = (
    "build it with -DEXECUTORCH_BUILD_DEVTOOLS=ON -DEXECUTORCH_ENABLE_EVENT_TRACER=ON, and name "
    "it with --runner PATH"
)


class Device(Target):
    """What adb and ssh have in common: a folder there, a runner, and one line for its shell."""

    tool = ""
    parent = ""
    log = ""  # what prints the log of the process $p there
    has_runner = True  # whether the usual one may be on its PATH

    def __init__(self, plan: Plan, incoming: str) -> None:
        """Raises WrongPlan."""
        super().__init__(plan, incoming)
        user = str(getattr(os, "getuid", int)())
        parts = [platform.node(), user, incoming, *(p.sha256 for p in plan.programs)]
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
        self.folder = f"{self.parent}/opscope-{digest[:12]}"
        self.tool_path = path_or_name(self.tool)
        self.is_pushed = os.path.isfile(plan.runner)
        self.runner = plan.runner or (TORQ_RUNNER if plan.is_torq else RUNNER)
        if plan.is_torq and (plan.inputs or plan.threads):
            raise WrongPlan(
                f"{'--inputs' if plan.inputs else '--threads'} is of ExecuTorch: a runner of Torq "
                'takes --push in.bin --runner-arguments "--input=1x4xf32=@in.bin"'
            )
        inputs = plan.inputs.split(",") if plan.inputs else []
        if plan.inputs.startswith("random:"):
            raise WrongPlan("--inputs random:SEED needs --on local; a runner reads files")
        self.pushed = [*plan.push, *inputs]
        names = [os.path.basename(path) for path in self.pushed]
        for name in names:
            if not _SIMPLE.fullmatch(name) or names.count(name) > 1:
                raise WrongPlan(
                    f"{name!r} cannot be a name on the device: rename it, with letters, digits, "
                    "_, - and . alone, each name once"
                )
        self.inputs = [os.path.basename(path) for path in inputs]

    def shell(self, line: str, timeout: float = SHORT_S) -> Command:
        """The command that runs a line in the shell there."""
        raise NotImplementedError

    def push(self, path: str, name: str) -> Command:
        """The command that copies a file to a name in the folder there."""
        raise NotImplementedError

    def prepare(self) -> list[Command]:
        """A new folder, and in it the programs, the runner and more files."""
        folder = shlex.quote(self.folder)
        commands = [self.shell(f"rm -rf {folder} && mkdir -m 700 {folder}")]
        for arm in self.plan.arms:
            commands.append(self.push(self.plan.program(arm).path, self._module(arm)))
        if self.is_pushed:
            commands.append(self.push(os.path.abspath(self.plan.runner), "runner"))
        commands += [
            self.push(os.path.abspath(path), os.path.basename(path)) for path in self.pushed
        ]
        if self.is_pushed:
            commands.append(self.shell(f"chmod 700 {folder}/runner"))
        return commands

    def session(self, dump: str, arm: str) -> Command:
        """The runner, whose process id is in a file while it runs: only so it can be ended."""
        variables = {"LD_LIBRARY_PATH": ".", "ADSP_LIBRARY_PATH": "."} | dict(self.plan.environment)
        words = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
        runner = "./runner" if self.is_pushed else self.runner
        words += map(shlex.quote, [runner, *self._arguments(arm, dump)])
        line = (
            f"cd {shlex.quote(self.folder)} || exit; {' '.join(words)} & p=$!; echo $p >pid; "
            f"wait $p; code=$?; {self.log}rm -f pid; exit $code"
        )
        return self.shell(line, self.plan.timeout)

    def _module(self, arm: str) -> str:
        """The name of the program of an arm there."""
        return f"{arm}{TORQ_MODULE if self.plan.is_torq else '.pte'}"

    def _arguments(self, arm: str, dump: str) -> list[str]:
        """What the runner is told, by its name; flags of ExecuTorch's own, and of Torq's."""
        plan, name = self.plan, os.path.basename(self.runner)
        if plan.is_torq:
            words = ["--device=torq"] if name.startswith(OLD_TORQ_RUNNER) else []
            words += [f"--module={self._module(arm)}", f"--torq_profile_host={dump}"]
            words += [f"--function={plan.method}"] if plan.method else []
            return [*words, *plan.arguments]
        words = [f"--model_path={arm}.pte", f"--etdump_path={dump}"]
        if name.startswith("llama_main"):
            words += ["--warmup"]
        elif name.startswith("qnn_executor_runner"):
            words += [f"--iteration={plan.inferences}"]
        else:
            words += [f"--num_executions={plan.inferences}"]
            words += [f"--method_name={plan.method}"] if plan.method else []
        words += [f"--cpu_threads={plan.threads}"] if plan.threads else []
        words += [f"--inputs={','.join(self.inputs)}"] if self.inputs else []
        return [*words, *plan.arguments]

    def end_session(self) -> Command:
        """Kills the runner by the id in its file, and what it started."""
        return self.shell(self._end_line)

    @property
    def _end_line(self) -> str:
        file = shlex.quote(f"{self.folder}/pid")
        kill = 'pkill -9 -P "$p"; kill -9 "$p"'
        return f'[ -f {file} ] && p="$(cat {file})" && {{ {kill}; }}; rm -f {file}'

    def clean(self) -> Command | None:
        """Removes the folder, unless the user wants to keep it."""
        return None if self.plan.keep else self._removing

    @property
    def left_behind(self) -> str:
        """How the user removes the folder."""
        return f"remove it with: {self._removing.text}"

    @property
    def _removing(self) -> Command:
        return self.shell(f"rm -rf {shlex.quote(self.folder)}")

    def check_runner(self, ask: Ask) -> list[Finding]:
        """Whether the runner is there and has the flag that only those with a tracer have."""
        plan = self.plan
        if self.is_pushed:
            self.runner_sha256 = sha256_of(plan.runner)
            if plan.is_torq:
                return [Finding(True, f"runner: {plan.runner}")]
            return [_runner_finding(plan.runner, _has_tracer(plan.runner))]
        if not plan.runner and not plan.is_torq and not self.has_runner:
            return [Finding(False, "no runner is named", f"for Android, {_BUILD}")]
        name, cure = self.runner, _BUILD
        if plan.is_torq:
            cure = (
                f"install Torq's runtime there, or name {OLD_TORQ_RUNNER} or a path with --runner"
            )
        ended = ask(
            self.shell(
                f'f="$(command -v {shlex.quote(name)})" || exit; echo opscope-runner; '
                'grep -q etdump_path "$f" && echo opscope-tracer; sha256sum "$f"'
            )
        )
        if "opscope-runner" not in ended.output:
            return [Finding(False, f"there is no runner {name}, here or there", cure)]
        if (digest := re.search(r"^[0-9a-f]{64}\b", ended.output, re.MULTILINE)) is not None:
            self.runner_sha256 = digest[0]
        if plan.is_torq:
            return [Finding(True, f"runner: {name}")]
        return [_runner_finding(name, "opscope-tracer" in ended.output)]

    def check_tool(self, cure: str) -> Finding:
        """Whether the tool is on this machine."""
        try:
            return Finding(True, f"{self.tool}: {program_path(self.tool)}")
        except NoProgram as error:
            return Finding(False, str(error), cure)


class Ssh(Device):
    """A host over ssh. No password is asked for, and an unknown host is refused.

    Files go through `cat`: boards have servers without what scp needs.
    """

    tool, parent = "ssh", "/tmp"
    _options = ("BatchMode=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=10")

    def __init__(self, plan: Plan, incoming: str, host: str) -> None:
        """Raises WrongPlan."""
        super().__init__(plan, incoming)
        match = _HOST.fullmatch(host)
        if match is None:
            raise WrongPlan(f"{host!r} is no host: write ssh:USER@HOST or ssh:USER@HOST:PORT")
        self.host, self.port = match[1], match[2]
        self.state = self.shell(LINUX_COMMAND)

    def shell(self, line: str, timeout: float = SHORT_S) -> Command:
        return Command(self._words(line), timeout)

    def _words(self, line: str) -> tuple[str, ...]:
        options = [word for option in self._options for word in ("-o", option)]
        port = ["-p", self.port] if self.port else []
        # `sh`, as the user there may have another shell.
        line = f"sh -c {shlex.quote(line)}"
        return (self.tool_path, "-T", *options, *port, "--", self.host, line)

    def push(self, path: str, name: str) -> Command:
        words = self._words(f"cat >{shlex.quote(f'{self.folder}/{name}')}")
        return Command(words, copy_time(path), source=path, title=copying(path))

    def fetch(self, dump: str) -> Command:
        words = self._words(f"cat {shlex.quote(f'{self.folder}/{dump}')}")
        return Command(words, COPY_S, target=os.path.join(self.incoming, dump))

    def check(self, ask: Ask) -> list[Finding]:
        """Whether ssh is there, the host answers, and its runner is there."""
        tool = self.check_tool("install OpenSSH (Debian: apt install openssh-client)")
        if not tool.is_good:
            return [tool]
        ended = ask(self.shell("echo opscope-ready"))
        if "opscope-ready" not in ended.output:
            text, _, cure = str(fault_of(self.host, ended)).partition("; ")
            return [tool, Finding(False, text, cure)]
        return [tool, Finding(True, f"host: {self.host}"), *self.check_runner(ask)]


def _runner_finding(name: str, has_tracer: bool) -> Finding:
    if has_tracer:
        return Finding(True, f"runner: {name}, with the event tracer")
    return Finding(False, f"the runner {name} has no event tracer", _BUILD)


def _has_tracer(path: str) -> bool:
    """Whether a runner has the flag that only those with an event tracer have."""
    last = b""
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            if _TRACER in last + block:
                return True
            last = block[-len(_TRACER) :]
    return False


def copying(path: str) -> str:
    return f"Copying {os.path.basename(path)}"


def copy_time(path: str) -> float:
    try:
        return COPY_S + os.path.getsize(path) / _BYTES_PER_S
    except OSError:
        return COPY_S


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
            text = "perfetto: on the device" if is_there else "the device has no perfetto"
            cure = "" if is_there else "it needs Android 9 or newer; leave out --alongside"
            both.append(Finding(is_there, text, cure))
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
