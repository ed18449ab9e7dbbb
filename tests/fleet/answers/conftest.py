"""A lake of two builds of one model on two devices, of which one became slower."""

import shutil

import pytest

from tests.builders.lakes import built
from tests.builders.stretched_dumps import write_arm
from tests.paths import DATA

SOURCE = DATA / "compare/02_module_renamed"
SLOWER = {"blocks.1.dw": 2.0}


@pytest.fixture(scope="session")
def builds(tmp_path_factory):
    """A folder BUILD/DEVICE/MODEL with three sessions each: build 10 is slower on phone1."""
    folder = tmp_path_factory.mktemp("builds")
    for build in ("9", "10"):
        for device in ("phone1", "phone2"):
            place = folder / build / device / "net"
            place.mkdir(parents=True)
            shutil.copy(SOURCE / "a.etrecord", place)
            is_slower = (build, device) == ("10", "phone1")
            name = f"{build}{device}"  # equal files are one profile
            paths = write_arm(place, name, SOURCE, SLOWER if is_slower else {})
            for path in paths:
                path.write_bytes(path.read_bytes() + name.encode())
    return folder


@pytest.fixture(scope="session")
def lake_of_builds(builds, tmp_path_factory):
    """The path of the lake."""
    lake = tmp_path_factory.mktemp("lakes") / "lake"
    progress = built(lake, builds)
    assert progress.failed == 0
    return lake
