"""Slow twins in plain Python and NumPy of what is compiled, shared by tests."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from coemarl.explorers.coe import CoeOptions
from coemarl.tasks import TaskSpec

Node = tuple[int, ...]
"""A path: the state's code, then the actions of the agents so far."""


class PlainTree:
    """Counts in a dictionary."""

    def __init__(self) -> None:
        self.visits: dict[Node, int] = defaultdict(int)

    def add(self, code: int, actions: Sequence[int]) -> None:
        for depth in range(len(actions) + 1):
            self.visits[(code, *map(int, actions[:depth]))] += 1

    def count(self, node: Node) -> int:
        return self.visits.get(node, 0)


def plain_code(projection: Any, state: np.ndarray) -> int:
    """The signs of a state's projections as bits, the first direction lowest."""
    seen = (state - np.asarray(projection.centre)) / np.asarray(projection.scale)
    projected = seen @ np.asarray(projection.directions, np.float64)
    return sum(1 << k for k, value in enumerate(projected) if value > 0)


class PlainCoe:
    """COE's counts and equations, one number at a time."""

    def __init__(self, options: CoeOptions, spec: TaskSpec, projection: Any) -> None:
        self.options, self.spec, self.projection = options, spec, projection
        self.tree = PlainTree()

    def root(self, state: np.ndarray) -> Node:
        return (plain_code(self.projection, state),)

    def visit(self, state: np.ndarray, actions: Sequence[int]) -> None:
        self.tree.add(self.root(state)[0], actions)

    def visits_or(self, node: Node) -> float:
        return self.tree.count(node) or self.options.unvisited

    def confidence(self, node: Node, child: Node) -> float:
        """sqrt(2 ln N_parent / N_child), with ln N = 0 below one visit."""
        return math.sqrt(2 * math.log(max(self.tree.count(node), 1)) / self.visits_or(child))

    def reference_confidence(self, node: Node, child: Node, t: int) -> float:
        """The published code's: (2 ln(N_parent + 1.1) / (N_child + 0.1)) ** e."""
        H = self.spec.episode_limit
        exponent = (H + t) / (2 * H + t) if self.options.decay else 0.5
        parent, visits = self.tree.count(node), self.tree.count(child)
        return (2 * math.log(parent + 1.1) / (visits + 0.1)) ** exponent

    def novelty(self, child: Node) -> float:
        """1 / sqrt(N)."""
        return 1 / math.sqrt(self.visits_or(child))

    def rewards(self, state: np.ndarray, actions: Sequence[int]) -> np.ndarray:
        """The reward bonus of every agent's prefix."""
        node = self.root(state)
        bonus = []
        for action in actions:
            node = (*node, int(action))
            bonus.append(self.options.c_rew * self.novelty(node))
        return np.array(bonus)

    def dense_table(self, zeros: Any) -> Any:
        """The same counts as the dense forest lays them out, breadth first."""
        table, U = np.array(zeros), self.spec.num_actions
        for (code, *actions), visits in self.tree.visits.items():
            before, place = 0, code  # nodes above this level, and the place in it
            width = 2**self.options.counts.k
            for action in actions:
                before, width, place = before + width, width * U, place * U + action
            table[before + place] = visits
        return table


def plain_walk(
    coe: PlainCoe,
    state: np.ndarray,
    values: np.ndarray | Callable[[int, list[int]], np.ndarray],
    avail: np.ndarray,
    bonus_of: Callable[[Node, Node], float],
) -> tuple[list[int], list[float]]:
    """Agent by agent the legal action of the highest utility plus bonus, the lowest of equals."""
    node, actions, bonuses = coe.root(state), [], []
    for i in range(coe.spec.num_agents):
        q = values(i, actions) if callable(values) else values[i]
        best, best_score, best_bonus = -1, -math.inf, 0.0
        for action in range(coe.spec.num_actions):
            bonus = bonus_of(node, (*node, action))
            if avail[i][action] and q[action] + bonus > best_score:
                best, best_score, best_bonus = action, q[action] + bonus, bonus
        node = (*node, best)
        actions.append(best)
        bonuses.append(best_bonus)
    return actions, bonuses
