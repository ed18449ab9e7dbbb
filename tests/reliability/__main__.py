"""The command line of the reliability campaign; `packaging/reliability` calls it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.reliability.campaign import AREAS, Options, jobs_of, run
from tests.reliability.table import line, title


def main(arguments: list[str]) -> int:
    """Run the campaign, print its table; returns 1 if there is any finding, else 0."""
    parser = argparse.ArgumentParser(
        prog="packaging/reliability",
        description="Feed Opscope hostile files, faults and random use; exit 1 on any finding.",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--short", action="store_true", help="2 to 3 minutes (default)")
    length.add_argument("--long", action="store_true", help="hours, for a release")
    parser.add_argument("--only", action="append", metavar="AREA", help=f"{', '.join(AREAS)}, or "
                        "a job such as fuzz/etdump; may be repeated")  # fmt: skip
    parser.add_argument(
        "--fuzz-seconds", type=float, default=1.0, metavar="N",
        help="processor time of each kind of file in a short run (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default 0")
    parser.add_argument(
        "--findings", type=Path, default=Path("build/reliability"), metavar="FOLDER",
        help="where inputs that cause a finding are saved (default: %(default)s)",
    )  # fmt: skip
    chosen = parser.parse_args(arguments)
    options = Options(chosen.long, chosen.seed, chosen.findings, chosen.fuzz_seconds)
    wanted: list[str] = chosen.only or list(AREAS)
    areas = dict.fromkeys(one.partition("/")[0] for one in wanted)
    unknown = [area for area in areas if area not in AREAS]
    if unknown:
        parser.error(f"no area named {', '.join(unknown)}; there are {', '.join(AREAS)}")
    jobs = [
        job
        for job in jobs_of(list(areas), options)
        if job.area in wanted or f"{job.area}/{job.name}" in wanted
    ]
    if not jobs:
        parser.error(f"no job named {', '.join(wanted)}")
    began, findings = time.monotonic(), []
    print(title(), flush=True)
    for row in run(jobs, options):
        print(line(row), flush=True)
        findings += [(row.job, finding) for finding in row.outcome.findings]
    print(f"\n{len(findings)} findings in {time.monotonic() - began:.0f} s, seed {options.seed}")
    for job, finding in findings:
        print(f"\n{job.area}/{job.name}: {finding.what}")
        if finding.repeat:
            print(f"    repeat: {finding.repeat}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
