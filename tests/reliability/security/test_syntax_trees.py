"""Calls that run code are found in any form, and `viewer/` has none."""

from pathlib import Path

import pytest

from tests.reliability.campaign import Options
from tests.reliability.security.syntax_trees import check, risks


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from marshal import loads",
        "import xml.etree.ElementTree",
        "import shelve as s",
        "from xml.dom import minidom",
        "eval('1')",
        "exec(text)",
        "compile(text, '', 'exec')",
        "os.system('ls')",
        "from os import system",
        "import subprocess",
        "from subprocess import run",
        "run('ls', shell=True)",
        "subprocess.run(x, shell=wanted)",
        "np.load(p, allow_pickle=True)",
        "np.load(p)",
        "yaml.load(text)",
        "tempfile.mktemp()",
        "pd.read_pickle(p)",
        "frame.eval('a')",
        "from PySide6.QtCore import QProcess",
        "from concurrent.futures import ProcessPoolExecutor",
        "archive.extractall(folder)",
        "__import__('os')",
    ],
)
def test_a_risk_is_found(source):
    assert list(risks(f"def f():\n    {source}\n")) != []


@pytest.mark.parametrize(
    "source",
    [
        "import pickletools",
        "from xml.sax.saxutils import escape",
        "re.compile('a')",
        "json.loads(text)",
        "Panel(shell=window)",
        "dialog.exec()",
        "os.open(path, flags)",
    ],
)
def test_what_is_harmless_is_not(source):
    assert list(risks(source)) == []


@pytest.mark.slow
def test_the_program_has_no_risks_but_those_with_a_reason():
    assert check(Options(False, 0, Path())).findings == ()
