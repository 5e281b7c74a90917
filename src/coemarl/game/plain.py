"""The game and its learners in plain Python, one number at a time: what the compiled ones must do,
choice for choice, and what their speed is measured against.
"""

import math
from collections.abc import Sequence
from typing import Any

from coemarl.game.options import BEST_PAYOFF, OFFSET_VISITS, Rules

Node = tuple[int, ...]
"""The actions of the first agents."""


def score(rules: Rules, value: float, parent: int, visits: int) -> float:
    """value + c sqrt(2 ln N_parent / N_child)."""
    if visits == 0 and rules.unvisited == "first":
        return math.inf
    return value + rules.c * math.sqrt(2 * math.log(max(parent, 1)) / (visits or OFFSET_VISITS))


def best(rules: Rules, scores: Sequence[float], draw: float) -> int:
    """The place of the highest score; the draw decides among equals."""
    highest = max(scores)
    equals = [place for place, score in enumerate(scores) if score == highest]
    if rules.ties == "first":
        return equals[0]
    return equals[min(int(draw * len(equals)), len(equals) - 1)]


class Tally:
    """Visits and payoffs by name; nothing was seen of a name that is not there."""

    def __init__(self) -> None:
        self.visits: dict[Any, int] = {}
        self.paid: dict[Any, int] = {}

    def add(self, name: Any, paid: bool) -> None:
        self.visits[name] = self.visits.get(name, 0) + 1
        self.paid[name] = self.paid.get(name, 0) + paid

    def count(self, name: Any) -> int:
        return self.visits.get(name, 0)

    def mean(self, name: Any) -> float:
        return self.paid[name] / self.visits[name] if name in self.visits else 0.0


class PlainTeam:
    """`dep-dep`, and what the other factored learners change."""

    def __init__(self, rules: Rules, agents: int, actions: int) -> None:
        self.rules, self.agents, self.actions = rules, agents, range(actions)
        self.tree, self.own = Tally(), Tally()
        self.moved: dict[tuple[int, int], float] = {}

    def value(self, node: Node, action: int) -> float:
        return self.tree.mean((*node, action))

    def counts(self, node: Node) -> tuple[int, list[int]]:
        """Visits of the parent and of its children."""
        children = [self.tree.count((*node, action)) for action in self.actions]
        return self.tree.count(node), children

    def own_value(self, node: Node, action: int) -> float:
        """What the agent after `node` believes of its own action."""
        name = (len(node), action)
        if self.rules.estimate == "mean":
            return self.own.mean(name)
        return self.moved.get(name, 0.0)

    def scores(self, node: Node) -> list[float]:
        """The scores of the next agent's actions."""
        parent, children = self.counts(node)
        return [
            score(self.rules, self.value(node, action), parent, children[action])
            for action in self.actions
        ]

    def choose(self, draws: Sequence[float]) -> Node:
        node: Node = ()
        for i in range(self.agents):
            node = (*node, best(self.rules, self.scores(node), draws[i]))
        return node

    def observe(self, joint: Node, paid: bool) -> None:
        for depth in range(self.agents + 1):
            self.tree.add(joint[:depth], paid)


class PlainIndDep(PlainTeam):
    """Own values, counts down the tree."""

    value = PlainTeam.own_value

    def observe(self, joint: Node, paid: bool) -> None:
        super().observe(joint, paid)
        self.learn(joint, paid)

    def learn(self, joint: Node, paid: bool) -> None:
        for name in enumerate(joint):
            self.own.add(name, paid)
            if not isinstance(self.rules.estimate, str):
                value = self.moved.get(name, 0.0)
                self.moved[name] = value + self.rules.estimate * (paid - value)


class PlainIndInd(PlainIndDep):
    """Own values, own counts."""

    def counts(self, node: Node) -> tuple[int, list[int]]:
        children = [self.own.count((len(node), action)) for action in self.actions]
        return sum(children), children

    def observe(self, joint: Node, paid: bool) -> None:
        self.learn(joint, paid)


class PlainCentral:
    """One UCB1 learner over all joint actions."""

    def __init__(self, rules: Rules, agents: int, actions: int) -> None:
        self.rules, self.agents, self.actions = rules, agents, actions
        self.visits, self.paid = ([0] * actions**agents for _ in range(2))

    def scores(self) -> list[float]:
        """The scores of all joint actions."""
        steps = sum(self.visits)
        return [
            score(self.rules, paid / visits if visits else 0.0, steps, visits)
            for paid, visits in zip(self.paid, self.visits, strict=True)
        ]

    def choose(self, draws: Sequence[float]) -> Node:
        number, joint = best(self.rules, self.scores(), draws[0]), ()
        for _ in range(self.agents):
            number, action = divmod(number, self.actions)
            joint = (action, *joint)
        return joint

    def number(self, joint: Node) -> int:
        """Where a joint action stands, the first agent's action foremost."""
        number = 0
        for action in joint:
            number = number * self.actions + action
        return number

    def observe(self, joint: Node, paid: bool) -> None:
        self.visits[self.number(joint)] += 1
        self.paid[self.number(joint)] += paid


class PlainUniform:
    """Any joint action."""

    def __init__(self, rules: Rules, agents: int, actions: int) -> None:
        self.agents, self.actions = agents, actions

    def choose(self, draws: Sequence[float]) -> Node:
        return tuple(int(draws[i] * self.actions) for i in range(self.agents))

    def observe(self, joint: Node, paid: bool) -> None:
        pass


PLAIN: dict[str, Any] = {
    "dep-dep": PlainTeam,
    "ind-dep": PlainIndDep,
    "ind-ind": PlainIndInd,
    "central": PlainCentral,
    "uniform": PlainUniform,
}


def play(
    team: Any, optimal: Sequence[int], p0: float, draws: Sequence[Sequence[float]]
) -> tuple[list[Node], list[bool]]:
    """The joint actions and payoffs of a game; each step's last draw is the payoff's."""
    joints, payoffs = [], []
    for draw in draws:
        joint = team.choose(draw)
        paid = draw[-1] < (BEST_PAYOFF if joint == tuple(optimal) else p0)
        team.observe(joint, paid)
        joints.append(joint)
        payoffs.append(paid)
    return joints, payoffs
