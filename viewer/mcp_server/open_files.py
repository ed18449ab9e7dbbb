"""The files of the command line, which are all that tools can read."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from functools import cached_property

from viewer.analysis.search.search import SearchedTrace
from viewer.api.profile import Profile
from viewer.mcp_server.arguments import WrongArgument
from viewer.mcp_server.handles import file_handles
from viewer.model.trace import Trace
from viewer.reports.profiles.slices import searched
from viewer.reports.profiles.source_lines import recorded_paths
from viewer.workspace.snapshot import LinkedTrace, Snapshot
from viewer.workspace.workspace import Workspace


class OpenFiles:
    """A workspace that does not change any more, and what could not be opened.

    unreadable: a message for each file that could not be read, and for each option that could not
    be applied.
    """

    def __init__(self, workspace: Workspace, unreadable: Sequence[str] = ()) -> None:
        self.workspace = workspace
        self.unreadable = tuple(unreadable)
        self._searched: dict[str, SearchedTrace] = {}

    @cached_property
    def linked(self) -> tuple[LinkedTrace, ...]:
        """The profiles with their links."""
        return Snapshot.of(self.workspace).traces

    @cached_property
    def recorded_paths(self) -> tuple[str, ...]:
        """The source files that the open files name."""
        return tuple(recorded_paths(self.workspace))

    @cached_property
    def handles(self) -> dict[str, str]:
        """The handle of each open file by its path."""
        return file_handles(self.workspace)

    @property
    def has_program_file(self) -> bool:
        """Whether a program file is open, which has a memory plan."""
        return bool(self.workspace.executables)

    @cached_property
    def tables(self) -> Profile:
        """The tables of the open files, each made once."""
        return Profile(self.workspace)

    def profile(self, name: str | None) -> Trace:
        """Return the profile of a name, or the only one. Raises `WrongArgument`."""
        if name is not None:
            return self._trace(name)
        traces = self.workspace.traces
        if len(traces) == 1:
            return traces[0]
        if not traces:
            raise WrongArgument("no profile is open")
        raise WrongArgument(f"several profiles are open, name one: {self._names()}")

    def only(self, name: str | None) -> Workspace:
        """Return a workspace with the profile of a name alone, or with all. See `profile`."""
        if name is None:
            return self.workspace
        assert self.linked is not None  # the links are made once, for all copies
        one = copy.copy(self.workspace)
        one.traces = [self._trace(name)]
        return one

    def chosen(self, name: str | None) -> list[LinkedTrace]:
        """Return the profile of a name with its links, or all. See `profile`."""
        trace = None if name is None else self._trace(name)
        return [one for one in self.linked if trace is None or one.trace is trace]

    def arm(self, names: Sequence[str]) -> list[str]:
        """Return the paths of some profiles. Raises `WrongArgument`."""
        return list(dict.fromkeys(self._trace(name).path for name in names))

    def searched(self, one: LinkedTrace) -> SearchedTrace:
        """Return a profile that can be searched; made once."""
        path = one.trace.path
        if path not in self._searched:
            self._searched[path] = searched(one)
        return self._searched[path]

    def _trace(self, name: str) -> Trace:
        """Return the open profile of a handle or path, or the only one with this file name.

        A name is compared as a text and never looked up on the disk.
        """
        traces = self.workspace.traces
        found = [trace for trace in traces if name in (trace.path, self.handles[trace.path])]
        found = found or [trace for trace in traces if os.path.basename(trace.path) == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise WrongArgument(f"{len(found)} open profiles are named {name}: give the whole path")
        raise WrongArgument(f"{name} is not an open profile; open are: {self._names()}")

    def _names(self) -> str:
        return ", ".join(trace.path for trace in self.workspace.traces[:20]) or "none"
