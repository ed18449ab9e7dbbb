"""Files with the noise of a device: written, read back, and refused."""

import json

import pytest

from viewer.analysis.comparison.noise import Noise
from viewer.codecs.reading import UnreadableFile
from viewer.reports.noise_files import noise_facts, read_noise

NOISE = Noise(7, 0.06, {"convolution": 0.02})


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "noise.json"
    facts = noise_facts(NOISE, [str(tmp_path)])
    path.write_text(json.dumps(facts))
    assert read_noise(str(path)) == NOISE
    (date,) = facts["dates"]
    assert len(date) == len("2026-11-24")


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "1e999",
        json.dumps(noise_facts(NOISE, []) | {"schema": "opscope-noise/9"}),
        json.dumps(noise_facts(NOISE, []) | {"sessions": 1}),
        json.dumps(noise_facts(NOISE, []) | {"types": {"a": -1.0}}),
        json.dumps(noise_facts(NOISE, []) | {"types": {"a": "x"}}),
    ],
)  # fmt: skip
def test_other_files_are_refused_with_what_to_do(tmp_path, text):
    path = tmp_path / "noise.json"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=r"not the noise of a device.*compare --null"):
        read_noise(str(path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UnreadableFile, match="No such file"):
        read_noise(str(tmp_path / "noise.json"))
