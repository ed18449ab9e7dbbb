"""A profile of any format opens packed in every way, with the same slices."""

import bz2
import gzip
import io
import lzma
import sys
import tarfile
from fractions import Fraction

import pytest

from tests.paths import DATA, ROOT
from viewer.codecs.reading import UnreadableFile
from viewer.formats import choose, head_of, open_file
from viewer.formats.folders import look_through
from viewer.formats.table.stated_columns import ColumnsNeeded
from viewer.formats.zipped import table_layout

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKERS = {
    ".zst": zstd.compress,
    ".xz": lambda data: lzma.compress(data, preset=1),
    ".bz2": lambda data: bz2.compress(data, 1),
    ".gz": gzip.compress,
}
SAMPLES = ROOT / "resources/samples"
PROFILES = {
    "ETDump": SAMPLES / "delegate_handle_map/demo_str_x4.etdp",
    "Log with a profile": DATA / "logs/litert_logcat.txt",
    "Profile CSV": DATA / "table_csv/two_threads.csv",
    "Inspector table": DATA / "inspector/SYN_qnn_like__demo_str.tsv",
    "Plain CSV": DATA / "csv_kinds/c07_end_dur.csv",
}
ROWS = "name,start_us,dur_us\n" + "".join(f"op {n},{n * n},{n % 977}\n" for n in range(20_000))


@pytest.fixture(params=PACKERS)
def suffix(request):
    return request.param


def written(tmp_path, suffix, data, name="a.csv"):
    path = tmp_path / f"{name}{suffix}"
    path.write_bytes(PACKERS[suffix](data))
    return str(path)


def bars(trace):
    s = trace.slices
    return [(trace.name(i), int(s.start[i]), int(s.end[i])) for i in range(len(s))]


@pytest.mark.parametrize("name", PROFILES)
def test_a_packed_profile_has_the_slices_of_the_file(name, suffix, tmp_path):
    path = written(tmp_path, suffix, PROFILES[name].read_bytes(), PROFILES[name].name)
    bare = open_file(str(PROFILES[name]))
    found = open_file(path)
    assert len(bare.slices)
    assert (bars(found), found.format, found.path) == (bars(bare), bare.format, path)
    assert found.problems == bare.problems
    assert [run.kind for run in found.runs] == [run.kind for run in bare.runs]


@pytest.mark.slow
def test_a_cut_file_shows_whole_rows_and_says_so(suffix, tmp_path):
    path = tmp_path / f"a.csv{suffix}"
    whole = bars(open_file(written(tmp_path, suffix, ROWS.encode())))
    path.write_bytes(path.read_bytes()[:-40])
    found = open_file(str(path))
    assert 0 < len(found.slices) < len(whole)
    assert bars(found) == whole[: len(found.slices)]
    assert any("truncated" in problem.kind for problem in found.problems)


def test_a_part_of_a_packed_file_opens(suffix, tmp_path):
    path = written(tmp_path, suffix, ROWS.encode())
    assert 5000 < len(open_file(path, part=Fraction(1, 2)).slices) < 15_000
    path = written(tmp_path, suffix, PROFILES["ETDump"].read_bytes(), "a.etdp")
    with pytest.raises(UnreadableFile, match="ETDump cannot be opened in part"):
        open_file(path, part=Fraction(1, 2))


def test_a_table_that_does_not_show_its_columns_asks(suffix, tmp_path):
    path = written(tmp_path, suffix, b"what,p,q\na,0,5\nb,5,7\n")
    with pytest.raises(ColumnsNeeded) as asked:
        open_file(path)
    assert asked.value.path == path
    assert table_layout(path).names == ("what", "p", "q")
    assert len(open_file(path, columns="name=what,start=p,dur=q,unit=us").slices) == 2


def test_a_folder_has_the_packed_profiles_by_their_contents(suffix, tmp_path):
    written(tmp_path, suffix, ROWS.encode())
    written(tmp_path, suffix, b"no profile\n", "notes.txt")
    (found,) = look_through(str(tmp_path)).files
    assert (found.name, found.format, found.is_meant) == (f"a.csv{suffix}", "Plain CSV", True)


def test_what_is_no_profile_is_named(suffix, tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    for data, reason in (
        (out.getvalue(), "this is a tar archive"),
        (b"", "nothing is in it|does not recognize|a gzip file"),
        (lzma.compress(b"text"), "xz is in it"),
        (b"import torch\n", "this is a packed Python source"),
    ):
        with pytest.raises(UnreadableFile, match=reason):
            open_file(written(tmp_path, suffix, data, "a.bin"))


def test_a_packed_file_is_recognized_by_its_content(suffix, tmp_path):
    path = written(tmp_path, suffix, PROFILES["ETDump"].read_bytes(), "unknown")
    plain = tmp_path / "unknown"
    plain.write_bytes((tmp_path / f"unknown{suffix}").read_bytes())
    assert choose(head_of(path), path).name == "Packed file"
    assert bars(open_file(str(plain))) == bars(open_file(path))
