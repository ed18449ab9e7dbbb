"""The manifest of a large lake: processor seconds and memory of commands, with a snapshot.

`OPSCOPE_BENCH_MANIFEST=1000000` for the full size. It prints what it measures.
"""

import resource
import subprocess
import sys

import pytest

from tests.builders.bench_sizes import size
from tests.builders.lakes import environment
from tests.builders.large_lakes import write_large

pytestmark = pytest.mark.nightly

SIZE = size(100_000, 2_000, "OPSCOPE_BENCH_MANIFEST")


def _run(*words):
    """Run a command in a process of its own; returns its output, processor seconds and MB."""
    code = (
        "import resource, sys; from viewer.cli import main; code = main(sys.argv[1:]);"
        "usage = resource.getrusage(resource.RUSAGE_SELF);"
        "print(usage.ru_maxrss // 1024, file=sys.stderr); sys.exit(code)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code, "fleet", *map(str, words)],
        env=environment(), capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, cpu, int(done.stderr.splitlines()[-1])


def test_commands_of_a_large_lake(tmp_path):
    lake = tmp_path / "lake"
    write_large(lake, SIZE)
    print(f"\n{SIZE:,} profiles   CPU s    MB")
    answers = []
    for name, words in (
        ("status, lines alone", ("status", lake, "--json")),
        ("compact", ("compact", lake)),
        ("status", ("status", lake, "--json")),
        ("query", ("query", lake, "SELECT 1")),
    ):
        out, cpu, memory = _run(*words)
        answers.append(out)
        print(f"{name:<20} {cpu:>6.2f} {memory:>6}")
    assert answers[0] == answers[2]
    write_large(lake, SIZE // 100, first=SIZE)
    out, cpu, memory = _run("status", lake, "--json")
    print(f"{'status, 1 % more':<20} {cpu:>6.2f} {memory:>6}")
    done = SIZE + SIZE // 100 - len(range(0, SIZE + SIZE // 100, 1000))
    assert f'"done": {done}' in out
