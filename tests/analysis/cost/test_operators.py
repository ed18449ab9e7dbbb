"""What each operator cost, by hand: alone, shared, without time there, and never linked."""

from viewer.analysis.cost.costs import CostRow, CostTable
from viewer.analysis.cost.operators import operator_costs

ROWS = (
    CostRow((0,), 50, 50, 40, 2), CostRow((1, 2), 30, 30, 0, 1), CostRow((2, 3, 4), 12, 12, 0, 1),
    CostRow((2,), 5, 5, 0, 1), CostRow((5,), 0, 0, 0, 3),
)  # fmt: skip
LINKED = ((0,), (1, 2), (2, 3, 4), (2,), (5,), (6,))


def test_own_and_shared_time_are_told_apart_and_never_divided():
    costs = operator_costs(8, CostTable(ROWS, 3), LINKED)
    assert costs.self_ticks.tolist() == [50, -1, 5, -1, -1, 0, -1, -1]
    assert costs.shared.tolist() == [-1, 30, 42, 12, 12, -1, -1, -1]
    assert costs.sets.tolist() == [0, 1, 2, 1, 1, 0, 0, 0]
    assert costs.members.tolist() == [0, 2, 3, 3, 3, 0, 0, 0]
    assert costs.linked.tolist() == [True] * 7 + [False]
    assert costs.whole == 100
    assert costs.most_expensive == 50
    assert costs.cost_order.tolist() == [50, 30, 42, 12, 12, 0, 0, 0]


def test_without_rows_nothing_cost_anything():
    costs = operator_costs(2, CostTable((), 0), ())
    assert costs.self_ticks.tolist() == [-1, -1]
    assert costs.most_expensive == 0
    assert not costs.linked.any()
