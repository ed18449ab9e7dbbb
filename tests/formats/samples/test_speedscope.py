"""Profiles of one speedscope file in several units: those with times are shown."""

import itertools
import json

import pytest

from viewer.formats import open_file

NS = {"nanoseconds": 1, "microseconds": 10**3, "milliseconds": 10**6, "seconds": 10**9}


@pytest.mark.parametrize(
    "units", list(itertools.permutations(["bytes", "seconds", "milliseconds"]))
)
def test_times_are_preferred_wherever_they_are(units, tmp_path):
    path = tmp_path / "a.speedscope.json"
    profiles = [
        {"type": "sampled", "name": unit, "unit": unit, "startValue": 0, "endValue": 3,
         "samples": [[0]], "weights": [3]}
        for unit in units
    ]  # fmt: skip
    path.write_text(json.dumps({"shared": {"frames": [{"name": "a"}]}, "profiles": profiles}))
    trace = open_file(str(path))
    s = trace.slices
    found = {trace.tracks[s.track(i)].thread: int(s.end[i] - s.start[i]) for i in range(len(s))}
    assert found == {unit: 3 * NS[unit] for unit in units if unit in NS}
    assert [problem.count for problem in trace.problems] == [1]
    assert not trace.clock.assumed
