"""Completion: what a shell offers, with the shell that asks played by the test, and with bash."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.paths import ROOT
from viewer.cli.commands import COMMANDS
from viewer.cli.commands.completion import SHELLS

pytestmark = pytest.mark.slow
RUN = [sys.executable, "-m", "viewer"]


def offered(line, folder):
    """What can follow on a line with the cursor at its end."""
    answer = folder / "answer"
    asking = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        RUN, env=os.environ | asking, cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return [word.strip() for word in answer.read_text().split("\n")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("opscope sta", ["stats"]),
        ("opscope --theme ", ["light", "dark"]),
        ("opscope stats --inf", ["--inference"]),
        ("opscope stats run.etdp --by mod", ["module"]),
        ("opscope fleet q", ["query"]),
        ("opscope fleet build --from", ["--from-path"]),
        ("opscope ru", ["run.etdp"]),
        ("opscope run.etdp sta", [""]),  # a file comes first, so no command follows
        ("opscope stats ru", ["run.etdp"]),
    ],
)
def test_what_can_follow(tmp_path, line, words):
    (tmp_path / "run.etdp").touch()
    assert offered(line, tmp_path) == words


def test_every_command_can_come_first(tmp_path):
    assert set(offered("opscope ", tmp_path)) >= {*COMMANDS}


_EACH = """
import os, sys
from viewer.cli import COMMANDS, main
for command in COMMANDS:
    if not os.fork():
        line = f"opscope {command} --"
        os.environ |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9",
                       "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": " ",
                       "_ARGCOMPLETE_STDOUT_FILENAME": command}
        sys.exit(main())
    os.wait()
"""


@pytest.mark.nightly  # it imports every command
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_the_options_of_every_command_are_offered(tmp_path):
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", _EACH], cwd=tmp_path, env=env, capture_output=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    for command in COMMANDS:
        assert "--help" in (tmp_path / command).read_text().split(), command


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_each_shell(shell):
    done = subprocess.run(
        [*RUN, "completion", shell], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert "opscope" in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_a_command_at_a_tab(tmp_path):
    program = tmp_path / "opscope"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m viewer "$@"\n')
    program.chmod(0o755)
    at_a_tab = (
        'eval "$(opscope completion bash)"; COMP_LINE="opscope stats --inf"; COMP_POINT=19; '
        "COMP_TYPE=9; COMP_WORDS=(opscope stats --inf); COMP_CWORD=2; "
        '_python_argcomplete opscope; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", at_a_tab],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout.strip(), done.stderr) == ("--inference", "")
