"""Which open profiles are sessions of one program."""

import json
import random
import shutil

import numpy as np
import pytest

from tests.builders.compare_sessions import varied, write_sessions
from tests.builders.stretched_dumps import write_arm
from tests.paths import DATA
from viewer.model.building.builder import TraceBuilder
from viewer.model.timing import TIME_OF_DAY
from viewer.model.trace import Clock, ClockZero, KeyKind
from viewer.recording.run_file import SCHEMA
from viewer.workspace.session_sets import session_sets, set_with
from viewer.workspace.workspace import Workspace


def opened(*paths):
    space = Workspace()
    for path in paths:
        space.open(str(path))
    return space


def sets_of(space, arms=()):
    return [[trace.path for trace in one.traces] for one in session_sets(space, arms)]


@pytest.mark.parametrize("seed", range(4))
def test_sessions_of_several_programs_are_told_apart_in_any_order(tmp_path, seed):
    chance = random.Random(seed)
    programs = chance.randint(2, 4)
    by_program = []
    for number in range(programs):
        base = {f"op{number}.out": 20_000, "add.out": 5_000}
        shares = [chance.random() for _ in range(chance.randint(2, 5))]
        by_program.append(write_sessions(tmp_path / f"p{number}", "s", *varied(base, shares)))
    paths = [str(path) for part in by_program for path in part]
    chance.shuffle(paths)
    found = sets_of(opened(*paths))
    expected = [[path for path in paths if f"/p{n}/" in path] for n in range(programs)]
    assert sorted(found) == sorted(expected)
    firsts = [paths.index(part[0]) for part in found]
    assert firsts == sorted(firsts)


def test_profiles_of_one_record_are_sessions_of_one_program(tmp_path):
    source = DATA / "compare/02_module_renamed"
    paths = write_arm(tmp_path, "s", source)
    space = opened(source / "a.etrecord", *paths)
    (one,) = session_sets(space)
    counted = sum(len(session.runs) for session in one.arm.sessions)
    assert one.text == f"{len(paths)} sessions, {counted} inferences"
    assert [row.name for row in one.inferences] == [""]
    assert set_with(session_sets(space), space.traces[0]).traces == tuple(space.traces)


def test_arms_of_a_comparison_are_not_of_one_program(tmp_path):
    base = {"add.out": 20_000}
    paths = [str(p) for p in write_sessions(tmp_path, "s", *varied(base, [0, 0.1, 0.2, 0.3]))]
    assert sets_of(opened(*paths)) == [paths]
    assert sets_of(opened(*paths), (paths[:2], paths[2:])) == [paths[:2], paths[2:]]


def test_recordings_of_other_programs_are_no_sessions_of_one(tmp_path):
    paths = write_sessions(tmp_path, "s", *varied({"add.out": 20_000}, [0, 0.1, 0.2, 0.3]))
    for path, program in zip(paths, "abab", strict=True):
        facts = {"schema": SCHEMA, "sha256": {"program": program}}
        path.with_suffix(".run.json").write_text(json.dumps(facts))
    assert [len(one) for one in sets_of(opened(*paths))] == [2, 2]


def test_a_copy_is_no_other_session(tmp_path):
    paths = write_sessions(tmp_path, "s", *varied({"add.out": 20_000}, [0, 0.1]))
    copy = shutil.copy(paths[0], tmp_path / "copy.etdp")
    assert sets_of(opened(paths[0], copy)) == []
    assert sets_of(opened(*paths, copy)) == [[str(path) for path in paths]]


def test_a_profile_alone_and_other_formats_are_no_set(tmp_path):
    (path,) = write_sessions(tmp_path, "s", {"add.out": 20_000})
    assert sets_of(opened(path)) == []
    assert sets_of(opened(path, DATA / "chrome_json/kineto_cpu.json")) == []


def trace(path, start, zero):
    """A profile on a clock that states the time of day."""
    clock = Clock("ns", zeros=(ClockZero(TIME_OF_DAY, zero, "test"),))
    builder = TraceBuilder(path, "test", "", clock)
    builder.add(
        track=builder.track("p", "t"), start=np.array([start]), end=np.array([start + 100]),
        name=builder.intern("a"), key=builder.key(KeyKind.PLAIN, "a"),
    )  # fmt: skip
    return builder.build()


@pytest.mark.parametrize(("later", "count"), [(50, 0), (200, 1)])
def test_profiles_of_the_same_time_are_parts_of_one_session(later, count):
    space = Workspace()
    for number, zero in enumerate((1_000_000, 1_000_000 + later)):
        space.add(trace(f"rank{number}.json", number, zero))
    assert len(session_sets(space)) == count
