"""The commands without a window: one module each, imported when it is called."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from viewer.cli import COMMANDS, commands, main
from viewer.cli.commands import reports
from viewer.codecs.atomic_file import NO_URL


def test_every_command_has_a_module_and_every_module_a_command():
    folder = Path(commands.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")}
    modules |= {path.parent.name for path in folder.glob("*/__init__.py")}
    assert modules - {"__init__", "open_inputs", "reports"} == COMMANDS.keys() - commands.REPORTS
    functions = {name[4:] for name in vars(reports) if name.startswith("run_")}
    assert functions == commands.REPORTS


def test_the_help_of_the_program_lists_every_command_with_its_purpose(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = capsys.readouterr().out.split("commands, which open no window")[1]
    assert max(map(len, listed.splitlines())) <= 80
    words = " ".join(listed.split())
    assert [name for name, purpose in COMMANDS.items() if f" {name} {purpose}" not in words] == []


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("inof", "did you mean info?"),
        ("Stats", "did you mean stats?"),
        ("reprot", "did you mean report?"),
        ("zzz", "opscope --help lists the commands"),
    ],
)
def test_a_wrong_command_opens_no_window(word, hint, capsys):
    assert main([word, "run.etdp"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"opscope: {word!r} is no command, and there is no such file; {hint}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["export", "run.etdp"],
        ["report", "run.etdp"],
        ["compare", "a.etdp", "--with", "b.etdp"],
        ["calls", "run.etdp"],
        ["screenshot", "run.etdp"],
        ["fleet", "report", "lake"],
    ],
)
def test_outputs_are_no_urls(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    suffix = {"export": "pftrace", "screenshot": "png"}.get(arguments[0], "html")
    with pytest.raises(SystemExit) as stopped:
        main([*arguments, "-o", f"s3://bucket/out.{suffix}"])
    assert stopped.value.code == 2
    assert f"s3://bucket/out.{suffix}: {NO_URL}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# What lies below takes the time and is imported once: it may not import commands (pyproject.toml).
LOADED_BY_EACH = """
import importlib, json, sys
loaded = {}
for name in sys.argv[1:]:
    importlib.import_module(name)
    loaded[name] = [each for each in sys.modules if each.startswith(("viewer", "numpy", "PySide6"))]
    for each in loaded[name]:
        if each.startswith("viewer.cli"):
            del sys.modules[each]
print(json.dumps(loaded))
"""


def loaded_by(*names):
    """For each module the commands and libraries that are there once it has been imported."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED_BY_EACH, *names],
        capture_output=True, text=True, check=True, timeout=240,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_the_window_waits_for_no_command():
    (loaded,) = loaded_by("viewer.cli").values()
    assert "viewer.cli" in loaded
    assert "numpy" not in loaded
    assert not [name for name in loaded if name.startswith("viewer.cli.commands.")]


@pytest.mark.slow
def test_a_command_imports_nothing_of_another():
    names = {"reports", *COMMANDS} - commands.REPORTS
    modules = {f"viewer.cli.commands.{name}" for name in names}
    for command, loaded in loaded_by(*sorted(modules)).items():
        assert modules & {*loaded} == {command}
        assert "PySide6" not in loaded


@pytest.mark.slow
def test_a_report_imports_nothing_of_another():
    (loaded,) = loaded_by("viewer.cli.commands.reports").values()
    assert "viewer.cli.commands.reports" in loaded
    assert not [name for name in loaded if name.startswith(("viewer.reports", "viewer.prove"))]
