"""The commands of the README, and the commands and recipes of the help page, do what they say."""

import re
import shlex

import pytest

from tests.builders.fleet_dumps import PATTERN
from tests.paths import ROOT
from viewer.cli import main
from viewer.gui.window.help.pages import text_of

pytestmark = pytest.mark.slow


def code(language):
    return re.findall(rf"```{language}\n(.*?)```", text_of("fleets"), re.S)


@pytest.fixture
def traces(fleet, tmp_path, monkeypatch):
    """A folder with the fleet as `traces`, in which commands run."""
    (tmp_path / "traces").symlink_to(fleet)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.cpu_count", lambda: 1)


def test_the_commands_of_the_readme(traces, capsys):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"`opscope (fleet [^`]+)`", readme)
    assert [command.split()[1] for command in commands] == ["build", "report"]
    assert [main(shlex.split(command)) for command in commands] == [0, 0]
    assert "24 of 24 profiles added" in capsys.readouterr().out
    with open("lake.html", encoding="utf-8") as page:
        assert "24" in page.read()


def test_the_comparisons_of_the_help_page(traces, capsys):
    assert main(["fleet", "build", "traces", "-o", "lake", "--from-path", PATTERN]) == 0
    known = {"1203": "build0", "1204": "build1", "phone-6": "device0", "phone-7": "device2"}
    commands = [line for line in code("sh")[1].splitlines() if line.startswith("opscope ")]
    assert len(commands) == 3
    for command in commands:
        for name, own in known.items():
            command = command.replace(name, own)
        assert main(shlex.split(command)[1:]) == 0
    out = capsys.readouterr().out
    assert out.count("groups have a proven change.") == 3


def test_the_help_page(traces, capsys):
    lines = [line for line in code("sh")[0].splitlines() if line.startswith("opscope ")]
    pattern = '"{device}/{build}/{name}.etdp"'
    assert pattern in lines[0]
    # The fleet of this test has one more level.
    lines[0] = lines[0].replace(pattern, '"{build}/{device}/{model}/{name}.etdp"')
    assert [main(shlex.split(line)[1:]) for line in lines] == [0, 0]
    assert "device1         8" in capsys.readouterr().out
    (with_duckdb, with_polars) = code("python")
    for recipe in (with_duckdb, with_polars):
        exec(recipe, {})
    out = capsys.readouterr().out
    assert "device2" in out
    assert "build1" in out
    assert re.search(r'"device": .*"tags"', code("json")[0])
