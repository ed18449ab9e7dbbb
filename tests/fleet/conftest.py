"""A fleet of 24 small dumps, and a lake of it that one process built."""

import pytest

from tests.builders.fleet_dumps import write_fleet
from tests.builders.lakes import built, rows


@pytest.fixture(scope="session")
def fleet(tmp_path_factory):
    """24 dumps of 4 models, 3 devices and 2 builds."""
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(folder, 24, models=4, devices=3, builds=2)
    return folder


@pytest.fixture(scope="session")
def expected(fleet, tmp_path_factory):
    """The rows of its tables, built in one process."""
    lake = tmp_path_factory.mktemp("expected") / "lake"
    built(lake, fleet)
    return rows(lake)


@pytest.fixture
def small_batches(monkeypatch):
    """Batches of two profiles, so that few profiles are many batches."""
    monkeypatch.setattr("viewer.fleet.build.MOST_UNITS", 2)
