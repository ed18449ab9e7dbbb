"""Delegation in a report: time in delegates and outside of them, and why slices are not linked."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.analysis.findings.finding import joined
from viewer.html_report.contents import Contents, Profile
from viewer.html_report.html import Cell, Row, figures, paragraph, rest_note, section, table, text
from viewer.model.times import counted, format_share, format_time
from viewer.reports.delegation import PARTS, UPPER_BOUND, delegation_facts
from viewer.reports.info import Facts


def delegation(contents: Contents) -> str:
    """Return the delegates of every profile whose runtime calls any."""
    parts, known = list[str](), dict[int, Facts]()
    for profile in contents.profiles:
        if not profile.summary.delegation:
            continue
        space = profile.workspace
        if id(space) not in known:
            known[id(space)] = delegation_facts(space)
        files, path = known[id(space)]["files"], profile.shown.file.path
        own = next(file for file in files if file["path"] == path)
        if len(contents.profiles) > 1:
            parts.append(f"<h3>{text(profile.title)}</h3>")
        parts.append(_profile(contents, profile, own))
    return section("delegation", "Delegation", *parts)


def _profile(contents: Contents, profile: Profile, facts: Facts) -> str:
    whole, most = facts["whole_ns"], contents.limits.rows
    amounts = [
        (f"{format_time(facts[f'{key}_ns'])} ({_share(facts[f'{key}_ns'], whole)})", name)
        for name, key in PARTS
    ]
    phases = [
        Row(
            [
                _time(own["whole_ns"]),
                *(
                    Cell(
                        f"{format_time(own[f'{key}_ns'])} "
                        f"({_share(own[f'{key}_ns'], own['whole_ns'])})"
                    )
                    for _, key in PARTS
                ),
                Cell(own["phase"]),
            ]
        )
        for own in facts["of_phases"]
        if own["whole_ns"] is not None
    ]
    delegates = [
        Row(
            [
                _time(row["time_ns"]),
                _ratio(row["share"]),
                _time(row["unattributed_ns"]),
                _count(None if row["operators"] is None else len(row["operators"])),
                Cell(row["label"]),
                Cell(_instruction(row)),
            ]
        )
        for row in facts["delegates"][:most]
    ]
    outside = [
        Row(
            [
                _time(row["time_ns"]),
                _ratio(row["share"]),
                _count(row["slices"]),
                Cell(row["label"]),
                Cell(row["why"] or ""),
            ]
        )
        for row in facts["stayed_outside"][:most]
    ]
    title = profile.title
    return "\n".join(
        [
            figures(amounts),
            *_of_phases(facts, phases, title),
            table(f"Delegates in {title}", _DELEGATES, delegates, left=2),
            rest_note(len(facts["delegates"]) - most, "more delegate call"),
            table(f"Not delegated in {title} ({UPPER_BOUND})", _OUTSIDE, outside, left=2),
            rest_note(len(facts["stayed_outside"]) - most, "more row"),
            _links(facts),
        ]
    )


_DELEGATES = ("Time", "Share", "Unattributed", "Operators", "Delegate", "Instruction")
_PHASES = ("Total", "Delegates", "Not delegated", "No operator", "Phase")
_OUTSIDE = ("Time", "Share", "Count", "Operators", "Why not")


def _of_phases(facts: Facts, rows: Sequence[Row], title: str) -> list[str]:
    """Return what the figures cover, and those of each method and phase; [] of one."""
    if not facts["of_phases"]:
        return []
    names = [own["phase"] for own in facts["of_phases"]]
    note = f"These figures add up {joined(names)}."
    return [paragraph(note, "note"), table(f"Phases of {title}", _PHASES, rows, left=1)]


def _links(facts: Facts) -> str:
    found = facts["coverage"]
    if not found["linkable"]:
        return paragraph("Links: no slice is linkable.", "note")
    items = "".join(
        f"<li>{text(counted(row['slices'], 'slice'))}: {text(row['reason'])}"
        f"{'' if row['linkable'] else ' (not linkable)'}</li>"
        for row in facts["unlinked"]
    )
    linked = (
        f"Links: {found['linked']} of {found['linkable']} linkable slices, "
        f"{_share(found['of_time'] or 0, 1)} of linkable time."
    )
    return paragraph(linked, "note") + (f"<ul>{items}</ul>" if items else "")


def _instruction(row: Facts) -> str:
    number = row["instruction_id"]
    parts: Sequence[str] = [row["method"] or "", "" if number is None else f"instruction {number}"]
    return " · ".join(filter(None, parts))


def _time(ns: int | None) -> Cell:
    return Cell("") if ns is None else Cell(format_time(ns), ns)


def _ratio(share: float | None) -> Cell:
    return Cell("") if share is None else Cell(_share(share, 1), share)


def _count(count: int | None) -> Cell:
    return Cell("" if count is None else str(count), count)


def _share(part: float, whole: float) -> str:
    return format_share(part, whole) if whole else ""
