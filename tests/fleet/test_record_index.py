"""Which of many records a profile may belong to: the few decide what all of them would."""

import pytest

from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.fleet.sources import MOST_RECORDS, RecordIndex
from viewer.formats import open_file
from viewer.workspace.workspace import Workspace

DUMPS = sorted([*(DATA / "etdump").glob("[a-z]*.etdp"), *(DATA / "pte").glob("*.etdp")])


@pytest.fixture(scope="module")
def records():
    """All ETRecords and programs of the tests that can be read, which are more than 40."""
    paths = [*(DATA / "etrecord").glob("*.etrecord"), *(DATA / "pte").glob("*.etrecord")]
    items = []
    for path in sorted([*paths, *(DATA / "pte").glob("*.pte")]):
        try:
            items.append(open_file(str(path)))
        except UnreadableFile:
            continue
    assert len(items) > 40
    return items


@pytest.fixture(scope="module")
def index(records):
    made = RecordIndex()
    for number, record in enumerate(records):
        made.add(number, record)
    return made


def decided(trace, records):
    """What a trace is linked with, and which program ran."""
    space = Workspace()
    for record in records:
        space.add(record)
    space.add(trace)
    table, ran = space.links(trace), space.what_ran(trace)
    return table.program and table.program.path, ran and ran.path


@pytest.mark.slow
@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_the_few_decide_what_all_would(records, index, path):
    trace = open_file(str(path))
    closest = index.closest(trace)
    assert len(closest) <= 3 * MOST_RECORDS  # as many of each kind
    assert decided(trace, [records[i] for i in closest]) == decided(trace, records)


def test_a_record_with_nothing_in_common_is_none_of_them(records):
    index = RecordIndex()
    index.add(0, next(r for r in records if r.path.endswith("demo_str.etrecord")))
    assert index.closest(open_file(str(DATA / "etdump" / "cnn_portable_x1.etdp"))) == []


def test_without_records_there_are_none():
    trace = open_file(str(DATA / "etdump" / "demo_str_x4.etdp"))
    assert RecordIndex().closest(trace) == []
