"""Where the figures of a report come from: files, hashes, clocks, and what is not measured."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from viewer import __version__
from viewer.codecs.file_stamps import hash_facts
from viewer.codecs.reading import Cancelled
from viewer.html_report.contents import Contents, short_paths
from viewer.html_report.html import Cell, Row, definitions, section, table, text
from viewer.model.text import bytes_text
from viewer.model.times import counted, group_digits
from viewer.model.timing import Timing, timing_text, timings
from viewer.model.trace import Trace
from viewer.reports.info import format_words, info
from viewer.workspace.workspace import Workspace

_MOST_PROBLEMS = 40


def provenance(contents: Contents, cancelled: Cancelled) -> str:
    """Return the files of a report. Raises WriteCancelled."""
    workspace_facts = [(space, info(space)) for space in contents.workspaces]
    paths = dict.fromkeys(path for space, _ in workspace_facts for path in space.paths)
    names = short_paths(paths)
    files: dict[str, Row] = {}
    notes: dict[str, list[str]] = {}
    for space, facts in workspace_facts:
        for file in facts["files"]:
            path = file["path"]
            if path in files:
                continue
            files[path] = Row(_cells(space, file, names[path], cancelled))
            notes[names[path]] = _notes(space, file)
    titles = ("Size", "File", "Format", "Contents", "Clock", "SHA-256")
    rows = list(files.values())[: contents.limits.rows]
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, file_notes in notes.items():
        if file_notes:
            alike.setdefault(tuple(file_notes), []).append(name)
    lists = "".join(_note_list(named, file_names) for file_names, named in alike.items())
    return section(
        "provenance",
        "Where it comes from",
        table("Files", titles, rows, left=5, sortable=False),
        lists,
        definitions([("Written", f"{written} by Opscope {__version__}")]),
    )


def _note_list(names: Sequence[str], notes: Sequence[str]) -> str:
    """Return the notes of some files that have the same ones."""
    more = f" and {counted(len(names) - 1, 'more file')}" if len(names) > 1 else ""
    items = "".join(f"<li>{text(note, 1000)}</li>" for note in notes)
    return f"<h3>{text(names[0])}{more}</h3><ul>{items}</ul>"


def _cells(
    space: Workspace, file: dict[str, Any], name: str, cancelled: Cancelled
) -> Sequence[Cell]:
    path = file["path"]
    stamp, hashed = space.stamp(path), hash_facts(path, space.stamp(path), cancelled)
    digest = hashed.get("sha256") or f"unknown: {hashed['sha256_missing']}"
    kind = file["kind"]
    if kind == "trace":
        what = (
            f"{counted(file['slices'], 'slice')}, {counted(len(file['inferences']), file['unit'])}"
        )
    elif kind == "program":
        operators = sum(file["methods"].values())
        what = f"{counted(operators, 'operator')}"
    else:
        what = "program file"
    clock = file["clock"]
    rate = "" if clock is None else f"{clock['rate']} ({clock['origin']})"
    if clock is not None and clock["unit"] != "cycle":
        rate = f"1 tick = {clock['ns_per_tick']:g} ns ({clock['origin']})"
    return [
        Cell(
            "" if stamp is None else bytes_text(stamp.size), None if stamp is None else stamp.size
        ),
        Cell(name),
        Cell(format_words(file["format"], file["generation"])),
        Cell(what),
        Cell(rate),
        Cell(digest),
    ]


def _notes(space: Workspace, file: dict[str, Any]) -> list[str]:
    """Return what is assumed, estimated or unexpected in a file."""
    notes = []
    clock = file["clock"]
    if clock is not None and clock["assumed"]:
        notes.append("The file does not state the rate of its clock; it is assumed.")
    trace = next((t for t in space.traces if t.path == file["path"]), None)
    if trace is not None:
        notes += _timing_notes(trace)
    warm_up = sum(inference["warm_up"] for inference in file["inferences"])
    if warm_up:
        notes.append(f"{counted(warm_up, file['unit'])} as warm-up: not in medians and findings.")
    problems = [
        f"{problem['kind']}: {group_digits(problem['count'])}"
        for problem in file["problems"][:_MOST_PROBLEMS]
    ]
    return [*notes, *problems]


def _timing_notes(trace: Trace) -> list[str]:
    """Return how many slices have times that are not measured."""
    timing_bits = timings(trace.slices)
    return [
        f"{counted(count, 'slice')} with times that are {timing_text(int(kind))}"
        for kind in np.unique(timing_bits[timing_bits != Timing.MEASURED])
        if (count := int((timing_bits == kind).sum()))
    ]
