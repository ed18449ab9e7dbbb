"""The folder of a recording, which `compare`, `fleet build` and the window open as it is.

    a/001.etdp  a/001.run.json    a session of A, and how it ran; b/002.etdp ... of B; .csv of Torq
    a/model.pte  a/model.etrecord the program, and its ETRecord if there is one beside it
    log/001.txt                   what each session printed
    system/001.pftrace            what the whole device did meanwhile, with --alongside
    .recording.json               the plan, for --resume

Sessions are numbered in the order in which they began, also those that failed. A dump is the last
that is written of a session, atomically, so it is whole if it is there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress

from viewer.codecs.atomic_file import is_same_file, replacing, write_whole
from viewer.codecs.file_lock import OwnedLock
from viewer.recording.faults import Fault
from viewer.recording.plan import ARMS, Plan, sha256_of
from viewer.recording.system_trace import SUFFIX, system_name

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
