"""The dialog that records: what it asks, and what it shows."""

import os
import time

import pytest
from PySide6.QtCore import QCoreApplication

from tests.builders.fake_devices import DUMP
from tests.gui.events import answer_file_dialog
from tests.paths import DATA
from viewer.gui.session.recording import Recording
from viewer.gui.window.dialogs import record
from viewer.gui.window.dialogs.record import RecordDialog
from viewer.recording.plan import TORQ_MODULE

pytestmark = pytest.mark.slow

PTE = str(DATA / "pte/et_keys.pte")
COPY = f'sh -c \'sleep 0.2; cp "{DUMP}" "$1"\' x {{etdump}} {{pte}}'


@pytest.fixture
def dialog(qtbot, settings, theme):
    made = RecordDialog(Recording(), settings, theme)
    qtbot.addWidget(made)
    made.show()
    return made


def choose(dialog, kind, target="", **texts):
    dialog.where.setCurrentIndex(dialog.where.findData(kind))
    dialog.target.setText(target)
    for name, text in texts.items():
        getattr(dialog, name).setText(str(text))


def test_what_is_chosen(dialog):
    choose(dialog, "adb", " R5 ", program=PTE, other="/b.pte", runner="/r", sessions=3)
    chosen = dialog.choice
    assert chosen.on == "adb:R5"
    assert chosen.programs == (PTE, "/b.pte")
    assert (chosen.sessions, chosen.inferences, chosen.runner) == (3, 30, "/r")
    choose(dialog, "local", runner="/r")
    assert dialog.choice.on == "local"
    assert dialog.choice.runner == ""  # of devices
    assert not dialog.runner.isEnabled()


def test_a_folder_is_proposed_that_does_not_exist(dialog, tmp_path):
    stem = tmp_path / "model"
    (tmp_path / "model-recording").mkdir()
    choose(dialog, "local", program=f"{stem}.pte")
    assert dialog.folder.text() == f"{stem}-recording-2"
    choose(dialog, "local", folder="/mine", program=PTE)
    assert dialog.folder.text() == "/mine"


def test_it_records_only_what_is_complete(dialog):
    assert not dialog.record_button.isEnabled()
    choose(dialog, "local", program=PTE)
    assert dialog.record_button.isEnabled()
    for text in ("", "0", "1001"):
        choose(dialog, "local", sessions=text)
        assert not dialog.record_button.isEnabled()
    assert not dialog.stop_button.isEnabled()


def test_files_are_chosen_in_dialogs(dialog, monkeypatch):
    answer_file_dialog(monkeypatch, "/some.pte", "/folder")
    for field, expected in ((dialog.program, "/some.pte"), (dialog.folder, "/folder")):
        row = dialog._form.getItemPosition(dialog._form.indexOf(field))[0]
        dialog._form.itemAtPosition(row, 2).widget().click()
        assert field.text() == expected


def test_every_program_that_can_be_recorded_is_offered(dialog, monkeypatch):
    asked = []
    monkeypatch.setattr(record, "FileQuestion", lambda *args: asked.append(args) or Answered())
    dialog._choose_program(dialog.program)
    (*_, filters) = asked[0]
    for suffix in (".pte", ".bpte", TORQ_MODULE):
        assert f"*{suffix}" in filters.partition(";;")[0]


class Answered:
    """A file dialog that was cancelled."""

    path = ""

    def ask(self, *_):
        return self


def test_a_recording_is_followed_without_a_stop_of_the_window(dialog, qtbot, tmp_path):
    choose(dialog, "run", COPY, program=PTE, folder=tmp_path / "r", sessions=2)
    outcomes, longest = [], 0.0
    dialog.recorded.connect(outcomes.append)
    dialog.record_button.click()
    assert not dialog.program.isEnabled()
    assert dialog.stop_button.isEnabled()
    while not outcomes:
        start = time.thread_time()
        QCoreApplication.processEvents()
        longest = max(longest, time.thread_time() - start)
        time.sleep(0.005)
    assert longest < 0.05
    assert dialog.log.toPlainText().splitlines()[-1] == "Session 2 is whole"
    assert dialog.left.text() == "2 sessions"
    assert (dialog.bar.value(), dialog.bar.maximum()) == (2, 2)
    assert dialog.program.isEnabled()


def test_stop_ends_the_recording(dialog, qtbot, tmp_path):
    alive = tmp_path / "alive"
    command = f"sh -c 'echo x >{alive}; sleep 100' {{etdump}}"
    choose(dialog, "run", command, program=PTE, folder=tmp_path / "r")
    dialog.record_button.click()
    qtbot.waitUntil(alive.exists)
    dialog.stop_button.click()
    qtbot.waitUntil(lambda: dialog.record_button.isEnabled())
    assert [name for name in os.listdir(tmp_path / "r/a") if name.endswith(".etdp")] == []


def test_a_check_and_faults_are_in_the_log(dialog, qtbot, tmp_path):
    choose(dialog, "local", "/no/python", program=PTE, folder=tmp_path / "r")
    dialog.check_button.click()
    qtbot.waitUntil(lambda: dialog.record_button.isEnabled())
    assert "missing: there is no program /no/python: name a Python" in dialog.log.toPlainText()
    dialog.record_button.click()
    qtbot.waitUntil(lambda: dialog.record_button.isEnabled())
    assert "there is no program /no/python" in dialog.log.toPlainText()
    assert dialog.left.text() == "0 sessions; 7 sessions missing"
    choose(dialog, "ssh", "", folder=tmp_path / "q")
    dialog.record_button.click()
    qtbot.waitUntil(lambda: dialog.record_button.isEnabled())
    assert "is no target" in dialog.log.toPlainText()
