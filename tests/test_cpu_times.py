"""The plugin that measures tests, in a run of its own with tests that are slow on purpose."""

import subprocess
import sys

import pytest

from tests.cpu_times import folder_of
from tests.paths import ROOT

TESTS = """
import pytest, time

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

@pytest.fixture
def burned():
    burn(0.1)

def test_quick():
    pass

{mark}
def test_slow(burned):
    burn(0.1)
"""
RUN = """
import sys, pytest
import tests.cpu_times
tests.cpu_times.MOST_SECONDS = 0.15
sys.exit(pytest.main(sys.argv[1:]))
"""


def run(folder, mark, *options):
    """Run the tests with a limit of 0.15 s; return the exit code and the output."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n    nightly\n")
    (folder / "test_some.py").write_text(TESTS.format(mark=mark))
    done = subprocess.run(
        [sys.executable, "-c", RUN, "-p", "tests.cpu_times", "--rootdir", str(folder), *options],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout


@pytest.mark.slow
def test_a_slow_test_without_a_mark_fails_the_run(tmp_path):
    code, out = run(tmp_path, "")
    assert "2 passed" in out
    assert "FAILED test_some.py::test_slow: 0.2 processor seconds" in out
    assert "FAILED test_some.py::test_quick" not in out
    assert code == 1


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["slow", "nightly"])
def test_a_marked_test_may_take_longer(mark, tmp_path):
    code, out = run(tmp_path, f"@pytest.mark.{mark}")
    assert "FAILED" not in out
    assert code == 0


@pytest.mark.nightly
def test_processes_of_xdist_are_measured_too(tmp_path):
    code, out = run(tmp_path, "", "-p", "xdist.plugin", "-n", "2")
    assert "FAILED test_some.py::test_slow: 0.2 processor seconds" in out
    assert "all 2 tests" in out
    assert code == 1


def test_folders_of_the_window_are_listed_apart():
    assert folder_of("tests/gui/window/files/test_a.py::test_b") == "tests/gui/window"
    assert folder_of("tests/formats/torq/test_a.py::test_b[x/y]") == "tests/formats"
    assert folder_of("tests/test_words.py::test_a") == "tests"
