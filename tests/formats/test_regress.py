"""Files that once went wrong: read, linked, added up, exported and read back."""

import shutil

import pytest

from tests.paths import DATA
from tests.reliability.fuzz import checks, oracles
from tests.reliability.fuzz.kinds import KINDS

FILES = sorted(path for path in (DATA / "regress").glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_that_once_went_wrong_is_read_or_refused(path, tmp_path):
    kind = KINDS[path.parent.name]
    oracles.prepare(tmp_path)
    copy = tmp_path / f"input{kind.suffix}"
    shutil.copyfile(path, copy)
    assert checks.both(copy, kind) is None


def test_the_files_are_small_and_of_known_kinds():
    assert {path.parent.name for path in FILES} <= KINDS.keys()
    assert max(path.stat().st_size for path in FILES) < 100_000
    assert len(FILES) >= 15
