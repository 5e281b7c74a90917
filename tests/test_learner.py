"""The learner: each of its functions by hand, and whole updates against a slow twin in NumPy."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coemarl.config import LearnerOptions
from coemarl.counts import CountsOptions
from coemarl.explorers.coe import CoeOptions, make_coe
from coemarl.explorers.epsilon import EpsilonOptions, make_epsilon
from coemarl.explorers.explorer import Advice, Explorer
from coemarl.learner import (
    follow,
    make_learner,
    standardised,
    step_discounts,
    step_mask,
    taken,
    td_loss,
)
from coemarl.mixers import TABLE as MIXERS
from coemarl.mixers.qmix import QmixOptions
from coemarl.replay import Episodes
from coemarl.tasks import TaskSpec
from coemarl.utilities import Utility
from coemarl.utilities.independent import IndependentOptions, make_independent
from plain import PlainCoe, plain_walk

# Functions of one step


def test_mask_covers_steps_that_happened() -> None:
    mask = step_mask(jnp.array([1, 3, 4]), 4)
    assert mask.tolist() == [[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]


ENDS = [  # steps until the end of an episode of at most 3, and whether the game was over
    (2, True),  # ends early
    (3, True),  # ends by itself, at the limit
    (3, False),  # is cut by the limit
]


@pytest.mark.parametrize(("terminal", "at_limit"), [(False, 0.9), (True, 0.0)])
def test_discount_is_zero_where_the_episode_ends(terminal: bool, at_limit: float) -> None:
    options = LearnerOptions(discount=0.9, time_limit_is_terminal=terminal)
    lengths, flags = zip(*ENDS, strict=True)
    batch = blank(3, TaskSpec("t", 1, 2, 2, 2, 3, "one for all"))._replace(
        length=jnp.array(lengths), terminated=jnp.array(flags)
    )
    discounts = np.asarray(step_discounts(batch, options))
    mask = np.asarray(step_mask(batch.length, 3))
    np.testing.assert_allclose(
        discounts * mask, [[0.9, 0, 0], [0.9, 0.9, 0], [0.9, 0.9, at_limit]], rtol=1e-6
    )


def test_standardised_by_hand() -> None:
    # Cut at the longest episode, 2: the rewards are 1 3 2 0, of which the last pads. Their mean is
    # 1.5, their squared deviations 0.25 + 2.25 + 0.25 + 2.25 = 5, and 5 / 3 the variance.
    rewards = jnp.array([[1.0, 3.0, 0.0], [2.0, 0.0, 0.0]])
    ours = np.asarray(standardised(rewards, jnp.int32(2)))
    deviation = (5 / 3) ** 0.5 + 1e-5
    np.testing.assert_allclose(
        ours[:, :2], np.array([[-0.5, 1.5], [0.5, -1.5]]) / deviation, rtol=1e-6
    )


def test_standardised_of_equal_rewards_is_zero() -> None:
    assert not np.asarray(standardised(jnp.ones((2, 3)), jnp.int32(3))).any()
    assert np.asarray(standardised(jnp.ones((1, 1)), jnp.int32(1))) == 0  # a single reward


def test_taken_reads_each_agents_action() -> None:
    values = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert taken(values, jnp.array([2, 0])).tolist() == [3.0, 4.0]


def test_loss_by_hand() -> None:
    # The team's: (1 + 4 + 9) / 3 steps; what stands under a mask of 0 is nothing.
    deltas = jnp.array([[[1.0], [2.0]], [[-3.0], [100.0]]])
    mask = jnp.array([[1.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(td_loss(deltas, mask), 14 / 3, rtol=1e-6)
    # Each agent's: the mean over agents of every step, (1 + 9) / 2.
    np.testing.assert_allclose(td_loss(jnp.array([[[1.0, 3.0]]]), jnp.ones((1, 1))), 5.0)


def test_soft_targets_go_a_share_of_the_way() -> None:
    options = LearnerOptions(target_update="soft", target_tau=0.25)
    target = follow(options, jnp.int32(1), {"w": jnp.array([4.0])}, {"w": jnp.array([0.0])})
    assert target["w"].tolist() == [1.0]


def test_hard_targets_are_copied_every_period() -> None:
    options = LearnerOptions(target_update="hard", target_period=3)
    online, old = jnp.array([1e8, 0.1, -7.0]), jnp.array([1.0, 1e8, 3.0])
    for updates in (1, 2, 4):
        assert (follow(options, jnp.int32(updates), online, old) == old).all()
    for updates in (3, 6):
        assert (follow(options, jnp.int32(updates), online, old) == online).all()


# Whole updates by hand: one agent whose utilities are what it observes


def blank(episodes: int, spec: TaskSpec) -> Episodes:
    """Episodes of zeros in which everything is legal."""
    B, T, A, U = episodes, spec.episode_limit, spec.num_agents, spec.num_actions
    return Episodes(
        observation=jnp.zeros((B, T + 1, A, spec.observation_size)),
        state=jnp.zeros((B, T + 1, spec.state_size)),
        avail=jnp.ones((B, T + 1, A, U), bool),
        actions=jnp.zeros((B, T, A), jnp.int32),
        reward=jnp.zeros((B, T)),
        bonus=jnp.zeros((B, T, A + 1)),
        latent=jnp.zeros((B, 0)),
        length=jnp.full(B, T, jnp.int32),
        terminated=jnp.zeros(B, bool),
    )


def told_utility() -> Utility:
    """Utilities are the observations, scaled by the one parameter."""

    def nothing(*args: Any) -> Any:
        raise AssertionError("only whole episodes are learned from")

    return Utility(
        init=lambda key: jnp.float32(1.0),
        start=nothing,
        advise=nothing,
        unroll=lambda scale, observations, latent, length: told_advice(scale * observations),
    )


def told_advice(values: Any) -> Advice:
    """Utilities of which nothing is remembered."""
    return Advice(values, jnp.zeros((*values.shape[:-1], 0)))


@dataclass(frozen=True)
class Told:
    """An episode of one agent with two actions, and what follows from it."""

    observation: list[list[float]]
    actions: list[int]
    reward: list[float]
    terminated: bool
    targets: list[float]


TOLD_SPEC = TaskSpec("told", 1, 2, 2, 1, 3, "one for all")
GAME_OVER = Told(  # after 2 of 3 steps; what stands after the end must not matter
    [[1, 2], [3, 5], [7, 4], [99, 99]], [0, 1, 1], [10, 20, 0], True, [10 + 0.5 * 5, 20]
)
CUT = Told(  # by the limit of 3 steps: the last observation has a value
    [[1, 2], [3, 5], [7, 4], [6, 8]], [0, 1, 1], [10, 20, 30], False, [12.5, 20 + 3.5, 30 + 4]
)
CUT_IS_END = replace(CUT, targets=[12.5, 23.5, 30])


@pytest.mark.parametrize(
    ("told", "limit_is_terminal"),
    [(GAME_OVER, False), (GAME_OVER, True), (CUT, False), (CUT_IS_END, True)],
)
def test_targets_by_hand(told: Told, limit_is_terminal: bool) -> None:
    options = LearnerOptions(
        discount=0.5, standardise_rewards=False, time_limit_is_terminal=limit_is_terminal
    )
    losses = told_update(options, told)
    values = [told.observation[t][told.actions[t]] for t in range(len(told.targets))]
    errors = np.subtract(values, told.targets)
    np.testing.assert_allclose(losses.target, np.mean(told.targets), rtol=1e-6)
    np.testing.assert_allclose(losses.value, np.mean(values), rtol=1e-6)
    np.testing.assert_allclose(losses.td_error, np.abs(errors).mean(), rtol=1e-6)
    np.testing.assert_allclose(losses.loss, np.square(errors).mean(), rtol=1e-6)
    # Only the value has a gradient, not the target: the mean of 2 delta dQ/dscale = 2 delta Q.
    slope = np.mean(2 * errors * values)
    np.testing.assert_allclose(losses.gradient_norm, abs(slope), rtol=1e-6)


def told_update(options: LearnerOptions, told: Told, avail: Any = None) -> Any:
    """The losses of one update on one such episode."""
    mixer = MIXERS["none"][1](None, TOLD_SPEC)
    explorer = make_epsilon(EpsilonOptions(), TOLD_SPEC)
    learner = make_learner(options, told_utility(), mixer, explorer)
    batch = blank(1, TOLD_SPEC)._replace(
        observation=jnp.array(told.observation, jnp.float32)[None, :, None],
        actions=jnp.array(told.actions)[None, :, None],
        reward=jnp.array(told.reward, jnp.float32)[None],
        length=jnp.array([len(told.targets)]),
        terminated=jnp.array([told.terminated]),
    )
    if avail is not None:
        batch = batch._replace(avail=jnp.array(avail)[None, :, None])
    return learner.update(learner.init(jax.random.key(0)), (), learner.lesson(batch))[1]


def test_targets_use_legal_actions_only() -> None:
    options = LearnerOptions(discount=0.5, standardise_rewards=False)
    avail = [[True, True], [True, False], [False, True], [True, False]]
    losses = told_update(options, CUT, avail)
    np.testing.assert_allclose(losses.target, np.mean([10 + 1.5, 20 + 2, 30 + 3]), rtol=1e-6)


@pytest.mark.parametrize(("double_q", "expected"), [(True, 2.0), (False, 3.0)])
def test_double_q_lets_the_online_net_choose(double_q: bool, expected: float) -> None:
    # The online net prefers action 0 of the second observation, the target net action 1.
    utility = replace(
        told_utility(),
        init=lambda key: jnp.array([2.0, 1.0]),
        unroll=lambda scales, observations, latent, length: told_advice(
            scales[None, None, None] * observations
        ),
    )
    options = LearnerOptions(discount=1.0, standardise_rewards=False, double_q=double_q)
    mixer = MIXERS["none"][1](None, TOLD_SPEC)
    learner = make_learner(options, utility, mixer, make_epsilon(EpsilonOptions(), TOLD_SPEC))
    state = learner.init(jax.random.key(0))
    state = state._replace(target=state.target._replace(utility=jnp.array([1.0, 1.0])))
    batch = blank(1, TOLD_SPEC)._replace(
        observation=jnp.zeros((1, 4, 1, 2)).at[0, 1, 0].set(jnp.array([2.0, 3.0])),
        length=jnp.array([1]),
    )
    assert float(learner.update(state, (), learner.lesson(batch))[1].target) == expected


# Whole updates against a twin


SPEC = TaskSpec("twin", 2, 3, 3, 4, 5, "one for all")
COE = CoeOptions(c_act=1.0, c_rew=0.7, c_boot=0.5, counts=CountsOptions(k=2, kind="dense"))


@dataclass(frozen=True)
class Case:
    """One way of learning."""

    mixer: str
    options: LearnerOptions
    explorer: str


CASES = {
    "qmix, soft, standardised, coe": Case(
        "qmix", LearnerOptions(learning_rate=3e-3, target_tau=0.3), "coe"
    ),
    "none, hard, as paid, coe": Case(
        "none",
        LearnerOptions(
            learning_rate=3e-3, target_update="hard", target_period=2, standardise_rewards=False
        ),
        "coe",
    ),
    "vdn, clipped, single q, the limit is an end": Case(
        "vdn",
        LearnerOptions(
            learning_rate=3e-3,
            max_gradient_norm=0.05,
            double_q=False,
            time_limit_is_terminal=True,
        ),
        "epsilon",
    ),
}
UPDATES = 3


def random_batch(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Four episodes: cut by the limit, over at the limit, two over before. Observations, states,
    masks and actions after an end are noise: they must not matter."""
    B, T, A, U = 4, SPEC.episode_limit, SPEC.num_agents, SPEC.num_actions
    length = np.array([5, 5, 2, 3])
    inside = np.arange(T) < length[:, None]
    avail = rng.random((B, T + 1, A, U)) < 0.7
    avail[..., 1] |= ~avail.any(-1)
    return {
        "observation": rng.normal(size=(B, T + 1, A, SPEC.observation_size)),
        "state": rng.normal(size=(B, T + 1, SPEC.state_size)),
        "avail": avail,
        "actions": rng.integers(0, U, (B, T, A)),
        "reward": rng.normal(1.0, 2.0, (B, T)) * inside,
        "bonus": np.zeros((B, T, A + 1)),
        "latent": np.zeros((B, 0)),
        "length": length,
        "terminated": np.array([False, True, True, True]),
    }


def as_episodes(arrays: dict[str, np.ndarray]) -> Episodes:
    kinds = {"f": jnp.float32, "i": jnp.int32, "b": bool}
    return Episodes(**{n: jnp.asarray(a, kinds[a.dtype.kind]) for n, a in arrays.items()})


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def plain_values(utility: Any, observation: np.ndarray) -> np.ndarray:
    """PyTorch's Linear, ReLU, GRUCell and Linear over time: (B, T, A, U)."""
    B, T, A, _ = observation.shape
    w = utility.trunk
    weight = np.concatenate([w.encode, w.encode_agent], axis=1)
    identity = np.broadcast_to(np.eye(A), (B, A, A))
    h = np.zeros((B, A, weight.shape[0]))
    values = []
    for t in range(T):
        inputs = np.concatenate([observation[:, t], identity], axis=2)
        x = np.maximum(inputs @ weight.T + w.encode_bias, 0)
        x_r, x_z, x_n = np.split(x @ w.input.T + w.input_bias, 3, axis=2)
        h_r, h_z, h_n = np.split(h @ w.hidden.T + w.hidden_bias, 3, axis=2)
        r, z = sigmoid(x_r + h_r), sigmoid(x_z + h_z)
        h = (1 - z) * np.tanh(x_n + r * h_n) + z * h
        values.append(h @ utility.head.weight.T + utility.head.bias)
    return np.stack(values, axis=1)


def plain_mix(kind: str, mixer: Any, q: np.ndarray, s: np.ndarray) -> np.ndarray:
    """The mixed values (N, M) of N steps with utilities (N, A) and states (N, S)."""
    if kind == "none":
        return q
    if kind == "vdn":
        return q.sum(axis=1, keepdims=True)

    def net(layers: Any) -> np.ndarray:
        hidden = np.maximum(s @ layers.first.weight.T + layers.first.bias, 0)
        return hidden @ layers.second.weight.T + layers.second.bias

    before = s @ mixer.bias_1.weight.T + mixer.bias_1.bias
    weights = np.abs(net(mixer.weight_1)).reshape(*q.shape, -1)
    before = before + (q[:, :, None] * weights).sum(axis=1)
    after = np.where(before > 0, before, np.expm1(np.minimum(before, 0)))
    return (after * np.abs(net(mixer.weight_2))).sum(axis=1, keepdims=True) + net(mixer.value)


def happened(batch: dict[str, np.ndarray]) -> list[tuple[int, int]]:
    """Episode and time of every step that happened."""
    return [(b, t) for b, length in enumerate(batch["length"]) for t in range(length)]


class PlainLearner:
    """The same learning, step by step in float64, its gradient by central differences."""

    def __init__(self, case: Case, online: Any, coe: PlainCoe | None) -> None:
        self.case, self.coe = case, coe
        copy = lambda tree: jax.tree.map(lambda leaf: np.array(leaf, np.float64), tree)  # noqa: E731
        self.online, self.target = copy(online), copy(online)
        self.first = [np.zeros_like(leaf) for leaf in jax.tree.leaves(self.online)]
        self.second = [np.zeros_like(leaf) for leaf in jax.tree.leaves(self.online)]
        self.updates = 0

    def rewards(self, batch: dict[str, np.ndarray]) -> np.ndarray:
        reward = batch["reward"]
        if not self.case.options.standardise_rewards:
            return reward
        cut = reward[:, : batch["length"].max()]
        return (reward - cut.mean()) / (cut.std(ddof=1) + 1e-5)

    def next_utilities(
        self, batch: dict[str, np.ndarray], online: Any, target: Any, b: int, t: int
    ) -> np.ndarray:
        """The target's utilities, bonus included, of the joint action it takes at step t."""
        judge = online[b, t] if self.case.options.double_q else target[b, t]
        legal = batch["avail"][b, t]
        if self.coe is None:
            actions = np.where(legal, judge, -np.inf).argmax(axis=1)
            return np.array([target[b, t, i, a] for i, a in enumerate(actions)])
        scale, novelty = self.coe.options.c_boot, self.coe.novelty
        actions, bonus = plain_walk(
            self.coe, batch["state"][b, t], judge, legal, lambda node, child: scale * novelty(child)
        )
        return np.array([target[b, t, i, a] for i, a in enumerate(actions)]) + bonus

    def targets(self, batch: dict[str, np.ndarray]) -> np.ndarray:
        """y (N, M) of the steps that happened, episode after episode."""
        case, rewards = self.case, self.rewards(batch)
        online = plain_values(self.online.utility, batch["observation"])
        target = plain_values(self.target.utility, batch["observation"])
        y = []
        for b, t in happened(batch):
            total = np.array([rewards[b, t]])
            if self.coe is not None:
                bonus = self.coe.rewards(batch["state"][b, t], batch["actions"][b, t])
                total = total + (bonus if case.mixer == "none" else bonus[-1])
            over = batch["terminated"][b] or case.options.time_limit_is_terminal
            if not (over and t == batch["length"][b] - 1):
                q = self.next_utilities(batch, online, target, b, t + 1)
                s = batch["state"][b, t + 1]
                later = plain_mix(case.mixer, self.target.mixer, q[None], s[None])[0]
                total = total + case.options.discount * later
            y.append(np.broadcast_to(total, SPEC.num_agents if case.mixer == "none" else 1))
        return np.array(y)

    def loss(self, batch: dict[str, np.ndarray], y: np.ndarray) -> float:
        values = plain_values(self.online.utility, batch["observation"])
        b, t = np.array(happened(batch)).T
        agents = np.arange(SPEC.num_agents)
        q = values[b[:, None], t[:, None], agents, batch["actions"][b, t]]
        mixed = plain_mix(self.case.mixer, self.online.mixer, q, batch["state"][b, t])
        return float(np.mean((mixed - y) ** 2, axis=1).sum() / len(b))

    def gradient(self, batch: dict[str, np.ndarray]) -> list[np.ndarray]:
        y, small = self.targets(batch), 1e-5
        gradients = []
        for leaf in jax.tree.leaves(self.online):
            gradient = np.zeros_like(leaf)
            for where in np.ndindex(leaf.shape):
                here = leaf[where]
                leaf[where] = here + small
                above = self.loss(batch, y)
                leaf[where] = here - small
                below = self.loss(batch, y)
                leaf[where] = here
                gradient[where] = (above - below) / (2 * small)
            gradients.append(gradient)
        return gradients

    def update(self, batch: dict[str, np.ndarray]) -> float:
        """Clipping, Adam and the targets; the gradient's norm before clipping."""
        options, gradients = self.case.options, self.gradient(batch)
        norm = np.sqrt(sum((g**2).sum() for g in gradients))
        self.updates += 1
        for k, leaf in enumerate(jax.tree.leaves(self.online)):
            g = gradients[k] * min(1.0, options.max_gradient_norm / norm)
            self.first[k] = 0.9 * self.first[k] + 0.1 * g
            self.second[k] = 0.999 * self.second[k] + 0.001 * g**2
            first = self.first[k] / (1 - 0.9**self.updates)
            second = self.second[k] / (1 - 0.999**self.updates)
            leaf -= options.learning_rate * first / (np.sqrt(second) + 1e-8)
        soft = options.target_update == "soft"
        share = options.target_tau if soft else float(self.updates % options.target_period == 0)
        pairs = zip(jax.tree.leaves(self.online), jax.tree.leaves(self.target), strict=True)
        for online, target in pairs:
            target += share * (online - target)
        return float(norm)


def counted_coe(seed: int) -> tuple[Explorer, Any, PlainCoe]:
    """A COE explorer that has counted random joint actions, and its twin."""
    explorer = make_coe(COE, SPEC)
    state = explorer.init(jax.random.key(seed))
    plain = PlainCoe(COE, SPEC, state.projection)
    rng = np.random.default_rng(seed)
    table = state.table
    for _ in range(60):
        s, actions = rng.normal(size=SPEC.state_size), rng.integers(0, 3, SPEC.num_agents)
        plain.visit(s, actions)
    table = plain.dense_table(table)
    return explorer, state._replace(table=table), plain


@pytest.mark.parametrize("name", CASES)
def test_updates_equal_a_plain_twin(name: str) -> None:
    case = CASES[name]
    explorer, explorer_state, coe = counted_coe(3)
    if case.explorer == "epsilon":
        explorer, explorer_state, coe = make_epsilon(EpsilonOptions(), SPEC), (), None
    utility = make_independent(IndependentOptions(hidden=3), SPEC, "float32")
    options = QmixOptions(embedding=2, hypernet=3) if case.mixer == "qmix" else None
    mixer = MIXERS[case.mixer][1](options, SPEC)
    learner = make_learner(case.options, utility, mixer, explorer)
    state = learner.init(jax.random.key(7))
    twin = PlainLearner(case, state.online, coe)
    update, rng = jax.jit(learner.update), np.random.default_rng(11)
    for _ in range(UPDATES):
        batch = random_batch(rng)
        expected = twin.loss(batch, twin.targets(batch))
        norm = twin.update(batch)
        lesson = learner.lesson(as_episodes(batch))
        state, losses = update(state, explorer_state, lesson)
        np.testing.assert_allclose(losses.loss, expected, rtol=1e-5)
        np.testing.assert_allclose(losses.gradient_norm, norm, rtol=1e-5)
        for ours, theirs in ((state.online, twin.online), (state.target, twin.target)):
            for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-5)
    assert int(state.updates) == UPDATES
