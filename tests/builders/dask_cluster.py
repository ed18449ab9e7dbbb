"""A Dask scheduler with two workers over TCP on this machine, whose processes tests kill."""

import contextlib
import os
import signal
import subprocess
import sys
import time

from tests.builders.lakes import environment
from viewer.fleet.engine import DaskCluster

_DEADLINE_S = 60


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
            time.sleep(0.02)  # the processor is for the scheduler
        engine = DaskCluster(address, patience=patience)
        engine._client.wait_for_workers(2, timeout=_DEADLINE_S)
        return engine

    def end(self):
        """Kill both, and the workers."""
        for process in (self.workers, self.scheduler):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)


def worker_ids(engine):
    """The ids of the processes that work for an engine."""
    return list(engine._client.run(os.getpid).values())
