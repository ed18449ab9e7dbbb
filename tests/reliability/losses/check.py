"""Changes one byte of sound files, and compares what Opscope shows with what is left of them."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.reliability.campaign import Finding, Options, Outcome
from tests.reliability.losses.sound import SOUND, Sound
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.trace import Trace

# What is inserted, and what a byte becomes, in most cases: what has a meaning in some format.
_SIGNS = b'",;:\t\n\r {}[]()\\=0123456789-.eE\0\xff'
REFUSED, EQUAL = "refused", "no less"
COUNTED, LOW, SILENT = "fewer counted", "counted too low", "silent"


@dataclass(frozen=True, slots=True)
class Shown:
    """What Opscope shows of a file: slices, and how often it counts a problem."""

    format: str
    slices: int
    problems: int


def run(options: Options, name: str, count: int) -> Outcome:
    """Change the sound files of a format `count` times."""
    folder = Path(tempfile.mkdtemp(prefix=f"opscope-losses-{name}-"))
    found: Counter[str] = Counter()
    findings: list[Finding] = []
    try:
        for kind, what, data in outcomes(SOUND[name], folder, f"{name} {options.seed}", count):
            found[kind] += 1
            if kind == SILENT:
                findings.append(_saved(name, what, data, options.findings))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures = ", ".join(f"{found[kind]:,} {kind}" for kind in (REFUSED, COUNTED, LOW, SILENT))
    return Outcome(count, tuple(findings), figures)


def outcomes(sound: Sound, folder: Path, seed: str, count: int) -> Iterator[tuple[str, str, bytes]]:
    """For each change: what became of the file, what is missing, and the file."""
    dice = random.Random(seed)
    path = folder / f"input{sound.suffix}"
    files = [(data, shown_of(path, data)) for data in sound.files()]
    for number in range(count):
        data, before = files[number % len(files)]
        assert before is not None, "a sound file is refused"
        changed, how = changed_byte(data, dice)
        yield *verdict(before, shown_of(path, changed), sound.left, data, changed, how), changed


def verdict(
    before: Shown,
    after: Shown | None,
    left: Callable[[bytes, bytes], int],
    sound: bytes,
    changed: bytes,
    how: str,
) -> tuple[str, str]:
    """What became of a file, and what is missing. left: how much it has less, as peers see it."""
    if after is None:
        return REFUSED, ""
    lost = before.slices - after.slices
    if lost <= 0:
        return EQUAL, ""
    if after.problems > before.problems:
        return COUNTED if lost <= after.problems - before.problems else LOW, ""
    if after.format == before.format and lost <= left(sound, changed):
        return EQUAL, ""
    what = f"{how}: {before.slices} -> {after.slices} slices, {after.format}, nothing counted"
    return SILENT, what


def shown_of(path: Path, data: bytes) -> Shown | None:
    """Open a file; None if it is refused, or no trace anymore."""
    path.write_bytes(data)
    try:
        item = open_file(str(path), may_be_empty=True)
    except UnreadableFile:
        return None
    if not isinstance(item, Trace):
        return None
    derived = item.slices.derived
    slices = len(item.slices) - (0 if derived is None else int(derived.sum()))
    return Shown(item.format, slices, sum(p.count for p in item.problems))


def changed_byte(data: bytes, dice: random.Random) -> tuple[bytes, str]:
    """Change, remove or insert one byte; also returns what was done."""
    at = dice.randrange(len(data))
    byte = bytes((dice.choice(_SIGNS),)) if dice.random() < 0.7 else bytes((dice.randrange(256),))
    how = dice.randrange(3)
    if how == 0:
        return data[:at] + byte + data[at + 1 :], f"byte {at} becomes {byte!r}"
    if how == 1:
        return data[:at] + data[at + 1 :], f"byte {at} is removed"
    return data[:at] + byte + data[at:], f"{byte!r} is inserted before byte {at}"


def _saved(name: str, what: str, data: bytes, findings: Path) -> Finding:
    findings.mkdir(parents=True, exist_ok=True)
    saved = findings / f"losses-{name}-{len(list(findings.glob(f'losses-{name}-*')))}"
    saved.with_suffix(SOUND[name].suffix).write_bytes(data)
    return Finding(what, f"opscope info {saved.with_suffix(SOUND[name].suffix)}")
