"""The oracle of lost rows: what it calls silent, and a few changed files of every format."""

import random

import pytest

from tests.builders.runtime_files import snpe_csv
from tests.reliability.losses import peers
from tests.reliability.losses.check import (
    COUNTED,
    EQUAL,
    LOW,
    REFUSED,
    SILENT,
    Shown,
    changed_byte,
    outcomes,
    shown_of,
    verdict,
)
from tests.reliability.losses.sound import SOUND

TEXTS = [name for name in SOUND if name not in ("chrome", "qnn_optrace", "layers_json", "perfetto")]


@pytest.mark.nightly  # the daily campaign changes more than twice as many files of each format
@pytest.mark.parametrize("name", SOUND)
def test_what_is_lost_is_counted(name, tmp_path):
    assert [
        what for kind, what, _ in outcomes(SOUND[name], tmp_path, name, 60) if kind == SILENT
    ] == []


@pytest.mark.parametrize(
    ("after", "left", "kind"),
    [
        (None, 0, REFUSED),
        (Shown("SNPE profile", 9, 0), 0, EQUAL),
        (Shown("SNPE profile", 7, 0), 0, SILENT),
        (Shown("SNPE profile", 7, 0), 2, EQUAL),
        (Shown("Plain CSV", 7, 0), 2, SILENT),
        (Shown("SNPE profile", 7, 2), 0, COUNTED),
        (Shown("SNPE profile", 7, 1), 0, LOW),
    ],
)
def test_a_file_is_silent_if_slices_are_missing_and_nothing_counts_them(after, left, kind):
    before = Shown("SNPE profile", 9, 0)
    assert verdict(before, after, lambda *_: left, b"", b"", "")[0] == kind


def test_one_byte_is_other():
    data, dice = snpe_csv(1).encode(), random.Random(1)
    for _ in range(200):
        changed, how = changed_byte(data, dice)
        assert len(changed) - len(data) == ("inserted" in how) - ("removed" in how)


def test_slices_and_problems_of_a_file_are_counted(tmp_path):
    path = tmp_path / "input.csv"
    rows = len(snpe_csv(1).splitlines()) - 1
    assert shown_of(path, snpe_csv(1).encode()) == Shown("SNPE profile", rows, 0)
    odd = snpe_csv(1).replace("1328", "x")
    assert shown_of(path, odd.encode()) == Shown("SNPE profile", rows - 1, 1)
    assert shown_of(path, b"nothing") is None


@pytest.mark.parametrize(
    ("changed", "left"),
    [
        (b'[{"ph":"X"},{"ph":"M"}]', 1),
        (b'[{"ph":"X"},{"pg":"X"}]', 0),  # an event still, which has to be counted
        (b'[{"ph":"X"}]', 1),
        (b'[{"ph":"X"},{"ph":"X"', 0),
    ],
)
def test_json_says_how_many_events_are_left(changed, left):
    assert peers.by_json(b'[{"ph":"X"},{"ph":"X"}]', changed) == left


@pytest.mark.slow
def test_trace_processor_says_how_many_slices_are_left():
    (sound,) = SOUND["perfetto"].files()
    assert peers.by_trace_processor(sound, sound) == 0
    assert peers.by_trace_processor(sound, sound[:-20]) >= 0


def _kinds(name: str, folder, changes) -> list[str]:
    """What became of each sound file of a format, changed in every place that `changes` finds."""
    sound, found = SOUND[name], []
    path = folder / f"input{sound.suffix}"
    for data in sound.files():
        before = shown_of(path, data)
        assert before is not None
        for changed in changes(data):
            after = shown_of(path, changed)
            found.append(verdict(before, after, sound.left, data, changed, "")[0])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_each_row_without_its_line_end_is_counted_and_so_is_its_neighbor(name, tmp_path):
    def lost(data: bytes):
        return (data[:at] + data[at + 1 :] for at in range(len(data)) if data[at : at + 1] == b"\n")

    assert set(_kinds(name, tmp_path, lost)) <= {EQUAL, COUNTED, REFUSED}


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_a_quote_before_any_cell_costs_what_is_counted(name, tmp_path):
    def quoted(data: bytes):
        return (
            data[:at] + b'"' + data[at:]
            for at in range(len(data))
            if data[at - 1 : at] in (b"\n", b",", b";", b"\t") and at % 3 == 0
        )

    assert set(_kinds(name, tmp_path, quoted)) <= {EQUAL, COUNTED, REFUSED}


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_an_empty_line_before_any_row_costs_nothing(name, tmp_path):
    def parted(data: bytes):
        lines = data.split(b"\n")
        return (b"\n".join([*lines[:at], b"", *lines[at:]]) for at in range(1, len(lines)))

    assert set(_kinds(name, tmp_path, parted)) == {EQUAL}


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_files_one_after_another_are_read_on(name, tmp_path):
    path = tmp_path / f"input{SOUND[name].suffix}"
    # Rows of an annotated profile with the same times are one slice.
    times = 1 if name == "torq_annotated" else 2
    for data in SOUND[name].files():
        single, both = shown_of(path, data), shown_of(path, data + data)
        assert single is not None
        assert both is not None
        assert both.slices == times * single.slices
