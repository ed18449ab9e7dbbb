"""The memory that Linux and its control groups report."""

import os
import sys
from pathlib import Path

import pytest

from viewer.codecs import system_memory as module
from viewer.codecs.system_memory import is_in_memory, is_remote, system_memory, used_memory

MEMINFO = "MemTotal:  16000000 kB\nMemFree: 100 kB\nMemAvailable:   8000000 kB\n"
MB = 1 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the files are those of Linux")


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A machine with 16 GB, of which 8 GB are available."""
    write(tmp_path / "proc/meminfo", MEMINFO)
    write(tmp_path / "proc/self/statm", "1000 500 100 0 0 0 0\n")
    monkeypatch.setattr(module, "_ROOT", str(tmp_path))
    monkeypatch.setattr(module, "_address_limit", lambda: None)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_without_limits(root):
    found = system_memory()
    assert (found.total, found.available) == (16_000_000 * 1024, 8_000_000 * 1024)
    assert found.used == 500 * module._page_size()


def test_a_group_of_version_2_and_its_cached_files(root):
    group = root / "sys/fs/cgroup/user/app"
    write(root / "proc/self/cgroup", "0::/user/app\n")
    write(group / "memory.max", f"{1000 * MB}\n")
    write(group / "memory.current", f"{600 * MB}\n")
    write(group / "memory.stat", f"anon 1\ninactive_file {100 * MB}\n")
    found = system_memory()
    assert (found.total, found.available) == (1000 * MB, 500 * MB)


def test_the_limit_of_an_outer_group_holds_too(root):
    write(root / "proc/self/cgroup", "0::/user/app\n")
    write(root / "sys/fs/cgroup/user/app/memory.max", "max\n")
    write(root / "sys/fs/cgroup/user/app/memory.current", "1\n")
    write(root / "sys/fs/cgroup/user/memory.max", f"{200 * MB}\n")
    write(root / "sys/fs/cgroup/user/memory.current", f"{50 * MB}\n")
    assert system_memory().available == 150 * MB


def test_a_group_of_version_1_whose_path_is_that_of_the_host(root):
    write(root / "proc/self/cgroup", "4:cpu:/x\n3:memory:/docker/0123\n")
    write(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", f"{300 * MB}\n")
    write(root / "sys/fs/cgroup/memory/memory.usage_in_bytes", f"{100 * MB}\n")
    assert system_memory().available == 200 * MB


def test_a_group_of_version_1_without_a_limit(root):
    write(root / "proc/self/cgroup", "3:memory:/\n")
    write(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", f"{2**63 - 4096}\n")
    write(root / "sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n")
    assert system_memory().available == 8_000_000 * 1024


def test_the_limit_of_addresses_less_those_in_use(root, monkeypatch):
    monkeypatch.setattr(module, "_address_limit", lambda: 100 * MB)
    assert system_memory().available == 100 * MB - 1000 * module._page_size()


def test_what_this_process_uses_alone(root):
    assert used_memory() == system_memory().used == 500 * 4096
    (root / "proc/self/statm").unlink()
    assert used_memory() == 0


def test_files_that_do_not_say(root):
    (root / "proc/meminfo").write_text("MemTotal: many\n")
    assert system_memory() is None


def test_this_machine():
    found = system_memory()
    assert 0 < found.used < found.total
    assert 0 < found.available <= found.total


@pytest.mark.parametrize(
    ("kind", "in_memory", "remote"),
    [
        ("ext4", False, False), ("tmpfs", True, False), ("nfs4", False, True),
        ("cifs", False, True), ("fuse.sshfs", False, True), ("fuseblk", False, False),
    ],
)  # fmt: skip
def test_what_a_folder_is_on(root, kind, in_memory, remote):
    device = os.stat(root).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    lines = f"1 0 999:9 / / rw - proc proc rw\n2 1 {number} / /x rw,a shared:1 - {kind} y rw\n"
    write(root / "proc/self/mountinfo", lines)
    assert is_in_memory(str(root)) == in_memory
    assert is_remote(str(root)) == remote


def test_a_folder_of_which_nothing_is_known(root):
    assert not is_in_memory(str(root / "none"))
    assert not is_remote(str(root))
