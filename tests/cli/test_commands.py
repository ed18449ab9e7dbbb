"""The commands without a window: one module each, imported when it is called."""

import subprocess
import sys
from pathlib import Path

import pytest

from viewer.cli import COMMANDS, commands, main
from viewer.codecs.atomic_file import NO_URL


def test_every_command_has_a_module_and_every_module_a_command():
    folder = Path(commands.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")}
    modules |= {path.parent.name for path in folder.glob("*/__init__.py")}
    assert modules - {"__init__", "open_inputs"} == set(COMMANDS)


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


def loaded_by(code):
    """The modules of Opscope, numpy and Qt that are imported after some code, in a new process."""
    code += "; import sys; print(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return {name for name in done.stdout.split() if name.startswith(("viewer", "numpy", "PySide6"))}


def test_the_window_waits_for_no_command():
    loaded = loaded_by("import viewer.cli")
    assert "numpy" not in loaded
    assert not [name for name in loaded if name.startswith("viewer.cli.commands.")]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_nothing_of_another(command):
    loaded = loaded_by(f"import viewer.cli.commands.{command}")
    others = {f"viewer.cli.commands.{name}" for name in COMMANDS if name != command}
    assert not loaded & others
    assert "PySide6" not in loaded
