"""`opscope fleet status`: what a lake has, and which profiles failed."""

from __future__ import annotations

import json

from viewer.cli.arguments import Parser, complain
from viewer.cli.commands.fleet.losses import add_strict, code_of_losses
from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.schemas import TABLES
from viewer.model.text import bytes_text, one_line
from viewer.model.times import counted, group_digits

_MOST_SHOWN = 20


def run(arguments: list[str]) -> int:
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
