"""A profile in a log opens with the same slices as the file itself."""

import json

import pytest

from tests.builders import runtime_files
from tests.builders.logs import NOISE, WRITERS, dumped, logged
from tests.paths import DATA, ROOT
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.folders import look_through
from viewer.model.trace import RunKind, Trace

EVENTS = [
    {"name": f"op {n}", "ph": "X", "ts": 10 * n, "dur": 5, "pid": 1, "tid": 1} for n in range(20)
]
TEXTS = {
    "litert": runtime_files.tflite_log(),
    "snpe": runtime_files.snpe_csv(),
    "qnn": runtime_files.qnn_csv(),
    "vela": runtime_files.vela_csv(),
    "nsys": runtime_files.gpu_trace(),
    "profile_csv": (DATA / "table_csv/two_threads.csv").read_text(),
    "plain_csv": "name;start_us;dur_us\n" + "".join(f"op {n};{9 * n},5;3\n" for n in range(30)),
    "inspector": (DATA / "inspector/SYN_qnn_like__demo_str.tsv").read_text(),
    "chrome": json.dumps({"traceEvents": EVENTS}, indent=1),
    "runner": (DATA / "logs/llama_log.txt").read_text().splitlines()[-1],
}
DUMP = ROOT / "resources/samples/delegate_handle_map/demo_str_x4.etdp"


def opened(path) -> Trace:
    item = open_file(str(path))
    assert isinstance(item, Trace)
    return item


def slices(trace):
    s, ns = trace.slices, trace.clock.ns_per_tick
    return sorted(
        (trace.tracks[s.track(i)].thread, trace.name(i), s.start[i] * ns, s.end[i] * ns)
        for i in range(len(s))
    )


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_log_of_each_writer_has_the_slices_of_the_file(name, writer, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(TEXTS[name])
    bare = opened(path)
    path.write_text(logged(TEXTS[name], writer))
    found = opened(path)
    assert len(bare.slices)
    assert slices(found) == slices(bare)
    assert [(run.kind, run.start, run.end) for run in found.runs] == [
        (run.kind, run.start, run.end) for run in bare.runs
    ]


@pytest.mark.parametrize("how", ["base64 line", "base64", "hex", "hexdump", "xxd"])
@pytest.mark.parametrize("writer", ["", "serial", "threadtime"])
def test_bytes_in_a_log_open_as_their_file(how, writer, tmp_path):
    text = "\n".join([*NOISE * 400, dumped(DUMP.read_bytes(), how)])
    path = tmp_path / "a.log"
    path.write_text(logged(text, writer) if writer else text)
    found, bare = opened(path), opened(DUMP)
    assert (found.format, found.path) == ("ETDump", str(path))
    assert slices(found) == slices(bare)
    assert "B of " in found.stated["Taken from a log"]


def test_the_console_of_a_board_has_its_dump(tmp_path):
    trace = opened(DATA / "logs/serial_small.log")
    assert slices(trace) == slices(opened(DUMP))
    assert sum(run.kind is RunKind.INFERENCE for run in trace.runs) == 4
    assert trace.stated["Taken from a log"].endswith("of base64 at line 5 of a log")


def test_a_second_block_of_bytes_is_named(tmp_path):
    path = tmp_path / "a.log"
    buffer = dumped(bytes(range(256)) * 4, "base64 line")
    path.write_text(dumped(DUMP.read_bytes(), "base64 line") + buffer)
    assert "after it, maybe a debug buffer, are not read" in opened(path).stated["Taken from a log"]


def test_a_log_of_litert_has_the_bars_of_its_output():
    logcat, plain = (opened(DATA / f"logs/litert_{which}.txt") for which in ("logcat", "plain"))
    assert slices(logcat) == slices(plain)
    assert [end - start for *_, start, end in slices(plain)] == [
        371_000, 8_123_000, 2_371_000, 321_000
    ]  # fmt: skip


def test_a_table_far_down_a_log_is_taken(tmp_path):
    path = tmp_path / "a.txt"
    text = "\n".join([*(f"step {n} of 4000: ok" for n in range(4000)), TEXTS["plain_csv"]])
    path.write_text(logged(text, "threadtime"))
    assert len(opened(path).slices) == 30


def test_a_runner_of_a_language_model_shows_load_prefill_and_decode():
    trace = opened(DATA / "logs/llama_log.txt")
    s = trace.slices
    shown = {trace.name(i): (int(s.end[i] - s.start[i]), i) for i in range(len(s))}
    assert {name: ns for name, (ns, _) in shown.items()} == {
        "load": 7_120_000_000, "prefill": 9_600_000_000, "decode": 10_810_000_000
    }  # fmt: skip
    columns = {name: [column.value(i) for i in range(3)] for name, column in s.columns.items()}
    assert columns["tokens"][shown["prefill"][1]] == 480
    assert columns["tokens/s"][shown["prefill"][1]] == 50
    assert columns["tokens"][shown["decode"][1]] == 40
    assert columns["sampling ms"][shown["decode"][1]] == 2
    assert [(run.kind, run.phase, run.tokens, run.sampling) for run in trace.runs] == [
        (RunKind.LOAD, "", 0, 0),
        (RunKind.INFERENCE, "prefill", 480, 0),
        (RunKind.INFERENCE, "decode", 40, 2_000_000),
    ]
    assert [(run.end - run.start) // 10**6 for run in trace.runs] == [7_120, 9_600, 10_810]


def test_a_sampling_time_that_cannot_be_is_left_out(tmp_path):
    """Some versions of the runner begin its sum with any number."""
    path = tmp_path / "a.txt"
    text = (DATA / "logs/llama_log.txt").read_text()
    path.write_text(text.replace('sampling_time_ms":2,', 'sampling_time_ms":274877907025,'))
    trace = opened(path)
    assert [run.sampling for run in trace.inferences()] == [0, 0]
    assert [problem.kind for problem in trace.problems] == [
        "sampling time longer than its generation: left out"
    ]
    assert len(trace.slices) == 3


LOGGED = (DATA / "logs/llama_logged.txt").read_text()


@pytest.mark.parametrize("writer", ["", *WRITERS])
@pytest.mark.parametrize("left_out", ["", "Generated 40"])
def test_what_a_runner_logs_is_enough(writer, left_out, tmp_path):
    """On Android the line of the observer is not in the log; earlier versions log less."""
    text = "".join(line for line in LOGGED.splitlines(True) if not left_out or left_out not in line)
    path = tmp_path / "a.txt"
    path.write_text(logged(text, writer) if writer else text)
    trace = opened(path)
    s = trace.slices
    assert [(trace.name(i), int(s.start[i]), int(s.end[i])) for i in range(len(s))] == [
        ("load", 0, 7_120_000_000),
        ("prefill", 7_120_000_000, 16_720_000_000), ("decode", 16_720_000_000, 27_530_000_000),
        ("prefill", 27_530_000_000, 37_130_000_000), ("decode", 37_130_000_000, 47_940_000_000),
    ]  # fmt: skip
    assert s.columns["tokens"].value(1) == 480
    assert s.columns["tokens/s"].value(1) == 50
    assert s.columns["sampling ms"].value(2) == 2
    assert [run.kind for run in trace.runs] == [RunKind.LOAD, *[RunKind.INFERENCE] * 4]
    phases = [run.phase for run in trace.inferences()]
    assert phases == ["prefill", "decode", "prefill", "decode"]
    assert trace.tracks[0].thread == "placed · runner"


@pytest.mark.parametrize("name", ["runner", "litert", "chrome"])
def test_a_profile_far_behind_lines_without_a_prefix_is_taken(name, tmp_path):
    """As llama_main prints its answer, of any length, before its figures."""
    path = tmp_path / "a.txt"
    answer = "Once upon a time, there was a model; it told long, very long tales.\n"
    path.write_text(answer * 200 + TEXTS[name])
    found = opened(path)
    path.write_text(TEXTS[name])
    assert slices(found) == slices(opened(path))


def test_lines_of_generations_that_cannot_be_read_are_counted(tmp_path):
    path = tmp_path / "a.txt"
    line = TEXTS["runner"]
    path.write_text("\n".join([line, line[:-20], line.replace("1790000027540", "5"), ""]))
    trace = opened(path)
    assert [problem.count for problem in trace.problems] == [2]
    assert len(trace.slices) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama_log.txt", "llama_logged.txt"])
def test_no_changed_letter_costs_a_slice_without_a_word(name, tmp_path):
    sound, path = (DATA / "logs" / name).read_text(), tmp_path / "a.txt"
    if name == "llama_log.txt":
        sound = "".join(line + "\n" for line in [sound.splitlines()[-1]] * 2)
        sound = sound.replace("1790000000000", "1780000000000", 1)
    path.write_text(sound)
    whole = len(opened(path).slices)
    lost = 0
    for at in range(1, len(sound), 7):
        path.write_text(f"{sound[:at]}~{sound[at + 1 :]}")
        trace = opened(path)
        lost += len(trace.slices) < whole
        assert len(trace.slices) == whole or trace.problems
    assert lost > 3


def test_a_log_without_a_profile_says_so_and_is_not_opened_with_a_folder(tmp_path):
    path = tmp_path / "a.log"
    path.write_text(logged("\n".join(f"step {n}" for n in range(20)), "threadtime"))
    with pytest.raises(UnreadableFile, match="lines of Android's log, and no profile is in it"):
        opened(path)
    assert not any(file.is_meant for file in look_through(str(tmp_path)).files)


def test_names_of_rows_are_no_prefix(tmp_path):
    names = [f"conv_{n}" for n in range(9)]
    rows = ["layer | time (us)", *(f"{name} | {10 + n}" for n, name in enumerate(names))]
    path = tmp_path / "a.txt"
    path.write_text("\n".join([*rows, ""]))
    found = opened(path)
    assert (found.format, [name for _, name, _, _ in slices(found)]) == ("Layer table", names)


@pytest.mark.parametrize("end", ["\r", "\r\r\n"])
def test_line_ends_of_a_terminal_change_nothing(end, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(TEXTS["litert"])
    bare = opened(path)
    path.write_text(TEXTS["litert"].replace("\n", end), newline="")
    assert slices(opened(path)) == slices(bare)
