"""Records: checks the target, runs the sessions in turn, and adds each whole one to the folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.times import counted
from viewer.recording.adb import Adb
from viewer.recording.device import Ssh
from viewer.recording.faults import Fault, fault_of
from viewer.recording.folder import INCOMING, Folder
from viewer.recording.here import Custom, Local
from viewer.recording.plan import TORQ_MODULE, Plan, WrongPlan
from viewer.recording.process import Command
from viewer.recording.session import asked, optional, run_session, state_now
from viewer.recording.target import Finding, Target

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
            ("--push", plan.push),
            ("--runner", plan.runner),
            ("--runner-arguments", plan.arguments),
            ("--keep", plan.keep),
        ):
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
    from viewer.program.executable.executable import Executable

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
    from viewer.program.executable.executable import Executable

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
    """One recording."""

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
        whole = self._folder.whole()
        return Outcome(
            whole,
            self._plan.left(whole),
            tuple(self._faults),
            self._is_stopped(),
            {arm: self._folder.files(arm) for arm in self._plan.arms},
            tuple(dict.fromkeys(self._large)),
            self._folder.together(),
        )

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
