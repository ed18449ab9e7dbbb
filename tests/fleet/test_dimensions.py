"""Device, build, model and tags, and what is wrong with them."""

import json
import re

import pytest

from viewer.fleet.sources import (
    MOST_BYTES,
    PathPattern,
    WrongDimensions,
    dimensions_of,
    from_sidecar,
    read_labels,
)


def test_later_sources_win_value_by_value(tmp_path):
    sidecar = tmp_path / "run.json"
    sidecar.write_text('{"device": "d1", "build": 7, "model": "m", "tags": {"os": "14", "t": 3.5}}')
    pattern = PathPattern("{device}/{lab}/{name}.etdp")
    found = dimensions_of("x/d2/berlin/a.etdp", str(sidecar), pattern, {"model": "m3", "os": "15"})
    assert (found.device, found.build, found.model) == ("d2", "7", "m3")
    assert found.tags == {"os": "15", "t": "3.5", "lab": "berlin"}
    assert found.problems == ()


def test_a_path_that_does_not_match_is_a_problem():
    pattern = PathPattern("{device}/{build}/{name}.etdp")
    found = dimensions_of("a.etdp", None, pattern, None)
    assert (found.device, len(found.problems)) == (None, 1)
    assert pattern.values("d/b/x.y.etdp") == {"device": "d", "build": "b"}
    assert pattern.values("d/b/x.etdp/more") is None


@pytest.mark.parametrize("text", ["", "{name}.etdp", "{device}/{device}", "no fields"])
def test_a_wrong_pattern_is_usage(text):
    with pytest.raises(WrongDimensions, match="name different fields"):
        PathPattern(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "larger than|not JSON"),
        ("[" * 60_000, "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"device": {"a": 1}, "tags": []}', "tags are not an object"),
        ('{"device": ["a"]}', "not a text or number"),
        ('{"device": true}', "not a text or number"),
        (json.dumps({"device": "x" * 300}), "longer than 256"),
        (json.dumps({"tags": {str(i): "x" for i in range(100)}}), "more than 64 tags"),
        (" " * MOST_BYTES + "{}", "larger than 64 KiB"),
        ("\xff\xfe", "not JSON"),
    ],
)
def test_a_hostile_sidecar_is_a_problem_and_no_failure(tmp_path, text, problem):
    path = tmp_path / "run.json"
    path.write_bytes(text.encode("latin-1"))
    values, problems = from_sidecar(str(path))
    assert "device" not in values
    assert any(re.search(problem, kind) for kind, _ in problems)


def test_lone_surrogates_become_storable(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"device": "a\\ud800"}')
    assert from_sidecar(str(path))[0] == {"device": "a?"}


def test_labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("file,device,lab\na.etdp,d1,\nx/b.etdp,d2,berlin,too,long\n")
    assert read_labels(str(path)) == {
        "a.etdp": {"device": "d1"},
        "x/b.etdp": {"device": "d2", "lab": "berlin"},
    }
    path.write_text("name,device\na,b\n")
    with pytest.raises(WrongDimensions, match='needs the column "file"'):
        read_labels(str(path))
    with pytest.raises(WrongDimensions, match="cannot be read"):
        read_labels(str(tmp_path / "missing.csv"))
