"""Short names of open files and slices, in answers and in the arguments of later calls.

A path of 100 characters in every row of an answer is most of its text. So each open file has a
handle: p1, p2, ... for profiles, f1, f2, ... for other files, in the order of the command line. An
answer states each path once, in `handles`. A slice is p1:123, its number in its profile. Files do
not change while the server runs, so a handle stays valid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from viewer.mcp_server.arguments import WrongArgument
from viewer.reports.info import Facts
from viewer.workspace.workspace import Workspace

_TICKS, _NS = "_ticks", "_ns"


def file_handles(workspace: Workspace) -> dict[str, str]:
    """Return the handle of each open file by its path."""
    profiles = list(dict.fromkeys(trace.path for trace in workspace.traces))
    others = [program.path for program in workspace.programs]
    others += [executable.path for executable in workspace.executables]
    handles = {path: f"p{number}" for number, path in enumerate(profiles, 1)}
    rest = [path for path in dict.fromkeys(others) if path not in handles]
    return handles | {path: f"f{number}" for number, path in enumerate(rest, 1)}


def slice_of_handle(handle: str) -> tuple[str, int]:
    """Return the profile and the number of a slice's handle. Raises `WrongArgument`."""
    profile, _, number = handle.rpartition(":")
    if not profile or not number.isascii() or not number.isdecimal() or len(number) > 10:
        raise WrongArgument(f"{handle[:40]!r} is not the handle of a slice, such as p1:123")
    return profile, int(number)


def with_handles(facts: Facts, handles: Mapping[str, str]) -> Facts:
    """Return an answer with handles instead of paths, and each path once in `handles`.

    Left out are empty values (never a zero), and times in ticks that are there in ns. A row of a
    slice gets its `handle`.
    """
    stated: dict[str, str] = {}

    def short(value: Any) -> Any:
        if isinstance(value, str) and value in handles:
            stated[handles[value]] = value
            return handles[value]
        if isinstance(value, Mapping):
            row = {
                key: short(part)
                for key, part in value.items()
                if (part or type(part) in (int, float, bool))
                and not (key.endswith(_TICKS) and f"{key.removesuffix(_TICKS)}{_NS}" in value)
            }
            if type(value.get("slice")) is int and value.get("file") in handles:
                return {"handle": f"{row['file']}:{row['slice']}", **row}
            return row
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [short(part) for part in value]
        return value

    answer = _clock_once(short(facts))
    in_order = {handle: stated[handle] for handle in handles.values() if handle in stated}
    return {"handles": in_order, **answer} if in_order else dict(answer)


def _clock_once(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts with the clock of all files, if they have the same, instead of one in each."""
    files = facts.get("files", ())
    clocks = [file["clock"] for file in files if "clock" in file]
    if len(clocks) < 2 or any(clock != clocks[0] for clock in clocks):
        return facts
    without = [{key: part for key, part in file.items() if key != "clock"} for file in files]
    return {**facts, "clock": clocks[0], "files": without}
