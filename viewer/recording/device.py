"""Targets that programs are copied to: what adb and ssh have in common, and a host over ssh.

The only shell is the one there, and `shlex.quote` quotes each of its words. Names there are made
here, so no name of the user gets there, but those of `--push`, which have to be simple.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex

from viewer.recording.faults import fault_of
from viewer.recording.plan import TORQ_MODULE, Plan, WrongPlan, sha256_of
from viewer.recording.process import Command, NoProgram, path_or_name, program_path
from viewer.recording.target import Ask, Finding, Target
from viewer.recording.telemetry import LINUX_COMMAND

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
        return None if self.plan.keep else self.shell(f"rm -rf {shlex.quote(self.folder)}")

    @property
    def left_behind(self) -> str:
        """How the user removes the folder."""
        return f"remove it with: {self.shell(f'rm -rf {shlex.quote(self.folder)}').text}"

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
