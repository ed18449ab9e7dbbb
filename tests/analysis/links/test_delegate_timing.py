"""Whether a delegate's events are placed is decided by its backend, where that is known."""

import json
import zipfile
from pathlib import Path

import pytest

import viewer
from tests.builders.etdump_writer import Run, delegate, framework, operator, write_dump

ADD, SOFTMAX = "Add (ND) #1", "Softmax (NC, F32) #1"


@pytest.fixture
def files(tmp_path, data):
    """Make a dump whose call logs two events, and a record that maps them for a backend."""

    def make(backend: str, names: tuple[str, str], first: int = 2_000) -> tuple[Path, Path]:
        dump, record = tmp_path / "made.etdp", tmp_path / "made.etrecord"
        events = [
            delegate(names[0], 0, 1_000, 1_000 + first),
            delegate(names[1], 0, 1_000 + first, 4_000 + first),
            operator("DELEGATE_CALL", 0, 900, 9_000),
            framework("Method::execute", 800, 9_500),
        ]
        write_dump(dump, [Run("Execute", events)])
        given = zipfile.ZipFile(data / "etrecord" / "demo_str.etrecord")
        maps = {"name": backend, "delegate_map": {names[0]: [1, 2], names[1]: [3]}}
        with zipfile.ZipFile(record, "w") as made:
            for member in given.namelist():
                text = json.dumps({"forward": {"0": maps}}).encode()
                made.writestr(member, text if member == "delegate_map" else given.read(member))
        return dump, record

    return make


def times(*paths: Path) -> list[str]:
    slices = viewer.open(*paths).slices_with("identifier", "timing")
    return list(slices[slices["identifier"].notna()]["timing"].astype("str"))


def test_names_like_those_of_xnnpack_in_another_backend_are_measured(files):
    dump, record = files("NpuBackend", (ADD, SOFTMAX))
    assert times(dump) == ["placed, rounded"] * 2
    assert times(dump, record) == ["measured"] * 2


def test_unusual_names_in_a_call_of_xnnpack_are_placed(files):
    dump, record = files("XnnpackBackend", (ADD, "odd name"))
    assert times(dump) == ["measured"] * 2
    assert times(dump, record) == ["placed, rounded"] * 2


def test_times_of_xnnpack_that_are_no_whole_us_are_placed_alone(files):
    dump, record = files("XnnpackBackend", (ADD, "odd name"), first=2_001)
    assert times(dump, record) == ["placed"] * 2


def test_a_trace_whose_names_fit_its_backends_stays_the_same_object(files):
    dump, record = files("XnnpackBackend", (ADD, SOFTMAX))
    workspace = viewer.open(dump, record).workspace
    assert workspace.links(workspace.traces[0]).trace is workspace.traces[0]
