"""Every argument is bounded, and a value outside of its bounds is refused with a sentence."""

import pytest

from viewer.mcp_server.limits import Argument, Kind, WrongArgument, checked, schema_of

NUMBER = Argument("limit", Kind.NUMBER, "The most rows.", default=5, least=1, most=10)
TEXT = Argument("query", Kind.TEXT, "A query.", is_required=True, most=8)
CHOICE = Argument("order", Kind.TEXT, "An order.", default="up", choices=("up", "down"))
TEXTS = Argument("a", Kind.TEXTS, "Profiles.")
ALL = (TEXT, NUMBER, CHOICE, TEXTS)


def test_what_is_left_out_has_its_default():
    found = checked(ALL, {"query": "conv", "a": None})
    assert found == {"query": "conv", "limit": 5, "order": "up", "a": None}


def test_a_whole_number_may_be_written_as_a_fraction():
    assert checked(ALL, {"query": "x", "limit": 7.0})["limit"] == 7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "query is missing: A query."),
        ({"query": ""}, "query must be a text"),
        ({"query": 3}, "query must be a text"),
        ({"query": "123456789"}, "query can have at most 8 characters"),
        ({"query": "x", "limit": 0}, "limit must be from 1 to 10"),
        ({"query": "x", "limit": 11}, "limit must be from 1 to 10"),
        ({"query": "x", "limit": 10**400}, "limit must be from 1 to 10"),
        ({"query": "x", "limit": True}, "limit must be a whole number"),
        ({"query": "x", "limit": 1.5}, "limit must be a whole number"),
        ({"query": "x", "limit": float("nan")}, "limit must be a whole number"),
        ({"query": "x", "limit": "5"}, "limit must be a whole number"),
        ({"query": "x", "order": "left"}, "order must be one of up, down"),
        ({"query": "x", "a": "b"}, "a must be a list of texts"),
        ({"query": "x", "a": []}, "a must be a list of texts"),
        ({"query": "x", "a": [1]}, "a must be a text"),
        ({"query": "x", "a": ["b"] * 201}, "a can have at most 200 texts"),
        ({"query": "x", "path": "/"}, "the tool has no argument 'path'; it takes query, limit,"),
    ],
)
def test_a_value_outside_of_its_bounds_is_refused(given, message):
    with pytest.raises(WrongArgument) as refused:
        checked(ALL, given)
    assert str(refused.value).startswith(message)


def test_the_schema_states_the_same_bounds():
    schema = schema_of(ALL)
    assert (schema["required"], schema["additionalProperties"]) == (["query"], False)
    assert schema["properties"] == {
        "query": {"type": "string", "description": "A query.", "minLength": 1, "maxLength": 8},
        "limit": {
            "type": "integer", "description": "The most rows.", "minimum": 1, "maximum": 10,
            "default": 5,
        },
        "order": {
            "type": "string", "description": "An order.", "enum": ["up", "down"], "default": "up",
        },
        "a": {
            "type": "array", "description": "Profiles.", "minItems": 1, "maxItems": 200,
            "items": {"type": "string", "minLength": 1, "maxLength": 4096},
        },
    }  # fmt: skip
