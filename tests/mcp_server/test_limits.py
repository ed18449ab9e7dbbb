"""An answer has limited rows and texts, and is JSON in ASCII."""

import json

import pytest

from viewer.mcp_server.limits import TooLarge, answer_text, limited, limited_by_file

ROWS = [{"file": "a", "n": 1}, {"file": "a", "n": 2}, {"file": "b", "n": 3}]


def test_rows_are_limited_with_their_number():
    found = limited({"rows": ROWS, "by": "x"}, "rows", 2)
    assert found == {"rows": ROWS[:2], "by": "x", "total": 3, "shown": 2}


def test_rows_are_limited_for_each_file():
    found = limited_by_file({"rows": ROWS}, "rows", 1)
    assert found == {"rows": [ROWS[0], ROWS[2]], "total": 3, "shown": 2}


def test_names_have_no_control_characters_and_an_end():
    text = answer_text({"name": "\x1b[2J\u202egpj\u2028\x00\udcff", "long": "x" * 10**6}, 10)
    assert text.isascii()
    assert text.isprintable()
    found = json.loads(text)
    assert found["name"] == "\x1b[2J\u202egpj\u2028\x00\udcff"
    assert found["long"] == "x" * 1000 + "... (1\u2009000\u2009000 characters)"


def test_a_list_without_a_limit_is_cut_and_says_so():
    found = json.loads(answer_text({"inner": {"live": list(range(500))}}, 10))
    assert found == {"inner": {"live": list(range(100)), "live_total": 500}}


def test_numbers_that_are_not_finite_are_null():
    assert answer_text({"a": [float("nan"), float("inf"), 1.5]}, 10) == '{"a": [null, null, 1.5]}'


def test_an_answer_that_is_too_large_is_refused():
    rows = [{"name": "x" * 1000}] * 300
    with pytest.raises(TooLarge, match="use a smaller limit"):
        answer_text({"rows": rows}, 300)
