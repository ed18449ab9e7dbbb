"""Whole recordings: what is in the folder, and what every fault leaves."""

import json
import os
import re
import shutil
import subprocess
import time
import tracemalloc
from datetime import datetime

import pytest

from tests.builders.fake_devices import DUMP, LISTED, SERIAL, program
from tests.paths import DATA
from viewer.recording.plan import Plan, Program, WrongPlan, sha256_of
from viewer.recording.recorder import commands_of, notes_of, summary, target_of
from viewer.recording.run_file import conditions_of

pytestmark = pytest.mark.slow

COPY = f'sh -c \'cp "{DUMP}" "$1"\' x {{etdump}} {{pte}}'


def run_json(folder, name):
    return json.loads((folder / f"{name}.run.json").read_text())


def dumps(recordings):
    return [name for name in recordings.names() if name.endswith(".etdp")]


def has_ended(process):
    """Whether a process is gone; one that nobody waited for is."""
    asked = subprocess.run(
        ["ps", "-o", "stat=", "-p", process.strip()], capture_output=True, timeout=60
    )
    return asked.stdout.strip()[:1] in (b"", b"Z")


# -- what is recorded ----------------------------------------------------------------------------


def test_sessions_of_two_programs_run_in_turn(recordings, plan):
    outcome = recordings.record(plan(f"run:{COPY}", 2, sessions=3))
    assert outcome.code == 0
    assert outcome.whole == {"a": 3, "b": 3}
    assert dumps(recordings) == [
        "a/001.etdp", "a/003.etdp", "a/005.etdp", "b/002.etdp", "b/004.etdp", "b/006.etdp",
    ]  # fmt: skip
    orders = [run_json(recordings.folder, name[:-5])["order"] for name in dumps(recordings)]
    assert orders == [1, 3, 5, 2, 4, 6]
    assert (recordings.folder / "a/001.etdp").read_bytes() == DUMP.read_bytes()
    assert {"a/one.pte", "b/two.pte", "log/001.txt", ".recording.json"} <= set(recordings.names())
    hidden = [name for name in recordings.names() if "/." in f"/{name}"]
    assert hidden == [".recording.json"]
    assert summary(outcome) == "3 + 3 sessions"


def test_what_is_not_known_is_null(recordings, plan):
    recordings.record(plan(f"run:{COPY}", sessions=1))
    facts = run_json(recordings.folder, "a/001")
    assert facts["frequency_khz"] is facts["device"] is facts["executorch"] is None
    assert set(facts["before"].values()) == {None}
    assert facts["inferences"] == {"asked": 5, "recorded": 5}
    assert facts["exit"] == 0
    assert facts["tags"] == {"arm": "a", "program": "one.pte"}
    assert re.fullmatch(r"[0-9-]{10}T[0-9:.]{12}Z", facts["started"])


def test_a_device_states_how_it_ran(recordings, plan, device):
    outcome = recordings.record(plan("adb", 2, runner=str(device.runner())))
    assert outcome.faults == ()
    facts = run_json(recordings.folder, "b/002")
    assert facts["device"] == "Pixel 9"
    assert facts["before"]["temperature_c"] == 41.2
    assert facts["before"]["battery_percent"] == 85
    assert facts["before"]["thermal_status"] == 0
    assert facts["before"]["clusters"]["policy0"]["governor"] == "schedutil"
    assert facts["frequency_khz"] == 1_800_000
    assert len(facts["sha256"]["runner"]) == 64
    assert list((device.folder / "files").iterdir()) == []  # the folder there is gone


@pytest.mark.parametrize("on", [f"adb:{SERIAL}", "ssh:me@board:2222"])
def test_a_dry_run_prints_what_is_then_run(recordings, plan, device, on):
    made = plan(on, 2, runner=str(device.runner()), environment={"A": "it's; $(b)"})
    target = target_of(made, str(recordings.folder))
    planned = [list(command.argv) for command in commands_of(made, target)]
    assert recordings.record(made).code == 0
    ran = [call[1:] for call in device.calls()]
    checks = len(ran) - len(planned)
    assert checks in (1, 2)  # whether the device, or the host, is there
    assert ran[checks:] == [argv[1:] for argv in planned]


def test_a_host_is_reached_over_ssh(recordings, plan, device):
    outcome = recordings.record(plan("ssh:me@board", runner=str(device.runner())))
    assert outcome.faults == ()
    assert outcome.whole == {"a": 2}
    for call in device.calls("ssh"):
        assert call[2:6] == ["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"]
        assert call[call.index("--") + 1] == "me@board"


def test_names_never_reach_a_shell(recordings, plan, device, tmp_path):
    """A program whose path has all that a shell reads; the remote name is Opscope's."""
    made = plan("adb", runner=str(device.runner()))
    odd = tmp_path / "-rf '; touch hit; \n$(touch hit) é"
    odd.mkdir()
    path = odd / 'it\'s "m".pte'
    shutil.copy(made.programs[0].path, path)
    one = type(made.programs[0])(str(path), made.programs[0].sha256)
    outcome = recordings.record(type(made)("adb", (one,), sessions=1, runner=made.runner))
    assert outcome.faults == ()
    (push,) = [call for call in device.calls("adb") if call[-1].endswith("/a.pte")]
    assert push[4] == str(path)
    assert not list(tmp_path.rglob("hit"))
    assert not os.path.exists("hit")
    assert 'a/it\'s "m".pte' in recordings.names()


def test_a_device_that_states_nothing_is_null(recordings, plan, device):
    """No governor, no temperature, no battery: the session is whole, and nothing is 0."""
    device.state = "grep: /sys: Permission denied\n"
    device.write()
    assert recordings.record(plan("adb", sessions=1, runner=str(device.runner()))).faults == ()
    facts = run_json(recordings.folder, "a/001")
    assert facts["frequency_khz"] is facts["frequency_of"] is None
    assert set(facts["before"].values()) | set(facts["after"].values()) == {None}


def test_a_clock_that_is_set_back_changes_no_order(recordings, plan, monkeypatch):
    """The order is a counter; the time of day of each session is earlier than the one before."""
    import viewer.recording.recorder as module

    hours = iter(range(20, 0, -1))

    class Back(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 1, 1, next(hours), tzinfo=tz)

    monkeypatch.setattr(module, "datetime", Back)
    assert recordings.record(plan(f"run:{COPY}", 2)).code == 0
    stated = [conditions_of(str(recordings.folder / name)) for name in dumps(recordings)]
    assert [each.order for each in stated] == [1, 3, 2, 4]
    assert [each.started for each in sorted(stated, key=lambda each: each.order)] == sorted(
        (each.started for each in stated), reverse=True
    )


@pytest.mark.parametrize("method", ["", "forward"])
def test_different_inputs_are_named_before_anything_runs(tmp_path, method):
    (tmp_path / "unknown.pte").write_bytes(b"no program")
    paths = [DATA / "pte/cond.pte", DATA / "pte/et_keys.pte", tmp_path / "unknown.pte"]
    cond, keys, unknown = (Program(str(path), sha256_of(str(path))) for path in paths)
    assert notes_of(Plan("adb", (cond, keys), method=method)) == [
        "A and B take different inputs: bool scalar, f32 2 × 4, and f32 2 × 4."
    ]
    custom = Program(str(DATA / "pte/custom.pte"), "")
    assert notes_of(Plan("adb", (keys, custom), method=method)) == []
    assert notes_of(Plan("adb", (keys, unknown), method=method)) == []  # nobody knows
    assert notes_of(Plan("adb", (cond, keys), method="backward")) == []


def test_a_variable_and_an_argument_are_quoted(recordings, plan, device):
    body = f'printf "%s" "$ODD $2 $3" >&2; cp "{DUMP}" "$out"'
    made = plan("adb", sessions=1, runner=str(device.runner(body)),
                environment={"ODD": "a'b $(c) \"d\""}, arguments=("--x=; echo hit",))  # fmt: skip
    assert recordings.record(made).code == 0
    log = (recordings.folder / "log/001.txt").read_text()
    assert 'a\'b $(c) "d" --etdump_path=001.etdp' in log
    assert "\nhit" not in log


# -- faults of the target ------------------------------------------------------------------------


def missing(outcome, *words):
    """The only fault, after which nothing was recorded."""
    assert outcome.code == 5
    (fault,) = outcome.faults
    assert "\n" not in fault
    for word in words:
        assert word in fault
    return fault


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ("List of devices attached\n\n", ["there is no device", "adb devices"]),
        (f"List of devices attached\n{SERIAL}\tunauthorized\n", ["accept USB debugging"]),
        (f"List of devices attached\n{SERIAL}\toffline\n", ["offline", "adb reconnect"]),
        (
            "List of devices attached\n????????????\tno permissions (user is not in the plugdev "
            "group); see [http://developer.android.com]\n",
            ["udev"],
        ),
        (f"{LISTED.rstrip()}\nemulator-5554\tdevice\n", ["2 devices", "--on adb:emulator-5554"]),
        ("List of devices attached\n\udcff\udcfe\tdevice\n", ["no plain text"]),
        ("* daemon not running\nList of devices attached\nAB12\trecovery\n", ["recovery"]),
    ],
)  # fmt: skip
def test_a_device_that_is_not_ready(recordings, plan, device, listed, words):
    device.listed = listed
    device.write()
    missing(recordings.record(plan("adb", runner=str(device.runner()))), *words)
    assert len(device.calls()) == 1


def test_the_named_device_is_used_and_no_other(recordings, plan, device):
    device.listed = f"{LISTED.rstrip()}\nemulator-5554\tdevice\n"
    device.write()
    runner = str(device.runner())
    assert recordings.record(plan("adb:emulator-5554", sessions=1, runner=runner)).code == 0
    assert {call[2] for call in device.calls() if call[1] == "-s"} == {"emulator-5554"}


def test_a_named_device_that_is_not_there(recordings, plan, device):
    outcome = recordings.record(plan("adb:OTHER", runner=str(device.runner())))
    missing(outcome, "device OTHER is not connected")


@pytest.mark.parametrize(("on", "words"), [("adb", "platform tools"), ("ssh:a", "openssh-client")])
def test_a_tool_that_is_missing(recordings, plan, monkeypatch, tmp_path, on, words):
    monkeypatch.setenv("PATH", str(tmp_path))
    missing(recordings.record(plan(on)), "there is no program", words)


def test_adb_without_a_runner(recordings, plan, device):
    missing(recordings.record(plan("adb")), "--runner", "EVENT_TRACER")


def test_a_runner_without_the_event_tracer(recordings, plan, device, tmp_path):
    runner = program(tmp_path / "plain_runner", "#!/bin/sh\n")
    outcome = recordings.record(plan("adb", runner=str(runner)))
    missing(outcome, "plain_runner has no event tracer", "-DEXECUTORCH_ENABLE_EVENT_TRACER=ON")


def test_a_runner_that_is_nowhere(recordings, plan, device):
    outcome = recordings.record(plan("ssh:board", runner="/no/such_runner"))
    missing(outcome, "no runner /no/such_runner, here or there")


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("Host key verification failed.\n", "compare it"),
        ("me@board: Permission denied (publickey,password).\n", "ssh-copy-id"),
        ("ssh: Could not resolve hostname board: Name or service not known\n", "no host board"),
        ("ssh: connect to host board port 22: Connection refused\n", "does not answer"),
    ],
)
def test_a_host_that_refuses(recordings, plan, device, output, words):
    device.fail("opscope-ready", output, 255)
    missing(recordings.record(plan("ssh:board", runner=str(device.runner()))), words)


def test_a_python_without_executorch(recordings, plan, tmp_path):
    python = program(
        tmp_path / "python", "#!/bin/sh\necho \"No module named 'executorch'\"\nexit 1\n"
    )
    missing(recordings.record(plan(f"local:{python}")), "no executorch", "pip install executorch")


def test_a_python_that_is_missing(recordings, plan):
    missing(recordings.record(plan("local:/no/python")), "no program /no/python", "local:PYTHON")


def test_an_executorch_without_the_event_tracer(recordings, plan, tmp_path):
    python = program(tmp_path / "python", "#!/bin/sh\necho opscope-version 1.0.1 True\n")
    missing(recordings.record(plan(f"local:{python}")), "1.0.1 has no event tracer", ">=1.5")


# -- faults of sessions --------------------------------------------------------------------------

RUNNERS = [
    ("echo \"ERROR: unknown command line flag 'etdump_path'\"; exit 1", "no event tracer"),
    ("echo 'Backend XnnpackBackend is not registered.'; exit 134", "no backend XnnpackBackend"),
    ("echo 'Missing operator: [2] aten::add.out'; exit 0", "aten::add.out"),  # an old adb
    ("exit 0", "no ETDump"),
    (f'head -c 3000 "{DUMP}" >$out', "cannot be read"),
    ("kill -SEGV $$", "SIGSEGV"),
    ("echo oh no; exit 7", "exit code 7: oh no"),
]
# Other words for what is above.
MORE_RUNNERS = [
    ("echo \"ERROR: unknown command line flag 'cpu_threads'\"; exit 1", "--cpu_threads"),
    ("echo 'Missing operator: [2] llama::custom_sdpa.out'; exit 1", "llama::custom_sdpa.out"),
    ("echo 'Loading of method forward failed with status 0x20'; exit 134", "backend"),
    ("echo 'Loading of method forward failed with status 0x2'; exit 134", ".ptd"),
    ("echo 'Program::load failed with status 0x23'; exit 134", "export it again"),
    ("echo 'error while loading shared libraries: libQnnHtp.so: cannot open'; exit 127", "--push"),
    ("echo './runner: Exec format error'; exit 126", "another processor"),
    ("echo 'write failed: No space left on device'; exit 1", "disk is full"),
    ("printf x >$out", "cannot be read"),
    (": >$out", "cannot be read: the file is empty"),
    ("kill -9 $$", "SIGKILL"),
]


@pytest.mark.parametrize(
    ("body", "words"),
    [*RUNNERS, *(pytest.param(*each, marks=pytest.mark.nightly) for each in MORE_RUNNERS)],
)
def test_a_runner_that_fails(recordings, plan, device, body, words):
    outcome = recordings.record(plan("adb", 2, sessions=7, runner=str(device.runner(body))))
    assert outcome.code == 5
    assert words in outcome.faults[0]
    assert len(outcome.faults) <= 2  # not 14
    assert dumps(recordings) == []
    assert list((device.folder / "files").iterdir()) == []


def test_a_hang_ends_at_its_deadline(recordings, plan, device):
    body = 'case $out in 001*) echo $$ >"$FAKE_DEVICE/alive"; exec sleep 100;; esac; ' \
           f'cp "{DUMP}" "$out"'  # fmt: skip
    start = time.monotonic()
    outcome = recordings.record(plan("adb", timeout=2, runner=str(device.runner(body))))
    assert time.monotonic() - start < 20
    assert "no end after" in outcome.faults[0]
    assert outcome.code == 0  # the session was repeated
    assert dumps(recordings) == ["a/002.etdp", "a/003.etdp"]
    assert has_ended((device.folder / "alive").read_text())


@pytest.mark.parametrize("where", ["there", "here"])
def test_a_profile_of_last_time_is_not_taken(recordings, plan, device, where):
    """Opscope was killed in a recording of the same programs; then the runner writes nothing."""
    made = plan("adb", runner=str(device.runner("exit 0")))
    target = target_of(made, str(recordings.folder))
    folder = device.folder / "files" / os.path.basename(target.folder)
    if where == "here":
        folder = recordings.folder / ".incoming"
    folder.mkdir(parents=True)
    for number in (1, 2):
        shutil.copy(DUMP, folder / f"{number:03d}.etdp")
    outcome = recordings.record(made)
    assert outcome.code == 5
    assert all("no ETDump" in fault for fault in outcome.faults)


def test_output_without_end_ends_at_its_deadline(recordings, plan):
    outcome = recordings.record(plan("run:yes {etdump}", sessions=1, timeout=0.5))
    assert outcome.code == 5
    assert "no end after" in outcome.faults[0]
    assert os.path.getsize(recordings.folder / "log/001.txt") < 5 << 20


@pytest.mark.nightly
def test_a_gigabyte_of_output_is_bounded(recordings, plan):
    command = f'sh -c \'yes {"x" * 4000} | head -c 1000000000; cp "{DUMP}" "$1"\' x {{etdump}}'
    tracemalloc.start()
    try:
        assert recordings.record(plan(f"run:{command}", sessions=1, timeout=120.0)).code == 0
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    log = recordings.folder / "log/001.txt"
    assert os.path.getsize(log) < 5 << 20
    assert "bytes left out" in log.read_text()


def test_output_without_end_is_bounded(recordings, plan):
    command = f'sh -c \'yes {"x" * 70} | head -c 30000000; cp "{DUMP}" "$1"\' x {{etdump}}'
    assert recordings.record(plan(f"run:{command}", sessions=1)).code == 0
    assert os.path.getsize(recordings.folder / "log/001.txt") < 5 << 20


@pytest.mark.parametrize("step", ["push", "./runner", "pull"])
def test_a_device_that_drops_once(recordings, plan, device, step):
    device.fail(step, f"adb: device '{SERIAL}' not found\n", 1, (1, 1))
    outcome = recordings.record(plan("adb", 2, runner=str(device.runner())))
    assert outcome.code == 0
    assert any(call[3] == "wait-for-device" for call in device.calls() if len(call) > 3)
    (fault,) = outcome.faults
    assert "check the cable" in fault
    if step == "push":  # no session began
        assert dumps(recordings) == ["a/001.etdp", "a/003.etdp", "b/002.etdp", "b/004.etdp"]
        return
    assert "session 1 (A)" in fault
    assert dumps(recordings) == ["a/002.etdp", "a/004.etdp", "b/003.etdp", "b/005.etdp"]


@pytest.mark.parametrize(
    "step", ["push", *(pytest.param(x, marks=pytest.mark.nightly) for x in ("./runner", "pull"))]
)
def test_a_device_that_does_not_come_back(recordings, plan, device, step):
    device.fail(step, f"adb: device '{SERIAL}' not found\n", 1)
    outcome = recordings.record(plan("adb", 2, sessions=7, runner=str(device.runner())))
    assert outcome.code == 5
    assert len(outcome.faults) == 2  # not 14
    assert all("check the cable" in fault for fault in outcome.faults)


def test_a_copy_that_is_cut(recordings, plan, device):
    runner = device.runner()
    device.truncates = True
    device.write()
    body = runner.read_text()
    assert body.endswith('"$out"\n')
    outcome = recordings.record(plan("adb", runner=str(runner)))
    assert outcome.code == 5
    assert dumps(recordings) == []


def test_a_folder_there_that_stays_is_named(recordings, plan, device):
    device.fail("shell rm -rf /data/local/tmp/opscope-", "closed", 1, (2, 99))
    outcome = recordings.record(plan("adb", sessions=1, runner=str(device.runner())))
    assert outcome.code == 0
    assert "rm -rf /data/local/tmp/opscope-" in outcome.faults[-1]


def test_a_program_that_changes_ends_the_recording(recordings, plan, tmp_path):
    made = plan(f"run:{COPY}", sessions=3)
    path = tmp_path / "one.pte"
    recordings.is_stopped = lambda: False
    says = recordings.said

    class Changing(list):
        def append(self, one):
            says.append(one)
            if "Session 1 is whole" in one.text:
                path.write_bytes(b"rebuilt")

    recordings.said = Changing()
    outcome = recordings.record(made)
    assert outcome.code == 1
    assert "a program changed" in outcome.faults[0]


def test_a_full_disk_here_keeps_whole_sessions(recordings, plan, monkeypatch):
    import viewer.recording.plan as module

    real, count = module._copy, []

    def full(source, target):
        if target.endswith(".etdp"):
            count.append(target)
            if len(count) == 2:
                raise OSError(28, "No space left on device", target)
        real(source, target)

    monkeypatch.setattr(module, "_copy", full)
    outcome = recordings.record(plan(f"run:{COPY}", sessions=3))
    assert outcome.code == 1
    assert "No space left" in outcome.faults[0]
    assert dumps(recordings) == ["a/001.etdp"]
    monkeypatch.undo()
    again = recordings.record(plan(f"run:{COPY}", sessions=3), resume=True)
    assert again.code == 0
    assert dumps(recordings) == ["a/001.etdp", "a/003.etdp", "a/004.etdp"]


# -- stopping and going on -----------------------------------------------------------------------


def test_a_stop_keeps_whole_sessions_and_resume_goes_on_in_turn(recordings, plan):
    made = plan(f"run:{COPY}", 2, sessions=3)
    recordings.is_stopped = lambda: "Session 3 is whole" in recordings.texts
    outcome = recordings.record(made)
    assert outcome.is_stopped
    assert outcome.code == 1
    assert dumps(recordings) == ["a/001.etdp", "a/003.etdp", "b/002.etdp"]
    assert not (recordings.folder / ".incoming").exists()
    recordings.is_stopped = lambda: False
    assert recordings.record(made, resume=True).code == 0
    assert len(dumps(recordings)) == 6
    assert "b/004.etdp" in dumps(recordings)  # the turn of B
    ids = {run_json(recordings.folder, name[:-5])["recording"] for name in dumps(recordings)}
    assert len(ids) == 1


def test_a_stop_ends_what_runs(recordings, plan, tmp_path):
    file = tmp_path / "alive"
    command = f"sh -c 'echo $$ >{file}; sleep 100' {{etdump}}"
    recordings.is_stopped = file.exists
    outcome = recordings.record(plan(f"run:{command}"))
    assert outcome.code == 5
    assert outcome.is_stopped
    assert outcome.faults == ()
    assert has_ended(file.read_text())


def test_a_stop_before_the_first_session_is_no_fault(recordings, plan, device):
    recordings.is_stopped = lambda: True
    outcome = recordings.record(plan("adb", runner=str(device.runner())))
    assert (outcome.code, outcome.is_stopped, outcome.faults) == (5, True, ())


def test_another_plan_is_not_mixed_in(recordings, plan):
    assert recordings.record(plan("run:false {etdump}")).code == 5  # no session: no matter
    recordings.record(plan(f"run:{COPY}"))
    missing(recordings.record(plan(f"run:{COPY}")), "--resume")
    other = plan(f"run:{COPY}", inferences=7)
    missing(recordings.record(other, resume=True), "other inferences")
    assert recordings.record(plan(f"run:{COPY}", sessions=3), resume=True).code == 0  # one more
    assert len(dumps(recordings)) == 3


# -- plans that cannot be ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on", "words"),
    [
        ("phone", "is no target"),
        ("ssh:", "is no target"),
        ("ssh:-oProxyCommand=x", "is no host"),
        ("ssh:a b", "is no host"),
        ("ssh:-oX@b", "is no host"),
        ("adb:-s", "is no serial"),
        ("run:echo", "{pte} {etdump}"),
        ("run:echo 'a {etdump}", "No closing quotation"),
    ],
)
def test_a_target_that_cannot_be(plan, on, words):
    with pytest.raises(WrongPlan, match=re.escape(words)):
        target_of(plan(on), "folder")


def test_a_pushed_name_is_simple(plan, tmp_path):
    with pytest.raises(WrongPlan, match="rename it"):
        target_of(plan("ssh:a", push=(str(tmp_path / "a;b"),)), "folder")


def test_what_is_copied_is_of_devices(plan):
    with pytest.raises(WrongPlan, match="--push is of adb and ssh"):
        target_of(plan("local", push=("x",)), "folder")
