"""Counts of joint actions at states, and the choice between their kinds.

simhash.py   the code of a state: which tree of the forest
dense.py     an exact count for every node, while the forest fits in memory
sketch.py    any number of agents in constant memory, with a stated error bound
coinflip.py  pseudo-counts by a network of constant size, which generalises over states
walk.py      paths down a tree, agent by agent
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from coemarl.counts.coinflip import make_coinflip
from coemarl.counts.counts import Counts, NodeKey, Table
from coemarl.counts.dense import LARGEST_KEY, forest_bytes, make_dense
from coemarl.counts.simhash import Normalise, SimHash, make_identity, make_simhash
from coemarl.counts.sketch import make_sketch

__all__ = ["KINDS", "Counts", "CountsOptions", "NodeKey", "SimHash", "Table", "make_counts"]
__all__ += ["make_hash"]


@dataclass(frozen=True)
class CountsOptions:
    """How states are told apart, and how visits are counted."""

    k: int = 16
    """Bits of a state's code, 1 to 32: more tell more states apart and generalise less."""
    normalise: Normalise = "none"
    """What a state goes through before its code: `none` (the paper's runs), `centred`, or `scaled`
    (centred and divided by its standard deviation), with statistics of random play."""
    kind: Literal["auto", "dense", "sketch", "coin-flip"] = "auto"
    """`dense` is exact; `sketch` holds any number of agents; `auto` is dense while it fits, else
    sketch. `coin-flip` estimates by a network, from scaled states instead of codes."""
    memory_mb: int = 128
    """The most memory that counts may take, in MB of 2^20 bytes."""
    width: int = 2**20
    """Cells in a row of the sketch, a power of two: its error shrinks as 1 / width."""
    depth: int = 4
    """Rows of the sketch: its bound fails with probability exp(-depth)."""
    units: int = 128
    """Hidden units of the coin-flip network."""
    visits: int = 2**16
    """Joint actions that the coin-flip network learns from: the last so many."""

    def __post_init__(self) -> None:
        if not 1 <= self.k <= 32:
            raise ValueError(f"counts k is {self.k}: a code has 1 to 32 bits")
        if self.kind not in ("auto", *CURES):
            raise ValueError(f"no counts of kind '{self.kind}': choose auto, {', '.join(CURES)}")
        if self.normalise not in ("none", "centred", "scaled"):
            raise ValueError(
                f"no normalisation '{self.normalise}' of states: choose none, centred or scaled"
            )
        if self.width < 2 or self.width & (self.width - 1):
            raise ValueError(f"counts width is {self.width}: it must be a power of two")
        if not 1 <= self.depth <= 16:
            raise ValueError(f"counts depth is {self.depth}: it must be 1 to 16 rows")
        for name in ("units", "visits"):
            if getattr(self, name) < 1:
                raise ValueError(f"counts {name} is {getattr(self, name)}: it must be at least 1")
        if self.memory_mb < 1:
            raise ValueError(f"counts memory_mb is {self.memory_mb}: it must be at least 1")


def dense_of(options: CountsOptions, num_agents: int, num_actions: int, bits: int) -> Counts:
    return make_dense(bits, num_agents, num_actions)


def sketch_of(options: CountsOptions, num_agents: int, num_actions: int, bits: int) -> Counts:
    return make_sketch(options.width, options.depth, num_agents, num_actions)


KINDS: dict[str, Callable[[CountsOptions, int, int, int], Counts]] = {
    "dense": dense_of,
    "sketch": sketch_of,
}


CURES = {
    "dense": "lower k, or use kind 'sketch'",
    "sketch": "lower width or depth",
    "coin-flip": "lower units or visits",
}
"""What makes counts of a kind smaller."""


def choose_kind(options: CountsOptions, num_agents: int, num_actions: int, bits: int) -> str:
    """`dense` where the exact forest fits in memory and its keys in 31 bits, else `sketch`."""
    size = forest_bytes(bits, num_agents, num_actions)
    fits = size <= options.memory_mb * 2**20 and size // 4 <= LARGEST_KEY
    return "dense" if fits else "sketch"


def make_counts(
    options: CountsOptions,
    num_agents: int,
    num_actions: int,
    bits: int | None = None,
    state_size: int | None = None,
) -> Counts:
    """The counts that the options ask for, of states with codes of `bits` bits (k of the options
    unless said otherwise), or with `state_size` numbers; ValueError if they do not fit."""
    kind, bits = options.kind, options.k if bits is None else bits
    if kind == "coin-flip":
        if state_size is None:
            raise ValueError("coin-flip counts are for coe: take kind dense or sketch here")
        return within_memory(
            options,
            kind,
            make_coinflip(state_size, num_agents, num_actions, options.units, options.visits),
        )
    if kind == "auto":
        kind = choose_kind(options, num_agents, num_actions, bits)
    return within_memory(options, kind, KINDS[kind](options, num_agents, num_actions, bits))


def within_memory(options: CountsOptions, kind: str, counts: Counts) -> Counts:
    """These counts; ValueError if they take more memory than they may."""
    if counts.bytes > options.memory_mb * 2**20:
        cure = CURES[kind]
        raise ValueError(
            f"{kind} counts need {counts.bytes / 2**20:.0f} MB, above the limit memory_mb ="
            f" {options.memory_mb}: raise it, {cure}"
        )
    return counts


def make_hash(options: CountsOptions, state_size: int) -> SimHash:
    """What gives a state its code; for coin-flip counts, the state itself, scaled."""
    if options.kind == "coin-flip":
        normalise = "scaled" if options.normalise == "none" else options.normalise
        return make_identity(state_size, normalise)
    return make_simhash(state_size, options.k, options.normalise)
