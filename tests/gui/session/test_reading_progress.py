"""Bytes, rate and time left of what is read, with a clock that the test turns."""

import pytest

from viewer.gui.session.file_jobs import ReadingProgress
from viewer.model.times import plain_spaces

MB = 10**6


@pytest.fixture
def now():
    return [100.0]


@pytest.fixture
def progress(now):
    return ReadingProgress(lambda: now[0])


def text(progress, *paths):
    return plain_spaces(progress.text(paths))


def test_one_file_with_bytes_rate_and_time_left(progress, now):
    progress.reported("/a/big.csv", 100 * MB, 1000 * MB)
    assert text(progress, "/a/big.csv") == "Reading big.csv 100 MB of 1.0 GB"
    now[0] += 2.0
    progress.reported("/a/big.csv", 300 * MB, 1000 * MB)
    # 200 MB in 2 s; the 700 MB that are left take 7 s at that rate.
    assert text(progress, "/a/big.csv") == (
        "Reading big.csv 300 MB of 1.0 GB · 100 MB/s · about 7 s left"
    )
    assert progress.share == pytest.approx(0.3)


def test_several_at_once_have_a_figure_each_and_the_rest_is_counted(progress, now):
    progress.reported("/a.csv", 0, 50 * MB)
    progress.reported("/b.csv", 0, 150 * MB)
    now[0] += 1.0
    progress.reported("/a.csv", 30 * MB, 50 * MB)
    progress.reported("/b.csv", 20 * MB, 150 * MB)
    assert text(progress, "/a.csv", "/b.csv", "/c.csv", "/d.csv") == (
        "Reading a.csv 30 MB of 50 MB · b.csv 20 MB of 150 MB · 2 more · 50 MB/s · about 3 s left"
    )
    assert progress.share == pytest.approx(50 / 200)


def test_one_that_has_ended_is_not_named_and_still_counts(progress):
    progress.reported("/a.csv", 50 * MB, 50 * MB)
    progress.reported("/b.csv", 50 * MB, 150 * MB)
    assert text(progress, "/b.csv") == "Reading b.csv 50 MB of 150 MB"
    assert progress.share == pytest.approx(0.5)


@pytest.mark.parametrize(("left", "said"), [
    (0.2, "about 1 s"), (89, "about 89 s"), (90, "about 2 min"), (3600, "about 60 min"),
    (7200, "about 2 h"),
])  # fmt: skip
def test_time_left_has_no_more_figures_than_are_known(progress, now, left, said):
    total = round((left + 1) * MB)
    progress.reported("/a.csv", 0, total)
    now[0] += 1.0
    progress.reported("/a.csv", MB, total)
    assert text(progress, "/a.csv").endswith(f"· 1.0 MB/s · {said} left")


def test_what_is_not_known_is_not_told(progress, now):
    assert text(progress) == "Reading"
    assert text(progress, "/a.csv") == "Reading a.csv"
    progress.reported("/a.csv", 7000, 0)
    now[0] += 9.0
    assert text(progress, "/a.csv") == "Reading a.csv 7.0 kB"
    assert progress.share == 0.0
    progress.reported("/b.csv", 200, 100)  # a file that grew
    progress.reported("/b.csv", 200, 100)
    assert progress.share == 1.0


def test_a_long_name_loses_its_middle(progress):
    name = "/a-very-long-name-that-nobody-would-read-to-its-end.etdp"
    assert text(progress, name) == "Reading a-very-long-nam…-to-its-end.etdp"


def test_the_next_load_begins_anew(progress, now):
    progress.reported("/a.csv", 0, MB)
    progress.clear()
    now[0] += 50
    progress.reported("/b.csv", 0, MB)
    progress.reported("/b.csv", MB // 2, MB)
    assert text(progress, "/b.csv") == "Reading b.csv 500 kB of 1.0 MB"
