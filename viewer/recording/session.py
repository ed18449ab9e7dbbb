"""One session: the state of the target before and after, the run, and what its dump has."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.trace import Trace
from viewer.recording.faults import Fault, explained_fault, fault_of
from viewer.recording.here import MARK
from viewer.recording.process import Command, Ended, NoProgram, run_command
from viewer.recording.run_file import SCHEMA
from viewer.recording.target import Target
from viewer.recording.telemetry import UNKNOWN, State, mean_khz, state_here, state_of

# A run.json has at most 64 KiB.
_MOST_BRACKETS, _MOST_ARGUMENTS = 400, 200
_DUMP = "ETDump"
_NO_DUMP = "the runner wrote no ETDump, although it ended well"
_ABSENT = re.compile(r"No such file or directory|failed to stat remote object")


def run_session(
    target: Target,
    dump: str,
    arm: str,
    write_log: Callable[[str], None],
    is_stopped: Callable[[], bool],
) -> dict[str, object]:
    """Run a session, and return how it ran; its dump is then in `Target.incoming`.

    Raises Fault if it is not whole, and OSError.
    """
    plan, command = target.plan, target.session(dump, arm)
    write_log(f"{command.text}\n")  # now its number is taken, come what may
    before, started = state_now(target, is_stopped), datetime.now(UTC)
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
    for more in optional(target.fetch(dump)):
        copied = asked(more, is_stopped)
        if not copied.is_good and _ABSENT.search(copied.output):
            raise _without_dump(ended)
        if not copied.is_good:
            raise fault_of("the copy of the ETDump", copied)
    path = os.path.join(target.incoming, dump)
    if not os.path.exists(path):
        raise _without_dump(ended)
    trace = _checked(path)
    mean = mean_khz(before, after)
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
            "asked": plan.inferences,
            "recorded": sum(1 for _ in trace.inferences()),
        },
        "sha256": {"program": plan.program(arm).sha256, "runner": target.runner_sha256},
        "frequency_khz": None if mean is None else mean[0],
        "frequency_of": None if mean is None else mean[1],
        "before": before.facts(),
        "after": after.facts(),
        **_learned(ended.output),
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


def _without_dump(ended: Ended) -> Fault:
    """The fault of a runner that wrote nothing; an old adb does not know how it ended."""
    return explained_fault("the runner", ended.output) or Fault(_NO_DUMP)


def _checked(dump: str) -> Trace:
    """Return the dump of a session. Raises Fault if it is not whole, or has no inference."""
    try:
        trace = open_file(dump)
    except UnreadableFile as error:
        raise Fault(f"its ETDump cannot be read: {error.reason}") from error
    if not isinstance(trace, Trace) or trace.format != _DUMP:
        raise Fault("it wrote another file in place of an ETDump", is_final=True)
    if not any(run.finished for run in trace.inferences()):
        raise Fault("its ETDump has no whole inference")
    return trace


def _learned(output: str) -> dict[str, object]:
    """What the session of a local target printed of itself; null for the others."""
    lines = [line for line in output.splitlines() if line.startswith(MARK)]
    try:
        facts = json.loads(lines[-1].removeprefix(MARK)) if lines else {}
    except ValueError:
        facts = {}
    brackets = facts.get("host_monotonic_ns")
    return {
        "executorch": facts.get("executorch"),
        "host_monotonic_ns": brackets[:_MOST_BRACKETS] if brackets else None,
    }
