"""A text of JSON objects is split where one ends and another begins."""

import pytest

from viewer.codecs.json_pieces import Objects


@pytest.mark.parametrize("text", ['x{"a":1}', '{"a":1}x', "", "}{", "[{}]"])
def test_what_is_not_told_at_a_glance_is_left(text):
    assert not Objects(text.encode()).is_plain


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        (' {"a":1},{"b":2}', ['{"a":1}', '{"b":2}']),
        ('{"a":1} ,\n {"b":{"c":{}}} ,\n {}', ['{"a":1}', '{"b":{"c":{}}}', "{}"]),
        # What is between two differs from the first such place: they stay together.
        ('{"a":1}, {"b":2},{"c":3}, {}', ['{"a":1}', '{"b":2},{"c":3}', "{}"]),
        # No objects: that is for whoever reads the pieces to find.
        ('{"a":"},{"},{}', ['{"a":"}', '{"}', "{}"]),
        ('{"a":[{},{}]}', ['{"a":[{}', "{}]}"]),
    ],
)
def test_a_text_is_cut_at_places_like_its_first_joint(text, pieces):
    objects = Objects(text.encode())
    assert objects.is_plain
    spans = zip(objects.begin.tolist(), objects.end.tolist(), strict=True)
    assert [text[begin:end] for begin, end in spans] == pieces


def test_what_is_behind_the_size_does_not_count():
    text = '{"a":1},{"b":2}'
    objects = Objects((text + ',{"c":3}' * 100).encode(), len(text))
    assert objects.end.tolist() == [7, 15]
