"""How well operators are paired after edits of models, by kind of edit, and how long it takes.

Each edit has its truth (`tests.builders.edits`). Combined edits count together, because the kinds
in them cannot be told apart. The pairing was made with the edits of the seed "edit". Prints only:
`pytest tests/bench/test_bench_edits.py --benchmark-enable -s`.
"""

import time

import pytest

from tests.builders.edits.cases import edits
from tests.builders.edits.score import paired, table_of

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("seed", ["edit", "held out"])
def test_score_by_kind(benchmark, seed):
    campaign = list(edits(seed))
    for edit in campaign:
        edit.truth  # noqa: B018 - exported before the clock starts
    took = []

    def pair():
        began = time.process_time()
        pairs = [paired(edit) for edit in campaign]
        took.append(time.process_time() - began)
        return pairs

    pairs = benchmark.pedantic(pair, rounds=1)
    print(f"\n{table_of(zip(campaign, pairs, strict=True))}")
    print(f"{len(campaign)} edits of seed {seed!r} paired in {min(took):.1f} s")
