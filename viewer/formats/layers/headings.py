"""What the columns of a table of layers are, by the words of their headings.

A table has a name and a duration in each row. `mean`, `median` and `total` columns can be the
duration; minimum, maximum and other percentiles never are. Self times are preferred, because those
of a function include the functions that it calls. Where a table counts calls and has their total,
the total is what the layer took; otherwise a mean is, then a duration without such a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from viewer.formats.table.column_units import CYCLE, parse_unit, split_unit
from viewer.model.names.layers import BACKEND, COUNT, KERNEL, TYPE, UNIT

NAME = "name"
STATUS, THREAD, INFERENCE, DELEGATED = "status", "thread", "inference", "delegated"
_WORDS = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*|[0-9]+|[^\W\d_]+|[%#]")
_BRACKETED = re.compile(r"\[[^\[\]]*\]")  # as LiteRT writes all of its headings
# Headings in other languages, by what they are in English.
_TRANSLATED = {
    "name": "名称 名字 名前 名 nom nombre nome bezeichnung",
    "layer": "层 层名 层名称 网络层 レイヤー レイヤ schicht couche capa camada слой 레이어",
    "op": "算子 算子名 算子名称 operador opérateur オペレータ 연산자",
    "node": "节点 节点名 节点名称 ノード knoten nœud nodo узел 노드",
    "type": "类型 算子类型 层类型 種類 タイプ typ tipo тип 유형",
    "duration": "耗时 时长 时间 时间消耗 执行时间 所要時間 処理時間 実行時間 時間 dauer "
    "zeit laufzeit durée temps duración tiempo duração tempo durata время длительность 시간",
    "mean duration": "平均耗时 平均时间 平均時間 mittelwert moyenne promedio média среднее 평균",
    "count": "次数 调用次数 回数 anzahl aufrufe cantidad 횟수",
}
_ENGLISH = {word: english for english, words in _TRANSLATED.items() for word in words.split()}
HINTS = tuple(word for word, english in _ENGLISH.items() if "duration" in english)
_OF = ("", "layer ", "node ", "op ", "operator ", "kernel ", "event ")
# For each role, its headings: the first one that a table has is it.
_RANKED = {
    NAME: (
        "layer name", "node name", "op name", "operator name", "kernel name", "event name",
        "full name", "name", "function name", "task name", "hip kernel name", "zone", "layer",
        "node", "operator", "op", "operation", "kernel", "event", "task", "function", "stage",
        "step", "module", "component", "description", "benchmark", "label",
    ),
    TYPE: tuple(f"{of}{word}" for of in _OF for word in ("type", "types", "class", "kind")),
    UNIT: (
        "compute unit", "time unit", "unit", "target", "device", "processor", "engine", "hardware",
        "hw", "runs on", "accelerator", "device type", "placement", "core",
    ),
    BACKEND: (
        "delegate backend name", "backend", "backend name", "delegate", "execution provider",
        "provider", "runtime",
    ),
    KERNEL: (
        "kernel", "kernel name", "exec type", "tactic", "tactic name", "implementation",
    ),
    COUNT: (
        "count", "counts", "calls", "called", "call count", "call number", "called times",
        "times called", "num calls", "number of calls", "# of calls", "instances", "invocations",
        "occurrences",
    ),
    STATUS: ("exec status", "status", "state"),
    THREAD: ("event block name", "block", "thread", "stream", "queue"),
    INFERENCE: ("inference", "iteration", "iter", "run", "request", "frame", "sample"),
    DELEGATED: ("is delegated op",),
}  # fmt: skip
_TIME = frozenset(
    ["time", "times", "duration", "dur", "latency", "elapsed", "runtime", "took", "cost", "exetime"]
)  # fmt: skip
_AROUND = frozenset(
    ("exec", "execution", "run", "real", "wall", "layer", "op", "operator", "node", "kernel", "per",
     "call", "compute", "inference", "infer", "event", "the", "taken", "in", "iteration", "iter",
     "frame", "stat", "measured", "gpu", "npu", "profile")
)  # fmt: skip
_PROCESSORS = frozenset(("cpu", "host", "device", "cuda", "total"))
_CYCLE_WORDS = {"cycles", "cycle"}
_START_WORDS = {"start", "begin", "started", "ts", "timestamp", "end", "stop", "finish", "ended"}
_AROUND_STARTS = _START_WORDS | frozenset(
    ("time", "event", "kernel", "op", "layer", "slice", "task", "at", "since", "ns", "us", "ms")
)
SELF, MEAN, MEDIAN, TOTAL, PLAIN = "self times", "means", "medians", "totals", ""
# What a duration can be, by its words: 0 is preferred, and 1 is a duration without such a word.
_STATISTICS = (
    (-2, SELF, {"self", "exclusive"}),
    (0, MEAN, {"mean", "avg", "average"}),
    (2, MEDIAN, {"median", "p50"}),
    (3, TOTAL, {"total", "sum"}),
)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table by number.

    length: the duration. unit: of it, "" if its cells state it. what: `MEAN`, `MEDIAN`, `TOTAL`
    or "" for a plain duration. roles: the numbers of the other known columns.
    """

    headings: tuple[str, ...]
    length: int
    unit: str
    what: str
    roles: dict[str, int] = field(default_factory=dict)

    def cell(self, role: str, row: Sequence[str]) -> str:
        """The cell of a role in a row, "" if the table or the row has none."""
        index = self.roles.get(role, -1)
        return row[index] if 0 <= index < len(row) else ""


def words_of(heading: str) -> str:
    """The words of a heading in lower case, without its unit."""
    return _parsed(heading)[0]


@lru_cache(maxsize=4096)
def _parsed(heading: str) -> tuple[str, str]:
    """The words of a heading, and its unit."""
    base, unit = split_unit(heading[1:-1] if _BRACKETED.fullmatch(heading) else heading)
    if base.isupper():
        base = base.lower()
    if (english := _ENGLISH.get(base.strip().casefold())) is not None:
        return english, unit
    return " ".join(word.lower() for word in _WORDS.findall(base)), unit


def columns_of(
    headings: Sequence[str], stated: str = "", *, is_nameless: bool = False
) -> Columns | None:
    """The columns of a header, None if it has no name or no duration, or if it has starts.

    stated: the unit of durations whose heading has none. is_nameless: each row is an inference,
    although no column numbers them.
    """
    if not 2 <= len(headings) <= 256:
        return None
    parsed = [_parsed(heading) for heading in headings]
    lengths = [_length(*pair) for pair in parsed]
    if not any(lengths):
        return None
    words = [word for word, _ in parsed]
    if any(map(_is_start, words)) and "event block name" not in words:
        return None
    roles: dict[str, int] = {}
    taken = {index for index, (_, unit) in enumerate(parsed) if unit}  # what has a unit is no name
    for role, ranked in _RANKED.items():
        free = {
            word: index for index, word in reversed(list(enumerate(words))) if index not in taken
        }
        if (column := next((free[word] for word in ranked if word in free), -1)) >= 0:
            roles[role] = column
            taken.add(column)
    free_lengths = {
        index: length
        for index, length in enumerate(lengths)
        if length is not None and index not in roles.values()
    }
    whats = [what for _, what, _ in free_lengths.values()]
    totals = {TOTAL}
    counted = words[roles[COUNT]] if COUNT in roles else ""
    if "call" in counted and MEAN in whats and TOTAL not in whats and whats.count(PLAIN) == 1:
        totals.add(PLAIN)  # next to the mean of calls, a time is that of all, as in nvprof's
    ranked_lengths = sorted(
        (-1, not unit, index, TOTAL, unit)
        if COUNT in roles and what in totals
        else (rank, not unit, index, what, unit)
        for index, (rank, what, unit) in free_lengths.items()
    )
    if not ranked_lengths or not (is_nameless or {NAME, TYPE, INFERENCE} & set(roles)):
        return None
    # Next to a duration, what is just called "time" can be a start.
    if sum(rank == 1 for rank, *_ in ranked_lengths) > 1 and "time" in words:
        return None
    _, _, length_column, what, unit = ranked_lengths[0]
    return Columns(tuple(headings), length_column, unit or stated, what, roles)


def stated_columns_of(headings: Sequence[str], name: str, length: str, unit: str) -> Columns | None:
    """The columns of a header whose name and duration a user stated; None if it has not both."""
    if name not in headings or length not in headings:
        return None
    column = headings.index(length)
    columns = columns_of(headings)
    roles = {r: i for r, i in (columns.roles if columns else {}).items() if i != column}
    heading_unit = split_unit(length)[1]
    words = set(words_of(length).split())
    what = next((what for _, what, of in _STATISTICS if words & of), PLAIN)
    return Columns(
        tuple(headings),
        column,
        heading_unit or parse_unit(unit),
        what,
        {**roles, NAME: headings.index(name)},
    )


def _is_start(words: str) -> bool:
    every = set(words.split())
    return bool(every & _START_WORDS) and every <= _AROUND_STARTS


@lru_cache(maxsize=4096)
def _length(text: str, unit: str) -> tuple[int, str, str] | None:
    """How well a column suits as the duration (0 is best), what it is, and its unit."""
    words = set(text.split())
    rank, what, of = next(
        (statistic for statistic in _STATISTICS if words & statistic[2]), (1, PLAIN, set())
    )
    others = words - of - _AROUND
    if unit == CYCLE or (others & _CYCLE_WORDS and not unit):
        is_length = others <= _CYCLE_WORDS | _TIME | {"hw", "cpu", "clock"}
        return (rank + 10, what, CYCLE) if is_length else None
    if others <= _TIME and (others or of):
        # What is just called "avg" has a unit, or its cells have.
        return rank if others or unit else rank + 8, what, unit
    # The time of the processor stands next to the time on the wall; PyTorch has "Self CPU".
    if others <= _TIME | _PROCESSORS and (what == SELF or (unit and others & _TIME)):
        return rank + (5 if what != SELF else 0), what, unit
    return None
