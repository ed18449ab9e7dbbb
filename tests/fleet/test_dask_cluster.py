"""A real scheduler with two workers over TCP, whose processes are killed."""

import os
import shutil
import signal

import pytest
from distributed.client import Future, FutureCancelledError

from tests.builders.dask_cluster import Cluster, worker_ids
from tests.builders.lakes import POISON, built, check_whole, rows, work_with_poison
from viewer.fleet.engine import DaskCluster, EngineLost
from viewer.fleet.manifest_lines import DONE, KEPT, REFUSED

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers that all tests use."""
    cluster = Cluster(tmp_path_factory.mktemp("dask"))
    yield cluster
    cluster.end()


@pytest.fixture
def cluster_to_kill(tmp_path):
    """A scheduler and two workers of one test."""
    (tmp_path / "dask").mkdir()
    cluster = Cluster(tmp_path / "dask")
    yield cluster
    cluster.end()


def failing(batch):
    raise OSError(28, "No space left on device")


@pytest.mark.nightly
def test_a_worker_that_is_killed_costs_nothing(
    cluster_to_kill, fleet, expected, tmp_path, small_batches
):
    engine = cluster_to_kill.engine()
    pids = worker_ids(engine)

    def told(progress, outcome):
        if outcome is not None and progress.ended == 3:
            os.kill(pids[0], signal.SIGKILL)

    progress = built(tmp_path / "lake", fleet, engine=lambda _: engine, told=told)
    assert progress.states == {DONE: 24}
    assert rows(tmp_path / "lake") == expected
    check_whole(tmp_path / "lake", 24)


def test_a_result_that_is_lost_with_its_worker_is_computed_again(
    cluster, fleet, expected, tmp_path, small_batches, monkeypatch
):
    lost = []

    def before_it_is_asked_for(engine, ended):
        future = wait(engine, ended)
        if not lost:
            lose(future)
        return future

    def while_it_is_on_its_way(future, timeout=None):
        if len(lost) == 1:
            lose(future)
            raise TimeoutError
        return result(future, timeout)

    def lose(future):
        future._state.lose()
        lost.append(future)

    wait, result = DaskCluster._next, Future.result
    monkeypatch.setattr(DaskCluster, "_next", before_it_is_asked_for)
    monkeypatch.setattr(Future, "result", while_it_is_on_its_way)
    engine = cluster.engine()
    progress = built(tmp_path / "lake", fleet, engine=lambda _: engine)
    assert len(lost) == 2
    assert progress.states == {DONE: 24}
    assert rows(tmp_path / "lake") == expected
    check_whole(tmp_path / "lake", 24)


@pytest.mark.nightly
def test_a_file_that_ends_its_workers_is_set_aside_alone(
    cluster_to_kill, fleet, tmp_path, monkeypatch
):
    monkeypatch.setattr("viewer.fleet.build.work", work_with_poison)
    folder = tmp_path / "copied"
    shutil.copytree(fleet / "build0" / "device0", folder)
    first = next(folder.rglob("*.etdp"))
    shutil.copy(first, first.with_name(f"{POISON}.etdp"))
    engine = cluster_to_kill.engine(patience=30)
    progress = built(tmp_path / "lake", folder, engine=lambda _: engine)
    assert progress.states == {DONE: 4, REFUSED: 1}
    check_whole(tmp_path / "lake", 4)


def test_a_scheduler_that_ends_before_a_result_arrives_is_gone(
    cluster, fleet, tmp_path, monkeypatch
):
    def lost(future, timeout=None):
        raise FutureCancelledError(future.key, "scheduler-connection-lost")

    engine = cluster.engine()
    monkeypatch.setattr(Future, "result", lost)
    with pytest.raises(EngineLost, match="--resume"):
        built(tmp_path / "lake", fleet, engine=lambda _: engine)


def test_a_scheduler_that_ends_after_a_task_failed_is_gone(cluster, fleet, tmp_path, monkeypatch):
    engine = cluster.engine()
    monkeypatch.setattr("viewer.fleet.build.work", failing)
    # What Dask returns for a task that has no error any more.
    monkeypatch.setattr(Future, "exception", lambda future, timeout=None: None)
    with pytest.raises(EngineLost, match="--resume"):
        built(tmp_path / "lake", fleet, engine=lambda _: engine)


@pytest.mark.nightly
def test_a_build_goes_on_after_its_scheduler_was_killed(
    cluster_to_kill, fleet, expected, tmp_path, small_batches
):
    engine = cluster_to_kill.engine(patience=2)

    def told(progress, outcome):
        if outcome is not None and progress.ended == 4:
            cluster_to_kill.scheduler.kill()

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
    engine = DaskCluster(None, 1)
    assert engine._cluster.scheduler.http_server.port != 8787
    progress = built(tmp_path / "lake", fleet, engine=lambda _: engine)
    assert progress.states == {DONE: 24}
    assert rows(tmp_path / "lake") == expected
