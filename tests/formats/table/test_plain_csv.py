"""Plain CSV: one truth, written in many ways, opens with the same slices, or asks."""

import gzip
import io
import zipfile
from fractions import Fraction
from random import Random

import pytest

from tests.builders.csv_variants import TEXT, TRUTH, variants
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.table.stated_columns import ColumnsNeeded
from viewer.formats.zipped import table_layout
from viewer.model.trace import Trace

VARIANTS = variants()


def slices(trace: Trace) -> list[tuple[str, str, str, Fraction, Fraction]]:
    """Process, thread, name, start and duration in ns of all slices, by start."""
    s, ns = trace.slices, trace.clock.ns_per_tick
    track = [trace.tracks[s.track(i)] for i in range(len(s))]
    return sorted(
        (
            (track[i].process, track[i].thread, trace.name(i), int(s.start[i]) * ns,
             int(s.end[i] - s.start[i]) * ns)
            for i in range(len(s))
        ),
        key=lambda each: each[3],
    )  # fmt: skip


@pytest.fixture
def opened(tmp_path):
    """Open bytes or a text as a file, with --columns."""

    def make(data: bytes | str, columns: str = "", suffix: str = ".csv") -> Trace:
        path = tmp_path / f"mine{suffix}"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return open_file(str(path), columns=columns)

    return make


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_variant_opens_with_the_same_slices_or_asks(opened, variant):
    columns = ""
    if variant.asks:
        with pytest.raises(ColumnsNeeded) as asked:
            opened(variant.data, suffix=variant.suffix)
        assert asked.value.question.missing == variant.asks
        assert "--columns" in asked.value.remedy
        columns = variant.answer
    trace = opened(variant.data, columns, variant.suffix)
    found = slices(trace)
    assert [row[2:] for row in found] == [row[2:] for row in TRUTH]
    if variant.places:
        assert [tuple(p.split()[-1] for p in row[:2]) for row in found] == [
            row[:2] for row in TRUTH
        ]
    assert trace.problems == ()


def test_there_are_at_least_60_variants():
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS) >= 60
    assert len({variant.data for variant in VARIANTS}) == len(VARIANTS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "process,thread,name,start_ns\np,t,a,1\n",
            "(line 1): this table does not show the duration or the end; its columns are process, "
            "thread, name, start_ns. State it: --columns "
            '"name=name,start=start_ns,dur=COLUMN,process=process,thread=thread"',
        ),
        (
            "Op,Start (ns),T\nconv,1,2\nrelu,2,3\n",
            "does not show the duration or the end; its columns are Op, Start (ns), T. State it: "
            '--columns "name=Op,start=Start (ns),dur=COLUMN"',
        ),
        (
            "name,start_us,begin_us,dur_us\na,1,1,1\n",
            "does not show the start; its columns are name, start_us, begin_us, dur_us; start_us "
            "and begin_us could be the start",
        ),
        ("name,start,dur\na,1,1\n", "does not show the unit of start and dur;"),
        (
            "x,y\n1,2\n3,4\n",
            "does not show the name, the start, the duration or the end and the unit of times",
        ),
        (
            'name,start_us,dur_us\na,1,2\nb,"2,500","1,000"\n',
            '(line 3: b,"2,500","1,000"): the comma in "2,500" may separate decimals or thousands. '
            'State it: --columns "name=name,start=start_us,dur=dur_us,decimal=point"',
        ),
        (
            "name;start_us;dur_us\na;1,5;2\nb;2.25;1\n",
            'it has times with a decimal point ("2.25") and a decimal comma ("1,5")',
        ),
    ],
)
def test_what_is_not_known_is_asked_with_the_columns_and_the_option(opened, text, said):
    with pytest.raises(ColumnsNeeded) as asked:
        opened(text)
    assert said in str(asked.value)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            "dur=Duration",
            "it has no column Duration, which --columns states as dur; it has process",
        ),
        ("unit=ms", "states the unit ms, but start_us is in us and dur_us is in us"),
    ],
)
def test_columns_that_do_not_fit_the_file_are_refused(opened, columns, said):
    with pytest.raises(UnreadableFile) as refused:
        opened(TEXT, columns)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "name,start_us,dur_us\nconv,1,n/a\nrelu,x,2\n",
            "nothing in this Plain CSV can be shown: 2 x row without usable times: left out, "
            "first: line 2: dur_us has no value in conv,1,n/a",
        ),
        (
            "# by hand\nname,start_us,dur_us\n\nconv,1q,2\n",
            'first: line 4: start_us is "1q" in conv,1q,2',
        ),
        ("name,start_us,dur_us\n", "this Plain CSV has a header and no rows"),
        (
            'name,start_us,dur_us\na,1,"2\n',
            'row with a quote that is not closed: left out, first: line 2: a,1,"2',
        ),
    ],
)
def test_a_file_without_a_usable_row_names_the_column_and_the_row(opened, text, said):
    with pytest.raises(UnreadableFile) as refused:
        opened(text)
    assert said in str(refused.value)


def test_rows_without_usable_times_are_left_out_and_the_first_is_quoted(opened):
    trace = opened(
        'name,start_us,dur_us\na,1,2\n"two\nlines",2,3\n\n# a comment\nb,3,-1\nc,,1\nd,4,1,1\n'
        f"e,{10**30},1\n"
    )
    assert [trace.name(i) for i in range(len(trace.slices))] == ["a", "two\nlines"]
    assert {p.kind: (p.count, p.first) for p in trace.problems} == {
        "row without usable times: left out": (3, 'line 7: dur_us is "-1" in b,3,-1'),
        "row with more cells than the header": (1, "line 9: d,4,1,1"),
    }


def test_a_slice_of_a_query_that_did_not_end_is_an_instant(opened):
    trace = opened('"ts","dur","name"\n10,-1,"open"\n20,5,"closed"\n')
    s = trace.slices
    assert [(int(s.start[i]), int(s.end[i])) for i in range(2)] == [(10, 10), (20, 25)]
    assert [(p.kind, p.first) for p in trace.problems] == [
        ("slice without an end: drawn as an instant", 'line 2: 10,-1,"open"')
    ]


def test_a_slice_that_ends_before_it_starts_is_an_instant(opened):
    trace = opened("name,method,start_us,end_us\nMethod::execute,m,10,1\nMethod::execute,m,20,21\n")
    s = trace.slices
    assert [(int(s.start[i]), int(s.end[i])) for i in range(2)] == [(10_000,) * 2, (20_000, 21_000)]
    assert [(run.start, run.end) for run in trace.runs] == [(10_000,) * 2, (20_000, 21_000)]
    assert [p.kind for p in trace.problems] == ["slice ends before it starts: drawn as an instant"]


def test_other_columns_are_arguments(opened):
    trace = opened(
        "index,op,start_us,end_us,dur_us,start_ns,layer,core,note\n"
        "0,conv,0.5,2,1.5,500,3,1,[NULL]\n1,relu,2,2.25,0.25,2000,4,1,x\n"
    , "start=start_us")  # fmt: skip
    columns = trace.slices.columns
    assert {name: columns[name].value(0) for name in columns} == {
        "index": 0, "end_us": 2, "start_ns_": 500, "layer": 3, "note": None,
    }  # fmt: skip
    assert (trace.tracks[0].process, trace.tracks[0].thread) == ("mine", "core 1")


def test_the_identity_of_slices_links_them_as_in_a_profile_csv(opened):
    trace = opened(
        "name,start_us,dur_us,method,instruction_id,Debug Identifier\nconv,1,2,forward,3,id7\n"
    )
    key = trace.keys
    assert (int(key.instruction[0]), key.identifier[0]) == (3, "id7")


def test_times_below_a_nanosecond_are_exact_to_a_picosecond(opened):
    trace = opened("name,start_us,dur_us\na,0.000001,12.299999999999999\n")
    assert (trace.clock.unit, int(trace.slices.start[0]), int(trace.slices.end[0])) == (
        "ps", 1, 12_300_001,
    )  # fmt: skip


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_gzip_that_is_cut_shows_its_whole_rows(opened, share):
    text = "name,start_us,dur_us\n" + "".join(f"op{i},{i}00000,{i}5\n" for i in range(3000))
    packed = gzip.compress(text.encode())
    trace = opened(packed[: int(len(packed) * share)], suffix=".csv.gz")
    assert 0 < len(trace.slices) < 3000
    assert all(
        int(end - start) == (i * 10 + 5) * 1000
        for i, (start, end) in enumerate(zip(trace.slices.start, trace.slices.end, strict=True))
    )
    assert [p.kind for p in trace.problems] == ["the gzip is truncated"]


def test_an_archive_of_several_files_says_so(opened):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.csv", TEXT)
        archive.writestr("b.csv", TEXT)
    with pytest.raises(UnreadableFile, match="2 profiles are in this ZIP archive"):
        opened(out.getvalue(), suffix=".zip")


def test_the_question_on_a_table_in_an_archive_is_that_of_the_table(opened):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.csv", "op,start,dur\nconv,1,2\nrelu,5,3\n")
    with pytest.raises(ColumnsNeeded, match=r"mine.zip \(line 1\): this table does not") as asked:
        opened(out.getvalue(), suffix=".zip")
    assert asked.value.question.missing == ("unit",)
    assert len(opened(out.getvalue(), "unit=us", ".zip").slices) == 2
    assert table_layout(asked.value.path) == asked.value.question.layout


def test_a_part_of_a_file_ends_with_a_whole_row(tmp_path):
    text = "name,start_us,dur_us\n" + "".join(f"op{i},{i}00000,{i}5\n" for i in range(3000))
    for name, data in (("a.csv", text.encode()), ("b.csv.gz", gzip.compress(text.encode()))):
        path = tmp_path / name
        path.write_bytes(data)
        trace = open_file(str(path), part=Fraction(1, 2))
        assert isinstance(trace, Trace)
        assert trace.is_part
        assert 500 < len(trace.slices) < 2500
        last = len(trace.slices) - 1
        assert int(trace.slices.end[last] - trace.slices.start[last]) == (last * 10 + 5) * 1000


@pytest.mark.parametrize(
    "text",
    [
        "name,price\nbolt,3\nnut,4\n",
        "Dear all,\nplease find 3, 4 and 5 items,\nyours\n",
        "a,b\nc,d\ne,f\n",
    ],
)
def test_other_texts_are_no_tables_of_times(opened, text):
    with pytest.raises(UnreadableFile, match="does not recognize the format"):
        opened(text)


SOUND = "".join(f"op;{n};1\n" for n in range(99))


@pytest.mark.parametrize("row", ['\r"', 'x\r"', '\r";1;2', '"a\r', 'a\rb;1;"', '"\r\r"x'])
def test_a_lone_carriage_return_beside_a_wrong_quote_is_counted(opened, row):
    trace = opened(f"name;start_us;dur_us\n{SOUND}{row}")
    assert len(trace.slices) == 99
    assert sum(problem.count for problem in trace.problems) >= 1


@pytest.mark.slow
def test_line_ends_and_quotes_anywhere_cost_no_row_before_them(opened):
    random = Random(7)
    pieces = [";", '"', '""', "\r", "\n", "\r\n", '\r"', "a", "1", "2.5", " ", "é"]
    for _ in range(400):
        rows = ["".join(random.choices(pieces, k=random.randrange(8))) for _ in range(4)]
        text = random.choice(("\n", "\r\n", "\r")).join(rows)
        assert len(opened(f"name;start_us;dur_us\n{SOUND}{text}").slices) >= 99, text
