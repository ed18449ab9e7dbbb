"""The same rows as tables of other kinds: times as texts, lines around, ends, phases, counters.

Each table is made from `ROWS` and opens with them, without a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

# name, start and duration in ns; the starts in whole ms suit every way to write them
ROWS = (
    ("conv", 1_000_000, 1_250_000),
    ("relu", 2_500_000, 1_500_000),
    ("softmax", 65_000_000, 2_000_000),
    ("fc", 3_723_004_000_000, 5_000_000),
)
_DAY = datetime(2024, 5, 1, 10, tzinfo=UTC)
DAY_NS = int(_DAY.timestamp()) * 10**9


@dataclass(frozen=True)
class Table:
    """text: of the file. columns: the option --columns. zero: what is added to the starts."""

    name: str
    text: str
    columns: str = ""
    zero: int = 0


def _clock(ns: int, mark: str = ".") -> str:
    seconds, rest = divmod(ns, 10**9)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{mark}{rest:09}"


def _date(ns: int, form: str, zone: str, ahead: int) -> str:
    time = _DAY + timedelta(seconds=ns // 10**9, hours=ahead)
    return f"{time.strftime(form)}.{ns % 10**9:09}{zone}"


_DATES = [("%Y-%m-%dT%H:%M:%S", "Z", 0), ("%Y-%m-%d %H:%M:%S", "", 0),
          ("%Y-%m-%dT%H:%M:%S", "+02:00", 2), ("%Y/%m/%d %H:%M:%S", "-0700", -7)]  # fmt: skip
_LENGTHS: dict[str, Callable[[int], str]] = {
    "us in cells": lambda ns: f"{ns // 1000} µs",
    "ms in cells": lambda ns: f"{ns / 10**6:.3f}ms",
    "units mixed": lambda ns: f"{ns}ns" if ns % 10**6 else f"{ns // 10**6} msec",
    "go": lambda ns: f"{ns // 10**9 // 60}m{ns // 10**9 % 60}.{ns % 10**9:09}s",
    "clock": _clock,
    "clock with a comma": lambda ns: f'"{_clock(ns, ",")}"',
    "pandas": lambda ns: f"{ns // 86400 // 10**9} days {_clock(ns)}",
    "python": lambda ns: f'"0 day, {_clock(ns)}"',
    "iso duration": lambda ns: f"P0DT0H0M{ns // 10**9}.{ns % 10**9:09}S",
}  # fmt: skip


def _table(header: str, rows: Iterator[str] | list[str], end: str = "\n") -> str:
    return end.join([header, *rows, ""])


def tables() -> Iterator[Table]:
    """All tables."""
    for name, text in _LENGTHS.items():
        rows = [f"{n},{text(at)},{text(took)}" for n, at, took in ROWS]
        yield Table(name, _table("name,start,duration", rows))
        ends = [f"{n},{text(at + took)},{text(took)}" for n, at, took in ROWS]
        yield Table(f"{name}, end and duration", _table("op,end,dur", ends))
    for form, zone, ahead in _DATES:
        rows = [
            f"{n},{_date(at, form, zone, ahead)},{_date(at + took, form, zone, ahead)}"
            for n, at, took in ROWS
        ]
        yield Table(f"{form} {zone}", _table("name,start,end", rows), zero=DAY_NS)
    yield from _with_lines_around()
    yield from _of_events()
    pipes = [f"| {n} | {at} | {took} |" for n, at, took in ROWS]
    for rule in ("|---|:--:|--:|", "+------+------+-----+"):
        drawn = _table("| name | start (ns) | dur (ns) |", [rule, *pipes, rule])
        yield Table(f"pipes {rule[0]}", drawn)
    yield Table("box", _table(rule, ["| name | start (ns) | dur (ns) |", rule, *pipes, rule]))


def _with_lines_around() -> Iterator[Table]:
    rows = [f"{n},{at / 1000:.0f},{took / 1000:.0f}" for n, at, took in ROWS]
    header = "name,start_us,dur_us"
    odd = [f"{n},{took / 1000:.0f},{at / 1000:.0f}" for n, at, took in ROWS]
    for i, above in enumerate(
        (["Tool v2.1"], ["Tool", "Date: 2024-05-01", "Device,Pixel 8", ""], ["a,b", "1,2", ""],
         ["==12== NVPROF is profiling, command: ./a"] * 3, [f"line {n}, x" for n in range(25)])
    ):  # fmt: skip
        yield Table(f"above {i}", "\n".join([*above, _table(header, rows)]))
        yield Table(f"above {i}, CR LF", "\r\n".join([*above, _table(header, rows, "\r\n")]))
        stated = _table("layer,t1,t0", odd)
        yield Table(
            f"above {i}, stated", "\n".join([*above, stated]), "name=layer,start=t0,dur=t1,unit=us"
        )
        yield Table(f"below {i}", "\n".join([_table(header, rows), *above]))


def _of_events() -> Iterator[Table]:
    events = [(at, "B", n) for n, at, _ in ROWS] + [(at + took, "E", n) for n, at, took in ROWS]
    words = {"B": ("B", "begin", "START"), "E": ("E", "end", "STOP")}
    for i, header in enumerate(("ts_ns,ph,name", "timestamp (ns),event,task", "time_ns,type,op")):
        rows = [f"{at},{words[what][i]},{n}" for at, what, n in sorted(events)]
        yield Table(f"events {header}", _table(header, rows))
        yield Table(f"events {header}, out of order", _table(header, rows[::-1]))
