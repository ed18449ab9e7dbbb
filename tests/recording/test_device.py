"""The real `ssh` against a server on loopback: exit codes, bytes, keys, and what is left there."""

import asyncio
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from tests.builders.fake_devices import DUMP, FakeDevice, program
from viewer.recording.process import run_command
from viewer.recording.recorder import target_of

asyncssh = pytest.importorskip("asyncssh")
SSH = shutil.which("ssh")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(SSH is None, reason="ssh is not installed"),
]
USER = "me"


class _Server(asyncssh.SSHServer):
    """Lets one user in with any key."""

    def begin_auth(self, username):
        return True

    def public_key_auth_supported(self):
        return True

    def validate_public_key(self, username, key):
        return username == USER


async def _answer(process):
    """Run a command in a shell, with the input of the client."""
    data = await process.stdin.read()
    pipe = asyncio.subprocess.PIPE
    shell = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", process.command, stdin=pipe, stdout=pipe, stderr=pipe
    )
    out, err = await shell.communicate(data)
    process.stdout.write(out)
    process.stderr.write(err)
    process.exit(shell.returncode if shell.returncode >= 0 else 128 - shell.returncode)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Its port, and a folder with a key of the user, its key, and the configuration of a client."""
    folder = tmp_path_factory.mktemp("ssh")
    ready, end, state = threading.Event(), threading.Event(), {}
    key = asyncssh.generate_private_key("ssh-ed25519")
    own = asyncssh.generate_private_key("ssh-ed25519")
    own.write_private_key(str(folder / "id"))
    (folder / "id").chmod(0o600)

    async def serve():
        listener = await asyncssh.create_server(
            _Server, "127.0.0.1", 0, server_host_keys=[key], process_factory=_answer, encoding=None
        )
        state["port"] = listener.get_port()
        ready.set()
        while not end.is_set():
            await asyncio.sleep(0.05)
        listener.close()
        await listener.wait_closed()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    known = key.export_public_key().decode().strip()
    (folder / "known").write_text(f"[127.0.0.1]:{state['port']} {known}\n")
    yield state["port"], folder
    end.set()
    thread.join(30)


@pytest.fixture
def host(server, tmp_path, monkeypatch):
    """The target of the server, for a client with its key and without any other settings."""
    port, folder = server
    config = tmp_path / "config"
    config.write_text(
        f"IdentityFile {folder}/id\nIdentitiesOnly yes\nUserKnownHostsFile {folder}/known\n"
    )
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin/ssh", f'#!/bin/sh\nexec {SSH} -F {config} "$@"\n')
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    return f"ssh:{USER}@127.0.0.1:{port}"


def left():
    return {path.name for path in Path("/tmp").glob("opscope-????????????")}


def test_sessions_over_ssh(host, plan, recordings, tmp_path):
    before = left()
    runner = FakeDevice(tmp_path, {}).runner()
    made = plan(host, 2, runner=str(runner), environment={"A": "it's; $(b)\n"})
    outcome = recordings.record(made)
    assert outcome.faults == ()
    assert outcome.whole == {"a": 2, "b": 2}
    assert (recordings.folder / "a/001.etdp").read_bytes() == DUMP.read_bytes()
    assert left() == before


def test_eight_megabytes_arrive_whole_and_codes_come_back(host, plan, tmp_path):
    target = target_of(plan(host), str(tmp_path / "r"))
    data = os.urandom(8 << 20)
    (tmp_path / "large").write_bytes(data)
    target.folder, target.incoming = str(tmp_path / "there"), str(tmp_path)
    (tmp_path / "there").mkdir()

    def run(command):
        return run_command(command, lambda: False)

    assert run(target.push(str(tmp_path / "large"), "x.etdp")).is_good
    assert (tmp_path / "there/x.etdp").read_bytes() == data
    assert run(target.fetch("x.etdp")).is_good
    assert (tmp_path / "x.etdp").read_bytes() == data
    assert run(target.shell("exit 7")).code == 7
    assert not run(target.fetch("none.etdp")).is_good


def test_an_unknown_host_and_user_are_refused(host, plan, recordings, server, tmp_path):
    runner = str(FakeDevice(tmp_path, {}).runner())
    stranger = host.replace(f"{USER}@", "you@")
    (fault,) = recordings.record(plan(stranger, runner=runner)).faults
    assert "ssh-copy-id" in fault
    config = tmp_path / "config"
    config.write_text(config.read_text().replace("known", "unknown"))
    (fault,) = recordings.record(plan(host, runner=runner)).faults
    assert "key of the host is not known" in fault


def test_a_hang_there_is_ended_there(host, plan, recordings, tmp_path):
    before, alive = left(), tmp_path / "alive"
    runner = FakeDevice(tmp_path, {}).runner(f"echo $$ >{alive}; exec sleep 100")
    outcome = recordings.record(plan(host, runner=str(runner), timeout=1.0))
    assert "no end after" in outcome.faults[0]
    command = ["ps", "-o", "stat=", "-p", alive.read_text().strip()]
    asked = subprocess.run(command, capture_output=True, timeout=60)
    assert asked.stdout.strip()[:1] in (b"", b"Z")
    assert left() == before
