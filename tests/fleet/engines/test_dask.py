"""A real scheduler with two workers over TCP, whose processes are killed."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.builders.lakes import POISON, built, check_whole, environment, rows, work_with_poison
from viewer.fleet.engines.dask import DaskCluster
from viewer.fleet.engines.engine import EngineLost
from viewer.fleet.unit_outcome import DONE, KEPT, REFUSED

_DEADLINE_S = 40


class Cluster:
    """A scheduler and a process that keeps two workers alive, as `dask` starts them."""

    def __init__(self, folder):
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard")
        self.workers = self._start("worker", "--nthreads", "1", "--nworkers", "2", "--no-dashboard")

    def _start(self, *arguments):
        command = [sys.executable, "-m", "dask", *arguments, "--scheduler-file", str(self.file)]
        return subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.file.parent,
            start_new_session=True,
            env=environment(
                DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0",
                DASK_DISTRIBUTED__WORKER__DAEMON="True",
            ),
        )

    def engine(self, patience=20.0):
        """Connect when the scheduler and both workers are there."""
        deadline = time.monotonic() + _DEADLINE_S
        address = ""
        while not address:
            assert time.monotonic() < deadline
            try:
                text = self.file.read_text()
                address = text.partition('"address": "')[2].partition('"')[0]
            except OSError:
                assert self.scheduler.poll() is None
        engine = DaskCluster(address, patience=patience)
        engine._client.wait_for_workers(2, timeout=_DEADLINE_S)
        return engine

    def end(self):
        """Kill both, and the workers."""
        for process in (self.workers, self.scheduler):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)


@pytest.fixture
def cluster(tmp_path):
    (tmp_path / "dask").mkdir()
    found = Cluster(tmp_path / "dask")
    yield found
    found.end()


def test_a_worker_that_is_killed_costs_nothing(cluster, fleet, expected, tmp_path, small_batches):
    engine = cluster.engine()
    pids = list(engine._client.run(os.getpid).values())

    def told(progress, outcome):
        if outcome is not None and progress.ended == 3:
            os.kill(pids[0], signal.SIGKILL)

    progress = built(tmp_path / "lake", fleet, engine=lambda _: engine, told=told)
    assert progress.states == {DONE: 24}
    assert rows(tmp_path / "lake") == expected
    check_whole(tmp_path / "lake", 24)


def test_a_file_that_ends_its_workers_is_set_aside_alone(cluster, fleet, tmp_path, monkeypatch):
    monkeypatch.setattr("viewer.fleet.build.work", work_with_poison)
    folder = tmp_path / "copied"
    shutil.copytree(fleet / "build0" / "device0", folder)
    first = next(folder.rglob("*.etdp"))
    shutil.copy(first, first.with_name(f"{POISON}.etdp"))
    engine = cluster.engine(patience=30)
    progress = built(tmp_path / "lake", folder, engine=lambda _: engine)
    assert progress.states == {DONE: 4, REFUSED: 1}
    check_whole(tmp_path / "lake", 4)


def test_a_build_goes_on_after_its_scheduler_was_killed(
    cluster, fleet, expected, tmp_path, small_batches
):
    engine = cluster.engine(patience=2)

    def told(progress, outcome):
        if outcome is not None and progress.ended == 4:
            cluster.scheduler.kill()

    with pytest.raises(EngineLost, match="--resume"):
        built(tmp_path / "lake", fleet, engine=lambda _: engine, told=told)
    progress = built(tmp_path / "lake", fleet, resume=True)
    assert progress.states[KEPT] >= 4
    assert progress.states[KEPT] + progress.states[DONE] == 24
    assert rows(tmp_path / "lake") == expected
    check_whole(tmp_path / "lake", 24)


def test_without_a_scheduler_the_error_says_how_to_start_one():
    with pytest.raises(EngineLost, match="dask scheduler"):
        DaskCluster("tcp://127.0.0.1:9", patience=0.5)


def test_workers_that_it_starts_itself(fleet, expected, tmp_path, small_batches):
    progress = built(tmp_path / "lake", fleet, engine=lambda _: DaskCluster(None, 1))
    assert progress.states == {DONE: 24}
    assert rows(tmp_path / "lake") == expected
