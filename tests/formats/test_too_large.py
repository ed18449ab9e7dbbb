"""Files that are small on the disk and large in memory are refused with figures, soon and cheaply.

Each is opened in a process of its own, with a limit of its addresses.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.paths import ROOT
from viewer.codecs.protobuf.writer import varint

MB = 1 << 20
# MB: of the budget, of the addresses, and of the peak with the program and libraries of parsers,
# which are in no budget.
LIMIT, ADDRESSES, MOST = 300, 3000, 400
HEADER = b"process,thread,name,start_ns,dur_ns\np,t,a,0,1\n"
OPEN = f"""
import json, resource, sys
from fractions import Fraction
resource.setrlimit(resource.RLIMIT_AS, ({ADDRESSES * MB}, {ADDRESSES * MB}))
from viewer.codecs.memory_budget import BUDGET
from viewer.formats import UnreadableFile, open_file
from viewer.view.sessions.session_file import read
BUDGET.limit({LIMIT * MB})
path = sys.argv[1]
try:
    read(path) if path.endswith(".opscope") else open_file(path, part=Fraction(sys.argv[2]))
    said, part = "", 0
except UnreadableFile as error:
    said, part = str(error), float(getattr(error, "part", 0))
peak = open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]
print(json.dumps([said, part, int(peak) // 1024]))
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the peak is asked of /proc"),
]


def opened(path: Path, part: float = 1) -> tuple[str, float]:
    """What the error says without the path, and the part that fits; checks the peak."""
    found = subprocess.run(
        [sys.executable, "-c", OPEN, str(path), str(part)],
        capture_output=True, check=True, text=True, cwd=ROOT, timeout=60,
    )  # fmt: skip
    said, fits, peak = json.loads(found.stdout)
    assert peak < MOST
    return said.replace(str(path), ""), fits


def sparse(path: Path, head: bytes, size: int) -> None:
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)


def packed(path: Path, parts: list[bytes]) -> None:
    with gzip.open(path, "wb", 1) as file:
        for part in parts:
            file.write(part)


EVENTS = b'{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2},\n' * 20_000


def etrecord(path: Path) -> None:
    """A member that is packed 1000:1, in a file whose sum of sizes is not suspicious."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ETRECORD_V0", "")
        archive.writestr("edge_dialect_exported_program/forward", "[" + "[]," * 20 * MB + "1]")
        archive.writestr("junk", os.urandom(MB))


LARGE: dict[str, Callable[[Path], None]] = {
    "bomb.etrecord": etrecord,
    "events.json.gz": lambda path: packed(path, [b'{"traceEvents":[', *[EVENTS] * 600]),
    "rows.csv": lambda path: path.write_bytes(HEADER + b"p,t,a,1,1\n" * 8 * MB),
    "sparse.etdp": lambda path: sparse(path, b"\0\0\0\0ED00", 3 << 30),
    "sparse.mlir": lambda path: sparse(
        path, b'func.func @f() {\n  %0 = "tosa.add"() : () -> ()\n' * 200, 1 << 30
    ),
    "session.opscope": lambda path: path.write_bytes(
        b'{"opscope_session": 1, "inputs": [' + b'{"a":1},' * 7_000_000 + b"{}]}"
    ),
    "packet.pftrace": lambda path: path.write_bytes(
        b"\x0a" + varint(48 * MB) + b"\x40\x01" * (24 * MB)
    ),
}
IN_PARTS = {"events.json.gz", "rows.csv"}


@pytest.fixture(scope="module")
def refused(tmp_path_factory) -> Callable[[str], tuple[Path, str, float]]:
    """Write and open a large file: its path, what the error says, and the part that fits."""

    @cache
    def made(name: str) -> tuple[Path, str, float]:
        path = tmp_path_factory.mktemp("large") / name
        LARGE[name](path)
        return path, *opened(path)

    return made


@pytest.mark.parametrize("name", LARGE)
def test_a_file_that_needs_more_memory_is_refused_with_figures(name, refused):
    _, said, part = refused(name)
    match = re.search(
        r"would need about ([0-9.]+)\s([MG]B) of memory, and ([0-9.]+)\sMB are available\. (.*)",
        said,
    )
    assert match is not None, said
    needed = float(match[1]) * (1000 if match[2] == "GB" else 1)
    assert needed > float(match[3]) > 100
    assert ("--part" in match[4]) == (part > 0) == (name in IN_PARTS)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(IN_PARTS))
def test_the_part_that_is_offered_opens(name, refused):
    path, _, part = refused(name)
    assert opened(path, part) == ("", 0)


ONE_LINE: dict[str, bytes] = {
    "table.csv": HEADER,
    "quoted.csv": HEADER + b'p,t,"',
    "compile.csv": b"taskId, elapsed_time(us), timestamp(us), event, location, bytes\n",
    "host.csv": b"dispatch_name,invocation_id,action_id,timestamp_us,event\n",
}


@pytest.mark.parametrize("name", ONE_LINE)
def test_a_line_without_an_end_is_not_read_whole(name, tmp_path):
    sparse(tmp_path / name, ONE_LINE[name], 5 << 30)
    assert "line of more than 16 MB" in opened(tmp_path / name)[0]


def test_an_event_without_an_end_is_not_read_whole(tmp_path):
    path = tmp_path / "trace.json.gz"
    packed(path, [b'{"traceEvents":[{"ph":"X","name":"', *[b"a" * MB] * 900])
    assert "an event does not end within 16 MB" in opened(path)[0]
