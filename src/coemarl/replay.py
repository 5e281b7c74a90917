"""Replay: a ring of whole episodes in which nothing is kept twice.

The next observation is the next row, so an episode of T steps has T + 1 rows. A state that is the
concatenation of observations is derived, a mask that allows everything is made anew, other masks
are kept as bits, and the end of an episode is its length and one flag.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from coemarl.config import ReplayOptions
from coemarl.tasks.task import TaskSpec


class Episodes(NamedTuple):
    """E whole episodes of up to T steps, each from its first observation; zeros after its end."""

    observation: Float[Array, "E T+1 A D"]
    state: Float[Array, "E T+1 S"]
    avail: Bool[Array, "E T+1 A U"]
    actions: Int[Array, "E T A"]
    reward: Float[Array, "E T"]
    bonus: Float[Array, "E T A+1"]
    """What `Choice.reward_bonus` was."""
    latent: Float[Array, "E Z"]
    """What the episode was told to be like; nothing (Z = 0) but where a utility wants it."""
    length: Int[Array, " E"]
    """Steps until the end, at least 1."""
    terminated: Bool[Array, " E"]
    """Whether the game was over at the end, not merely the time."""


class Stored(NamedTuple):
    """Episodes as they lie in memory; a part that is derived or unused has no array."""

    observation: Shaped[Array, "E T+1 A D"]
    state: Shaped[Array, "E T+1 S"] | None
    avail: Int[Array, "E T+1 A bytes"] | None
    actions: Int[Array, "E T A"]
    reward: Float[Array, "E T"]
    bonus: Float[Array, "E T N"] | None
    latent: Float[Array, "E Z"] | None
    length: Int[Array, " E"]
    terminated: Bool[Array, " E"]


KeepsBonus = Literal["nothing", "agents", "team"]
BONUS_KEPT: dict[str, Callable[[int], tuple[int, int] | None]] = {
    "nothing": lambda agents: None,
    "agents": lambda agents: (0, agents),
    "team": lambda agents: (agents, agents + 1),
}
"""Which entries (first, end) of a step's reward bonus are kept, by the number of agents; the others
come back as zeros. Which are of use depends on whether the mixer has values per agent."""


class ReplayState(NamedTuple):
    """The ring: slot `added % capacity` is written next."""

    episodes: Stored
    added: Int[Array, ""]
    """Episodes ever added."""


@dataclass(frozen=True)
class Replay:
    """A ring of episodes as pure functions."""

    init: Callable[[], ReplayState]
    """`init()`: an empty ring."""
    add: Callable[[ReplayState, Episodes], ReplayState]
    """`add(state, episodes)`: the ring with E episodes more, the oldest replaced."""
    sample: Callable[[ReplayState, PRNGKeyArray], Episodes]
    """`sample(state, key)`: a batch of different episodes, all sets equally likely. Has no meaning
    before `ready`."""
    ready: Callable[[ReplayState], Bool[Array, ""]]
    """`ready(state)`: whether a batch can be drawn."""
    bytes: int
    """Memory of the ring."""


def pack_bits(avail: Bool[Array, "... U"]) -> Int[Array, "... bytes"]:
    """Eight flags in a byte, lowest bit first."""
    return jnp.packbits(avail, axis=-1, bitorder="little")


def unpack_bits(packed: Int[Array, "... bytes"], size: int) -> Bool[Array, "... U"]:
    """The first `size` flags that `pack_bits` packed."""
    return jnp.unpackbits(packed, axis=-1, count=size, bitorder="little").astype(bool)


def choose_distinct(
    key: PRNGKeyArray, available: Int[Array, ""], wanted: int
) -> Int[Array, " wanted"]:
    """`wanted` different numbers below `available`, all sets equally likely, by Floyd's method: for
    each j of the last `wanted` numbers take a number up to j, or j itself if that was taken."""
    last = available - wanted + jnp.arange(wanted, dtype=jnp.int32)
    draws = jax.random.randint(key, (wanted,), 0, jnp.maximum(last, 0) + 1)

    def step(i: Array, chosen: Array) -> Array:
        number = jnp.where(jnp.any(chosen == draws[i]), last[i], draws[i])
        return chosen.at[i].set(number)

    return lax.fori_loop(0, wanted, step, jnp.full(wanted, -1, jnp.int32))


def storage(
    options: ReplayOptions, spec: TaskSpec, capacity: int, keeps_bonus: KeepsBonus, latents: int = 0
) -> dict[str, tuple[tuple[int, ...], np.dtype] | None]:
    """Shape and dtype of each array of `Stored`; None for a part without one."""
    T, A, U = spec.episode_limit, spec.num_agents, spec.num_actions
    real, flag = jnp.dtype(options.dtype), jnp.dtype(bool)
    single, whole = jnp.dtype(jnp.float32), jnp.dtype(jnp.int32)
    action = jnp.dtype(jnp.uint8 if U <= 256 else jnp.int32)
    keeps_state, keeps_avail = not spec.state_is_observations, not spec.always_available
    rows, kept = (capacity, T + 1), BONUS_KEPT[keeps_bonus](A)
    return {
        "observation": ((*rows, A, spec.observation_size), real),
        "state": ((*rows, spec.state_size), real) if keeps_state else None,
        "avail": ((*rows, A, -(-U // 8)), jnp.dtype(jnp.uint8)) if keeps_avail else None,
        "actions": ((capacity, T, A), action),
        "reward": ((capacity, T), single),
        "bonus": ((capacity, T, kept[1] - kept[0]), single) if kept else None,
        "latent": ((capacity, latents), single) if latents else None,
        "length": ((capacity,), whole),
        "terminated": ((capacity,), flag),
    }


def make_replay(
    options: ReplayOptions,
    spec: TaskSpec,
    batch_size: int,
    keeps_bonus: KeepsBonus,
    latents: int = 0,
) -> Replay:
    """The replay of a task; `keeps_bonus` says what it keeps of the reward bonus of the moment of
    acting, and `latents` is the size of an episode's latent."""
    places = storage(options, spec, options.capacity, keeps_bonus, latents)
    bonus_kept = BONUS_KEPT[keeps_bonus](spec.num_agents)
    size = sum(int(np.prod(place[0])) * place[1].itemsize for place in places.values() if place)

    def init() -> ReplayState:
        arrays: dict[str, Any] = {
            n: None if place is None else jnp.zeros(*place) for n, place in places.items()
        }
        return ReplayState(Stored(**arrays), jnp.int32(0))

    def store(episodes: Episodes) -> Stored:
        arrays: dict[str, Any] = episodes._asdict()
        if places["avail"] is not None:
            arrays["avail"] = pack_bits(episodes.avail)
        if bonus_kept is not None:
            arrays["bonus"] = episodes.bonus[..., slice(*bonus_kept)]
        kept: dict[str, Any] = {
            n: None if place is None else arrays[n].astype(place[1]) for n, place in places.items()
        }
        return Stored(**kept)

    def restore(stored: Any) -> Episodes:
        arrays: dict[str, Any] = stored._asdict()
        observation = stored.observation.astype(jnp.float32)
        B, rows = observation.shape[:2]
        masks = (B, rows, spec.num_agents, spec.num_actions)
        arrays["observation"] = observation
        if stored.state is None:
            arrays["state"] = observation.reshape(B, rows, -1)
        if stored.avail is None:
            arrays["avail"] = jnp.ones(masks, bool)
        else:
            arrays["avail"] = unpack_bits(stored.avail, spec.num_actions)
        arrays["bonus"] = jnp.zeros((B, rows - 1, spec.num_agents + 1))
        if bonus_kept is not None:
            arrays["bonus"] = arrays["bonus"].at[..., slice(*bonus_kept)].set(stored.bonus)
        if stored.latent is None:
            arrays["latent"] = jnp.zeros((B, 0))
        arrays["state"] = arrays["state"].astype(jnp.float32)
        arrays["actions"] = stored.actions.astype(jnp.int32)
        return Episodes(**arrays)

    def add(state: ReplayState, episodes: Episodes) -> ReplayState:
        first = state.added % options.capacity
        rows = store(episodes)
        if rows.length.shape[0] == 1:  # one slice, no check of wrapping round
            put = lambda ring, row: lax.dynamic_update_slice_in_dim(ring, row, first, 0)  # noqa: E731
        else:
            slots = (first + jnp.arange(rows.length.shape[0])) % options.capacity
            put = lambda ring, row: ring.at[slots].set(row, mode="promise_in_bounds")  # noqa: E731
        ring = jax.tree.map(put, state.episodes, rows)
        return ReplayState(ring, state.added + rows.length.shape[0])

    def sample(state: ReplayState, key: PRNGKeyArray) -> Episodes:
        stored = jnp.minimum(state.added, options.capacity)
        slots = choose_distinct(key, jnp.maximum(stored, batch_size), batch_size)
        take = lambda ring: ring.at[slots].get(mode="promise_in_bounds")  # noqa: E731
        batch: Any = jax.tree.map(take, state.episodes)
        return restore(batch)

    return Replay(
        init=init,
        add=add,
        sample=sample,
        ready=lambda state: state.added >= batch_size,
        bytes=size,
    )
