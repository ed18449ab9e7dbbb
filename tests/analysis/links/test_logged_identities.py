"""What the runs of a trace logged: one signature for all runs that logged the same."""

from tests.builders.etdump_writer import delegate, framework, operator
from viewer.analysis.links import logged_identities as logged
from viewer.analysis.links.logged_identities import signatures
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats.executorch.etdump import reader as etdump


def inference(begin: int, *kernels: str) -> tuple[str, list[dict]]:
    """A run of operators that take 10 ticks each."""
    events = []
    for i, name in enumerate(kernels):
        events.append(operator(f"native_call_{name}", i, begin + 10 * i, begin + 10 * i + 9))
    return ("Execute", [*events, framework("Method::execute", begin, begin + 10 * len(kernels))])


def read(path):
    return etdump.FORMAT.read(str(path), no_progress, never_cancelled)


def kernels(found):
    return [(s.runs, [sorted(names) for names in s.identities.kernels.values()]) for s in found]


def test_runs_that_logged_the_same_are_one_signature(dump):
    path = dump(inference(0, "a", "b"), inference(100, "a", "c"), inference(200, "a", "b"))
    assert kernels(signatures(read(path))) == [(2, [["a"], ["b"]]), (1, [["a"], ["c"]])]


def test_a_clock_that_starts_again_with_each_run_mixes_no_runs(dump):
    path = dump(inference(0, "a", "b"), inference(0, "a", "c"), inference(5, "a"))
    assert kernels(signatures(read(path))) == [
        (1, [["a"], ["b"]]), (1, [["a"], ["c"]]), (1, [["a"]])
    ]  # fmt: skip


def test_of_runs_that_all_differ_the_commonest_are_compared(dump, monkeypatch):
    monkeypatch.setattr(logged, "MOST_KINDS", 2)
    runs = [inference(100 * i, "a", f"k{i % 4 if i < 8 else 3}") for i in range(12)]
    assert [s.runs for s in signatures(read(dump(*runs)))] == [6, 2]


def test_a_scope_without_runs_is_one_signature(dump):
    load = ("Default", [delegate("prepare", 0, 1, 2, chain=-1), framework("Method::init", 0, 10)])
    found = signatures(read(dump(load)))
    assert [(s.runs, s.identities.is_empty) for s in found] == [(1, True)]
