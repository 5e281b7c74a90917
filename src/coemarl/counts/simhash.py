"""SimHash: a state's code is the signs of k random projections of it (paper, appendix A).

    code = bits of (g(s) @ A > 0),   A ~ N(0, 1) of shape (S, k)

Near states tend to share a code. The paper leaves g open; here it is one of
    none      g(s) = s, as in the paper's runs. Where all entries of a state are non-negative most
              signs hardly ever change, and few codes are in use
    centred   g(s) = s - mean
    scaled    g(s) = (s - mean) / standard deviation, entry by entry
with statistics taken once, from states of random play before training: a state's code never
changes while it is counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray, UInt32

Normalise = Literal["none", "centred", "scaled"]

CALIBRATION_STATES = 2000
"""States of random play that the statistics are taken from."""
CONSTANT = 1e-6
"""An entry whose standard deviation is below this does not vary, and is only centred."""


class Projection(NamedTuple):
    """What a code depends on besides the state."""

    directions: Float[Array, "S k"]
    centre: Float[Array, " S"]
    scale: Float[Array, " S"]


@dataclass(frozen=True)
class SimHash:
    """The hash of ONE state as pure functions: batch by vmap, the projection unbatched."""

    init: Callable[[PRNGKeyArray], Projection]
    """`init(key)`: random directions; the centre is 0 and the scale 1."""
    calibrate: Callable[[Projection, Float[Array, "N S"]], Projection]
    """`calibrate(projection, states)`: the same directions with the states' statistics."""
    code: Callable[[Projection, Float[Array, " S"]], Array]
    """`code(projection, state)`: the state's code, a number below 2^k."""
    calibration_states: int
    """How many states `calibrate` wants; 0 where it changes nothing."""


def make_simhash(state_size: int, bits: int, normalise: Normalise = "none") -> SimHash:
    """The hash of states with `state_size` entries to codes of `bits` (1 to 32) bits."""

    def init(key: PRNGKeyArray) -> Projection:
        directions = jax.random.normal(key, (state_size, bits), jnp.float32)
        return Projection(directions, jnp.zeros(state_size), jnp.ones(state_size))

    def calibrate(projection: Projection, states: Float[Array, "N S"]) -> Projection:
        if normalise == "none":
            return projection
        projection = projection._replace(centre=states.mean(axis=0))
        if normalise == "scaled":
            spread = states.std(axis=0)
            projection = projection._replace(scale=jnp.where(spread > CONSTANT, spread, 1.0))
        return projection

    def code(projection: Projection, state: Float[Array, " S"]) -> UInt32[Array, ""]:
        seen = state if normalise == "none" else normalised(projection, state)
        # Full precision wherever it runs: a rounded product would move states between codes.
        signs = jnp.matmul(seen, projection.directions, precision=lax.Precision.HIGHEST) > 0
        place = jnp.arange(bits, dtype=jnp.uint32)
        return jnp.sum(signs.astype(jnp.uint32) << place, dtype=jnp.uint32)

    return SimHash(init, calibrate, code, 0 if normalise == "none" else CALIBRATION_STATES)


def normalised(projection: Projection, state: Float[Array, " S"]) -> Float[Array, " S"]:
    """g(s), by the statistics of random play."""
    return (state - projection.centre) / projection.scale


def make_identity(state_size: int, normalise: Normalise) -> SimHash:
    """No hash: the normalised state itself, for counts that take it as it is."""
    hashed = make_simhash(state_size, 1, normalise)
    return SimHash(hashed.init, hashed.calibrate, normalised, CALIBRATION_STATES)
