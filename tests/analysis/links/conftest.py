"""What the tests of links share."""

import pytest

from tests.paths import DATA
from viewer.formats import open_file


@pytest.fixture(scope="module")
def opened():
    """Files of tests/data/pte by name, each read once."""
    known = {}

    def read(name):
        if name not in known:
            known[name] = open_file(str(DATA / "pte" / name))
        return known[name]

    return read
