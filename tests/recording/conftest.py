"""What all tests of recordings use: a program, a fake device, and recordings without a command."""

import time
from pathlib import Path

import pytest

from tests.builders.fake_devices import fake_device, processes_of
from tests.paths import DATA
from viewer.recording.plan import Plan, Program, sha256_of
from viewer.recording.recorder import Outcome, Progress, record

_SOON = 5.0  # seconds until what was killed is gone


@pytest.fixture
def device(tmp_path, monkeypatch):
    """A fake device; whatever goes wrong in a test, nothing of it runs afterwards."""
    made = fake_device(tmp_path / "device", monkeypatch)
    yield made
    until = time.monotonic() + _SOON
    while (left := processes_of(made)) and time.monotonic() < until:
        time.sleep(0.02)
    assert left == []


@pytest.fixture
def plan(tmp_path):
    """Makes plans of one program, or of two."""

    def make(on: str, count: int = 1, **options: object) -> Plan:
        pte = DATA / "pte/et_keys.pte"
        programs = []
        for name in ("one", "two")[:count]:
            path = tmp_path / f"{name}.pte"
            path.write_bytes(pte.read_bytes() + name.encode())
            programs.append(Program(str(path), sha256_of(str(path))))
        given = {"sessions": 2, "inferences": 5, "timeout": 20.0, **options}
        return Plan(on, tuple(programs), **given)

    return make


class Recordings:
    """Records plans into a folder, and keeps what was said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[Progress] = []
        self.is_stopped = lambda: False

    def record(self, plan: Plan, *, resume: bool = False) -> Outcome:
        return record(plan, str(self.folder), self.said.append, self._stops, resume=resume)

    def _stops(self) -> bool:
        return self.is_stopped()

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.said]

    def names(self) -> list[str]:
        """All files, but those that no recording has: folders and hidden ones."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return sorted(path.relative_to(self.folder).as_posix() for path in found)


@pytest.fixture
def recordings(tmp_path):
    return Recordings(tmp_path / 'it\'s a "folder"')
