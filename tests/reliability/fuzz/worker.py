"""Feeds thousands of inputs of one kind to the readers, in child processes under limits.

A child reads `_PER_CHILD` inputs and hands back the corpus, so that no leak adds up. One that dies
(a fault in C, a hang in C) is a finding too: its input is still in the folder.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import random
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tests.reliability.campaign import Finding, Options, Outcome
from tests.reliability.fuzz import checks, oracles
from tests.reliability.fuzz.checks import Defect
from tests.reliability.fuzz.engine import Engine
from tests.reliability.fuzz.kinds import KINDS, Kind, input_of
from tests.reliability.fuzz.minimize import minimized
from tests.reliability.fuzz.novelty import Novelty, traced
from viewer.model.trace import Trace

_PER_CHILD = 20_000
# The expensive oracles take 20 to 40 ms, reading 1 to 4 ms. They see one input of each signature
# while they take less than this share of the time, and one of so many others.
_SHARE_OF_USE = 0.35
_USED = 500
_TO_ENGINE = 400  # one of so many goes to trace_processor
_TRACED = 400  # one of so many is read with line coverage, which takes 10 times as long
_MOST_DEFECTS = 20
_MOST_DEATHS = 5
_DIED = "the process died"
_HANG = 60  # seconds without an end, in C code that no signal interrupts


@dataclass(slots=True)
class _Found:
    """What the children found so far."""

    count: int = 0
    read: int = 0
    used: int = 0
    used_seconds: float = 0.0
    used_signatures: set[Hashable] = field(default_factory=set)
    seconds: float = 0.0  # of processor time, of earlier children
    asked: int = 0
    deaths: int = 0
    novelty: Novelty = field(default_factory=Novelty)
    defects: dict[str, tuple[Defect, bytes]] = field(default_factory=dict)


def run(options: Options, name: str, part: int, count: int, seconds: float) -> Outcome:
    """Read `count` inputs of a kind, or as many as fit into some seconds of processor time."""
    kind = KINDS[name]
    folder = Path(tempfile.mkdtemp(prefix=f"opscope-fuzz-{name}-", dir=_fast_folder()))
    try:
        oracles.prepare(folder)
        found, used = _Found(), os.times()
        while found.count < count:
            spent = _spent(used)
            if spent >= seconds:
                break
            more = min(_PER_CHILD, count - found.count)
            seed = f"{name} {part} {options.seed} {found.count}"
            found = _in_child(found, kind, folder, seed, more, seconds - spent)
            if len(found.defects) >= _MOST_DEFECTS or found.deaths >= _MOST_DEATHS:
                break
        rate = found.count / max(_spent(used), 0.01)
        time_box = 120.0 if options.is_long else 5.0
        findings = tuple(
            _saved(kind, defect, data, folder, options.findings, time_box)
            for defect, data in found.defects.values()
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    share = 100 * found.read / max(found.count, 1)
    figures = (
        f"{rate:.0f} inputs per s of processor time, {share:.0f} % read, {found.used:,} used, "
        f"{found.asked} by trace_processor, {len(found.novelty.seen):,} signatures, "
        f"{len(found.novelty.lines):,} lines"
    )
    return Outcome(found.count, findings, figures)


def _fast_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _spent(since: os.times_result) -> float:
    now = os.times()
    return sum(now[:4]) - sum(since[:4])


def _in_child(
    found: _Found, kind: Kind, folder: Path, seed: str, count: int, seconds: float
) -> _Found:
    """Read inputs in a child process; returns what is known then."""
    state = folder / "state.pickle"
    state.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            stack = open(folder / "stack.txt", "w")  # noqa: SIM115 until the child ends
            faulthandler.enable(stack)
            dice = random.Random(seed)
            _feed(found, kind, folder, dice, count, seconds, lambda: _watch(stack))
            state.write_bytes(pickle.dumps(found))
            code = 0
        except BaseException:  # the parent reports it
            (folder / "stack.txt").write_text(traceback.format_exc())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if state.exists():
        more: _Found = pickle.loads(state.read_bytes())
        return more
    data = (folder / f"input{kind.suffix}").read_bytes()
    stack = (folder / "stack.txt").read_text()[-3000:]
    defect = Defect(_DIED, f"{_DIED} (status {status})\n{stack}")
    found.defects.setdefault(defect.key, (defect, data))
    found.count += 1
    found.deaths += 1
    return found


def _feed(
    found: _Found,
    kind: Kind,
    folder: Path,
    dice: random.Random,
    count: int,
    seconds: float,
    watch: Callable[[], None],
) -> None:
    path, began = folder / f"input{kind.suffix}", time.process_time()
    engine = Engine(folder / "engine.pftrace")
    oracles.use(checks.read(_sample(path, kind), kind).item, kind, path)  # imports, caches
    gc.freeze()  # what the imports made is not searched again
    checks.limit_memory(checks.MOST_MEMORY + kind.memory)
    for number in range(count):
        if number % 50 == 0:
            watch()
            if time.process_time() - began > seconds:
                break
        data = input_of(kind, found.novelty.corpus, dice)
        path.write_bytes(data)
        found.count += 1
        _feed_one(found, kind, path, data, dice, engine)
        if engine.is_full:
            _ask(found, engine)
        if len(found.defects) >= _MOST_DEFECTS:
            break
    _ask(found, engine)
    found.asked += engine.asked
    found.seconds += time.process_time()
    faulthandler.cancel_dump_traceback_later()


def _watch(stack: TextIO) -> None:
    faulthandler.dump_traceback_later(_HANG, exit=True, file=stack)


def _sample(path: Path, kind: Kind) -> Path:
    path.write_bytes(kind.made(random.Random(0)))
    return path


def _feed_one(
    found: _Found, kind: Kind, path: Path, data: bytes, dice: random.Random, engine: Engine
) -> None:
    if dice.randrange(_TRACED) == 0:
        reached: set[tuple[str, int]] = set()
        result = traced(lambda: checks.read(path, kind), reached)
        found.novelty.add_lines(reached, data)
    else:
        result = checks.read(path, kind)
    defect = result.defect
    if defect is None:
        found.novelty.add(result.signature, data)
    if result.is_read:
        found.read += 1
        if _is_to_be_used(found, result.signature) or dice.randrange(_USED) == 0:
            began = time.process_time()
            defect = checks.use(path, kind, result.item)
            found.used += 1
            found.used_seconds += time.process_time() - began
            found.used_signatures.add(result.signature)
        if defect is None and isinstance(result.item, Trace) and dice.randrange(_TO_ENGINE) == 0:
            engine.add(result.item, data)
    if defect is not None:
        found.defects.setdefault(defect.key, (defect, data))


def _is_to_be_used(found: _Found, signature: Hashable) -> bool:
    spent = found.seconds + time.process_time()
    return signature not in found.used_signatures and found.used_seconds < _SHARE_OF_USE * spent


def _ask(found: _Found, engine: Engine) -> None:
    defect, data = checks.asked(engine)
    if defect is not None:
        found.defects.setdefault(defect.key, (defect, data))


def _saved(
    kind: Kind, defect: Defect, data: bytes, folder: Path, findings: Path, seconds: float
) -> Finding:
    """Save an input, as small as time allows, and return how to repeat its finding."""
    path = folder / f"input{kind.suffix}"
    shows = _shows(kind, defect, path)
    if shows(data):
        data = minimized(data, shows, seconds)
    findings.mkdir(parents=True, exist_ok=True)
    number = len(list(findings.glob(f"{kind.name}-*")))
    saved = findings / f"{kind.name}-{number}{kind.suffix}"
    saved.write_bytes(data)
    return Finding(
        f"{defect.text} ({len(data)} bytes)",
        f".venv/bin/python -m tests.reliability.fuzz {kind.name} {saved}",
    )


def _shows(kind: Kind, defect: Defect, path: Path) -> Callable[[bytes], bool]:
    """Return whether some bytes show the same defect; False for a defect of a whole process."""
    check = checks.by_engine if defect.key == checks.ENGINE else checks.both

    def shows(data: bytes) -> bool:
        path.write_bytes(data)
        found = check(path, kind)
        return found is not None and found.key == defect.key

    return shows if defect.key != _DIED else lambda data: False
