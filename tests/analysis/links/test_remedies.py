"""Remedies: every reason for a missing link says what can be done, in sentences."""

import pytest

from tests.builders.delegation_cases import DATA
from viewer.analysis.links.coverage import remedy
from viewer.analysis.links.link_table import LinkState, Reason
from viewer.analysis.links.linker import NO_RECORD
from viewer.formats import open_file

DUMP = open_file(str(DATA / "etdump/cnn_portable_x1.etdp"))
TORQ = open_file(str(DATA / "torq/compile_c0_callsite.csv"))
UNLINKED = [reason for reason in Reason if reason.state is not LinkState.LINKED]


@pytest.mark.parametrize("reason", UNLINKED, ids=lambda reason: reason.name)
def test_every_reason_has_a_remedy(reason):
    text = remedy(DUMP, reason, "Npu", 0, 0, ["It is so"])
    assert text.endswith(".")
    assert text.startswith("Nothing to link") == (reason.state is LinkState.NOT_LINKABLE)


def test_a_profile_asks_for_what_its_own_slices_come_from():
    asked = [remedy(t, Reason.NO_PROGRAM, "", 0, 0, [NO_RECORD]) for t in (DUMP, TORQ)]
    assert "ETRecord" in asked[0]
    assert ".mlir" in asked[1]


@pytest.mark.parametrize(
    ("calls", "operators", "said"),
    [
        (1, 1, "The delegate call itself is linked to its operator."),
        (1, 14, "The delegate call itself is linked to its 14 operators."),
        (3, 14, "The 3 delegate calls themselves are linked to 14 operators."),
    ],
)
def test_a_backend_that_never_writes_a_map(calls, operators, said):
    text = remedy(DUMP, Reason.NO_DELEGATE_MAP, "XnnpackBackend", calls, operators, [""])
    assert text == (
        "XnnpackBackend writes no debug handle map. Also open the program file (.pte) that ran: "
        f"its nodes have the debug handles. {said}"
    )


def test_another_backend_that_never_writes_a_map():
    text = remedy(DUMP, Reason.NO_DELEGATE_MAP, "EnnBackend", 1, 1, [""])
    assert text.startswith("EnnBackend returned no debug handle map: ENN never does.")


def test_a_backend_that_could_write_a_map_is_told_how():
    text = remedy(DUMP, Reason.NO_DELEGATE_MAP, "Npu", 0, 0, [""])
    assert "DelegateMappingBuilder" in text
    assert "still links" not in text


def test_of_several_identifiers_one_is_named_and_the_others_counted():
    text = remedy(
        DUMP, Reason.IDENTIFIER_UNKNOWN, "Npu", 1, 2, ["Npu logged 'a'", "Npu logged 'b'"]
    )
    assert text.startswith("Npu logged 'a', and 1 more like it. The delegate must register")
