"""What is recorded, and the folder it gets into: programs, sessions and files. Runs nothing.

Sessions of A and B run in turn, also after some failed: the next one is of the arm with fewer whole
sessions, A first. `compare`, `fleet build` and the window open the folder as it is:

    a/001.etdp  a/001.run.json    a session of A, and how it ran; b/002.etdp ... of B; .csv of Torq
    a/model.pte  a/model.etrecord the program, and its ETRecord if there is one beside it
    log/001.txt                   what each session printed
    system/001.pftrace            what the whole device did meanwhile, with --alongside
    .recording.json               the plan, for --resume

Sessions are numbered in the order in which they began, also those that failed. A dump is the last
that is written of a session, atomically, so it is whole if it is there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress

from viewer.codecs.atomic_file import OwnedLock, is_same_file, replacing, write_whole
from viewer.dataclasses import dataclass, field
from viewer.recording.process import Fault
from viewer.recording.telemetry import SUFFIX, system_name

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
        return ARMS[: len(self.programs)]

    def program(self, arm: str) -> Program:
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


SCHEMA = "opscope-recording/1"
# Hidden files are no profiles to anybody, and JSON files could be.
PLAN, INCOMING, LOCK = ".recording.json", ".incoming", ".lock"
LOG, SYSTEM = "log", "system"
# Larger programs are not copied: they are opened where they are.
MOST_COPIED = 256 << 20
_DUMPS, _PROGRAMS = (".etdp", ".csv"), (".pte", ".bpte", ".etrecord", ".mlir")
_SESSION = re.compile(r"([0-9]{3,})\.(etdp|csv|run\.json|txt)")


class Folder:
    """The folder of a recording while it is made: locked, so that two never write to one."""

    def __init__(self, path: str, plan: Plan, *, resume: bool) -> None:
        """Raises Fault if the folder has anything else, or another plan."""
        self.path, self.plan = os.path.abspath(path), plan
        self.incoming = os.path.join(self.path, INCOMING)
        try:
            self._open(resume)
        except OSError as error:
            raise Fault(f"{path}: it cannot be written ({error.strerror or error})") from error

    def _open(self, resume: bool) -> None:
        os.makedirs(self.path, exist_ok=True)
        lock = OwnedLock.take(os.path.join(self.path, LOCK))
        if lock is None:
            raise Fault(f"{self.path}: another recording is being written to it")
        self._lock = lock
        try:
            self.id = self._check(resume) or os.urandom(8).hex()
            shutil.rmtree(self.incoming, ignore_errors=True)
            system = [SYSTEM] if self.plan.alongside else []
            for name in (*self.plan.arms, LOG, INCOMING, *system):
                os.makedirs(os.path.join(self.path, name), exist_ok=True)
            facts = {"schema": SCHEMA, "id": self.id, **self.plan.facts()}
            write_whole(self._file(PLAN), json.dumps(facts, indent=1).encode())
        except BaseException:
            self.close()
            raise

    def _check(self, resume: bool) -> str:
        """The id of the recording in the folder, "" without a session. Raises Fault for others."""
        names = os.listdir(self.path)
        if PLAN not in names and all(name.startswith(".") for name in names):
            return ""
        if PLAN not in names:
            raise Fault(f"{self.path}: it has other files; name another folder with -o")
        if not any(self.whole().values()):
            return ""
        if not resume:
            raise Fault(
                f"{self.path}: it has a recording; add --resume to finish it, or name another "
                "folder with -o"
            )
        try:
            with open(self._file(PLAN), encoding="utf-8") as file:
                facts = json.load(file)
        except ValueError as error:
            raise Fault(f"{self._file(PLAN)}: it is damaged; name another folder") from error
        for name, value in self.plan.facts().items():
            if not isinstance(facts, dict) or facts.get(name) != value:
                raise Fault(
                    f"{self.path}: its recording has other {name}; give the same options, or name "
                    "another folder with -o"
                )
        return str(facts.get("id") or "")

    def close(self) -> None:
        """Remove what is temporary, and let others write to the folder."""
        shutil.rmtree(self.incoming, ignore_errors=True)
        self._lock.remove()

    def _file(self, *names: str) -> str:
        return os.path.join(self.path, *names)

    def whole(self) -> dict[str, int]:
        """The number of whole sessions of each arm."""
        return {
            arm: sum(name.endswith(_DUMPS) for name in self._names(arm)) for arm in self.plan.arms
        }

    def files(self, arm: str) -> list[str]:
        """The files of an arm to open: its dumps in their order, its program and ETRecord."""
        dumps = [name for name in self._names(arm) if name.endswith(_DUMPS)]
        dumps.sort(key=lambda name: int(name.partition(".")[0]))
        others = (name for name in os.listdir(self._file(arm)) if name.endswith(_PROGRAMS))
        return [self._file(arm, name) for name in (*dumps, *sorted(others))]

    def together(self) -> tuple[str, ...]:
        """The last dump that has a system trace, and that; () without one."""
        pairs = []
        for arm in self.plan.arms if self.plan.alongside else ():
            for dump in (path for path in self.files(arm) if path.endswith(_DUMPS)):
                trace = self._file(SYSTEM, system_name(os.path.basename(dump)))
                if os.path.isfile(trace):
                    pairs.append((os.path.basename(trace), dump, trace))
        return max(pairs)[1:] if pairs else ()

    def next_number(self) -> int:
        """The number of the next session: none that was ever begun has it."""
        names = [name for folder in (*ARMS, LOG) for name in self._names(folder)]
        return 1 + max((int(name.partition(".")[0]) for name in names), default=0)

    def _names(self, folder: str) -> list[str]:
        try:
            return [name for name in os.listdir(self._file(folder)) if _SESSION.fullmatch(name)]
        except OSError:
            return []

    def write_log(self, number: int, text: str) -> None:
        """Write what a session printed. Raises OSError."""
        data = text.encode("utf-8", "replace")
        write_whole(self._file(LOG, f"{number:03d}.txt"), data)

    def add(self, number: int, arm: str, dump: str, facts: Mapping[str, object]) -> None:
        """Add a whole session: first how it ran, then its dump from `incoming`. Raises OSError."""
        stem = self._file(arm, f"{number:03d}")
        trace = os.path.join(self.incoming, system_name(os.path.basename(dump)))
        if facts.get("system_trace"):
            _copy(trace, self._file(SYSTEM, os.path.basename(trace)))
        digest = sha256_of(dump)
        hashes = {**dict(facts.get("sha256") or {}), "etdump": digest}  # type: ignore[call-overload]
        text = json.dumps({**facts, "sha256": hashes}, indent=1)
        write_whole(f"{stem}.run.json", text.encode())
        _copy(dump, f"{stem}{os.path.splitext(dump)[1]}")
        for path in (dump, trace):
            with suppress(OSError):
                os.unlink(path)

    def add_program(self, arm: str) -> list[str]:
        """Copy the program of an arm and its ETRecord; returns those that are too large.

        Of a module of Torq, the text that it was compiled from.
        """
        program = self.plan.program(arm).path
        stem, large = os.path.splitext(program)[0], []
        for path in (f"{stem}.mlir",) if self.plan.is_torq else (program, f"{stem}.etrecord"):
            if not os.path.isfile(path):
                continue
            name = os.path.basename(path)
            copy = self._file(arm, name)
            if os.path.getsize(path) > MOST_COPIED or _SESSION.fullmatch(name):
                large.append(path)
            elif not is_same_file(path, copy):
                _copy(path, copy)
        return large


def is_system_trace(path: str) -> bool:
    """Return whether a local file is a system trace in the folder of a recording."""
    folder = os.path.dirname(path)
    is_named = os.path.basename(folder) == SYSTEM and path.endswith(SUFFIX)
    return is_named and os.path.exists(os.path.join(os.path.dirname(folder), PLAN))


def _copy(source: str, target: str) -> None:
    """Copy a file; the copy appears whole or not at all. Raises OSError."""
    with open(source, "rb") as file, replacing(target) as copy:
        shutil.copyfileobj(file, copy, 1 << 20)
