"""The words for figures: a title has one meaning, a share names its whole."""

import pytest

from viewer.model.figures import SELF, TERMS, TOTAL, share


def test_a_title_has_one_definition_of_one_sentence():
    assert len({term.title for term in TERMS}) == len(TERMS)
    assert all(term.definition.endswith(".") for term in TERMS)
    assert all(". " not in term.definition for term in TERMS)


def test_what_is_special_in_a_table_follows_the_definition():
    assert SELF.explained() == SELF.definition
    assert TOTAL.explained("Here of a module.") == f"{TOTAL.definition} Here of a module."


@pytest.mark.parametrize(
    ("base", "title", "whole"),
    [
        ("Method::execute", "% of inference time", "the time of Method::execute."),
        ("inferences", "% of inference time", "the time of all inferences that are counted."),
        ("busy time", "% of busy time", "the time in which each thread was busy, added up."),
        ("range", "% of range", "the time from the earliest start to the latest end."),
    ],
)
def test_a_share_names_its_whole(base, title, whole):
    term = share(base)
    assert (term.title, term.definition) == (title, f"Wall time as a percentage of {whole}")
    assert share(base, "Total time").definition.startswith("Total time as a percentage")
