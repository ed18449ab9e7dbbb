"""A trace of the whole device beside each session: it opens on the axis of the session's dump."""

import json
import os
import shlex

import pytest
from google.protobuf import text_format
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.builders.android_traces import APP, RENDER, AndroidTrace
from tests.builders.command_line import run
from tests.builders.fake_devices import DUMP, processes_of
from viewer.fleet.sources import find_profiles
from viewer.formats import open_file
from viewer.gui.session.clocks import separate_obstacle, shared_clocks
from viewer.gui.session.session import Session
from viewer.recording.plan import WrongPlan
from viewer.recording.recorder import commands_of, target_of
from viewer.recording.telemetry import config
from viewer.workspace.workspace import Workspace

STARTED, SLEPT, LOGGED = 77_000_000_000_000, 3_000_000_000, 8_000

pytestmark = pytest.mark.slow


@pytest.fixture
def traced(device):
    """The device while it runs the dump of its runner: its log, and what Perfetto sees."""
    runs = list(open_file(str(DUMP)).inferences())
    lines = []
    for number, inference in enumerate(runs, 1):
        seconds, ns = divmod(STARTED + inference.end + LOGGED, 10**9)
        lines.append(
            f"{seconds}.{ns // 1000:06}  77  77 I ExecuTorch: Iteration {number} of 5: 1.2 ms"
        )
    (device.folder / "log.txt").write_text("\n".join(["--------- beginning of main", *lines]))
    android = AndroidTrace()
    base = STARTED + SLEPT
    android.snapshot(base, STARTED)
    android.switches((base + runs[0].start, APP, 1, RENDER), (base + runs[-1].end, RENDER, 1, APP))
    (device.folder / "system.pftrace").write_bytes(android.trace.SerializeToString())
    return device


def traced_plan(plan, device, count=1, **options):
    runner = options.pop("runner", None) or device.runner()
    return plan("adb", count, runner=str(runner), alongside="perfetto", **options)


def left_there(device):
    """What is left on the device: files, and processes."""
    return [*map(str, (device.folder / "files").iterdir()), *processes_of(device)]


def test_the_configuration_is_one_of_perfetto():
    made = text_format.Parse(config(120), pb.TraceConfig())
    assert made.duration_ms == 180_000
    assert [source.config.name for source in made.data_sources] == [
        "linux.ftrace", "linux.process_stats", "android.power",
    ]  # fmt: skip
    assert not made.write_into_file  # two would write one file
    assert "\n" not in config(1.5)


def test_a_session_and_its_device_open_on_one_axis(recordings, plan, traced):
    outcome = recordings.record(traced_plan(plan, traced, 2, sessions=1))
    assert (outcome.code, outcome.faults) == (0, ())
    folder = recordings.folder
    assert sorted(path.name for path in (folder / "system").iterdir()) == [
        "001.pftrace", "002.pftrace",
    ]  # fmt: skip
    facts = json.loads((folder / "b/002.run.json").read_text())
    size = (folder / "system/002.pftrace").stat().st_size
    assert facts["system_trace"] == {"name": "002.pftrace", "bytes": size}
    assert left_there(traced) == []
    assert outcome.together == (
        str(folder.absolute() / "b/002.etdp"), str(folder.absolute() / "system/002.pftrace"),
    )  # fmt: skip
    profiles = find_profiles([str(folder)]).profiles  # of a fleet: sessions alone
    assert sorted(os.path.basename(each.file.path) for each in profiles) == [
        "001.etdp", "002.etdp",
    ]  # fmt: skip
    space = Workspace()
    dump, system = (space.open(path) for path in outcome.together)
    place = space.clocks.place(dump)
    assert place.reason.startswith("recorded together: MONOTONIC ±")
    (zero,) = dump.clock.zeros
    assert abs(zero.ns - STARTED) <= zero.error_ns < 100_000
    starts = [
        trace.start + space.clocks.offset_ns(trace)
        for trace in space.traces
        if trace.path in (dump.path, system.path)
    ]
    first = next(iter(dump.inferences())).start
    assert abs(starts[0] + first - dump.start - starts[1]) <= zero.error_ns


def test_the_window_says_why_they_are_on_one_axis(recordings, plan, traced, qapp):
    outcome = recordings.record(traced_plan(plan, traced, sessions=1))
    session = Session()
    session.add([open_file(path) for path in outcome.together])
    assert len(session.groups) == 1
    (why,) = {note.partition(" · ")[2] for note in shared_clocks(session) if note}
    assert why.startswith("recorded together: MONOTONIC ±")
    assert separate_obstacle(session) == ("The files of this clock were not put on one axis by you")


def test_the_command_prints_what_to_open(plan, traced, tmp_path, capsys):
    program = plan("adb").programs[0].path
    options = ("--on", "adb", "--runner", str(traced.runner()), "--sessions", "1")
    folder = str(tmp_path / "my r")
    code, out, _ = run(capsys, "record", program, *options, "-o", folder,
                       "--alongside", "perfetto")  # fmt: skip
    assert code == 0
    paths = f"'{folder}/a/001.etdp' '{folder}/system/001.pftrace'"
    assert f"one axis for a session and the device: opscope {paths}\n" in out
    code, out, _ = run(capsys, "info", *shlex.split(paths), "--json")
    assert code == 0
    clocks = [file["clock"] for file in json.loads(out)["files"]]
    assert clocks[0]["shared"] == clocks[1]["shared"] != ""
    assert abs(clocks[0]["zeros"]["MONOTONIC"] - STARTED) <= clocks[0]["zero_errors"]["MONOTONIC"]


def test_a_dry_run_prints_what_is_then_run(recordings, plan, traced):
    made = traced_plan(plan, traced, sessions=1)
    planned = commands_of(made, target_of(made, str(recordings.folder)))
    assert all("\n" not in command.text for command in planned)
    assert recordings.record(made).code == 0
    ran = [call[1:] for call in traced.calls()]
    words = [list(command.argv[1:]) for command in planned]
    assert [line[-1] for line in ran[2 : 2 + len(words)]] == [line[-1] for line in words]


def test_a_runner_that_logs_nothing_is_said_to_be_on_another_axis(recordings, plan, traced):
    (traced.folder / "log.txt").unlink()
    outcome = recordings.record(traced_plan(plan, traced, sessions=1))
    assert outcome.code == 0
    (fault,) = outcome.faults
    assert "session 1 (A): its system trace is on an axis of its own" in fault
    assert (
        json.loads((recordings.folder / "a/001.run.json").read_text())["host_monotonic_ns"] is None
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [("--background-wait", "perfetto: exit code 1: no ftrace"), ("pull /data/misc", "no ftrace")],
)
def test_sessions_stay_whole_without_their_trace(recordings, plan, traced, text, words):
    traced.fail(text, "no ftrace", 1)
    outcome = recordings.record(traced_plan(plan, traced, sessions=1))
    assert (outcome.code, outcome.whole) == (0, {"a": 1})
    assert "there is no system trace" in outcome.faults[0]
    assert words in outcome.faults[0]
    assert left_there(traced) == []
    assert outcome.together == ()


@pytest.mark.parametrize("body", ["exit 7", "echo 'failed with status 0x23'; exit 134"])
def test_a_session_that_fails_leaves_no_perfetto(recordings, plan, traced, body):
    outcome = recordings.record(traced_plan(plan, traced, runner=traced.runner(body)))
    assert outcome.code == 5
    assert left_there(traced) == []


def test_a_stop_leaves_no_perfetto(recordings, plan, traced):
    body = 'echo $$ >"$FAKE_DEVICE/alive"; sleep 100'
    recordings.is_stopped = (traced.folder / "alive").exists
    outcome = recordings.record(traced_plan(plan, traced, runner=traced.runner(body)))
    assert outcome.is_stopped
    assert left_there(traced) == []


def test_what_is_kept_there_has_no_perfetto(recordings, plan, traced):
    made = traced_plan(plan, traced, keep=True, runner=traced.runner("exit 7"))
    assert recordings.record(made).code == 5
    (folder,) = left_there(traced)
    assert folder.startswith(f"{traced.folder}/files/opscope-")


def test_a_device_without_perfetto(recordings, plan, traced):
    traced.fail("command -v perfetto", "", 127)
    (fault,) = recordings.record(traced_plan(plan, traced)).faults
    assert "the device has no perfetto" in fault


@pytest.mark.parametrize("on", ["local", "ssh:a", "run:x {etdump}"])
def test_it_is_of_android(plan, on):
    with pytest.raises(WrongPlan, match="of adb"):
        target_of(plan(on, alongside="perfetto"), "folder")
