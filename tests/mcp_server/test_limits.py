"""An answer has limited rows and texts, and is JSON in ASCII."""

import json

import pytest

from viewer.mcp_server.limits import (
    MOST_CHARACTERS,
    TooLarge,
    answer_text,
    limited,
    limited_by_file,
    of_each,
)

ROWS = [{"file": "a", "n": 1}, {"file": "a", "n": 2}, {"file": "b", "n": 3}]


def test_rows_are_limited_with_their_number():
    found = limited({"rows": ROWS, "by": "x"}, "rows", 2)
    assert found == {"rows": ROWS[:2], "by": "x", "total": 3, "shown": 2}


def test_rows_are_limited_for_each_file():
    found = limited_by_file({"rows": ROWS}, 1)
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
    assert answer_text({"a": [float("nan"), float("inf"), 1.5]}, 10) == '{"a":[null,null,1.5]}'


def test_an_answer_that_is_too_large_has_fewer_rows_and_says_so():
    rows = [{"name": "x" * 1000}] * 300
    text = answer_text({"rows": rows, "total": 900, "shown": 300}, 300)
    found = json.loads(text)
    assert 20_000 < len(text) <= MOST_CHARACTERS
    assert (found["rows_total"], found["total"]) == (300, 900)
    assert found["shown"] == len(found["rows"]) < 40


def test_an_answer_that_is_too_large_with_one_row_is_refused():
    with pytest.raises(TooLarge, match="name one profile"):
        answer_text({str(i): "x" * 1000 for i in range(50)}, 300)


@pytest.mark.parametrize(("limit", "profiles", "each"), [(20, 1, 20), (20, 7, 2), (5, 30, 1)])
def test_profiles_share_a_limit(limit, profiles, each):
    assert of_each(limit, profiles) == each
