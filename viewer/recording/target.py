"""Where a recording runs: the commands of each kind of target, which `--dry-run` prints unrun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from viewer.recording.plan import Plan
from viewer.recording.process import Command, Ended

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
