"""One session: the state of the target before and after, the run, and what its dump has."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.trace import Trace
from viewer.recording.device_clock import brackets_in, logged_brackets, offset_of
from viewer.recording.faults import Fault, explained_fault, fault_of
from viewer.recording.here import MARK
from viewer.recording.process import Command, Ended, NoProgram, run_command
from viewer.recording.run_file import SCHEMA
from viewer.recording.system_trace import system_name
from viewer.recording.target import Target
from viewer.recording.telemetry import UNKNOWN, State, mean_khz, state_here, state_of

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
            asked(more, _never)
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
    system = _system_trace(target, dump)
    if plan.alongside and system is None:
        note(f"there is no system trace: {lost or 'it is empty'}")
    elif (
        system is not None
        and not trace.clock.domain
        and offset_of(trace, brackets_in(learned["host_monotonic_ns"])) is None
    ):
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
        "inferences": {
            "asked": 1 if plan.is_torq else plan.inferences,
            "recorded": recorded,
        },
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


def _never() -> bool:
    return False


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
    for command in commands:
        ended = asked(command, is_stopped)
        if not ended.is_good:
            return str(fault_of("perfetto", ended))
    return ""


def _system_trace(target: Target, dump: str) -> dict[str, object] | None:
    """The trace of the whole device that was copied, if there is one."""
    name = system_name(dump)
    try:
        size = os.path.getsize(os.path.join(target.incoming, name))
    except OSError:
        return None
    return {"name": name, "bytes": size} if size else None
