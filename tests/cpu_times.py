"""A pytest plugin: the processor time of each test, and a limit for tests without a mark.

`packaging/test` loads it (`-p tests.cpu_times`). Processor time, since wall time depends also
on other programs: user and system time of the test's process and of the processes that it waited
for, from set-up to teardown. A fixture that several tests share counts to the first.

A test that takes more than `MOST_SECONDS` fails the run if it has neither of the marks `slow` and
`nightly`. The same test takes 1 s on one machine and 2.2 s on another, so the limit is far above
what a test without a mark should take: mark one that takes more than 1 s.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator

import pytest

MOST_SECONDS = 5.0
LISTED_TESTS, LISTED_FOLDERS = 10, 12
MARKS = ("slow", "nightly")

_PROPERTY = "cpu_seconds"


def cpu_seconds() -> float:
    """Processor seconds of this process, and of its children that have ended."""
    return sum(os.times()[:4])


def folder_of(test: str) -> str:
    """The folder of a test's id that the table lists: `tests/gui/window`, `tests/formats`."""
    folders = test.partition("::")[0].split("/")[:-1]
    return "/".join(folders[: 3 if folders[1:2] == ["gui"] else 2])


class CpuTimes:
    """Adds up the processor seconds of tests, also of those that xdist runs in other processes."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()  # by test
        self._unmarked: set[str] = set()
        self._last = cpu_seconds()

    def over_limit(self) -> list[str]:
        """The tests without a mark that took more than they may, the slowest first."""
        return [
            test
            for test, seconds in self._seconds.most_common()
            if test in self._unmarked and seconds > MOST_SECONDS
        ]

    def pytest_runtest_logstart(self) -> None:
        """Leave out what passed between two tests."""
        self._last = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the time of a phase to its report; xdist sends it to the main process."""
        report = yield
        now = cpu_seconds()
        marks = {mark for mark in MARKS if item.get_closest_marker(mark)}
        # The report of a test's teardown has the properties of its set-up too.
        report.user_properties = [(_PROPERTY, (now - self._last, sorted(marks)))]
        self._last = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test to its time."""
        for name, value in report.user_properties:
            if name == _PROPERTY:
                seconds, marks = value
                self._seconds[report.nodeid] += seconds
                if not marks:
                    self._unmarked.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run for a slow test without a mark."""
        if self.over_limit() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the slowest tests, the time of each folder, and what breaks the limit."""
        write = terminalreporter.write_line
        terminalreporter.section("processor seconds")
        for test, seconds in self._seconds.most_common(LISTED_TESTS):
            write(f"{seconds:8.2f}  {test}")
        folders: Counter[str] = Counter()
        for test, seconds in self._seconds.items():
            folders[folder_of(test)] += seconds
        write("")
        for folder, seconds in folders.most_common(LISTED_FOLDERS):
            write(f"{seconds:8.1f}  {folder}")
        write(f"{folders.total():8.1f}  all {len(self._seconds):,} tests, without collecting them")
        for test in self.over_limit():
            write(
                f"FAILED {test}: {self._seconds[test]:.1f} processor seconds; more than "
                f"{MOST_SECONDS:g} need the mark {' or '.join(MARKS)}",
                red=True,
            )


def pytest_configure(config: pytest.Config) -> None:
    """Measure in the main process and, with xdist, in each of its workers."""
    config.pluginmanager.register(CpuTimes(), "cpu-times")
