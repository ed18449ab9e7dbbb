"""Files of other tools are named, with the way out, and no file of ours is taken for one."""

import gzip
import io
import tarfile

import pytest

from tests.paths import DATA, ROOT
from viewer.codecs.reading import UnreadableFile
from viewer.formats import head_of, open_file
from viewer.formats.refusals import foreign_file


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    return out.getvalue()


FOREIGN = {
    "perf script": b"app  123 [001] 4711.123456:  250 cycles:u: \n\t  7f12a main (/bin/app)\n",
    "report of simpleperf": b"Cmdline: /data/local/tmp/simpleperf record ./app\nArch: arm64\n"
    b"Event: cpu-cycles (type 0, config 0)\nSamples: 12\nEvent count: 123\n\n"
    b"Overhead  Command  Pid  Tid  Shared Object  Symbol\n45.1%  app  1  1  /bin/app  main\n",
    "perf, which": b"# To display the perf.data header info, please use --header options.\n#\n"
    b"# Samples: 12  of event 'cycles'\n#\n# Children      Self  Command  Shared Object  Symbol\n"
    b"    99.0%     0.0%  app      libc.so        [.] main\n",
    "ftrace": b"# tracer: nop\n#\n  app-1 ( 1) [0] .... 1.000001: tracing_mark_write: B|1|a\n",
    "ftrace ": b"  app-1 ( 1) [0] .... 261187.000001: tracing_mark_write: B|1|a\n",
    "xplane": b"\n\x2b\x08\x01\x12\x0d/device:TPU:0\x1a\x00",
    "xplane ": b"\n\xab\x02\x12\x09/host:CPU\x1a\x00",
    "pprof": gzip.compress(b"\n\x04\x08\x01\x10\x02\x12\x06\x0a\x01\x01\x12\x01\x05"),
    "nsys": b"SQLite format 3\0" + bytes(80),
    "Tracy": b"tlZ\x04" + bytes(80),
    "xctrace": b'<?xml version="1.0"?>\n<trace-query-result>\n<node xpath="//a"/>',
    "tar archive": _tar(),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_another_tool_is_named_with_the_way_out(name, tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(FOREIGN[name])
    with pytest.raises(UnreadableFile) as refused:
        open_file(str(path))
    assert "this is a" in str(refused.value) or "this is the" in str(refused.value)
    assert name.strip() in str(refused.value)
    assert refused.value.remedy


def test_no_sample_and_no_test_file_is_foreign():
    folders = (DATA, ROOT / "resources/samples")
    files = [p for folder in folders for p in folder.rglob("*") if p.suffix != ".tgz"]
    found = [p for p in files if p.is_file() and foreign_file(head_of(str(p)), str(p))]
    assert found == []
