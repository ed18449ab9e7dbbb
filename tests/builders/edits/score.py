"""How well pairs of operators fit the truth of an edit: wrong and missed ones, and time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.builders.edits.cases import Edit
from viewer.analysis.comparison.operator_pairs import OperatorPair, pair_operators

GROUP = "group"


@dataclass(frozen=True)
class Score:
    """The score of one edit.

    wrong: pairs that are not true, by grade. missed: true pairs and groups that were not paired.
    graded: true pairs with a grade that contradicts what is known of them. right, total: time of A
    and B in which all operators are paired right, and all time.
    """

    wrong: Counter[str]
    missed: int
    graded: int
    pairs: int
    true: int
    right: float
    total: float
    faults: tuple[str, ...] = ()


@dataclass
class Sum:
    """The scores of several edits."""

    edits: int = 0
    clean: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    missed: int = 0
    graded: int = 0
    pairs: int = 0
    true: int = 0
    shares: list[float] = field(default_factory=list)

    def add(self, score: Score) -> None:
        """Add the score of an edit."""
        self.edits += 1
        self.clean += not (score.wrong or score.missed or score.graded)
        self.wrong += score.wrong
        self.missed += score.missed
        self.graded += score.graded
        self.pairs += score.pairs
        self.true += score.true
        self.shares.append(score.right / score.total)

    @property
    def share(self) -> float:
        """The share of the time that is paired right, as a mean over the edits."""
        return sum(self.shares) / max(len(self.shares), 1)

    @property
    def wrong_share(self) -> float:
        """The share of the pairs that is wrong."""
        return self.wrong.total() / max(self.pairs, 1)


def paired(edit: Edit) -> tuple[OperatorPair, ...]:
    """Return the pairs that the comparison finds."""
    return pair_operators(*edit.programs).pairs


def score(edit: Edit, pairs: Iterable[OperatorPair]) -> Score:
    """Return how well pairs fit the truth of an edit."""
    truth, grades = edit.truth, {(p.a, p.b): p.grade.value for p in pairs}
    group_of = [
        {index: number for number, group in enumerate(truth.groups) for index in group[side]}
        for side in (0, 1)
    ]

    def is_true(pair: tuple[int, int]) -> bool:
        group = group_of[0].get(pair[0])
        if group is not None and group == group_of[1].get(pair[1]):
            return True
        if grades[pair] == GROUP and pair in truth.alike:
            return True
        return pair in truth.pairs or pair in truth.others

    wrong = [pair for pair in grades if not is_true(pair)]
    partners: list[dict[int, set[int]]] = [defaultdict(set), defaultdict(set)]
    for x, y in grades:
        partners[0][x].add(y)
        partners[1][y].add(x)
    alone = [set(range(len(model.identities))) for model in (edit.a, edit.b)]
    for side in (0, 1):
        alone[side] -= {pair[side] for pair in truth.pairs} | set(group_of[side])

    def is_right(side: int, index: int) -> bool:
        chosen = partners[side].get(index, set())
        if not chosen:
            return index in alone[side] or index in truth.free[side]
        mine = [(index, y) if side == 0 else (y, index) for y in chosen]
        is_group = all(grades[pair] == GROUP for pair in mine)
        may_have = len(mine) == 1 or is_group or index in truth.several[side]
        return may_have and all(map(is_true, mine))

    missed = [pair for pair in truth.pairs
              if not is_right(0, pair[0]) and not partners[0].get(pair[0])]  # fmt: skip
    missed_groups = [
        group
        for group in truth.groups
        if not _is_joined(group, partners)
        and not all(is_right(side, index) for side in (0, 1) for index in group[side])
    ]
    graded = [
        pair for pair, grade in grades.items()
        if pair in truth.pairs and grade not in truth.pairs[pair] and grade != "by_name"
    ]  # fmt: skip
    right = total = 0.0
    for side, model in enumerate((edit.a, edit.b)):
        for (name, instruction), time in model.times.items():
            method = model.program.method(name)
            assert method is not None
            handles = method.handles[instruction]
            total += time
            if all(is_right(side, method.by_handle[h].index) for h in set(handles)):
                right += time
    label = [[op.label for op in model.program.operators] for model in (edit.a, edit.b)]
    faults = [f"wrong {grades[x, y]}: {label[0][x]} <-> {label[1][y]}" for x, y in wrong]
    faults += [f"missed: {label[0][x]} <-> {label[1][y]}" for x, y in missed]
    faults += [f"missed group: {_labels(label, group)}" for group in missed_groups]
    faults += [
        f"graded {grades[x, y]}, not {' or '.join(sorted(truth.pairs[x, y]))}: {label[0][x]} <-> "
        f"{label[1][y]}" for x, y in graded
    ]  # fmt: skip
    return Score(
        Counter(grades[pair] for pair in wrong), len(missed) + len(missed_groups), len(graded),
        len(grades), len(truth.pairs) + len(truth.groups), right, total, tuple(faults),
    )  # fmt: skip


def _is_joined(
    group: tuple[frozenset[int], frozenset[int]], partners: Sequence[dict[int, set[int]]]
) -> bool:
    """Whether pairs inside a group connect all of it."""
    todo, reached = [(0, min(group[0]))], set[tuple[int, int]]()
    while todo:
        side, index = todo.pop()
        if (side, index) in reached:
            continue
        reached.add((side, index))
        todo += [(1 - side, i) for i in partners[side].get(index, ()) if i in group[1 - side]]
    return len(reached) == len(group[0]) + len(group[1])


def _labels(label: list[list[str]], group: tuple[frozenset[int], frozenset[int]]) -> str:
    return " <-> ".join(", ".join(label[side][i] for i in sorted(group[side])) for side in (0, 1))


def sums(scored: Iterable[tuple[Edit, Score]]) -> dict[str, Sum]:
    """Return the scores of each kind alone, of all such edits, of combined ones, and of all."""
    by_name: dict[str, Sum] = {}
    for edit, result in scored:
        is_single = len(edit.kinds) == 1
        names = [*(edit.kinds if is_single else ()), "single" if is_single else "combined",
                 f"{'with' if edit.constants else 'no'} constants", "all"]  # fmt: skip
        for name in names:
            by_name.setdefault(name, Sum()).add(result)
    totals = ("single", "combined", "no constants", "with constants", "all")
    return {name: by_name[name] for name in (*(n for n in by_name if n not in totals), *totals)
            if name in by_name}  # fmt: skip


def table_of(answers: Iterable[tuple[Edit, Iterable[OperatorPair]]]) -> str:
    """Return the scores of the pairs of edits, by kind, as a table."""
    return table(sums((edit, score(edit, pairs)) for edit, pairs in answers))


def table(scores: dict[str, Sum]) -> str:
    """Return scores as a table, a line for each name."""
    head = f"{'':18}{'edits':>6}{'clean':>6}{'right':>8}{'missed':>8}{'wrong':>7}{'share':>7}"
    lines = [f"{head}{'graded':>8}  wrong by grade"]
    for name, result in scores.items():
        grades = ", ".join(f"{grade} {count}" for grade, count in sorted(result.wrong.items()))
        lines.append(
            f"{name:18}{result.edits:6}{result.clean:6}{result.share:8.1%}{result.missed:8}"
            f"{result.wrong.total():7}{result.wrong_share:7.1%}{result.graded:8}  {grades}"
        )
    return "\n".join(lines)
