"""The task: a fight as a frozen record of `reset` and `step`, one step being eight loops.

The contract is that of `contract.py`, a loop that of `liberty.py` or `smaclite.py`. Both are
written for E environments with the batch on the last axis; `vmap` of this task's functions is
turned into that.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.tasks.battle import contract, liberty, maps, smaclite
from coemarl.tasks.battle.fight import BattleState, Fight, initial_state, make_fight, order_of
from coemarl.tasks.battle.options import Options, check, name_of
from coemarl.tasks.battle.orders import orders_of
from coemarl.tasks.task import Task, TaskSpec, TimeStep

LOOPS = 8
"""Of the game in a step."""


def fight_of(options: Options) -> Fight:
    """The fight that the options say; ValueError if they say none."""
    check(options)
    return make_fight(maps.load(options.map), options.rules)


def make(options: Options) -> Task:
    """The task with these options."""
    fight = fight_of(options)
    limit = options.episode_limit or fight.map.episode_limit

    def start(fraction: Float[Array, "1 E"]) -> tuple[BattleState, TimeStep]:
        state = initial_state(fight, order_of(fight, fraction[0]))
        none = jnp.zeros(fraction.shape[1], bool)
        return state, shown(options, fight, state, jnp.zeros(none.shape), none, none, limit)

    def advance(
        words: Array, state: BattleState, actions: Int[Array, "A E"]
    ) -> tuple[BattleState, TimeStep]:
        return advanced(options, fight, limit, words, state, actions)

    start_many, advance_many = batch_last(start), batch_last(advance)

    def reset(key: PRNGKeyArray) -> tuple[BattleState, TimeStep]:
        return start_many(jax.random.uniform(key, (1,)))

    def step(
        key: PRNGKeyArray, state: BattleState, actions: Int[Array, " A"]
    ) -> tuple[BattleState, TimeStep]:
        words = jax.random.uniform(key, (words_of(fight), fight.units))
        return advance_many(words, state, actions.astype(jnp.int32))

    return Task(spec_of(options, fight, limit), reset, step)


def words_of(fight: Fight) -> int:
    """Uniform numbers that a unit needs in a step: for each loop's order, or for one shot."""
    return LOOPS if fight.rules == "smaclite" else 1


def batch_last(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one environment from one of many, whose arrays have the batch last.

    Under `vmap` all environments go into one call, their arrays turned around.
    """

    @jax.custom_batching.custom_vmap
    def one(*args: Any) -> Any:
        wide = jax.tree.map(lambda leaf: leaf[..., None], args)
        return jax.tree.map(lambda leaf: leaf[..., 0], function(*wide))

    @one.def_vmap
    def many(size: int, batched: Any, *args: Any) -> Any:
        def turned(leaf: Array, is_batched: bool) -> Array:
            if is_batched:
                return jnp.moveaxis(leaf, 0, -1)
            return jnp.broadcast_to(leaf[..., None], (*leaf.shape, size))

        out = function(*jax.tree.map(turned, args, tuple(batched)))
        return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), out), jax.tree.map(
            lambda leaf: True, out
        )

    return one


def advanced(
    options: Options,
    fight: Fight,
    limit: int,
    words: Float[Array, "K N E"],
    before: BattleState,
    actions: Int[Array, "A E"],
) -> tuple[BattleState, TimeStep]:
    """One step of E environments."""
    state, dealt = played(fight, words, before, actions)
    won, over = contract.ends(fight, state)
    if options.reward == "damage":
        value = dealt + jnp.where(won, np.float32(options.reward_win), 0.0)
    elif options.reward == "sparse":
        value = won.astype(jnp.float32) - over.astype(jnp.float32)
    else:
        value = contract.reward(
            fight,
            before,
            state,
            won,
            options.reward == "positive",
            options.reward_death_value,
            options.reward_win,
            options.reward_defeat,
            over,
            options.reward_negative_scale,
        )
    if options.reward_scale:
        value = value / np.float32(contract.max_reward(fight) / options.reward_scale_rate)
    return state, shown(options, fight, state, value, won, over, limit)


def played(
    fight: Fight, words: Float[Array, "K N E"], before: BattleState, actions: Int[Array, "A E"]
) -> tuple[BattleState, Float[Array, " E"]]:
    """The state eight loops later, and the damage that SMAClite would pay for."""
    orders = orders_of(fight, before, actions)
    state = before._replace(
        last_actions=actions,
        steps=before.steps + 1,
        shots=jnp.full_like(before.shots, -1),
    )
    loop = smaclite.loop if fight.rules == "smaclite" else liberty.loop

    def body(k: Any, carry: tuple[BattleState, Array]) -> tuple[BattleState, Array]:
        state, dealt = carry
        now = words[jnp.minimum(k, words.shape[0] - 1)]
        state, more = loop(fight, state, orders, now)
        return state, dealt + more

    return lax.fori_loop(0, LOOPS, body, (state, jnp.zeros(actions.shape[1], jnp.float32)))


def shown(
    options: Options,
    fight: Fight,
    state: BattleState,
    value: Float[Array, " E"],
    won: Bool[Array, " E"],
    over: Bool[Array, " E"],
    limit: int,
) -> TimeStep:
    """What the team is shown in a state, after a step that earned this."""
    avail = contract.available(fight, state)
    dead = contract.deaths(fight, state)
    ended = won | over
    late = ~ended & (state.steps >= limit)
    return TimeStep(
        observation=contract.observe(fight, state, avail, options.obs_last_action),
        state=contract.global_state(fight, state, options.state_last_action),
        avail=avail,
        reward=value,
        terminated=ended | late if options.timeout_terminates else ended,
        truncated=jnp.zeros_like(late) if options.timeout_terminates else late,
        info={
            "battle_won": won.astype(jnp.float32),
            "dead_allies": dead[0].astype(jnp.float32),
            "dead_enemies": dead[1].astype(jnp.float32),
            "timeout": late.astype(jnp.float32),
        },
    )


def spec_of(options: Options, fight: Fight, limit: int) -> TaskSpec:
    """What is fixed about the task."""
    enemies = [f"attack {k}" for k in range(fight.enemies)]
    return TaskSpec(
        name=name_of(options),
        num_agents=fight.allies,
        num_actions=contract.num_actions(fight),
        observation_size=contract.observation_size(fight, options.obs_last_action),
        state_size=contract.state_size(fight, options.state_last_action),
        episode_limit=limit,
        reward="one for the team: what the enemies lose, their deaths, and the win",
        actions=("nothing", "stop", "north", "south", "east", "west", *enemies),
        infos=(
            ("battle_won", "1 if the battle ended with a win"),
            ("dead_allies", "allies that have died"),
            ("dead_enemies", "enemies that have died"),
            ("timeout", "1 if the episode was cut at its limit"),
        ),
    )
