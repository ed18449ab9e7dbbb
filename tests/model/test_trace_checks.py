"""Columns of a trace that do not fit one another are recognized, each of them."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.paths import DATA
from viewer.formats import open_file
from viewer.model.trace import Trace
from viewer.model.trace_checks import require_fitting, require_fitting_values

FILES = [
    "chrome_json/kineto_cpu.json", "etdump/demo_str_x4.etdp", "torq/demo_str_c1.csv",
    "table_csv/two_threads.csv",
]  # fmt: skip


def require(trace: Trace) -> None:
    require_fitting(trace)
    require_fitting_values(trace)


@pytest.fixture(params=FILES)
def trace(request):
    trace = open_file(str(DATA / request.param))
    assert isinstance(trace, Trace)
    return trace


def variants(value: Any, change) -> Iterator[tuple[str, Any]]:
    """Yield a value with one of its columns changed, for each column, and the column's name."""
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if isinstance(inner, np.ndarray) and len(inner):
            yield field.name, dataclasses.replace(value, **{field.name: change(inner)})
        elif dataclasses.is_dataclass(inner):
            for name, changed in variants(inner, change):
                yield (
                    f"{field.name}.{name}",
                    dataclasses.replace(value, **{field.name: changed}),
                )
        elif field.name == "columns":
            for title, column in inner.items():
                for name, changed in variants(column, change):
                    columns = {**inner, title: changed}
                    yield f"{title}.{name}", dataclasses.replace(value, columns=columns)


def test_a_trace_of_a_reader_fits(trace):
    require(trace)


def test_a_column_of_another_length_is_refused(trace):
    count = 0
    for name, changed in variants(trace, lambda column: column[:-1]):
        if name.startswith(("untimed.name", "untimed.size", "untimed.chain", "untimed.instruction",
                            "untimed.offset")):  # fmt: skip
            continue
        with pytest.raises(ValueError):
            require(changed)
        count += 1
    assert count > 12


def all_largest(column: np.ndarray) -> np.ndarray:
    is_index = column.dtype.kind in "iu" and column.dtype.itemsize >= 4
    return np.full_like(column, np.iinfo(column.dtype).max) if is_index else column


def test_an_index_without_an_entry_is_refused(trace):
    codes = (
        "slices.name", "slices.key", "slices.row_track", "keys.name", "keys.scope",
        "slices.order", "slices.drawn_rows.index", "flows.producer", "flows.consumer",
        "untimed.block", "untimed.run", "untimed.after", "untimed.call", "calls.stack_name",
        "calls.stack_parent", "calls.stack", "calls.first",
    )  # fmt: skip
    count = 0
    for name, changed in variants(trace, all_largest):
        if name in codes:
            with pytest.raises(ValueError):
                require(changed)
            count += 1
    assert count >= 5
    with pytest.raises(ValueError):
        require(dataclasses.replace(trace, strings=trace.strings[:1], tracks=trace.tracks[:0]))


def test_a_slice_that_ends_early_is_refused(trace):
    end = trace.slices.end.copy()
    end[-1] = trace.slices.start[-1] - 1
    with pytest.raises(ValueError, match="before it starts"):
        require(dataclasses.replace(trace, slices=dataclasses.replace(trace.slices, end=end)))
