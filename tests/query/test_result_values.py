"""What a chart of a result shows, and how values are written."""

import pytest

from viewer.query.engine import Result, cell_text, plotted

TEXT, WHOLE, REAL = "VARCHAR", "BIGINT", "DOUBLE"


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        ({"name": TEXT, "n": WHOLE, "dur_ns": WHOLE}, ("name", "n")),
        ({"id": WHOLE, "name": TEXT, "start_ns": WHOLE, "dur_ns": WHOLE}, ("name", "dur_ns")),
        ({"id": WHOLE, "name": TEXT}, ("name", "id")),
        ({"start_ns": WHOLE, "dur_ns": WHOLE}, ("start_ns", "dur_ns")),
        ({"n": WHOLE, "name": TEXT}, ("name", "n")),
        ({"same": TEXT, "thread": TEXT, "n": WHOLE}, ("thread", "n")),
        ({"same": TEXT, "n": WHOLE}, ("same", "n")),
        ({"depth": WHOLE, "mean": REAL}, ("depth", "mean")),
    ],
)
def test_columns_of_a_chart(columns, chosen):
    rows = [
        tuple("x" if name == "same" else f"t{n}" if kind == TEXT else n
              for name, kind in columns.items())
        for n in range(3)
    ]  # fmt: skip
    contents = plotted(Result(list(columns), list(columns.values()), rows, len(rows)))
    names = list(columns)
    assert (names[contents.dimension], names[contents.measure]) == chosen


@pytest.mark.parametrize(
    ("name", "kind", "value", "text"),
    [
        ("dur_ns", WHOLE, 1_500, "1.500\u202fµs"),
        ("n", WHOLE, 12_345, "12\u2009345"),
        ("id", WHOLE, 12_345, "12345"),
        ("mean", REAL, 0.125, "0.125"),
        ("name", TEXT, "a\nb", "a\\nb"),
        ("n", WHOLE, None, "–"),
        ("dur_ns", TEXT, "x", "x"),
        ("n", "DECIMAL(18,3)", 1.5, "1.5"),
    ],
)
def test_values_as_texts(name, kind, value, text):
    assert cell_text(Result([name], [kind], [(value,)], 1), 0, 0) == text
