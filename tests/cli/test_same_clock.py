"""`--same-clock` on the commands that open files."""

from __future__ import annotations

import csv
import json
import shutil

import pytest

from tests.builders.command_line import run
from tests.paths import DATA
from viewer.cli.commands import COMMANDS
from viewer.formats import open_file
from viewer.view.sessions.option_texts import OptionTexts
from viewer.workspace.clocks import SameClock

RANKS = [str(DATA / f"clocks/m{rank}.pt.trace.json") for rank in (0, 1)]
DUMPS = [str(DATA / f"clocks/{name}_etdump.etdp") for name in ("prefill", "decode")]
SAME_DUMPS = "prefill_etdump.etdp=decode_etdump.etdp"
DATED = "both state the time of day: baseTimeNanoseconds"


def info(capsys, *arguments: str):
    code, out, err = run(capsys, "info", "--json", *arguments)
    assert (code, err) == (0, "")
    return json.loads(out)["files"]


@pytest.mark.parametrize("statement", ["stated", "m1.pt.trace.json=m0.pt.trace.json"])
def test_ranks_by_the_time_of_day(capsys, statement):
    files = info(capsys, "--same-clock", statement, *RANKS)
    assert [file["inferences"][0]["start_ns"] for file in files] == [0, 501_000]
    assert {file["clock"]["shared"] for file in files} == {DATED}
    assert [file["clock"]["zeros"]["REALTIME"] for file in files] == [
        1_700_000_000_000_000_000, 1_700_000_000_000_500_000,
    ]  # fmt: skip
    apart = info(capsys, *RANKS)
    assert [file["inferences"][0]["start_ns"] for file in apart] == [0, 1000]


def test_the_text_says_why(capsys):
    _, out, _ = run(capsys, "info", "--same-clock", "stated", *RANKS)
    assert out.count(f"  one axis: {DATED}\n") == 2
    _, out, _ = run(capsys, "info", *RANKS)
    assert "one axis" not in out


def test_a_range_is_one_of_both_files(capsys):
    """Prefill 1 and decode 1 to 8 are within 4,608,360 ns."""
    options = "--same-clock", SAME_DUMPS, "--range", "399999000ns:404607360ns"
    code, out, _ = run(capsys, "stats", "--by", "name", "--json", *options, *DUMPS)
    times = [file["whole_ns"] for file in json.loads(out)["files"]]
    assert (code, times) == (0, [3_000_040, 8 * 200_040])


@pytest.mark.slow
def test_rows_of_both_files_count_from_one_start(capsys, tmp_path):
    to = tmp_path / "out.csv"
    assert run(capsys, "export", "--same-clock", "stated", *RANKS, "-o", str(to))[0] == 0
    with open(to, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] == "add_kernel"]
    assert [int(row["start_ns"]) for row in rows] == [200_000, 707_000]
    trace = tmp_path / "out.pftrace"
    assert run(capsys, "export", "--same-clock", "stated", *RANKS, "-o", str(trace))[0] == 0
    again = open_file(str(trace))
    kernels = [i for i in range(len(again.slices)) if again.name(i) == "add_kernel"]
    assert sorted(int(again.slices.start[i]) for i in kernels) == [200_000, 707_000]


@pytest.mark.parametrize(
    ("statement", "why"),
    [("prefill_etdump.etdp", "write it as A=B, or stated for all files"),
     ("=decode_etdump.etdp", "write it as A=B"),
     ("prefill_etdump.etdp=x.etdp", "x.etdp is not an open profile"),
     ("decode_etdump.etdp=decode_etdump.etdp", "decode_etdump.etdp is named twice"),
     ("stated", "no open profile states the time of day")],
)  # fmt: skip
def test_what_is_not_possible_is_an_error(capsys, statement, why):
    code, _, err = run(capsys, "info", "--same-clock", statement, *DUMPS)
    assert code == 2
    assert f"error: --same-clock {statement}: {why}" in err


def test_names_may_have_an_equals_sign(tmp_path):
    paths = [str(tmp_path / name) for name in ("a=1.etdp", "b=2=x.etdp", "c.etdp")]
    for path in paths:
        shutil.copy(DUMPS[0], path)
    texts = OptionTexts(same_clock=["a=1.etdp=b=2=x.etdp=c.etdp", f"{paths[1]}={paths[0]}"])
    choices = texts.choices(paths)
    assert choices is not None
    assert choices.same_clocks == (
        SameClock(tuple(paths)),
        SameClock((paths[1], paths[0])),
    )
    assert texts.arguments[:2] == ["--same-clock", "a=1.etdp=b=2=x.etdp=c.etdp"]


def test_an_arm_has_the_statements_about_its_files():
    a, b = ["x/a1.csv", "x/a2.csv"], ["y/b1.csv", "y/b2.csv"]
    texts = OptionTexts(same_clock=["stated", "a1.csv=a2.csv=b1.csv", "b1.csv=b2.csv", "a1.csv=q"])
    assert texts.of_arm(a, b).same_clock == ["stated", "a1.csv=a2.csv", "a1.csv=q"]
    assert texts.of_arm(b, a).same_clock == ["stated", "b1.csv=b2.csv"]


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_commands_that_open_files_have_the_option(capsys, command):
    _, out, _ = run(capsys, command, "--help")
    assert ("--same-clock A=B" in out) == ("--pair DUMP=RECORD" in out)


def test_two_statements_and_a_session(capsys, tmp_path):
    both = ["--same-clock", "stated", "--same-clock", SAME_DUMPS]
    files = info(capsys, *both, *RANKS, *DUMPS)
    starts = [file["inferences"][0]["start_ns"] for file in files]
    assert starts == [0, 501_000, 399_999_000, 403_000_040]
