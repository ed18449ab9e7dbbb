"""Modules of a Torq NPU: its runners of both generations, and the host profiles that they write."""

import json
import shutil
import sys

import pytest

from tests.builders.command_line import run
from tests.builders.fake_devices import program
from tests.paths import DATA
from viewer.recording.plan import Plan, Program, WrongPlan, sha256_of
from viewer.recording.process import Ended, fault_of
from viewer.recording.recorder import commands_of, record, target_of
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.slow

# As the real one: a host profile of what it ran, each time at another time of the device.
RUNNER = f"""#!{sys.executable} -SE
import sys, time
words = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
if "torq_profile_host" not in words:
    sys.exit("ERROR: no profile was asked for")
print(*sys.argv[1:])
now = time.monotonic_ns() // 1000
with open({str(DATA / "torq/host_h4_latest_2inv.csv")!r}) as file:
    header, *rows = file.read().splitlines()
with open(words["torq_profile_host"], "w") as file:
    print(header, file=file)
    for row in rows:
        name, call, action, us, event = row.split(",")
        step = (int(us) - 4812337551) * (1 + now % 7 / 100)
        print(name, call, action, now + round(step), event, sep=",", file=file)
"""


@pytest.fixture
def modules(tmp_path):
    """A module of each arm, with the text that A was compiled from."""
    paths = [tmp_path / f"{name}.vmfb" for name in ("one", "two")]
    for path in paths:
        path.write_bytes(b"vmfb of " + path.name.encode())
    shutil.copy(DATA / "torq/tiny_cnn.mlir", tmp_path / "one.mlir")
    return paths


def torq_plan(paths, on, **options):
    programs = tuple(Program(str(path), sha256_of(str(path))) for path in paths)
    return Plan(on, programs, **{"sessions": 3, "timeout": 20.0, **options})


@pytest.fixture
def board(device):
    program(device.folder / "bin/torq-run-module", RUNNER)
    program(device.folder / "bin/iree-run-module", RUNNER)
    return device


@pytest.mark.parametrize("on", ["ssh:root@board", pytest.param("adb", marks=pytest.mark.nightly)])
def test_sessions_become_a_comparison(recordings, board, modules, capsys, on):
    made = torq_plan(modules, on, method="main", arguments=("--input=1x4xf32",))
    outcome = recordings.record(made)
    assert (outcome.code, outcome.faults) == (0, ())
    assert [name for name in recordings.names() if not name.startswith(("log", "."))] == [
        "a/001.csv", "a/001.run.json", "a/003.csv", "a/003.run.json", "a/005.csv",
        "a/005.run.json", "a/one.mlir", "b/002.csv", "b/002.run.json", "b/004.csv",
        "b/004.run.json", "b/006.csv", "b/006.run.json",
    ]  # fmt: skip
    facts = json.loads((recordings.folder / "b/002.run.json").read_text())
    assert facts["inferences"] == {"asked": 1, "recorded": 2}  # the profile of a test has two
    assert facts["device"] == "Pixel 9"
    log = (recordings.folder / "log/002.txt").read_text()
    words = "--module=b.vmfb --torq_profile_host=002.csv --function=main --input=1x4xf32"
    assert f"\n{words}\n" in log
    folder = str(recordings.folder)
    code, out, _ = run(capsys, "compare", f"{folder}/a", "--with", f"{folder}/b")
    assert code == 0
    assert "A: 3 sessions" in out
    assert list((board.folder / "files").iterdir()) == []


def test_the_generation_before_is_named(recordings, board, modules):
    made = torq_plan(modules[:1], "ssh:board", sessions=1, runner="iree-run-module")
    assert recordings.record(made).faults == ()
    log = (recordings.folder / "log/001.txt").read_text()
    assert "\n--device=torq --module=a.vmfb --torq_profile_host=001.csv\n" in log


def test_a_pushed_runner_and_a_command_here(recordings, board, modules, tmp_path):
    path = program(tmp_path / "my-runner", RUNNER)
    made = torq_plan(modules[:1], "adb", sessions=1, runner=str(path))
    assert recordings.record(made).faults == ()
    on = f"run:{path} --module={{pte}} --torq_profile_host={{etdump}}"
    outcome = record(torq_plan(modules, on, sessions=1), str(tmp_path / "r"), print, lambda: False)
    assert outcome.faults == ()
    assert (tmp_path / "r/b/002.csv").exists()


def test_a_dry_run_prints_what_is_then_run(recordings, board, modules):
    made = torq_plan(modules, "ssh:root@board", sessions=1)
    planned = commands_of(made, target_of(made, str(recordings.folder)))
    assert recordings.record(made).code == 0
    ran = [call[1:] for call in board.calls()]
    assert ran[-len(planned) :] == [list(command.argv[1:]) for command in planned]


def test_profiles_of_one_boot_are_on_one_axis(recordings, board, modules):
    recordings.record(torq_plan(modules[:1], "ssh:board", sessions=2))
    space = Workspace()
    for name in ("001", "002"):
        space.open(str(recordings.folder / f"a/{name}.csv"))
    assert len(space.clocks.same_clock(space.traces[0])) == 2


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("exit 0", "no Torq host profile"),
        ("echo dispatch_name >$out", "cannot be read"),
        (
            "echo \"INVALID_ARGUMENT; flag 'torq_profile_host' not recognized\"; exit 1",
            "--torq_pro",
        ),
    ],
)
def test_a_runner_that_fails(recordings, board, modules, body, words):
    lines = (
        f"for word; do case $word in --torq_profile_host=*) out=${{word#*=}};; esac; done\n{body}"
    )
    program(board.folder / "bin/torq-run-module", f"#!/bin/sh\n{lines}\n")
    outcome = recordings.record(torq_plan(modules, "ssh:board"))
    assert outcome.code == 5
    assert words in outcome.faults[0]
    assert recordings.names()[0] == ".recording.json"
    assert list((board.folder / "files").iterdir()) == []


@pytest.mark.parametrize("on", ["ssh:board", "adb"])
def test_a_board_without_the_runner(recordings, device, modules, on):
    (fault,) = recordings.record(torq_plan(modules, on)).faults
    assert "there is no runner torq-run-module" in fault
    assert "iree-run-module" in fault


def test_what_cannot_be(modules, plan):
    for made, words in (
        (torq_plan(modules, "local"), "runs with --on ssh"),
        (torq_plan(modules, "adb", inputs="random:1"), "--inputs is of ExecuTorch"),
        (torq_plan(modules, "ssh:a", inputs="in.bin"), "--inputs is of ExecuTorch"),
        (torq_plan(modules, "ssh:a", threads=2), "--threads is of ExecuTorch"),
        (Plan("adb", (*torq_plan(modules[:1], "adb").programs, *plan("adb").programs)), "compared"),
    ):
        with pytest.raises(WrongPlan, match=words):
            target_of(made, "folder")


def test_a_session_has_one_inference(modules):
    assert torq_plan(modules, "adb").notes() == [
        "A runner of Torq runs a module once: each session has one inference."
    ]


def test_a_flag_that_is_not_known():
    fault = fault_of("the runner", Ended(1, "flag '--torq_profile_host' not recognized", 1.0))
    assert "does not know --torq_profile_host" in str(fault)
    assert fault.is_final
