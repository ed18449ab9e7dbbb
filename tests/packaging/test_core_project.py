"""opscope-core: the same tree without the window, its needs, and what it answers."""

import subprocess
import sys
import tomllib

import pytest

from tests.paths import ROOT
from viewer.resources import SAMPLES

PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
DUMP = SAMPLES[0].paths()[0]
# What runs where viewer.gui and Qt are not installed.
WITHOUT_WINDOW = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("PySide6", "pyqtgraph", "rustworkx") or name == "viewer.gui":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nothing())
from viewer.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def core(script):
    return tomllib.loads(script("core_project").core_project(PROJECT))


def test_it_needs_what_the_whole_needs_but_the_window(core):
    whole = tomllib.loads(PROJECT)
    dropped = set(whole["project"]["dependencies"]) - set(core["project"]["dependencies"])
    names = {need.partition(">")[0] for need in dropped}
    assert names == {"pyqtgraph", "PySide6-Essentials", "rustworkx"}
    assert set(core["project"]["dependencies"]) < set(whole["project"]["dependencies"])
    assert core["project"]["name"] == "opscope-core"
    assert core["project"]["scripts"] == whole["project"]["scripts"]
    assert "gui-scripts" not in core["project"]
    assert "viewer/gui" in core["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]
    extras = str(core["project"]["optional-dependencies"])
    assert "opscope-core[mcp,fleet]" in extras
    assert "'opscope[" not in extras


def test_another_project_file_is_refused(script):
    with pytest.raises(SystemExit, match="pyqtgraph"):
        script("core_project").core_project(PROJECT.replace("pyqtgraph", "other"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["info", DUMP], 0),
        (["stats", DUMP, "--by", "name"], 0),
        (["compare", DUMP, "--with", DUMP], 0),
        (["report", DUMP, "--markdown"], 0),
        (["calls", DUMP, "--svg", "-"], 0),
        ([DUMP], 2),
        (["screenshot", DUMP, "-o", "-"], 2),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, list) else "",
)
def test_commands_run_without_a_window(arguments, code):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_WINDOW, *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert bool(done.stdout) is (code == 0)
    if code:
        assert done.stderr == (
            "opscope: opscope-core has no window: pip uninstall opscope-core && pip install "
            "opscope\n"
        )
