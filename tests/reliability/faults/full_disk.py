"""Full disks: the old file is whole, one line says what happened, and no temporary file remains.

The disk is a tmpfs of 1 MB that this job mounts, which needs root, and /dev/full.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.reliability.campaign import Finding, Job, Options, Outcome
from tests.reliability.programs import DUMP, OPSCOPE, RECORD, environment, parts_in, run

_OLD = b"the old file\n"
# Where the disk is filled up to: nothing free, or room for a part of each file.
_FREE = (0, 4096)
_EXPORTS = (".pftrace", ".pb.gz", ".csv", ".tsv", ".parquet")
_COMMANDS: dict[str, tuple[str, ...]] = {
    **{f"export {suffix}": ("export", str(DUMP), "-o", f"{{}}{suffix}") for suffix in _EXPORTS},
    "calls .svg": ("calls", str(DUMP), "--svg", "{}.svg"),
    "calls .txt": ("calls", str(DUMP), "-o", "{}.txt"),
    "screenshot .png": ("screenshot", str(DUMP), str(RECORD), "-o", "{}.png"),
    "screenshot .svg": ("screenshot", str(DUMP), "-o", "{}.svg"),
}
_STORES = ("session", "recent sessions", "settings")
_QUICK = 5  # commands of a short run


def jobs(options: Options) -> list[Job]:
    """Return the job of full disks."""
    return [Job("faults", "full disk", check, (), 1200.0)]


def check(options: Options) -> Outcome:
    """Write all kinds of files to full disks."""
    names = [*_COMMANDS]
    if not options.is_long:
        first = options.seed % len(names)
        names = (names * 2)[first : first + _QUICK]
    findings: list[Finding] = []
    count, refused = 0, 0
    with tempfile.TemporaryDirectory(prefix="opscope-reliability-") as name:
        folder = Path(name)
        for one in names[:_QUICK]:
            findings += _device(folder, one)
            count += 1
        try:
            with _disk(folder / "disk") as disk:
                for free in _FREE if options.is_long else _FREE[1:]:
                    for one in names:
                        was_refused, found = _full(folder, disk, one, free)
                        refused += was_refused
                        findings += found
                    for store in _STORES:
                        findings += _stored(folder, disk, store, free)
                    count += len(names) + len(_STORES)
                findings += _full_temporary(folder, disk)
        except PermissionError:
            return Outcome(count, tuple(findings), "tmpfs skipped: needs root")
    return Outcome(count, tuple(findings), f"{refused} commands refused on a full tmpfs")


@contextlib.contextmanager
def _disk(place: Path) -> Iterator[Path]:
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, timeout=60).returncode:
        raise PermissionError
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True, timeout=60)


def _fill(disk: Path, free: int) -> None:
    """Fill a disk up to some bytes."""
    with contextlib.suppress(OSError), open(disk / "ballast", "wb", buffering=0) as ballast:
        while True:
            ballast.write(bytes(4096))
    if free:
        os.truncate(disk / "ballast", os.path.getsize(disk / "ballast") - free)


def _full(folder: Path, disk: Path, name: str, free: int) -> tuple[bool, list[Finding]]:
    """Run a command on a full disk; returns whether it was refused, and the findings."""
    arguments = [part.replace("{}", str(disk / "out")) for part in _COMMANDS[name]]
    target = Path(arguments[-1])
    # Larger than what is free, or the new file could fit where the old one was.
    target.write_bytes(_OLD)
    _fill(disk, free)
    end = run((*OPSCOPE, *arguments), environment(folder / "user"))
    whole = target.read_bytes() == _OLD
    fits = end.code == 0 and not whole and free > 0
    faults = [end.fault] if end.fault else []
    if not fits and end.code != 1:
        faults.append(f"exit code {end.code}")
    if not whole and not fits:
        faults.append(f"the old file is now {target.read_bytes()[:20]!r}")
    faults += [f"{part} remains" for part in parts_in(disk)]
    for path in disk.iterdir():
        path.unlink()
    return end.code == 1, [
        Finding(f"{name}, {free} bytes free: {fault}", end.err[-500:]) for fault in faults
    ]


def _device(folder: Path, name: str) -> list[Finding]:
    """Run a command that writes to /dev/full."""
    arguments = [part.replace("{}", str(folder / "device")) for part in _COMMANDS[name]]
    target = Path(arguments[-1])
    target.symlink_to("/dev/full")
    end = run((*OPSCOPE, *arguments), environment(folder / "user"))
    target.unlink()
    fault = end.fault or ("" if end.code == 1 else f"exit code {end.code}")
    return [Finding(f"{name} to /dev/full: {fault}", end.err[-500:])] if fault else []


def _stored(folder: Path, disk: Path, store: str, free: int) -> list[Finding]:
    """Store a session or settings where they do not fit."""
    program = (sys.executable, "-m", "tests.reliability.faults.storing", store, str(disk))
    given = environment(folder / "user")
    first = run((*program, "1"), given)
    before = {path.name: path.read_bytes() for path in disk.iterdir()}
    _fill(disk, free)
    second = run((*program, "100000"), given)
    (disk / "ballast").unlink()
    after = {path.name: path.read_bytes() for path in disk.iterdir()}
    for path in disk.iterdir():
        path.unlink()
    faults = [end.fault for end in (first, second) if end.fault]
    if not before or first.code:
        faults.append(f"the first was not stored: {first.err}")
    if second.code == 0:
        faults.append("no error when the disk was full")
    if before != after:
        sizes = {name: len(data) for name, data in after.items()}
        faults.append(f"the old files {[*before]} are now {sizes}")
    return [Finding(f"{store}, {free} bytes free: {fault}", second.err[-500:]) for fault in faults]


def _full_temporary(folder: Path, disk: Path) -> list[Finding]:
    """Take a screenshot while the temporary folder is full."""
    _fill(disk, 0)
    target = folder / "out.png"
    given = environment(folder / "user") | {"TMPDIR": str(disk)}
    end = run((*OPSCOPE, "screenshot", str(DUMP), "-o", str(target)), given)
    fault = end.fault or ("" if end.code == 0 and target.exists() else f"exit code {end.code}")
    return [Finding(f"full temporary folder: {fault}", end.err[-500:])] if fault else []
