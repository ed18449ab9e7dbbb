"""`opscope fleet` on a lake that exists: status, query, compare, report, compact.

What a lake lost is said on stderr, and with --strict in the exit code. What a subcommand needs is
imported when it runs.
"""

from __future__ import annotations

import argparse
import json
from functools import partial

from viewer.cli.arguments import Parser, check_output, complain, written
from viewer.codecs.ending import raised_at_signals
from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.schemas import TABLES
from viewer.model.text import bytes_text, one_line
from viewer.model.times import counted, group_digits


def add_strict(parser: argparse.ArgumentParser) -> None:
    """Add --strict."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="exit with 1 if files of the lake are missing or changed, or lines of its manifest "
        "cannot be read; both are named in any case",
    )


def code_of_losses(lake: Lake, *, strict: bool, is_told: bool = True) -> int:
    """Print a line for each kind of loss that the last check found; returns the exit code.

    is_told: False if the command has printed them.
    """
    for sentence in lake.losses.sentences if is_told else ():
        complain(f"{lake.path}: {sentence}")
    return 1 if strict and lake.losses.sentences else 0


_MOST_SHOWN = 20


def run_status(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope fleet status",
        description="Print the tables of a lake, and the profiles that failed.",
    )
    parser.add_argument("lake", metavar="LAKE")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    add_strict(parser)
    chosen = parser.parse_args(arguments)
    try:
        lake = Lake(chosen.lake)
        facts = status(lake)
    except UnusableLake as error:
        complain(str(error))
        return 2
    print(json.dumps(facts, indent=1) if chosen.json else _text(facts, lake.losses.sentences))
    return code_of_losses(lake, strict=chosen.strict, is_told=False)


def status(lake: Lake) -> dict[str, object]:
    """Return what a lake has, as `--json` prints it. Raises UnusableLake."""
    faults = lake.check()
    manifest, losses = lake.manifest, lake.losses
    tables = {}
    for name in TABLES:
        files = manifest.live_files(name)
        present = [file for file in files if file.path not in faults]
        tables[name] = {
            "files": len(present),
            "rows": sum(file.rows for file in present),
            "bytes": sum(file.size for file in present),
            "missing_files": len(files) - len(present),
        }
    failures, keys, outdated = lake.answer(
        lambda manifest: (manifest.failures(), manifest.key_count(), len(manifest.outdated()))
    )
    return {
        "lake": lake.path,
        "profiles": {state: count for state, count in manifest.states.items() if count},
        "keys": keys,
        "outdated": outdated,
        "unreadable_lines": losses.ignored,
        "tables": tables,
        "lost": [
            {"path": lost_file.path, "rows": lost_file.rows, "reason": lost_file.fault.reason}
            for lost_file in losses.files
        ],
        "unnamed_files": list(losses.strays),
        "failures": [
            {
                "source": unit_outcome.source,
                "state": unit_outcome.state,
                "reason": unit_outcome.reason,
            }
            for unit_outcome in failures
        ],
    }


def _text(facts: dict[str, object], losses: list[str]) -> str:
    profiles, tables = facts["profiles"], facts["tables"]
    assert isinstance(profiles, dict)
    assert isinstance(tables, dict)
    states = ", ".join(
        f"{group_digits(count)} {state}" for state, count in sorted(profiles.items())
    )
    lines = [f"{facts['lake']}: {counted(sum(profiles.values()), 'profile')} ({states or 'none'})"]
    for name, table_facts in tables.items():
        if table_facts["files"] or table_facts["missing_files"]:
            files = counted(table_facts["files"], "file")
            text = f"  {name:<20} {table_facts['rows']:>12,} rows  {files}, "
            text += bytes_text(table_facts["bytes"])
            lines.append(
                text
                + (f", {table_facts['missing_files']} missing" * bool(table_facts["missing_files"]))
            )
    if facts["outdated"]:
        lines.append(
            f"  {counted(int(str(facts['outdated'])), 'profile')} changed since; queries leave out "
            "old rows, and opscope fleet compact removes them"
        )
    lines += [f"  {one_line(sentence)}" for sentence in losses]
    failures = facts["failures"]
    assert isinstance(failures, list)
    lines += [
        f"  {failure['state']}: {one_line(failure['reason'])}" for failure in failures[:_MOST_SHOWN]
    ]
    if len(failures) > _MOST_SHOWN:
        lines.append(f"  and {len(failures) - _MOST_SHOWN} more failures (--json lists all)")
    return "\n".join(lines)


def run_query(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.cli.commands.query import add_forms, add_seconds, limits_of, print_rows
    from viewer.fleet.query import NoDuckDB, WrongQuery, query

    parser = Parser(
        prog="opscope fleet query",
        description="Run one SQL query with DuckDB. Every table of the lake is a view: "
        f"{', '.join(TABLES)}. Nothing is written.",
    )
    parser.add_argument("lake", metavar="LAKE")
    parser.add_argument("sql", metavar="SQL", help='such as "SELECT device, count(*) FROM files '
                        'GROUP BY device"')  # fmt: skip
    add_forms(parser)
    add_seconds(parser)
    parser.add_argument(
        "--max-memory",
        default="2G",
        metavar="SIZE",
        help="stop a query that needs more, such as 512M or 50%% (default: %(default)s)",
    )
    add_strict(parser)
    chosen = parser.parse_args(arguments)
    limits = limits_of(parser, chosen)
    try:
        lake = Lake(chosen.lake)
        columns, rows = query(lake, chosen.sql, limits)
    except (UnusableLake, NoDuckDB, WrongQuery) as error:
        complain(str(error))
        return 2
    print_rows(chosen, columns, rows)
    return code_of_losses(lake, strict=chosen.strict)


def run_compare(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.cli.commands.compare import add_rule_options, code_of, rule_of
    from viewer.fleet.answers.arms import WrongArms, parse_arm
    from viewer.fleet.answers.comparison import (
        LEVELS,
        OPERATOR,
        compare_lake,
        lake_comparison_facts,
        lake_comparison_text,
    )
    from viewer.fleet.query import NoDuckDB

    parser = Parser(
        prog="opscope fleet compare",
        description="Compare two arms of a lake with the statistics of opscope compare. A profile "
        "is a session. Models, devices and builds that the arms do not name are compared one by "
        "one, and all tests are corrected together. Needs the tables inference_operators and "
        "inferences.",
        epilog="exit code: 0 compared, 1 rows of the lake are lost (with --strict), 2 usage or no "
        "such profiles, 3 a change fails --fail-if, 4 such a change cannot be excluded (with "
        "--fail-if-unknown)",
    )
    parser.add_argument("lake", metavar="LAKE")
    for name, arm in (("--a", "A"), ("--b", "B")):
        parser.add_argument(
            name,
            required=True,
            metavar="CONDITIONS",
            help=f"the profiles of {arm}, such as build=1 or build=1,device=pixel,tag.quant=int8",
        )
    parser.add_argument(
        "--by", choices=LEVELS, default=OPERATOR, help="what a row is (default: %(default)s)"
    )
    add_rule_options(parser)
    parser.add_argument("--all", action="store_true", help="print all groups and rows")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    add_strict(parser)
    chosen = parser.parse_args(arguments)
    rule = rule_of(parser, chosen)
    try:
        a, b = parse_arm(chosen.a), parse_arm(chosen.b)
    except ValueError as error:
        parser.error(str(error))
    try:
        lake = Lake(chosen.lake)
        group_comparisons, notes = compare_lake(lake, a, b, chosen.by)
    except WrongArms as error:
        complain(str(error))
        code_of_losses(lake, strict=False)  # they may be why
        return 2
    except (UnusableLake, NoDuckDB) as error:
        complain(str(error))
        return 2
    if chosen.json:
        facts = lake_comparison_facts(a, b, group_comparisons, notes)
        print(json.dumps(facts, indent=1, allow_nan=False))
    else:
        print(lake_comparison_text(a, b, group_comparisons, notes, everything=chosen.all))
    every = [
        (f"{group_comparison.group.label}: ", group_comparison)
        for group_comparison in group_comparisons
    ]
    lost = code_of_losses(lake, strict=chosen.strict)
    return code_of(rule, every, unknown=chosen.fail_if_unknown) or lost


def run_report(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.fleet.answers.report import write_fleet_report
    from viewer.fleet.query import NoDuckDB
    from viewer.html_report.contents import PAGE_SUFFIXES

    parser = Parser(
        prog="opscope fleet report",
        description="Write one HTML page: proven changes of the last build of every model on every "
        "device, trends by build, the noise of devices, and problems. It opens in any browser, "
        "without a network.",
    )
    parser.add_argument("lake", metavar="LAKE")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.html")
    parser.add_argument("--title", default="", help="title of the page (default: the lake)")
    add_strict(parser)
    chosen = parser.parse_args(arguments)
    if not chosen.output.lower().endswith(PAGE_SUFFIXES):
        parser.error(f"{chosen.output}: the name must end in one of {', '.join(PAGE_SUFFIXES)}")
    check_output(parser, chosen.output, ())
    try:
        lake = Lake(chosen.lake)
        if not written(
            chosen.output, partial(write_fleet_report, lake, chosen.output, chosen.title)
        ):
            return 1
    except (UnusableLake, NoDuckDB) as error:
        complain(str(error))
        return 2
    return code_of_losses(lake, strict=chosen.strict)


def run_compact(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope fleet compact",
        description="Join small Parquet files of a lake, and remove rows of profiles that changed "
        "since. Queries, and builds at the same time, go on.",
    )
    parser.add_argument("lake", metavar="LAKE")
    chosen = parser.parse_args(arguments)
    from viewer.fleet.build import compact

    try:
        lake = Lake(chosen.lake)
        with raised_at_signals():
            gone = compact(
                lake,
                lambda table, count: print(f"{table}: 1 file in place of {count}"),
            )
    except UnusableLake as error:
        complain(str(error))
        return 2
    except OSError as error:
        complain(f"{chosen.lake}: it cannot be compacted ({error.strerror or error})")
        return 2
    except KeyboardInterrupt:
        complain(f"interrupted; {chosen.lake} is whole, and some of its files are not joined yet")
        return 1
    if not gone:
        print(f"{chosen.lake}: {counted(0, 'file')} to join")
    return code_of_losses(lake, strict=False)
