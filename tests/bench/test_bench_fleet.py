"""Fleets of small dumps: profiles per second, and cost per profile by the size of the fleet.

`OPSCOPE_BENCH_FLEET=20000` for the full size. `OPSCOPE_BENCH_FAULTS=1` also kills a worker of a
cluster every 10 seconds. It prints what it measures, and checks that no profile is lost or doubled.
"""

import os
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.builders.fleet_dumps import PATTERN, write_fleet
from tests.builders.lakes import built, check_whole, environment
from viewer.fleet.engines.dask import DaskCluster
from viewer.fleet.engines.local import LocalProcesses
from viewer.fleet.unit_outcome import DONE, KEPT

SIZE = int(os.environ.get("OPSCOPE_BENCH_FLEET", "400"))
_TABLES = "operators,inference_operators"
_EVERY_S = 10


def _build(source, lake, jobs):
    """Build in a process of its own; return seconds, and CPU seconds of it and its workers."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(
        [
            sys.executable, "-m", "viewer", "fleet", "build", str(source), "-o", str(lake),
            "--jobs", str(jobs), "--tables", _TABLES, "--from-path", PATTERN,
        ],
        env=environment(),
        capture_output=True,
        text=True,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu


def test_profiles_per_second(tmp_path):
    sizes = [SIZE // 20, SIZE] if SIZE >= 2000 else [SIZE]
    print("\n profiles  jobs  seconds   per s  CPU ms  then kept/s")
    for size in sizes:
        source = tmp_path / f"in{size}"
        write_fleet(source, size)
        for jobs in (1, 2):
            lake = tmp_path / f"lake{size}-{jobs}"
            seconds, cpu = _build(source, lake, jobs)
            again, _ = _build(source, lake, jobs)
            check_whole(lake, size)
            print(
                f"{size:>9} {jobs:>5} {seconds:>8.1f} {size / seconds:>7.0f} "
                f"{1000 * cpu / size:>7.2f} {size / again:>12.0f}"
            )


def test_a_pool_in_this_process_keeps_all(tmp_path):
    write_fleet(tmp_path / "in", SIZE)
    progress = built(tmp_path / "lake", tmp_path / "in", engine=lambda _: LocalProcesses(2))
    assert progress.states == {DONE: SIZE}
    started = time.perf_counter()
    assert built(tmp_path / "lake", tmp_path / "in").states == {KEPT: SIZE}
    print(f"\n{SIZE / (time.perf_counter() - started):.0f} kept profiles per second, without start")


@pytest.mark.skipif("OPSCOPE_BENCH_FAULTS" not in os.environ, reason="OPSCOPE_BENCH_FAULTS=1")
def test_a_worker_is_killed_every_10_seconds(tmp_path):
    write_fleet(tmp_path / "in", SIZE)
    engine = DaskCluster(None, 2)
    ended, kills = threading.Event(), []

    def kill():
        while not ended.wait(_EVERY_S):
            pids = list(engine._client.run(os.getpid).values())
            if pids:
                os.kill(pids[len(kills) % len(pids)], signal.SIGKILL)
                kills.append(pids)

    killer = threading.Thread(target=kill)
    killer.start()
    started = time.perf_counter()
    try:
        progress = built(tmp_path / "lake", tmp_path / "in", engine=lambda _: engine)
    finally:
        ended.set()
        killer.join()
    seconds = time.perf_counter() - started
    print(f"\n{SIZE} profiles, {len(kills)} killed workers, {seconds:.0f} s: {progress.states}")
    assert progress.states == {DONE: SIZE}
    check_whole(tmp_path / "lake", SIZE)
