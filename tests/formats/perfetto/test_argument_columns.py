"""Arguments that the events at both ends of a slice have."""

import pytest

from tests.formats.perfetto.test_reader import BEGIN, END, Writer
from viewer.formats import open_file

COUNT = 400


def written(tmp_path, begin, end, file_order=range(2)):
    """COUNT slices whose two events have an argument x each."""
    writer = Writer()
    writer.thread(11, 5, 6, "worker", "app")
    writer.packet(sequence_flags=1).interned_data.debug_annotation_names.add(iid=1, name="x")
    for i in range(COUNT):
        for which in file_order:
            event = writer.event(10 * i + 5 * which, (BEGIN, END)[which], 11, "" if which else "a")
            event.debug_annotations.add(name_iid=1, **(end if which else begin)(i))
    return open_file(str(writer.save(tmp_path))).slices.columns["x"]


@pytest.mark.parametrize("file_order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("begin", "end", "shown"),
    [
        (lambda i: {"int_value": i}, lambda i: {"int_value": -i}, lambda i: -i),
        (lambda i: {"double_value": i + 0.5}, lambda i: {"int_value": i}, float),
        (lambda i: {"string_value": f"text {i}"}, lambda i: {"int_value": i}, str),
        (lambda i: {"bool_value": True}, lambda i: {"string_value": "b"}, lambda i: "b"),
        (lambda i: {"int_value": i}, lambda i: {"uint_value": i + 1} if i % 2 else {}, None),
    ],
)
def test_that_of_the_end_event_counts_whatever_types_they_have(
    tmp_path, begin, end, shown, file_order
):
    shown = shown or (lambda i: i + i % 2)
    column = written(tmp_path, begin, end, file_order)
    assert [column.value(i) for i in range(COUNT)] == [shown(i) for i in range(COUNT)]
