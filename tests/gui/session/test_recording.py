"""A recording off the GUI thread: its signals, a stop, and the end of the window."""

import os
import sys
import time

import pytest

from tests.builders.fake_devices import DUMP
from tests.paths import DATA
from viewer.gui.session.recording import Recording, RecordingChoice

pytestmark = pytest.mark.slow

PTE = str(DATA / "pte/et_keys.pte")
COPY = f'run:sh -c \'cp "{DUMP}" "$1"\' x {{etdump}} {{pte}}'


def choice(folder, on=COPY, *others, sessions=2, programs=(PTE,)):
    return RecordingChoice(on, (*programs, *others), sessions, 5, "", str(folder))


def test_a_recording_reports_and_ends(qtbot, tmp_path):
    recording = Recording()
    said = []
    recording.progressed.connect(lambda progress: said.append(progress.done))
    with qtbot.waitSignal(recording.ended) as ended:
        recording.start(choice(tmp_path / "r"))
        assert recording.is_running
        recording.start(choice(tmp_path / "other"))  # one at a time
    (outcome,) = ended.args
    assert outcome.whole == {"a": 2}
    assert [os.path.basename(path) for path in outcome.files["a"]][:2] == ["001.etdp", "002.etdp"]
    assert not recording.is_running
    assert said[0] == 0
    assert said[-1] == 2
    assert not (tmp_path / "other").exists()


def test_what_should_be_known_is_said_first(qtbot, tmp_path):
    recording = Recording()
    said = []
    recording.progressed.connect(lambda progress: said.append(progress.text))
    with qtbot.waitSignal(recording.ended):
        recording.start(choice(tmp_path / "r", programs=(PTE, PTE), sessions=1))
    assert [text.partition(":")[0] for text in said[:3]] == [
        "A and B are the same program",
        "A verdict needs at least 10 inferences in a session; this plan has 5.",
        "A verdict needs at least 3 sessions of each program; this plan has 1.",
    ]


def test_a_check(qtbot, tmp_path):
    recording = Recording()
    with qtbot.waitSignal(recording.checked) as checked:
        recording.check(choice(tmp_path / "r", f"run:{sys.executable} {{etdump}}"))
    assert [finding.is_good for finding in checked.args[0]] == [True, True]
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"on": "phone"}, "is no target"),
        ({"programs": ("/none.pte",)}, "/none.pte: No such file"),
    ],
)
def test_what_cannot_be(qtbot, tmp_path, options, words):
    recording = Recording()
    with qtbot.waitSignal(recording.failed) as failed:
        recording.start(choice(tmp_path / "r", **options))
    assert words in failed.args[0]
    assert not recording.is_running


def test_closing_the_window_ends_what_runs(qtbot, tmp_path):
    recording, alive = Recording(), tmp_path / "alive"
    recording.start(choice(tmp_path / "r", f"run:sh -c 'echo x >{alive}; sleep 100' {{etdump}}"))
    qtbot.waitUntil(alive.exists)
    start = time.monotonic()
    recording.shut_down()
    assert time.monotonic() - start < 5
    assert os.listdir(tmp_path / "r/a") == []
