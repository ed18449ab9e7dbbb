"""What the API writes, it does not write over what is open."""

import shutil
from pathlib import Path

import pytest

import viewer
from tests.builders.profiles import profile
from tests.paths import DATA


@pytest.mark.parametrize(
    ("write", "suffix"),
    [
        (lambda profile, path: profile.report(path), ".html"),
        (lambda profile, path: profile.plot().save(path), ".svg"),
        (lambda profile, path: profile.to_perfetto(path), ".pftrace"),
    ],
)
def test_a_file_of_another_suffix_is_left_alone(tmp_path, write, suffix):
    dump = tmp_path / "run.etdp"
    shutil.copy(DATA / "etdump" / "cnn_portable_x1.etdp", dump)
    before = dump.read_bytes()
    with pytest.raises(ValueError, match=rf"must end in .*{suffix}"):
        write(viewer.open(dump), dump)
    assert dump.read_bytes() == before
    write(viewer.open(dump), tmp_path / f"out{suffix}")
    assert (tmp_path / f"out{suffix}").stat().st_size > 100


def test_an_open_file_is_left_alone(tmp_path):
    path = tmp_path / "run.pftrace"
    profile().to_perfetto(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="this is an input file"):
        viewer.open(path).to_perfetto(Path(tmp_path, ".", "run.pftrace"))
    assert path.read_bytes() == before
