"""A source line in an editor: what is started with which arguments, and what never is."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QDesktopServices

from tests.gui.events import SAMPLE
from viewer.gui.qt.settings import EDITOR
from viewer.gui.window.files.source_files import EDITORS, editor_arguments, is_shown_by_system

ATTENTION, ATTENTION_RECORD = SAMPLE["attention_xnnpack"].paths()
SOURCE = Path(ATTENTION).parent / "models.py"
POSIX = pytest.mark.skipif(os.name == "nt", reason="programs are scripts of a shell")


def copied_to(folder):
    """Copies of the attention sample, with its source beside them."""
    shutil.copy(SOURCE, folder)
    return [Path(shutil.copy(path, folder)) for path in (ATTENTION, ATTENTION_RECORD)]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return copied_to(tmp_path_factory.mktemp("sample"))


@pytest.fixture
def controller(shared_window, sample):
    """The window with a copy of the attention sample open."""
    return shared_window.showing(*sample)


@pytest.fixture
def source(controller, sample):
    """The local copy of its source, at line 52."""
    controller.session.select_operators(0, (9,))
    return sample[0].with_name("models.py")


@pytest.fixture
def opened(monkeypatch):
    """The files given to the system's programs."""
    urls = []
    monkeypatch.setattr(
        QDesktopServices, "openUrl", lambda url: urls.append(url.toLocalFile()) or True
    )
    return urls


@pytest.fixture
def editor(tmp_path):
    """A program that writes its arguments, one a line, and the file where it writes them."""
    written = tmp_path / "arguments"
    program = tmp_path / "my editor"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{written}.new"\n'
                       f'mv "{written}.new" "{written}"\n')  # fmt: skip
    program.chmod(0o755)
    return program, written


@pytest.mark.parametrize("command", EDITORS)
def test_every_editor_offered_gets_file_and_line(command):
    program, *arguments = editor_arguments(command, "/a/b.py", 12)
    assert program == command.split()[0]
    assert "/a/b.py" in " ".join(arguments)
    assert "12" in " ".join(arguments)
    assert "{" not in " ".join(arguments)


@pytest.mark.parametrize(
    "path", ["/a/b c.py", "/a/$(touch x).py", "/a/'\";&|.py", "/a/{line}{file}.py", "/a/\n-x.py"]
)
def test_a_path_is_one_argument_whatever_is_in_it(path):
    assert editor_arguments("code -g {file}:{line}", path, 7) == ["code", "-g", f"{path}:7"]


def test_a_path_is_never_an_option():
    _, path = editor_arguments("edit {file}", "-x.py", 7)
    assert path == os.path.abspath("-x.py")


def test_the_file_is_the_last_argument_of_a_command_that_does_not_name_it():
    assert editor_arguments("subl", "/a/b.py", 7) == ["subl", "/a/b.py"]


def test_quotes_and_the_home_folder_are_understood():
    command = "'~/my editor' --at {line} {file}"
    assert editor_arguments(command, "/b.py", 7) == [
        os.path.expanduser("~/my editor"), "--at", "7", "/b.py",
    ]  # fmt: skip


@pytest.mark.parametrize("command", ["'code {file}", '"', "{file}", "{file}:{line} x", "''"])
def test_what_is_no_command_is_refused(command):
    with pytest.raises(ValueError, match=r"quote|program"):
        editor_arguments(command, "/a/b.py", 7)


@POSIX
def test_the_editor_is_started_with_the_file_on_this_machine(controller, source, editor, qtbot):
    program, written = editor
    controller.settings.set(EDITOR, f"'{program}' +{{line}} {{file}}")
    controller.commands.run("edit.source")
    qtbot.waitUntil(written.exists)
    assert written.read_text().splitlines() == ["+52", str(source)]
    assert controller.window.status.said.text() == "Opened line 52 of models.py"


@POSIX
def test_the_editor_does_not_read_the_input_of_opscope(controller, source, editor, qtbot):
    program, written = editor
    program.write_text(f'#!/bin/sh\ncat > "{written}.new"\nmv "{written}.new" "{written}"\n')
    controller.settings.set(EDITOR, f"'{program}'")
    reading, writing = os.pipe()
    os.write(writing, b"typed in the terminal")
    os.close(writing)
    before = os.dup(0)
    os.dup2(reading, 0)
    try:
        controller.commands.run("edit.source")
        qtbot.waitUntil(written.exists)
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(reading)
    assert written.read_text() == ""


@POSIX
def test_the_line_that_was_clicked_last_is_opened(controller, source, editor, qtbot):
    program, written = editor
    controller.settings.set(EDITOR, f"'{program}' {{line}}")
    controller.panels["source"].code.line_clicked.emit(46)
    controller.panels["source"].editor.click()
    qtbot.waitUntil(written.exists)
    assert written.read_text().splitlines()[0] == "46"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-editor {file}", "The editor “no-such-editor” was not found"),
        ("code 'x {file}", "The editor command “code 'x {file}” is not valid"),
        ("{file}", "does not start with a program"),
    ],
)
def test_what_is_wrong_with_a_command_is_shown(controller, source, opened, command, message):
    controller.settings.set(EDITOR, command)
    controller.commands.run("edit.source")
    assert message in controller.window.message.text
    assert opened == []


@POSIX
def test_a_batch_file_gets_no_path_that_its_shell_would_run(controller, source, editor):
    program, written = editor
    batch = program.rename(program.with_name("edit.cmd"))
    controller.settings.set(EDITOR, f"'{batch}' {{file}}")
    hostile = source.with_name("a&b.py")
    shutil.copy(source, hostile)
    controller.panels["source"].show_source(str(hostile), 3)
    controller.commands.run("edit.source")
    assert "cannot safely pass" in controller.window.message.text
    assert not written.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere .py files may be run")
def test_without_a_command_the_system_opens_the_file(controller, source, opened):
    source.chmod(0o644)
    controller.commands.run("edit.source")
    assert opened == [str(source)]
    assert controller.window.status.said.text() == "Opened models.py"


@POSIX
def test_the_system_opens_nothing_that_it_might_run(controller, source, opened):
    source.chmod(0o755)
    controller.commands.run("edit.source")
    assert opened == []
    assert "The system might run models.py" in controller.window.message.text


@pytest.mark.parametrize("name", ["a.desktop", "a.sh", "a.html", "a", "a.py.exe", "a.bat"])
def test_only_sources_are_left_to_the_system(tmp_path, name):
    (tmp_path / name).write_text("x")
    (tmp_path / name).chmod(0o644)
    assert not is_shown_by_system(str(tmp_path / name))
    assert is_shown_by_system(str(tmp_path / "model.mlir"))


def test_a_file_that_is_gone_is_not_opened(shared_window, opened, tmp_path):
    controller = shared_window.showing(*copied_to(tmp_path))
    controller.session.select_operators(0, (9,))
    source = tmp_path / "models.py"
    source.unlink()
    controller.commands.run("edit.source")
    assert opened == []
    assert f"{source} no longer exists" in controller.window.message.text


def test_a_refused_file_of_the_system_is_reported(controller, source, monkeypatch):
    source.chmod(0o644)
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: False)
    controller.commands.run("edit.source")
    assert "models.py" in controller.window.message.text
