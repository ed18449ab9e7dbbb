"""The supervisor of the fuzzer: planted defects of a reader become findings, in one process each.

The worker forks and limits memory, so it runs in an interpreter of its own.
"""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.nightly

# What a reader does with a file of more than three lines.
DEFECTS = {
    "defect": "raise KeyError('planted')",
    "slow": "while True: pass",
    "hang": "import time; time.sleep(60)",
    "death": "import os; os.abort()",
}
PROGRAM = """
import json, sys
from pathlib import Path
from tests.reliability.campaign import Options
from tests.reliability.fuzz import checks, worker
from viewer.formats.table import reader

read = reader.read

def planted(path, progress, cancelled):
    if Path(path).read_bytes().count(b"\\n") > 3:
        {defect}
    return read(path, progress, cancelled)

if __name__ == "__main__":
    worker._sample = lambda path, kind: path if path.write_bytes(b"x") else path
    reader.read = planted
    checks.MOST_SECONDS, worker._HANG, worker._MOST_DEATHS = 0.2, {hang}, 1
    outcome = worker.run(Options(False, 1, Path(sys.argv[1])), "table", 0, 12, 60.0)
    print(json.dumps([[one.what, one.repeat] for one in outcome.findings]))
"""


@pytest.mark.parametrize(
    ("defect", "what"),
    [
        ("defect", "KeyError: 'planted'"),
        ("slow", "TooSlow: more than 0 s of processor time"),
        ("hang", "the process died"),
        ("death", "the process died"),
    ],
)
def test_a_planted_defect_becomes_a_finding_with_its_input(defect, what, tmp_path):
    program = PROGRAM.format(defect=DEFECTS[defect], hang=2 if defect == "hang" else 60)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    ((found, repeat),) = json.loads(done.stdout.splitlines()[-1])
    assert found.startswith(what)
    if what == "the process died":
        assert "planted" in found  # the function on the stack
    (saved,) = tmp_path.glob("table-*")
    assert repeat.endswith(f"-m tests.reliability.fuzz table {saved}")
    assert saved.read_bytes().count(b"\n") > 3
