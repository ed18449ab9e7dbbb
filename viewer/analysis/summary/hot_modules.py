"""The modules of a training profile that take most, and how its time divides into directions."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.cost.costs import CostTable
from viewer.analysis.cost.modules import module_costs
from viewer.analysis.links.link_table import LinkTable
from viewer.program.module_tree import ModuleKind, module_tree

MOST_MODULES = 3


@dataclass(frozen=True, slots=True)
class HotModule:
    """A module, in ticks of its own operators, without those of modules in it.

    path: "Net_0.Linear_0". ticks: forward and backward; wall: what its share is of. keys: those of
    its slices.
    """

    path: str
    ticks: int
    wall: int
    backward: int
    keys: tuple[int, ...]

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition(".")[2]

    @property
    def forward(self) -> int:
        """The ticks of the forward pass."""
        return self.ticks - self.backward


@dataclass(frozen=True, slots=True)
class Directions:
    """Wall time in ticks: of all modules forward and backward, and the rest of the whole."""

    forward: int
    backward: int
    other: int


def hot_modules(
    table: LinkTable, costs: CostTable
) -> tuple[tuple[HotModule, ...], Directions | None]:
    """Return the modules whose own operators take most, and the directions.

    None without a program that has both, or modules that are called forward.
    """
    program = table.program
    if program is None or not program.directions:
        return (), None
    tree = module_tree(program, joined=True)
    of_modules = module_costs(tree, costs)
    walls = dict.fromkeys((*program.directions, "")[:2], 0)
    own_wall = [0] * len(tree.modules)
    for row in costs.by_nodes:
        method = program.operators[row.operators[0]].method
        if method in program.directions:
            walls[method] += row.wall
        own_wall[int(tree.of_operator[row.operators[0]])] += row.wall
    forward, backward = walls.values()
    ranked = sorted(
        (
            number
            for number, module in enumerate(tree.modules)
            if module.kind is ModuleKind.MODULE and of_modules.self_ticks[number]
        ),
        key=lambda number: -int(of_modules.self_ticks[number]),
    )
    hottest = []
    for number in ranked[:MOST_MODULES]:
        module = tree.modules[number]
        in_children = sum(int(of_modules.backward[child]) for child in module.children)
        members = set(module.operators)
        keys = tuple(
            key for key, link in enumerate(table.links) if not members.isdisjoint(link.operators)
        )
        own_backward = int(of_modules.backward[number]) - in_children
        ticks = int(of_modules.self_ticks[number])
        hottest.append(HotModule(module.path, ticks, own_wall[number], own_backward, keys))
    return tuple(hottest), Directions(forward, backward, costs.whole - forward - backward)
