"""UCB1 over all joint actions, without looking at all of them in every step.

A joint action's score is a line in the pace s = c sqrt(2 ln N): its mean payoff + s / sqrt(n). All
joint actions share s, which only grows, and one line changes in a step. So the joint actions lie in
blocks, and each block remembers its leader, how many are level with it, and `until` which s nobody
else in the block can have come within rounding of it. A step looks at the leaders, and only at
those blocks one by one whose leader is not certain: the one that was played last, and rarely
others. It chooses exactly what a look at every score would choose.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from coemarl.explorers.coe import novelty, ucb_bonus
from coemarl.game.learner import Learner, mean_payoff, scores
from coemarl.game.options import OFFSET_VISITS, Rules

CLOSE = 1e-5
"""Scores so close (relative to 1 + s) may change places by rounding: they are compared anew in
every step. About a hundred times the rounding of a float32."""


class Leaders(NamedTuple):
    """The joint action of the highest score in each block (B,)."""

    visits: Float[Array, " B"]
    paid: Float[Array, " B"]
    level: Float[Array, " B"]
    """How many joint actions have this score."""
    until: Float[Array, " B"]
    """The pace up to which all this holds."""


class CentralState(NamedTuple):
    """Visits and payoffs of all joint actions in B blocks of W."""

    steps: Float[Array, ""]
    visits: Float[Array, "B W"]
    paid: Float[Array, "B W"]
    leaders: Leaders


class Place(NamedTuple):
    """Where a joint action lies, and the leaders as they were known when it was chosen."""

    block: Int[Array, ""]
    within: Int[Array, ""]
    leaders: Leaders


@dataclass(frozen=True)
class Central:
    """What the functions of one such learner close over."""

    rules: Rules
    agents: int
    actions: int
    blocks: int
    width: int

    def init(self) -> CentralState:
        """Nothing was tried, and no leader is known."""
        none = jnp.zeros(self.blocks)
        empty = jnp.zeros((self.blocks, self.width))
        leaders = Leaders(none, none, none, jnp.full(self.blocks, -jnp.inf))
        return CentralState(jnp.float32(0), empty, empty, leaders)

    def scores(self, visits: Array, paid: Array, steps: Array) -> Array:
        """UCB1's scores of joint actions after so many steps."""
        return scores(self.rules, mean_payoff(paid, visits), steps, visits)

    def pace(self, steps: Array) -> Array:
        """s = c sqrt(2 ln N)."""
        return self.rules.c * ucb_bonus(steps, jnp.ones(()), OFFSET_VISITS)

    def row_scores(self, state: CentralState, block: Array) -> Float[Array, " W"]:
        """The scores in one block; the last one may be shorter than the others."""
        there = block * self.width + jnp.arange(self.width) < self.actions**self.agents
        score = self.scores(state.visits[block], state.paid[block], state.steps)
        return jnp.where(there, score, -jnp.inf)

    def refreshed(self, state: CentralState) -> Leaders:
        """The leaders as of now."""
        pace = self.pace(state.steps)

        def stale(carry: tuple[Leaders, Bool[Array, " B"]]) -> Bool[Array, " B"]:
            leaders, done = carry
            return (leaders.until <= pace) & ~done

        def look(
            carry: tuple[Leaders, Bool[Array, " B"]],
        ) -> tuple[Leaders, Bool[Array, " B"]]:
            block = jnp.argmax(stale(carry))
            leaders, done = carry
            found = self.leader(state, block, pace)
            leaders = Leaders(
                *(all_.at[block].set(x) for all_, x in zip(leaders, found, strict=True))
            )
            return leaders, done.at[block].set(True)

        start = (state.leaders, jnp.zeros(self.blocks, bool))
        return lax.while_loop(lambda carry: stale(carry).any(), look, start)[0]

    def leader(self, state: CentralState, block: Array, pace: Array) -> Leaders:
        """One block's entry of `Leaders`."""
        visits, paid = state.visits[block], state.paid[block]
        score = self.row_scores(state, block)
        first = jnp.argmax(score)
        level = (score == score[first]).sum().astype(jnp.float32)
        rival = (visits != visits[first]) | (paid != paid[first])
        gap = jnp.where(rival & (score > -jnp.inf), score[first] - score, jnp.inf)
        slope = novelty(visits, OFFSET_VISITS)
        gains = slope - slope[first]
        close = CLOSE * (1 + pace)
        meets = jnp.where(gains > 0, pace + (gap - close) / gains, jnp.inf)
        until = jnp.where((gap < close).any(), -jnp.inf, meets.min())
        # Without optimism no score changes before its joint action is played again.
        until = jnp.where(self.rules.c > 0, until, jnp.inf)
        return Leaders(visits[first], paid[first], level, until)

    def choose(
        self, state: CentralState, draws: Float[Array, " A"]
    ) -> tuple[Int[Array, " A"], Place]:
        """The k-th of all joint actions of the highest score, k as the first draw says."""
        leaders = self.refreshed(state)
        score = self.scores(leaders.visits, leaders.paid, state.steps)
        level = jnp.where(score == score.max(), leaders.level, 0.0)
        upto = jnp.cumsum(level)
        k = jnp.float32(0)
        if self.rules.ties == "random":
            k = jnp.minimum(jnp.floor(draws[0] * upto[-1]), upto[-1] - 1)
        block = jnp.argmax(upto > k)
        row = self.row_scores(state, block) == score.max()
        count = jnp.cumsum(row, dtype=jnp.float32)
        within = jnp.argmax(count > k - (upto[block] - level[block]))
        place = Place(block, within, leaders)
        return self.digits(block * self.width + within), place

    def digits(self, joint: Int[Array, ""]) -> Int[Array, " A"]:
        """The agents' actions in the joint action of this number, the first agent's foremost."""
        powers = [self.actions**i for i in reversed(range(self.agents))]
        return joint // jnp.array(powers, jnp.int32) % self.actions

    def observe(self, state: CentralState, place: Place, paid: Bool[Array, ""]) -> CentralState:
        """One visit and its payoff more; that block's leader is not certain any more."""
        at = (place.block, place.within)
        return CentralState(
            steps=state.steps + 1,
            visits=state.visits.at[at].add(1.0),
            paid=state.paid.at[at].add(paid.astype(jnp.float32)),
            leaders=place.leaders._replace(until=place.leaders.until.at[place.block].set(-jnp.inf)),
        )


def make_central(rules: Rules, agents: int, actions: int) -> Learner:
    """UCB-Cen: one learner whose actions are the joint actions."""
    joint = actions**agents
    width = math.isqrt(joint - 1) + 1
    central = Central(rules, agents, actions, -(-joint // width), width)
    return Learner(central.init, central.choose, central.observe, 8 * joint)
