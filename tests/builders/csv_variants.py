"""Tables with the same slices, written in the ways that people, spreadsheets and tools write them.

Every variant is made from `TRUTH`. It either opens with these slices, asks for what it does not
show, or is refused with an error that names the column.
"""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

# process, thread, name, start and duration in ns
TRUTH = (
    ("app", "main", "conv", 1_000_000, 1_250_000),
    ("app", "main", "relu, fused", 2_500_000, 1_500_000),
    ("app", "npu", 'softmax "x"', 12_345_000, 2_000_000),
    ("dsp", "main", "größe#1", 234_567_000, 10_005_000),
)
NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "ps": Fraction(1, 1000)}


@dataclass(frozen=True)
class Variant:
    """A file: its bytes, and what is expected of it.

    asks: what it asks for, () if it opens. answer: the option with which it then opens.
    places: whether processes and threads are in it.
    """

    name: str
    data: bytes
    asks: tuple[str, ...] = ()
    answer: str = ""
    places: bool = True
    suffix: str = ".csv"


def amount(ns: int | Fraction, unit: str, *, comma: bool = False, thousands: str = "") -> str:
    """A time as a decimal number of a unit."""
    value = Fraction(ns) / NS[unit]
    whole, part = divmod(value, 1)
    text = f"{whole:,}".replace(",", thousands)
    digits = ""
    while part:
        digit, part = divmod(part * 10, 1)
        digits += str(digit)
    return f"{text}{',' if comma else '.'}{digits}" if digits else text


def exponential(ns: int, unit: str) -> str:
    """A time with an exponent."""
    mantissa, exponent = f"{ns}", 0
    while mantissa.endswith("0"):
        mantissa, exponent = mantissa[:-1], exponent + 1
    shift = {"s": -9, "ms": -6, "us": -3, "ns": 0}[unit]
    return f"{mantissa[0]}.{mantissa[1:] or '0'}E{exponent + shift + len(mantissa) - 1:+03d}"


def table(
    header: Sequence[str],
    *,
    separator: str = ",",
    line: str = "\n",
    unit: str = "us",
    number: Callable[[int, str], str] = amount,
    end: bool = False,
    places: bool = True,
    before: str = "",
    units: Sequence[str] = (),
    index: bool = False,
    quoting: int = csv.QUOTE_MINIMAL,
    after: Sequence[str] = (),
    tail: str = "",
) -> str:
    """The truth as a text: process, thread (if `places`), name, start, duration or end."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator=line, quoting=quoting)
    lead = [""] if index else []
    writer.writerow([*lead, *header])
    if units:
        writer.writerow([*lead, *units])
    for i, (process, thread, name, start, length) in enumerate(TRUTH):
        place = [process, thread] if places else []
        times = [number(start, unit), number(start + length if end else length, unit)]
        row = [*place, name, *times, *after]
        writer.writerow([*([i] if index else []), *row])
    return before + out.getvalue() + tail


def _zip(*files: tuple[str, str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, text in files:
            archive.writestr(name, text)
    return out.getvalue()


def _query(columns: str = '"ts","dur","name"') -> bytes:
    """As trace_processor prints the result of a query, except that it does not double quotes."""
    rows = [f'{start},{length},"{name.replace(chr(34), chr(34) * 2)}"'
            for *_, name, start, length in TRUTH]  # fmt: skip
    extra = columns.count(",") - 2
    return "\n".join([columns, *(row + ',"[NULL]"' * extra for row in rows), ""]).encode()


PLACED = ("process", "thread", "name")
US = (*PLACED, "start_us", "dur_us")
TEXT = table(US)


def variants() -> list[Variant]:
    """All variants."""
    found: list[Variant] = []

    def add(name: str, text: str | bytes, *asks: str, answer: str = "", places: bool = True,
            suffix: str = ".csv") -> None:  # fmt: skip
        data = text.encode() if isinstance(text, str) else text
        found.append(Variant(name, data, asks, answer, places, suffix))

    # Names and units in the header.
    add("us", TEXT)
    add("ns", table((*PLACED, "start_ns", "duration_ns"), unit="ns"))
    add("ms", table((*PLACED, "start_ms", "dur_ms"), unit="ms"))
    add("s", table((*PLACED, "start_s", "dur_s"), unit="s"))
    add("ps", table((*PLACED, "start_ps", "dur_ps"), unit="ps"))
    add("brackets", table((*PLACED, "Start (ns)", "dur (ns)"), unit="ns"))
    add("square brackets", table((*PLACED, "start [ms]", "duration [ms]"), unit="ms"))
    add("micro sign", table((*PLACED, "Start (µs)", "Duration (μs)")))
    add("unit words", table((*PLACED, "start microseconds", "duration in microseconds")))
    add("camel case", table((*PLACED, "startUs", "durationUs")))
    add("capitals", table(("PROCESS", "THREAD", "NAME", "START_US", "DUR_US")))
    add("title case", table(("Process", "Thread", "Name", "Start Time (us)", "Duration (us)")))
    add("spaces", table((" Process ", " Thread", "Name ", "  Start  (us) ", " Dur (us)  ")))
    add("other words", table(("Process Name", "tid", "Event Name", "Begin us", "Elapsed us")))
    add("pid and tid", table(("pid", "tid", "op", "ts_us", "latency_us")))
    add("ends", table((*PLACED, "start_us", "end_us"), end=True))
    add("stops", table((*PLACED, "Start Time (ms)", "Stop Time (ms)"), end=True, unit="ms"))
    add("begin and end", table((*PLACED, "begin_ns", "end_ns"), end=True, unit="ns"))
    add("comma before the unit", table((*PLACED, "start, us", "dur, us")))
    add("two units", mixed_units())
    add("unit row", table((*PLACED, "start", "dur"), units=("", "", "", "us", "us")))
    add("unit row in brackets", table((*PLACED, "Start", "Duration"),
        units=("", "", "", "[ms]", "[ms]"), unit="ms"))  # fmt: skip
    add("unit row of words", table((*PLACED, "Start", "End"), end=True, unit="ns",
        units=("text", "text", "text", "ns", "ns")))  # fmt: skip
    # Columns that are missing, or more.
    add("no process or thread", table(("name", "start_us", "dur_us"), places=False), places=False)
    add("other columns", table((*US, "bytes", "note"), after=("64", "a;b")))
    add("pandas index", table(US, index=True))
    add("unnamed index", table(("Unnamed: 0", *US), index=True).removeprefix(","))
    add("index without a name", table(US, index=True).removeprefix(","))
    add("empty last column", TEXT.replace("\n", ",\n"))
    # Numbers.
    add("whole numbers", table((*PLACED, "start_ns", "length_ns"), unit="ns"), "dur",
        answer="dur=length_ns")  # fmt: skip
    add("exponents", table(US, number=exponential))
    for name, mark in (("point", "."), ("space", " "), ("narrow space", "\u202f"),
                       ("apostrophe", "'"), ("underscore", "_"), ("comma", ",")):  # fmt: skip
        number = grouped(mark)
        text = table((*PLACED, "start_ns", "end_ns"), end=True, unit="ns", number=number,
                     separator=";")  # fmt: skip
        add(f"{name} for thousands", text)
    add("comma for thousands, quoted", table((*PLACED, "start (ns)", "dur (ns)"), unit="ns",
        number=grouped(",")))  # fmt: skip
    comma = partial(amount, comma=True)
    ms = (*PLACED, "start_ms", "dur_ms")
    add("decimal comma", table(ms, unit="ms", number=comma, separator=";"))
    add("decimal comma, quoted", table(ms, unit="ms", number=comma))
    add("decimal comma, points for thousands", table(US, number=german, separator="\t"))
    add("plus signs", table(US, number=lambda ns, unit: f"+{amount(ns, unit)}"))
    add("spaces around numbers", table(US, number=lambda ns, unit: f"  {amount(ns, unit)} "))
    # How the text is written.
    add("comments", table(US, before="# made by hand\n# on a Monday\n", tail="# the end\n"))
    add("header in a comment", "# " + TEXT)
    add("comments between rows", TEXT.replace("\n", "\n# and, so, on\n\n"))
    add("empty lines", "\n\n" + TEXT.replace("\n", "\n\n"))
    add("sep=;", table(US, separator=";", before="sep=;\n"))
    add("semicolons", table(US, separator=";"))
    add("pipes", table(US, separator="|"))
    add("tabs", table(US, separator="\t"), suffix=".tsv")
    add("CR LF", table(US, line="\r\n"))
    add("CR", table(US, line="\r"))
    add("no last line end", TEXT.removesuffix("\n"))
    add("all quoted", table(US, quoting=csv.QUOTE_ALL))
    add("UTF-8 with a mark", "\ufeff" + TEXT)
    add("UTF-16 with a mark", TEXT.encode("utf-16"))
    add("UTF-16, big end first", b"\xfe\xff" + TEXT.encode("utf-16-be"))
    add("UTF-16 without a mark", TEXT.encode("utf-16-le"))
    add("UTF-16, big end first, without a mark", TEXT.encode("utf-16-be"))
    add("Excel's Unicode text", table(US, separator="\t", line="\r\n").encode("utf-16"))
    add("gzip", gzip.compress(TEXT.encode()), suffix=".csv.gz")
    add("gzip of UTF-16", gzip.compress(TEXT.encode("utf-16")), suffix=".csv.gz")
    add("zip", _zip(("profile.csv", TEXT)), suffix=".zip")
    add("zip, stored", _zip(("profile.csv", TEXT), method=zipfile.ZIP_STORED), suffix=".zip")
    add("gzip of a profile CSV", gzip.compress(
        table((*PLACED, "start_ns", "dur_ns"), unit="ns").encode()), suffix=".csv.gz")  # fmt: skip
    add("profile CSV in UTF-16", table((*PLACED, "start_ns", "dur_ns"), unit="ns").encode("utf-16"))
    add("profile CSV", table((*PLACED, "start_ns", "dur_ns"), unit="ns"))
    # Output of trace_processor.
    add("query", _query(), places=False)
    add("query with nulls", _query('"ts","dur","name","thread_name","arg"'), places=False)
    # What cannot be known.
    add("no unit", table((*PLACED, "start", "dur")), "unit", answer="unit=us")
    add("ts and dur without quotes", table((*PLACED, "ts", "dur"), unit="ns"), "unit",
        answer="unit=ns")  # fmt: skip
    add("one unit", table((*PLACED, "Start (us)", "Duration")), "unit", answer="unit=us")
    add("unknown start", table((*PLACED, "time_us", "dur_us")), "start", answer="start=time_us")
    add("unknown names", table(("a", "b", "c", "d", "e")), "name", "start", "dur", "unit",
        answer="process=a,thread=b,name=c,start=d,dur=e,unit=us")  # fmt: skip
    add("two starts", table((*US[:4], "dur_us", "begin_us"), after=("7",)), "start",
        answer="start=start_us")  # fmt: skip
    add("two durations", table((*US, "latency_us"), after=("7",)), "dur", answer="dur=dur_us")
    add("no header", TEXT.split("\n", 1)[1], "name", "start", "dur", "unit",
        answer="process=column 1,thread=column 2,name=column 3,start=column 4,dur=column 5,unit=us",
    )  # fmt: skip
    add("unclear commas", table(US, number=grouped(","), separator=";"), "decimal",
        answer="decimal=point")  # fmt: skip
    add("unclear points", table(US, number=grouped("."), separator="\t"), "decimal",
        answer="decimal=comma")  # fmt: skip
    return found


def grouped(mark: str) -> Callable[[int, str], str]:
    """Numbers with a separator of thousands."""
    return lambda ns, unit: amount(ns, unit, thousands=mark)


def german(ns: int, unit: str) -> str:
    """A number as "1.234,5"."""
    text = amount(ns, unit, thousands=".", comma=True)
    return text if "," in text else f"{text},0"


def mixed_units() -> str:
    """A table whose start is in ms and whose duration is in µs."""
    lines = [",".join((*PLACED, "start_ms", "dur_us"))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for process, thread, name, start, length in TRUTH:
        writer.writerow((process, thread, name, amount(start, "ms"), amount(length, "us")))
    return "\n".join(lines) + "\n" + out.getvalue()
