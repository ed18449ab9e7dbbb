"""The script of a local session, with a stand-in for ExecuTorch's wheel and with the wheel."""

import importlib.util
import json
import sys

import pytest

from tests.builders.fake_devices import DUMP
from tests.paths import DATA
from viewer.recording.plan import Plan, Program, sha256_of
from viewer.recording.run_file import MOST_BRACKETS

pytestmark = pytest.mark.slow

# As much of the extension module as a session uses. STUB: what is wrong with it.
EXTENSION = f"""
import os, shutil
WRONG = os.environ.get("STUB", "")

class Tensor:
    def dtype(self): return 99 if WRONG == "dtype" else 6
    def sizes(self): return [1, 3]
    def nbytes(self): return 12

class Method:
    def num_inputs(self): return 2
    def input_tensor_meta(self, number):
        if number: raise RuntimeError("not a tensor")
        return Tensor()

class Module:
    def has_etdump(self): return WRONG != "tracer"
    def method_names(self): return ["decode", "forward"]
    def method_meta(self, name): return Method()
    def run_method(self, name, inputs, clone_outputs=True):
        print("ran", name, inputs)
        if WRONG == "kernel": raise RuntimeError("Failed to execute method forward, error: 0x14")
    def write_etdump_result_to_file(self, path): shutil.copy({str(DUMP)!r}, path)

def _load_for_executorch(path, enable_etdump): return Module()
def _load_bundled_program_from_buffer(data): return len(data)
def _load_for_executorch_from_bundled_program(bundle, enable_etdump):
    print("bundle of", bundle)
    return Module()
def _unsafe_reset_threadpool(count): print("threads", count)
"""
TORCH = """
class _Type:
    is_floating_point = True
float32 = _Type()

class _Tensor(str):
    def to(self, dtype): return self
    def reshape(self, sizes): return self

def ones(sizes, dtype): return _Tensor(f"ones{sizes}")
def randn(sizes): return _Tensor(f"random{sizes}")
def manual_seed(seed): print("seed", seed)
def frombuffer(data, dtype): return _Tensor(bytes(data).hex())
"""


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A folder with the stand-in, which the Python of the tests imports from."""
    site = tmp_path / "site"
    package = site / "executorch/extension/pybindings"
    package.mkdir(parents=True)
    (package / "_C.py").write_text(EXTENSION)
    (site / "torch.py").write_text(TORCH)
    (site / "executorch-1.5.1.dist-info").mkdir()
    (site / "executorch-1.5.1.dist-info/METADATA").write_text("Name: executorch\nVersion: 1.5.1\n")
    monkeypatch.setenv("PYTHONPATH", str(site))
    return site


@pytest.fixture
def local(plan, wheel):
    return lambda count=1, **options: plan(f"local:{sys.executable}", count, **options)


def log(recordings, number=1):
    return (recordings.folder / f"log/{number:03d}.txt").read_text()


def test_a_local_session_brackets_its_inferences(recordings, local):
    outcome = recordings.record(local(2, sessions=1))
    assert outcome.faults == ()
    facts = json.loads((recordings.folder / "b/002.run.json").read_text())
    assert facts["executorch"] == "1.5.1"
    brackets = facts["host_monotonic_ns"]
    assert len(brackets) == 5
    times = [time for bracket in brackets for time in bracket]
    assert times == sorted(times)
    first, last = facts["command_monotonic_ns"]
    assert first <= times[0] <= times[-1] <= last
    assert facts["before"]["load"] is not None  # of this machine
    assert log(recordings).count("ran forward ['ones(1, 3)', 1]") == 5


def test_many_inferences_have_no_endless_line(recordings, local):
    recordings.record(local(sessions=1, inferences=2000))
    facts = json.loads((recordings.folder / "a/001.run.json").read_text())
    assert facts["executorch"] == "1.5.1"
    assert len(facts["host_monotonic_ns"]) == MOST_BRACKETS
    assert (recordings.folder / "a/001.run.json").stat().st_size < 65_536


def test_method_threads_and_inputs_arrive(recordings, local, tmp_path):
    path = tmp_path / "in.bin"
    path.write_bytes(bytes(12))
    recordings.record(local(sessions=1, method="forward", threads=3, inputs="random:7"))
    assert "threads 3" in log(recordings)
    assert "seed 7" in log(recordings)
    assert "ran forward ['random(1, 3)', 1]" in log(recordings)
    recordings.folder = recordings.folder.with_name("files")
    recordings.record(local(sessions=1, inputs=str(path)))
    assert f"ran forward ['{'00' * 12}', 1]" in log(recordings)


def test_a_bundled_program_is_loaded_as_one(recordings, local):
    made = local(sessions=1)
    path = str(DATA / "pte/same.bpte")
    bundle = Plan(made.on, (Program(path, sha256_of(path)),), 1, 5)
    assert recordings.record(bundle).faults == ()
    assert "bundle of" in log(recordings)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("tracer", "no event tracer; install the wheel 1.5 or newer"),
        ("kernel", "no kernel for an operator (0x14)"),
        ("dtype", "unknown data type, number 99"),
    ],
)
def test_what_is_wrong_with_the_runtime_ends_the_recording(recordings, local, wrong, words):
    outcome = recordings.record(local(2, sessions=7, environment={"STUB": wrong}))
    (fault,) = outcome.faults
    assert words in fault
    assert outcome.code == 5


def test_inputs_of_another_size_are_named(recordings, local, tmp_path):
    (tmp_path / "in.bin").write_bytes(b"123")
    (fault,) = recordings.record(local(inputs=str(tmp_path / "in.bin"))).faults
    assert "in.bin has 3 bytes; input 0 12" in fault


def test_a_method_that_the_program_does_not_have(recordings, local):
    (fault,) = recordings.record(local(method="backward")).faults
    assert "one.pte has no method backward: name one: forward" in fault


def test_a_python_without_torch(recordings, local, wheel):
    (wheel / "torch.py").unlink()
    (fault,) = recordings.record(local()).faults
    assert "no torch" in fault
    assert "pip install torch" in fault


@pytest.mark.skipif(
    importlib.util.find_spec("executorch") is None, reason="the extra `peers` is not installed"
)
def test_the_wheel_itself(recordings, plan):
    outcome = recordings.record(plan(f"local:{sys.executable}", 2, sessions=1))
    assert outcome.faults == ()
    assert outcome.whole == {"a": 1, "b": 1}
