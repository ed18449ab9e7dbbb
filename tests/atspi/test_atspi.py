"""What a screen reader is told, over a real accessibility bus: `pytest tests/atspi`.

Needs Xvfb, dbus-run-session, at-spi2-core and python3-gi (Debian: apt-get install xvfb dbus
at-spi2-core python3-gi); skipped where one of them is missing.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gui.events import SAMPLE

HERE = Path(__file__).parent
LAUNCHER = Path("/usr/libexec/at-spi-bus-launcher")
PYTHON = "/usr/bin/python3"
SESSION = """
{launcher} --launch-immediately & launcher=$!
{python} -m viewer "$@" & program=$!
{system} {tree} Timeline
kill $program $launcher
wait 2>/dev/null
exit 0
"""


def has_gio():
    done = subprocess.run(
        [PYTHON, "-c", "from gi.repository import Gio"], capture_output=True, timeout=60
    )
    return done.returncode == 0


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """(role, name, description) of all that is told of the window with a sample open."""
    tools = [shutil.which(name) for name in ("Xvfb", "xvfb-run", "dbus-run-session")]
    if not (all(tools) and LAUNCHER.exists() and Path(PYTHON).exists() and has_gio()):
        pytest.skip("there is no accessibility bus, X server or python3-gi here")
    folder = tmp_path_factory.mktemp("session")
    folder.chmod(0o700)
    environment = {
        **os.environ, "QT_QPA_PLATFORM": "xcb", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
        "XDG_CONFIG_HOME": str(folder), "XDG_RUNTIME_DIR": str(folder),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    script = SESSION.format(
        launcher=LAUNCHER, python=sys.executable, system=PYTHON, tree=HERE / "tree.py"
    )
    done = subprocess.run(
        ["xvfb-run", "-a", "-s", "-screen 0 1600x1000x24", "dbus-run-session", "--", "sh", "-c",
         script, "sh", *SAMPLE["delegate_handle_map"].paths()],
        capture_output=True, text=True, timeout=120, env=environment,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert lines, done.stderr
    return [(role, name, about) for role, name, shown, about in lines if shown]


@pytest.fixture(scope="module")
def tree(told):
    """(role, name) of the same."""
    return [(role, name) for role, name, _ in told]


def test_the_program_tells_of_itself(tree):
    assert ("application", "Opscope") in tree
    names = {name for _, name in tree}
    assert {"Timeline", "Details", "Operators", "Color by", "Search slices"} <= names


@pytest.mark.parametrize("role", ["push button", "button", "check box", "combo box", "radio button",
                                  "toggle button"])  # fmt: skip
def test_every_control_that_is_pressed_has_a_name(tree, role):
    assert [line for line in tree if line[0] == role and not line[1].strip()] == []


def test_the_table_of_operators_is_read_in_cells(tree):
    assert ("table", "Operators") in tree
    cells = [name for role, name in tree if role == "cell"]
    assert any("convolution" in cell for cell in cells)


def test_what_is_painted_has_a_role_and_the_timeline_tells_what_is_visible(told, tree):
    assert {("chart", "Timeline"), ("panel", "Details")} <= set(tree)
    (about,) = [about for role, _, about in told if role == "chart"]
    assert "ms visible" in about


def test_headers_are_items_of_a_tree(tree):
    assert ("tree", "Processes and tracks") in tree
    items = {name for role, name in tree if role == "tree item"}
    assert {"demo_str_x4.etdp", "forward · demo_str_x4.etdp"} <= items


def test_nothing_is_read_out_as_markup(told):
    assert [line for line in told if "<" in line[1] + line[2] and "/" in line[1] + line[2]] == []
