"""Records: checks the target, runs the sessions in turn, and adds each whole one to the folder.

A session is the state of the target before and after, the run, and what its dump has.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial

from viewer.codecs.reading import UnreadableFile, never_cancelled
from viewer.dataclasses import dataclass
from viewer.formats import open_file
from viewer.model.times import counted
from viewer.model.trace import Trace
from viewer.recording.plan import INCOMING, TORQ_MODULE, Folder, Plan, WrongPlan
from viewer.recording.process import (
    Command,
    Ended,
    Fault,
    NoProgram,
    explained_fault,
    fault_of,
    run_command,
)
from viewer.recording.run_file import SCHEMA, brackets_in, logged_brackets, offset_of
from viewer.recording.target import MARK, Adb, Custom, Finding, Local, Ssh, Target
from viewer.recording.telemetry import UNKNOWN, State, mean_khz, state_here, state_of, system_name

# A run.json has at most 64 KiB.
_MOST_ARGUMENTS = 200
_DUMP, _TORQ = "ETDump", "Torq host profile"
NOT_PLACED = (
    "its system trace is on an axis of its own: the runner logs no inferences to logcat. Build it "
    "with CMake's preset android-arm64-v8a"
)
_ABSENT = re.compile(r"No such file or directory|failed to stat remote object")


def run_session(
    target: Target,
    dump: str,
    arm: str,
    write_log: Callable[[str], None],
    note: Callable[[str], None],
    is_stopped: Callable[[], bool],
) -> dict[str, object]:
    """Run a session, and return how it ran; its dump is then in `Target.incoming`.

    note: takes what is missing although the session is whole, each a sentence. Raises Fault if it
    is not whole, and OSError.
    """
    plan, command = target.plan, target.session(dump, arm)
    format = _TORQ if plan.is_torq else _DUMP
    write_log(f"{command.text}\n")  # now its number is taken, come what may
    before = state_now(target, is_stopped)
    lost = _failed(optional(target.begin(dump)), is_stopped)
    started = datetime.now(UTC)
    start_ns = time.monotonic_ns()
    ended = asked(command, is_stopped)
    end_ns = time.monotonic_ns()
    write_log(f"{command.text}\n{ended.output}\n{ended.how}\n")
    if ended.code is None:  # what was ended here may still run there
        for more in optional(target.end_session()):
            asked(more, never_cancelled)
    if not ended.is_good:
        raise fault_of("the runner", ended)
    after = state_now(target, is_stopped)
    lost = lost or _failed(target.finish(dump), is_stopped)
    for more in optional(target.fetch(dump)):
        copied = asked(more, is_stopped)
        if not copied.is_good and _ABSENT.search(copied.output):
            raise _without_profile(ended, format)
        if not copied.is_good:
            raise fault_of("the copy of the profile", copied)
    path = os.path.join(target.incoming, dump)
    if not os.path.exists(path):
        raise _without_profile(ended, format)
    trace = _checked(path, format)
    mean = mean_khz(before, after)
    recorded = sum(1 for _ in trace.inferences())
    learned = _learned(ended.output, recorded)
    system, brackets = _system_trace(target, dump), brackets_in(learned["host_monotonic_ns"])
    if plan.alongside and system is None:
        note(f"there is no system trace: {lost or 'it is empty'}")
    elif system is not None and not trace.clock.domain and offset_of(trace, brackets) is None:
        note(NOT_PLACED)
    return {
        "schema": SCHEMA,
        "device": before.device,
        "build": None,
        "model": os.path.splitext(os.path.basename(plan.programs[0].path))[0],
        "tags": {"arm": arm, "program": os.path.basename(plan.program(arm).path)},
        "arm": arm,
        "started": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "command_monotonic_ns": [start_ns, end_ns],
        "command": list(command.argv)[:_MOST_ARGUMENTS],
        "exit": ended.code,
        "inferences": {"asked": 1 if plan.is_torq else plan.inferences, "recorded": recorded},
        "sha256": {"program": plan.program(arm).sha256, "runner": target.runner_sha256},
        "frequency_khz": None if mean is None else mean[0],
        "frequency_of": None if mean is None else mean[1],
        "before": before.facts(),
        "after": after.facts(),
        "system_trace": system,
        **learned,
    }


def asked(command: Command, is_stopped: Callable[[], bool]) -> Ended:
    """Run a command; one that cannot be started is one that failed."""
    try:
        return run_command(command, is_stopped)
    except NoProgram as error:
        return Ended(127, str(error), 0.0)


def optional(command: Command | None) -> list[Command]:
    """The command as a list, which is empty for None."""
    return [] if command is None else [command]


def state_now(target: Target, is_stopped: Callable[[], bool]) -> State:
    """Return what a target states of itself now."""
    if target.is_here:
        return state_here()
    if target.state is None:
        return UNKNOWN
    return state_of(asked(target.state, is_stopped).output)


def _without_profile(ended: Ended, format: str) -> Fault:
    """The fault of a runner that wrote nothing; an old adb does not know how it ended."""
    return explained_fault("the runner", ended.output) or Fault(
        f"the runner wrote no {format}, although it ended well"
    )


def _checked(path: str, format: str) -> Trace:
    """Return the profile of a session. Raises Fault if it is not whole, or has no inference."""
    try:
        trace = open_file(path)
    except UnreadableFile as error:
        raise Fault(f"its {format} cannot be read: {error.reason}") from error
    if not isinstance(trace, Trace) or trace.format != format:
        raise Fault(f"it wrote another file in place of its {format}", is_final=True)
    if not any(run.finished for run in trace.inferences()):
        raise Fault(f"its {format} has no whole inference")
    return trace


def _learned(output: str, inferences: int) -> dict[str, object]:
    """What the session of a local target printed of itself, or a log; null for the others."""
    lines = [line for line in output.splitlines() if line.startswith(MARK)]
    try:
        facts = json.loads(lines[-1].removeprefix(MARK)) if lines else {}
    except ValueError:
        facts = {}
    stated = facts if isinstance(facts, dict) else {}
    brackets = brackets_in(stated.get("host_monotonic_ns")) or logged_brackets(output, inferences)
    return {
        "executorch": stated.get("executorch"),
        "host_monotonic_ns": [list(bracket) for bracket in brackets] or None,
    }


def _failed(commands: Iterable[Command], is_stopped: Callable[[], bool]) -> str:
    """Run commands until one fails; returns why, "" if none does."""
    all_ended = (asked(command, is_stopped) for command in commands)
    return next((str(fault_of("perfetto", end)) for end in all_ended if not end.is_good), "")


def _system_trace(target: Target, dump: str) -> dict[str, object] | None:
    """The trace of the whole device that was copied, if there is one."""
    name = system_name(dump)
    try:
        size = os.path.getsize(os.path.join(target.incoming, name))
    except OSError:
        return None
    return {"name": name, "bytes": size} if size else None


_KINDS = {"local": Local, "adb": Adb, "ssh": Ssh, "run": Custom}
# A second failure in a row ends a recording: nobody waits for fourteen.
_MOST_FAILURES = 2
_LONGEST_COOLING_S, _COOLING_STEP_S, _STEP_S = 600.0, 5.0, 0.1


@dataclass(frozen=True, slots=True)
class Progress:
    """What happens: a line for a log. done, total: sessions. left_s: None if not known."""

    text: str
    done: int
    total: int
    left_s: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a recording ended. whole: the sessions per arm. faults: what went wrong, each a sentence.

    files: the dumps, programs and ETRecords of each arm. large: those that were not copied.
    together: the last dump that has a system trace, and that.
    """

    whole: dict[str, int]
    missing: int
    faults: tuple[str, ...]
    is_stopped: bool
    files: dict[str, list[str]]
    large: tuple[str, ...] = ()
    together: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """The exit code: 0 all, 1 some, 5 no session was recorded."""
        if not self.missing:
            return 0
        return 1 if sum(self.whole.values()) else 5


def target_of(plan: Plan, folder: str) -> Target:
    """Return the target of a plan, whose folder is `folder`. Raises WrongPlan."""
    kind, _, name = plan.on.partition(":")
    if kind not in _KINDS or (kind in ("ssh", "run") and not name):
        raise WrongPlan(
            f"{plan.on!r} is no target: write local, local:PYTHON, adb, adb:SERIAL, ssh:USER@HOST "
            'or run:"CMD {pte} {etdump}"'
        )
    target: Target = _KINDS[kind](plan, os.path.join(os.path.abspath(folder), INCOMING), name)
    if kind in ("local", "run"):
        for option, is_set in (
            ("--push", plan.push), ("--runner", plan.runner),
            ("--runner-arguments", plan.arguments), ("--keep", plan.keep),
        ):  # fmt: skip
            if is_set:
                raise WrongPlan(f"{option} is of adb and ssh: nothing is copied with --on {kind}")
    if len({program.path.lower().endswith(TORQ_MODULE) for program in plan.programs}) > 1:
        raise WrongPlan("a module of Torq and a program of ExecuTorch cannot be compared")
    if plan.is_torq and kind == "local":
        raise WrongPlan(f"a {TORQ_MODULE} runs with --on ssh:USER@HOST, adb or run:COMMAND")
    if plan.alongside and kind != "adb":
        raise WrongPlan("--alongside perfetto is of adb: it traces an Android device")
    return target


def commands_of(plan: Plan, target: Target) -> list[Command]:
    """Return every command of a recording without faults, in order: what `--dry-run` prints."""
    commands = target.prepare()
    whole = dict.fromkeys(plan.arms, 0)
    number = 0
    while (arm := plan.next_arm(whole)) is not None:
        number += 1
        dump = target.dump_name(number)
        commands += [*optional(target.state), *optional(target.begin(dump))]
        commands += [target.session(dump, arm), *optional(target.state), *target.finish(dump)]
        commands += optional(target.fetch(dump))
        whole[arm] += 1
    return [*commands, *optional(target.clean())]


def notes_of(plan: Plan) -> list[str]:
    """Return what the user should know before anything runs, each a sentence."""
    notes, texts = plan.notes(), [_inputs_text(p.path, plan.method) for p in plan.programs]
    if all(texts) and len(set(texts)) > 1:
        notes.append(f"A and B take different inputs: {texts[0]}, and {texts[1]}.")
    return notes


def _inputs_text(path: str, method: str) -> str:
    """The inputs of a method of a program, such as "f32 1 × 8"; "" if they cannot be read."""
    from viewer.program.executables import Executable

    try:
        item = open_file(path)
    except UnreadableFile:
        return ""
    methods = item.methods if isinstance(item, Executable) else ()
    names = (method,) if method else ("forward", methods[0].name if methods else "")
    ran = next((each for name in names for each in methods if each.name == name), None)
    if ran is None:
        return ""
    tensors = ran.tensors
    rows = {int(value): row for row, value in enumerate(tensors.value)}
    return ", ".join(tensors.text(rows[v]) if v in rows else "a value" for v in ran.inputs)


def check(target: Target, is_stopped: Callable[[], bool]) -> list[Finding]:
    """Return what is there and what is missing to record."""
    findings = target.check(lambda command: asked(command, is_stopped))
    programs = target.plan.programs
    return findings + [_program_finding(each.path, target.plan.method) for each in programs]


def _program_finding(path: str, method: str) -> Finding:
    """Whether a program has the method; what is no program of ExecuTorch is left to the runner."""
    from viewer.program.executables import Executable

    name = os.path.basename(path)
    try:
        item = open_file(path)
    except UnreadableFile as error:
        return Finding(True, f"program: {name}, which Opscope cannot read ({error.reason})")
    if not isinstance(item, Executable):
        return Finding(True, f"program: {name}, which is no program of ExecuTorch")
    methods = [each.name for each in item.methods]
    if method and method not in methods:
        return Finding(False, f"{name} has no method {method}", f"name one: {', '.join(methods)}")
    return Finding(True, f"program: {name} with {', '.join(methods)}")


def record(
    plan: Plan,
    path: str,
    report: Callable[[Progress], None],
    is_stopped: Callable[[], bool],
    *,
    resume: bool = False,
) -> Outcome:
    """Record into a folder; what goes wrong is in the outcome. Raises WrongPlan.

    report: is called in this thread. resume: record what is missing in a folder.
    """
    target = target_of(plan, path)
    try:
        folder = Folder(path, plan, resume=resume)
    except Fault as fault:
        return Outcome({}, plan.left({}), (str(fault),), is_stopped(), {})
    try:
        return _Recorder(plan, target, folder, report, is_stopped).record()
    finally:
        folder.close()


class _Recorder:
    def __init__(
        self,
        plan: Plan,
        target: Target,
        folder: Folder,
        report: Callable[[Progress], None],
        is_stopped: Callable[[], bool],
    ) -> None:
        self._plan, self._target, self._folder = plan, target, folder
        self._report, self._is_stopped = report, is_stopped
        self._faults: list[str] = []
        self._large: list[str] = []
        self._seconds: list[float] = []
        self._stamps = self._stamps_of_programs()

    def record(self) -> Outcome:
        """Record what is missing; never raises for what goes wrong outside of Opscope."""
        try:
            self._say("Checking the target")
            missing = [x for x in check(self._target, self._is_stopped) if not x.is_good]
            if missing:
                raise Fault("; ".join(f"{x.text}: {x.cure}" for x in missing))
            self._record()
        except Fault as fault:
            if not self._is_stopped():
                self._faults.append(str(fault))
        except OSError as error:
            self._faults.append(f"{error.filename or 'a file'}: {error.strerror or error}")
        whole, faults, is_stopped = self._folder.whole(), tuple(self._faults), self._is_stopped()
        files = {arm: self._folder.files(arm) for arm in self._plan.arms}
        large, together = tuple(dict.fromkeys(self._large)), self._folder.together()
        left = self._plan.left(whole)
        return Outcome(whole, left, faults, is_stopped, files, large, together)

    def _record(self) -> None:
        """Run the sessions. Raises Fault and OSError for what ends the recording."""
        if not self._plan.left(self._folder.whole()):
            return
        try:
            self._prepare()
            self._sessions()
        finally:
            self._clean()

    def _prepare(self) -> None:
        """Copy the programs, once more if the target was lost meanwhile. Raises Fault."""
        for is_last in (False, True):
            try:
                for command in self._target.prepare():
                    self._say(command.title)
                    self._done("the copying", command)
            except Fault as fault:
                recover = self._target.recover()
                if is_last or fault.is_final or recover is None or self._is_stopped():
                    raise
                self._faults.append(str(fault))
                self._say(f"{fault}; it is tried again")
                asked(recover, self._is_stopped)
            else:
                return

    def _sessions(self) -> None:
        failed = 0
        while not self._is_stopped():
            arm = self._plan.next_arm(self._folder.whole())
            if arm is None:
                return
            number = self._folder.next_number()
            start = time.monotonic()
            try:
                self._cool()
                if self._is_stopped():
                    return
                self._say(f"Session {number}, {arm.upper()}")
                self._session(number, arm)
            except Fault as fault:
                failed += 1
                if self._is_stopped():
                    return
                self._faults.append(f"session {number} ({arm.upper()}): {fault}")
                self._say(f"Session {number} failed: {fault}")
                if fault.is_final or failed >= _MOST_FAILURES:
                    return
                for command in (self._target.recover(), self._target.end_session()):
                    if command is not None:  # what was lost may still run
                        asked(command, self._is_stopped)
            else:
                failed = 0
                self._seconds.append(time.monotonic() - start)
                self._say(f"Session {number} is whole")

    def _session(self, number: int, arm: str) -> None:
        """Run a session and add it. Raises Fault if it is not whole."""
        if self._stamps_of_programs() != self._stamps:
            raise Fault("a program changed since the recording began; begin a new one",
                        is_final=True)  # fmt: skip
        write_log = partial(self._folder.write_log, number)
        notes: list[str] = []
        dump = self._target.dump_name(number)
        facts = run_session(self._target, dump, arm, write_log, notes.append, self._is_stopped)
        self._faults += [f"session {number} ({arm.upper()}): {each}" for each in notes]
        facts |= {"recording": self._folder.id, "order": number}
        self._large += self._folder.add_program(arm)
        self._folder.add(number, arm, os.path.join(self._target.incoming, dump), facts)

    def _done(self, what: str, command: Command) -> None:
        """Run a command to its end. Raises Fault if it fails."""
        ended = asked(command, self._is_stopped)
        if not ended.is_good:
            raise fault_of(what, ended)

    def _clean(self) -> None:
        command = self._target.clean()
        if command is not None and not asked(command, lambda: False).is_good:
            self._faults.append(f"the folder on the device is left: {self._target.left_behind}")

    def _cool(self) -> None:
        """Wait as the plan says; nothing is waited for that cannot be known."""
        if self._plan.pause_s and self._folder.next_number() > 1:
            self._wait(self._plan.pause_s)
        if self._plan.cool_to is None:
            return
        until = time.monotonic() + _LONGEST_COOLING_S
        while not self._is_stopped():
            hottest = state_now(self._target, self._is_stopped).temperature
            if hottest is None:
                self._say("The temperature is not known, so nothing waits for it")
                return
            if hottest[0] <= self._plan.cool_to:
                return
            if time.monotonic() > until:
                self._say(f"Still {hottest[0]:.1f} °C after {_LONGEST_COOLING_S / 60:.0f} min")
                return
            self._say(f"Cooling down: {hottest[0]:.1f} °C")
            self._wait(_COOLING_STEP_S)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._is_stopped() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _STEP_S))

    def _stamps_of_programs(self) -> list[tuple[int, int]]:
        """What changes with the contents of the programs."""
        stats = (os.stat(program.path) for program in self._plan.programs)
        return [(status.st_size, status.st_mtime_ns) for status in stats]

    def _say(self, text: str) -> None:
        whole = self._folder.whole()
        left = self._plan.left(whole)
        mean = sum(self._seconds) / len(self._seconds) if self._seconds else None
        total = self._plan.sessions * len(self._plan.arms)
        self._report(Progress(text, total - left, total, None if mean is None else mean * left))


def summary(outcome: Outcome) -> str:
    """Return what was recorded, in words."""
    counts = " + ".join(str(count) for count in outcome.whole.values())
    total = sum(outcome.whole.values())
    missing = f"; {counted(outcome.missing, 'session')} missing" if outcome.missing else ""
    return f"{counts} {'session' if total == 1 else 'sessions'}{missing}"
