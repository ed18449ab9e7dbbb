"""Debug handle maps that hold what they should not."""

from tests.builders.record_cases import made, node, read
from viewer.formats.executorch.etrecord.graph import output_counts


def test_a_key_twice_in_a_map_is_told_and_the_last_one_counts(tmp_path):
    program = read(made(tmp_path, node(), debug_handle_map='{"forward": {"0": 7, "0": 1}}'))
    assert program.methods[0].handles == {0: (1,)}
    assert [p.kind for p in program.problems] == ["duplicate key: the last one is used"]


def test_numbers_that_are_no_handles_are_told(tmp_path):
    entries = (
        '{"forward": {"0": NaN, "1": -1, "-1": 1, "2": 1e999, "3": [1, "x"], "4": 10'
        + "0" * 30
        + "}}"
    )
    program = read(made(tmp_path, node(), debug_handle_map=entries))
    assert program.methods[0].handles == {}
    (problem,) = program.problems
    assert ("expected instruction -> handles" in problem.kind, problem.count) == (True, 6)
    digits = '{"forward": {"0": %s}}' % ("9" * 9000)
    assert "not valid JSON" in read(made(tmp_path, debug_handle_map=digits)).problems[0].kind


def test_numbers_of_outputs_of_delegate_calls():
    complaints = []
    counts = output_counts(
        {"1": 2, "3": 1, "x": 1, "4": 0, "5": "many"},
        lambda kind, where: complaints.append((kind, where)),
    )
    assert counts == {1: 2, 3: 1}
    why = "invalid number of outputs of a delegate call"
    assert complaints == [(why, "x"), (why, "4"), (why, "5")]
