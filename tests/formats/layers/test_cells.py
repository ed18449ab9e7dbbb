"""Durations as people and spreadsheets of any country write them: each amount is as meant."""

from fractions import Fraction

import pytest

from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file

# The sign before decimals, and what separates thousands.
WRITERS = [
    (".", ""), (".", ","), (".", " "), (".", "'"), (".", "_"), (",", ""), (",", "."), (",", " "),
    (",", "\u00a0"), (",", "\u202f"), (",", "\u2019"),
]  # fmt: skip
AMOUNTS = ["1234.5", "0.25", "12.75", "1204", "12345678.125", "7"]
SEPARATORS = {";": "{};{}", "\t": "{}\t{}", "|": "| {} | {} |"}


def written(amount, decimal, gap):
    whole, _, part = amount.partition(".")
    whole = f"{int(whole):,}".replace(",", gap)
    return f"{whole}{decimal}{part}" if part else whole


def bars(path):
    trace = open_file(str(path))
    s, per_us = trace.slices, trace.clock.ns_per_tick / 1000
    return trace, [Fraction(int(s.end[i] - s.start[i])) * per_us for i in range(len(s))]


def table(tmp_path, row, cells, heading="Time (us)"):
    path = tmp_path / "table.txt"
    lines = [row.format("Layer", heading), row.format("---", "---")][: 2 if "|" in row else 1]
    lines += [row.format(f"conv{n}", cell) for n, cell in enumerate(cells)]
    path.write_text("\n".join([*lines, ""]))
    return path


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize(("decimal", "gap"), WRITERS)
@pytest.mark.parametrize("unit", ["", " us"])
def test_numbers_of_any_country_are_read_as_meant(separator, decimal, gap, unit, tmp_path):
    cells = [written(amount, decimal, gap) + unit for amount in AMOUNTS]
    trace, found = bars(table(tmp_path, SEPARATORS[separator], cells))
    assert found == [Fraction(amount) for amount in AMOUNTS]
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("cells", "meant", "is_unclear"),
    [
        (["1.234", "0.022"], ["1.234", "0.022"], False),
        (["1.234", "2.345"], ["1.234", "2.345"], False),
        (["1.234", "22"], ["1.234", "22"], True),
        (["1,234", "2,345"], ["1234", "2345"], True),
        (["1,234", "2,345,678"], ["1234", "2345678"], False),
        (["1.234", "2.345.678", "5"], None, False),
    ],
)
def test_what_may_be_thousands_is_said(cells, meant, is_unclear, tmp_path):
    trace, found = bars(table(tmp_path, "{};{}", cells))
    if meant is None:
        meant = [cell.replace(".", "") for cell in cells]
    assert found == [Fraction(one) for one in meant]
    assert any("decimals or thousands" in one.kind for one in trace.problems) == is_unclear


@pytest.mark.parametrize(("stated", "factor"), [("comma", 1), ("point", 1000)])
def test_a_stated_sign_decides(stated, factor, tmp_path):
    path = table(tmp_path, "{};{}", ["1,234", "2,345"])
    trace = open_file(str(path), columns=f"decimal={stated}")
    s, per_us = trace.slices, trace.clock.ns_per_tick / 1000
    lengths = [int(s.end[i] - s.start[i]) * per_us for i in range(2)]
    assert lengths == [Fraction("1.234") * factor, Fraction("2.345") * factor]
    assert trace.problems == ()


def test_clocks_and_counts_of_days_are_durations(tmp_path):
    cells = ["0 days 00:00:00.000510", "00:00:01.5", "0:00:00.25", "1m 2.5s", "PT0.125S"]
    trace, found = bars(table(tmp_path, "{};{}", cells, "duration"))
    assert found == [510, 1_500_000, 250_000, 62_500_000, 125_000]
    assert trace.problems == ()


def test_dates_are_no_durations(tmp_path):
    path = table(tmp_path, "{};{}", ["2026-11-28 10:00:00", "2026-11-28 10:00:01"], "duration")
    with pytest.raises(UnreadableFile):
        open_file(str(path))
