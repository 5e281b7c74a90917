"""Episodic memory: the best discounted return ever seen from a state, in bounded space.

A state is known by its random projection to 4 numbers, each rounded to a cell of width 10^-3; equal
states always meet, and states that far apart in a projection never do but by chance of a 64-bit
name. The original looks the nearest projection up in a tree and takes it only if it is equal; a
table answers that question alone, in constant time.

The table has sets of `WAYS` places. A name belongs to one set; where it is full the place that was
written or met the longest ago gives way (least recently used). Recalling changes nothing, so that
it can be done for whole batches at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from coemarl.counts.sketch import SketchKey, fold
from coemarl.replay import Episodes

PROJECTION = 4
"""Numbers that a state is projected to."""
CELL = 1e-3
"""Width of the cells that projections are rounded to."""
WAYS = 4
"""Places in a set."""


class Memory(NamedTuple):
    """C places. A place is empty while its `used` is 0."""

    projection: Float[Array, "S 4"]
    high: UInt32[Array, " C"]
    low: UInt32[Array, " C"]
    value: Float[Array, " C"]
    used: Int[Array, " C"]
    """When a place was last written or met, in episodes' steps."""
    clock: Int[Array, ""]
    asked: Float[Array, ""]
    """States that were to be remembered so far."""
    met: Float[Array, ""]
    """How many of them were remembered already."""


@dataclass(frozen=True)
class EpisodicMemory:
    """What can be done with a memory."""

    init: Callable[[PRNGKeyArray], Memory]
    """`init(key)`: nothing remembered."""
    add: Callable[[Memory, Episodes], Memory]
    """`add(memory, episodes)`: every state that something followed, with what followed."""
    recall: Callable[
        [Memory, Float[Array, "B T S"]], tuple[Float[Array, "B T"], Bool[Array, "B T"]]
    ]
    """`recall(memory, states)`: the best return from each, and whether it is remembered."""
    metrics: Callable[[Memory], dict[str, Float[Array, ""]]]
    """How full it is, and the share of states that were remembered already when they came."""
    summary: str


def discounted(rewards: Float[Array, " T"], discount: float) -> Float[Array, " T"]:
    """What follows from each step on: R_t = r_t + discount R_t+1."""

    def step(later: Float[Array, ""], r: Float[Array, ""]) -> tuple[Array, Array]:
        now = r + discount * later
        return now, now

    return lax.scan(step, jnp.float32(0), rewards, reverse=True)[1]


def name_of(projection: Float[Array, "S 4"], state: Float[Array, " S"]) -> SketchKey:
    """The 64-bit name of a state."""
    projected = jnp.matmul(state, projection, precision=lax.Precision.HIGHEST)
    cells = jnp.floor(projected / CELL).astype(jnp.int32).astype(jnp.uint32)
    key = SketchKey(jnp.uint32(0x13198A2E), jnp.uint32(0x03707344))
    for number in range(PROJECTION):
        key = fold(key, cells[number])
    return key


def make_memory(capacity: int, state_size: int, discount: float) -> EpisodicMemory:
    """A memory of `capacity` states (a power of two)."""
    sets = capacity // WAYS

    def init(key: PRNGKeyArray) -> Memory:
        zeros = lambda dtype: jnp.zeros(capacity, dtype)  # noqa: E731
        return Memory(
            projection=jax.random.normal(key, (state_size, PROJECTION), jnp.float32),
            high=zeros(jnp.uint32),
            low=zeros(jnp.uint32),
            value=zeros(jnp.float32),
            used=zeros(jnp.int32),
            clock=jnp.int32(0),
            asked=jnp.zeros(()),
            met=jnp.zeros(()),
        )

    def places(memory: Memory, name: SketchKey) -> tuple[Int[Array, " W"], Bool[Array, " W"]]:
        """The places of a name's set, and which of them holds it."""
        first = (name.low & jnp.uint32(sets - 1)).astype(jnp.int32) * WAYS
        where = first + jnp.arange(WAYS, dtype=jnp.int32)
        same = (memory.high[where] == name.high) & (memory.low[where] == name.low)
        return where, same & (memory.used[where] > 0)

    def recall_one(
        memory: Memory, state: Float[Array, " S"]
    ) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        where, holds = places(memory, name_of(memory.projection, state))
        return jnp.where(holds, memory.value[where], 0.0).sum(), holds.any()

    def add_one(
        memory: Memory, entry: tuple[Float[Array, " S"], Float[Array, ""], Bool[Array, ""]]
    ) -> tuple[Memory, None]:
        state, value, happened = entry
        name = name_of(memory.projection, state)
        where, holds = places(memory, name)
        known, clock = holds.any(), memory.clock + 1
        place = where[jnp.where(known, jnp.argmax(holds), jnp.argmin(memory.used[where]))]
        old = memory.value[place]
        best = jnp.where(known, jnp.maximum(old, value), value)
        write = lambda array, new: array.at[place].set(jnp.where(happened, new, array[place]))  # noqa: E731
        counted = happened.astype(jnp.float32)
        return Memory(
            projection=memory.projection,
            high=write(memory.high, name.high),
            low=write(memory.low, name.low),
            value=write(memory.value, best),
            used=write(memory.used, clock),
            clock=clock,
            asked=memory.asked + counted,
            met=memory.met + (happened & known).astype(jnp.float32),
        ), None

    def add(memory: Memory, episodes: Episodes) -> Memory:
        E, T = episodes.reward.shape
        returns = jax.vmap(discounted, (0, None))(episodes.reward, discount)
        happened = jnp.arange(T)[None] < episodes.length[:, None]
        states = episodes.state[:, :-1]
        entries = (states.reshape(E * T, -1), returns.reshape(-1), happened.reshape(-1))
        return lax.scan(add_one, memory, entries)[0]

    def metrics(memory: Memory) -> dict[str, Float[Array, ""]]:
        return {
            "memory_states": (memory.used > 0).sum().astype(jnp.float32),
            "memory_hits": memory.met / jnp.maximum(memory.asked, 1.0),
        }

    return EpisodicMemory(
        init=init,
        add=add,
        recall=jax.vmap(jax.vmap(recall_one, (None, 0)), (None, 0)),
        metrics=metrics,
        summary=f"memory of {capacity:,} states, {capacity * 16 / 2**20:.1f} MB",
    )
