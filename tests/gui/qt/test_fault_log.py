"""The log of faults: of the start that they ended, not for ever, and never in the way."""

import faulthandler
import subprocess
import sys

import pytest

from viewer import __version__
from viewer.gui.qt import crash_report


@pytest.fixture(autouse=True)
def _as_it_was():
    was = faulthandler.is_enabled()
    yield
    crash_report.end_fault_log()
    if was:
        faulthandler.enable(sys.__stderr__)


def crash(folder):
    code = (
        "import faulthandler, sys; from viewer.gui.qt.crash_report import begin_fault_log; "
        "begin_fault_log(sys.argv[1]); faulthandler._sigsegv()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, timeout=60
    )
    assert done.returncode != 0


def test_a_crash_is_written_and_told_at_the_next_start(tmp_path):
    assert crash_report.last_fault(str(tmp_path)) == ""
    crash(tmp_path)
    told = crash_report.last_fault(str(tmp_path))
    assert told.startswith(f"== Opscope {__version__}, Python ")
    assert "Segmentation fault" in told
    assert 'File "<string>", line 1' in told
    crash_report.begin_fault_log(str(tmp_path))
    crash_report.end_fault_log()
    assert crash_report.last_fault(str(tmp_path)) == told  # the start since has none


def test_a_start_that_ends_well_is_no_fault(tmp_path):
    crash_report.begin_fault_log(str(tmp_path / "made"))
    assert faulthandler.is_enabled()
    crash_report.end_fault_log()
    assert not faulthandler.is_enabled()
    assert crash_report.last_fault(str(tmp_path / "made")) == ""


def test_the_log_does_not_grow_for_ever(tmp_path):
    path = tmp_path / crash_report.FAULT_LOG
    path.write_text("== Opscope 0.0, old\n" + "Fatal\n" * 2_000 + "== Opscope 0.1, new\n" * 2_000)
    crash_report.begin_fault_log(str(tmp_path))
    crash_report.end_fault_log()
    assert path.stat().st_size <= crash_report.FAULT_LOG_BYTES + 200
    assert path.read_text().startswith("== Opscope 0.1, new\n")
    path.write_text("no start at all" * 10_000)
    crash_report.begin_fault_log(str(tmp_path))
    assert path.read_text().startswith("== Opscope ")


def test_where_nothing_can_be_written_the_program_starts_all_the_same(tmp_path):
    (tmp_path / "file").touch()
    crash_report.begin_fault_log(str(tmp_path / "file"))
    assert crash_report.last_fault(str(tmp_path / "file")) == ""
