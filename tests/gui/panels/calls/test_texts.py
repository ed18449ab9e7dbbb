"""Texts of sampled profiles in the Calls panel: samples in place of calls, and of missing times."""

from tests.gui.panels.calls.test_answer import answered, opened
from tests.paths import DATA
from viewer.formats import open_file
from viewer.gui.panels.calls.texts import CallColumn, CallTexts
from viewer.model.times import plain_spaces

COLUMNS = ["Call", "Total", "Self", "Samples"]


def texts_of(name: str) -> CallTexts:
    return CallTexts(answered(open_file(str(DATA / "samples" / name))))


def cells(texts: CallTexts, node: int) -> list[str]:
    return [plain_spaces(texts.cell(node, column)) for column in texts.columns]


def test_stacks_with_counts_alone_have_samples_and_no_mean():
    texts = texts_of("p02_collapsed.txt")
    assert [column.title for column in texts.columns] == COLUMNS
    assert cells(texts, 0) == ["main", "44 samples", "2 samples", "44"]
    assert texts.box(0) == "44 samples"
    assert texts.lines(0)[-1] == "in 44 samples; how many calls these were is not known"
    assert (
        texts.footer()
        == "Self adds up to 44 samples, by samples · Total includes what a call contains"
    )
    rows = texts.tsv([0], texts.columns).splitlines()
    assert rows == ["Call\tPath\tTotal, samples\tSelf, samples\tSamples", "main\t\t44\t2\t44"]
    assert texts.keys(CallColumn.SAMPLES).tolist()[0] == 44


def test_a_file_with_times_has_times_by_samples():
    trace = open_file(str(DATA / "samples/p01.speedscope.json"))
    shown = opened(trace)
    texts = texts_of("p01.speedscope.json")
    # The evented profile next to it has measured slices, so these are counts of slices.
    assert [column.title for column in texts.columns] == [
        "Call",
        "Total",
        "Self",
        "Count",
        "Mean",
    ]
    assert shown.rate.weight == ""


def test_a_slice_of_samples_has_its_number_as_length():
    shown = opened(open_file(str(DATA / "samples/p02_collapsed.txt")))
    main = next(i for i in range(len(shown.trace.slices)) if shown.trace.name(i) == "main")
    assert shown.length_text(main) == "44 samples"
