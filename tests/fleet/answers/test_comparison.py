"""Comparisons of a lake: the figures are those of `opscope compare`."""

import json
import shutil

import pytest

from tests.builders.compare_sessions import varied, write_sessions
from tests.builders.fleet_dumps import RECORDED
from tests.builders.lakes import built
from tests.builders.stretched_dumps import write_stretched
from tests.fleet.answers.conftest import SOURCE
from tests.paths import DATA
from viewer.analysis.comparison.comparison import Comparison, Doubt, Verdict
from viewer.cli import main
from viewer.fleet.answers.arms import WrongArms, parse_arm
from viewer.fleet.answers.comparison import compare_lake
from viewer.fleet.answers.report import fleet_page
from viewer.fleet.lake import Lake
from viewer.fleet.query import with_connection
from viewer.workspace.comparison_arms import arm_of
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.slow

BASE = {"add.out": 20_000, "mul.out": 30_000}
A, B = parse_arm("build=9"), parse_arm("build=10")


@pytest.fixture(scope="module")
def found(lake_of_builds):
    groups, notes = compare_lake(Lake(str(lake_of_builds)), A, B)
    assert notes == []
    return {one.group.label: one for one in groups}


def arm(folder):
    space = Workspace()
    for path in sorted(folder.iterdir()):
        space.open(str(path))
    return arm_of(space)


def sides(one):
    """The session medians of A and of B, whatever the order of the sessions."""
    return [*sorted(one.sessions_a), *sorted(one.sessions_b)]


def test_each_device_is_compared_with_itself(found):
    assert list(found) == ["model=net, device=phone1", "model=net, device=phone2"]
    assert {one.sessions for one in found.values()} == {(3, 3)}
    slower, same = found.values()
    assert [(row.label, one.verdict) for row, one in slower.proven] == [
        ("blocks.1.dw · convolution", Verdict.SLOWER)
    ]
    assert same.proven == []
    assert same.largest_ns == 0 < slower.largest_ns


def test_rows_have_the_figures_of_opscope_compare(found, builds):
    expected = Comparison(*(arm(builds / build / "phone1" / "net") for build in ("9", "10")))
    own = found["model=net, device=phone1"]
    # In the order of their first times: labels of operators name the call, too.
    ours, theirs = (
        sorted(sides(one) for one in compared) for compared in (own.compared, expected.compared)
    )
    assert len(ours) == len(theirs) > 3
    for one, other in zip(ours, theirs, strict=True):
        assert one == pytest.approx(other, abs=1)
    assert sides(own.inference) == pytest.approx(sides(expected.inference), abs=1)
    assert own.inference.verdict is expected.inference.verdict


def test_all_groups_are_one_family_of_tests(tmp_path):
    for build, factors in (("1", (1.0, 1.03, 1.07)), ("2", (1.09, 1.13, 1.16))):
        for device in ("phone1", "phone2"):
            place = tmp_path / "fleet" / build / device / "net"
            place.mkdir(parents=True)
            shutil.copy(SOURCE / "a.etrecord", place)
            for factor in factors if device == "phone1" else (1.0, 1.03, 1.07):
                path = write_stretched(place / f"{factor}.etdp", SOURCE, {"": factor})
                path.write_bytes(path.read_bytes() + f"{build}{device}".encode())
    assert built(tmp_path / "lake", tmp_path / "fleet").states["done"] == 12

    def q_and_p(more=""):
        arms = parse_arm(f"build=1{more}"), parse_arm(f"build=2{more}")
        groups, _ = compare_lake(Lake(str(tmp_path / "lake")), *arms)
        (one,) = [each for each in groups if "phone2" not in each.group.label]
        tested = [each for each in (*one.compared, one.inference) if each.p is not None]
        return [each.q for each in tested], [each.p for each in tested]

    (q_alone, p_alone), (q, p) = q_and_p(",device=phone1"), q_and_p()
    assert p == pytest.approx(p_alone)
    # As many tests of a device on which nothing changed weaken the evidence.
    assert min(q) > 1.5 * min(q_alone)
    assert len(p) > 3


@pytest.mark.parametrize("level", ["type", "module", "line", "inference"])
def test_other_levels_have_the_figures_of_opscope_compare(builds, lake_of_builds, level):
    """But for sums of medians: a lake has times of operators, and profiles those of graph nodes."""
    groups, _ = compare_lake(Lake(str(lake_of_builds)), A, B, level)
    arms = (arm(builds / build / "phone1" / "net") for build in ("9", "10"))
    expected, own = Comparison(*arms, level), groups[0]
    ours, theirs = (
        {row.label: sides(c) for row, c in zip(each.rows, each.compared, strict=True)}
        for each in (own, expected)
    )
    assert ours.keys() == theirs.keys()
    for label, figures in ours.items():
        assert figures == pytest.approx(theirs[label], rel=0.025), label
    assert sides(own.inference) == pytest.approx(sides(expected.inference), abs=1)


def test_profiles_of_different_programs_are_not_one_arm(tmp_path):
    for build in ("1", "2"):
        for model, (dump, record) in enumerate(RECORDED[:2]):
            place = tmp_path / "fleet" / build / str(model)
            place.mkdir(parents=True)
            data = (DATA / "etdump" / f"{dump}.etdp").read_bytes()
            (place / "run.etdp").write_bytes(data + build.encode())
            shutil.copy(DATA / "etrecord" / f"{record}.etrecord", place)
    lake = Lake.create(str(tmp_path / "lake"))
    built(tmp_path / "lake", tmp_path / "fleet", pattern="{build}/{kind}/{name}.etdp")
    with pytest.raises(WrongArms, match="different programs: all profiles"):
        compare_lake(lake, parse_arm("build=1"), parse_arm("build=2"))
    arms = parse_arm("build=1,tag.kind=0"), parse_arm("build=2,tag.kind=0")
    groups, notes = compare_lake(lake, *arms)
    assert (len(groups), notes) == (1, [])
    assert "different programs" in fleet_page(lake)


def lake_of(tmp_path, celsius):
    """A lake of 3 + 3 recorded sessions, B slower. celsius: of A and of B, before each session."""
    folder = tmp_path / "recording"
    for number, name in enumerate(("a", "b")):
        faster = {**BASE, "add.out": BASE["add.out"] * (1.3 if number else 1)}
        whole = {key: round(value) for key, value in faster.items()}
        folder.mkdir(exist_ok=True)
        paths = write_sessions(folder / name, name, *varied(whole, (0.0, 0.01, -0.01)))
        for i, path in enumerate(paths):
            facts = {
                "schema": "opscope-run/1",
                "device": "phone",
                "model": "net",
                "tags": {"arm": name},
                "recording": "r",
                "order": 2 * i + number + 1,
                "frequency_khz": 2_000_000,
                "before": {"temperature_c": celsius[number] + i / 2, "temperature_of": "cpu"},
            }
            path.with_suffix(".run.json").write_text(json.dumps(facts))
    lake = tmp_path / "lake"
    assert main(["fleet", "build", str(folder), "-o", str(lake), "--jobs", "1"]) == 0
    return Lake(str(lake))


def test_a_lake_knows_how_sessions_ran(tmp_path):
    lake = lake_of(tmp_path, (40, 40))
    columns = "run_order, temperature_c, frequency_khz, recording"
    sql = f"SELECT {columns} FROM files ORDER BY run_order"
    rows = with_connection(lake, lambda connection: connection.execute(sql).fetchall())
    assert rows[:2] == [(1, 40.0, 2_000_000.0, "r"), (2, 40.0, 2_000_000.0, "r")]
    ((one,), _) = compare_lake(lake, parse_arm("tag.arm=a"), parse_arm("tag.arm=b"))
    assert one.inference.verdict is Verdict.SLOWER
    assert one.note == ""


def test_groups_whose_arms_differ_in_heat_have_no_verdict(tmp_path):
    lake = lake_of(tmp_path, (40, 47))
    ((one,), _) = compare_lake(lake, parse_arm("tag.arm=a"), parse_arm("tag.arm=b"))
    assert one.proven == []
    assert one.inference.doubt is Doubt.CONFOUNDED
    assert "B ran 7.0 °C warmer than A" in one.note
