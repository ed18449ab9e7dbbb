"""Fleets of small dumps: profiles per second, and cost per profile by the size of the fleet.

`OPSCOPE_BENCH_FLEET=20000` for the full size. `OPSCOPE_BENCH_FAULTS=1` also kills processes of a
cluster. It prints what it measures, and checks that no profile is lost or doubled.
"""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from tests.builders.bench_sizes import size
from tests.builders.dask_cluster import Cluster, worker_ids
from tests.builders.fleet_dumps import PATTERN, write_fleet
from tests.builders.lakes import (
    POISON,
    built,
    check_whole,
    environment,
    rows,
    work_with_poison,
)
from viewer.fleet.engine import EngineLost, LocalProcesses
from viewer.fleet.manifest_lines import DONE, KEPT, REFUSED

pytestmark = pytest.mark.nightly

SIZE = size(400, 24, "OPSCOPE_BENCH_FLEET")
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
        text=True, timeout=600
    )  # fmt: skip
    seconds = time.perf_counter() - started
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu


def test_profiles_per_second(tmp_path):
    sizes = [SIZE // 20, SIZE] if SIZE >= 2000 else [SIZE]
    print("\n profiles  jobs  seconds   per s  CPU ms  then kept/s")
    for count in sizes:
        source = tmp_path / f"in{count}"
        write_fleet(source, count)
        for jobs in (1, 2):
            lake = tmp_path / f"lake{count}-{jobs}"
            seconds, cpu = _build(source, lake, jobs)
            again, _ = _build(source, lake, jobs)
            check_whole(lake, count)
            print(
                f"{count:>9} {jobs:>5} {seconds:>8.1f} {count / seconds:>7.0f} "
                f"{1000 * cpu / count:>7.2f} {count / again:>12.0f}"
            )


def test_a_pool_in_this_process_keeps_all(tmp_path):
    write_fleet(tmp_path / "in", SIZE)
    progress = built(tmp_path / "lake", tmp_path / "in", engine=lambda _: LocalProcesses(2))
    assert progress.states == {DONE: SIZE}
    started = time.perf_counter()
    assert built(tmp_path / "lake", tmp_path / "in").states == {KEPT: SIZE}
    print(f"\n{SIZE / (time.perf_counter() - started):.0f} kept profiles per second, without start")


@pytest.mark.skipif("OPSCOPE_BENCH_FAULTS" not in os.environ, reason="OPSCOPE_BENCH_FAULTS=1")
def test_killed_workers_a_killed_scheduler_and_a_poison_file(tmp_path, monkeypatch):
    """A worker is killed every 10 seconds, the scheduler after half of the profiles.

    One file kills its workers. All rows are compared with those of one process without faults.
    """
    write_fleet(tmp_path / "in", SIZE)
    built(tmp_path / "expected", tmp_path / "in", engine=lambda _: LocalProcesses(2))
    first = next((tmp_path / "in").rglob("*.etdp"))
    shutil.copy(first, first.with_name(f"{POISON}.etdp"))
    monkeypatch.setattr("viewer.fleet.build.work", work_with_poison)
    lake = tmp_path / "lake"
    print("\n   until  added   kept  refused  killed workers  seconds")
    for is_last in (False, True):
        (folder := tmp_path / f"dask{is_last}").mkdir()
        cluster = Cluster(folder)
        engine = cluster.engine(patience=20 if is_last else 5)
        ended, kills = threading.Event(), []
        killer = threading.Thread(target=_kill_workers, args=(engine, ended, kills))
        states = Counter()

        def told(progress, outcome, cluster=cluster, is_last=is_last, states=states):
            states.clear()
            states.update(progress.states)
            if not is_last and progress.ended >= SIZE // 2:
                cluster.scheduler.kill()

        killer.start()
        started = time.perf_counter()
        try:
            with contextlib.nullcontext() if is_last else pytest.raises(EngineLost):
                built(lake, tmp_path / "in", engine=lambda _, e=engine: e, told=told, resume=True)
        finally:
            ended.set()
            killer.join(timeout=600)
            cluster.end()
        print(
            f"{'the end' if is_last else 'half':>8} {states[DONE]:>6} {states[KEPT]:>6} "
            f"{states[REFUSED]:>8} {len(kills):>15} {time.perf_counter() - started:>8.0f}"
        )
    assert rows(lake) == rows(tmp_path / "expected")
    check_whole(lake, SIZE)


def _kill_workers(engine, ended, kills):
    """Kill one of the workers every 10 seconds."""
    while not ended.wait(_EVERY_S):
        with contextlib.suppress(OSError, TimeoutError):
            pids = worker_ids(engine)
            os.kill(pids[len(kills) % len(pids)], signal.SIGKILL)
            kills.append(pids)
