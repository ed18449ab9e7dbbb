"""`viewer.compare`: two arms in one call."""

import pytest

import viewer
from tests.api.example import is_slower
from tests.builders.compare_sessions import INFERENCES, write_session


@pytest.fixture(scope="module")
def arms(tmp_path_factory):
    """Three sessions each; in B, relu takes twice as long."""
    folder = tmp_path_factory.mktemp("arms")

    def arm(name, relu):
        return [
            write_session(
                folder / f"{name}{i}.etdp",
                {
                    "conv": [100_000 + 10 * i + n for n in range(INFERENCES)],
                    "relu": [relu + 10 * i + n for n in range(INFERENCES)],
                },
            )
            for i in range(3)
        ]

    return arm("a", 50_000), arm("b", 100_000)


def test_the_verdict_and_the_rows(arms):
    change = viewer.compare(*arms)
    assert change.verdict == "slower"
    assert change.sentence in repr(change)
    assert change.explanation.startswith("relu")
    table = change.table.set_index("label")
    assert table.verdict.to_dict() == {"conv": "no_change", "relu": "slower"}
    assert table.change["relu"] == pytest.approx(1.0, rel=0.01)
    assert table.a_ns["relu"] == table.a["relu"]["ns"]
    assert is_slower(*arms)
    assert not is_slower(*reversed(arms))


def test_some_inferences_of_one_file(arms):
    path = arms[0][0]
    change = viewer.compare(path, path, a_inferences=[1], b_inferences=range(2, 5))
    assert change.facts["arms"]["a"]["runs"] == [1]
    assert change.facts["arms"]["b"]["runs"] == [3]


def test_arms_that_cannot_be_compared(arms, tmp_path):
    with pytest.raises(ValueError, match=r"arm A: a0\.etdp and copy\.etdp are the same"):
        viewer.compare([arms[0][0], _copy(arms[0][0], tmp_path)], arms[1])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no profile or ETRecord in this folder"):
        viewer.compare(tmp_path / "empty", arms[1])
    with pytest.raises(viewer.UnreadableFile):
        viewer.compare(tmp_path / "none.etdp", arms[1])


def test_no_report_is_written_over_an_arm(arms):
    change = viewer.compare(*arms)
    with pytest.raises(ValueError, match=r"must end in one of \.html"):
        change.report(arms[1][0])


def _copy(path, folder):
    other = folder / "copy.etdp"
    other.write_bytes(path.read_bytes())
    return other
