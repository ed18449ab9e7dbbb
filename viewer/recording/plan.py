"""What is recorded: programs, sessions and how they run. Nothing is started here.

Sessions of A and B run in turn. The next one is of the arm with fewer whole sessions, A first: so
whole sessions stay in turn, A B A B, also after some failed or the recording was stopped.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ARMS = ("a", "b")
TORQ_MODULE = ".vmfb"
# Fewer inferences say little about a session, and fewer sessions prove nothing.
FEW_INFERENCES, FEW_SESSIONS = 10, 3
MOST_SESSIONS, MOST_INFERENCES = 1000, 100_000
_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|min|m)?")
_TEMPERATURE = re.compile(r"([0-9]{1,3}(?:\.[0-9]+)?)\s?°?C")
_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60}


class WrongPlan(ValueError):
    """What is asked for cannot be recorded; the message says why and what can."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program to record. path: absolute. sha256: of its contents."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A recording. on: where, as the user wrote it. programs: of A, and of B if there are two.

    method: "" for the usual. inputs: files separated by commas, "random:SEED", or "" for ones.
    threads: 0 for what the runtime chooses. runner: a file here or a program there, "" for the
    usual. arguments: more of the runner's. push: more files for the device. pause_s: between
    sessions. cool_to: °C to wait for before each. timeout: seconds of a session. keep: what was
    copied to the device stays there. alongside: "perfetto" for a trace of the whole device, or "".
    """

    on: str
    programs: tuple[Program, ...]
    sessions: int = 7
    inferences: int = 30
    method: str = ""
    inputs: str = ""
    threads: int = 0
    runner: str = ""
    arguments: tuple[str, ...] = ()
    push: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    pause_s: float = 0.0
    cool_to: float | None = None
    timeout: float = 120.0
    keep: bool = False
    alongside: str = ""

    @property
    def is_torq(self) -> bool:
        """Whether its programs are modules of a Torq NPU, whose runner writes host profiles."""
        return bool(self.programs) and self.programs[0].path.lower().endswith(TORQ_MODULE)

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms that it has: A, or A and B."""
        return ARMS[: len(self.programs)]

    def program(self, arm: str) -> Program:
        """The program of an arm."""
        return self.programs[ARMS.index(arm)]

    def next_arm(self, whole: Mapping[str, int]) -> str | None:
        """The arm of the next session; None if there are enough. whole: the sessions per arm."""
        missing = [arm for arm in self.arms if whole.get(arm, 0) < self.sessions]
        return min(missing, key=lambda arm: whole.get(arm, 0), default=None)

    def left(self, whole: Mapping[str, int]) -> int:
        """How many sessions are missing."""
        return sum(max(self.sessions - whole.get(arm, 0), 0) for arm in self.arms)

    def facts(self) -> dict[str, object]:
        """What must be equal for `--resume`, as JSON: all but how long to wait, and how many."""
        return {
            "on": self.on,
            "programs": [program.sha256 for program in self.programs],
            "inferences": self.inferences,
            "method": self.method,
            "inputs": self.inputs,
            "threads": self.threads,
            "runner": self.runner,
            "arguments": list(self.arguments),
            "push": list(self.push),
            "env": dict(self.environment),
            "alongside": self.alongside,
        }

    def notes(self) -> list[str]:
        """What the user should know before anything runs, each a sentence."""
        texts = []
        if len(self.programs) > 1 and self.programs[0].sha256 == self.programs[1].sha256:
            texts.append("A and B are the same program: this measures the noise of the device.")
        if self.is_torq:
            texts.append("A runner of Torq runs a module once: each session has one inference.")
        elif self.inferences < FEW_INFERENCES:
            texts.append(
                f"A verdict needs at least {FEW_INFERENCES} inferences in a session; this plan has "
                f"{self.inferences}."
            )
        if self.sessions < FEW_SESSIONS and len(self.programs) > 1:
            texts.append(
                f"A verdict needs at least {FEW_SESSIONS} sessions of each program; this plan has "
                f"{self.sessions}."
            )
        return texts


def sha256_of(path: str) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits. Raises OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parse_seconds(text: str) -> float:
    """Return the seconds in "20s", "2min" or "90". Raises WrongPlan."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise WrongPlan(f"{text!r} is no time: write 20s or 2min")
    return float(match[1]) * _SECONDS[match[2] or ""]


def parse_celsius(text: str) -> float:
    """Return the temperature in "35C". Raises WrongPlan."""
    match = _TEMPERATURE.fullmatch(text.strip())
    if match is None:
        raise WrongPlan(f"{text!r} is no temperature: write 35C")
    return float(match[1])


def parse_environment(texts: Sequence[str]) -> dict[str, str]:
    """Return the variables in "NAME=VALUE". Raises WrongPlan."""
    variables = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or "\0" in value:
            raise WrongPlan(f"{text!r} is no variable: write NAME=VALUE")
        variables[name] = value
    return variables


def parse_words(text: str) -> tuple[str, ...]:
    """Return the words of a command, as a shell divides them; nothing is expanded."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise WrongPlan(f"{text!r}: {error}") from error
