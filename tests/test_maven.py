"""MAVEN: the latent utility and its head, the discriminator's loss and bonus, and the bandit."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coemarl.config import LearnerOptions
from coemarl.explorers import bandit
from coemarl.explorers.epsilon import EpsilonOptions, make_epsilon
from coemarl.explorers.explorer import Advice
from coemarl.explorers.maven import MavenOptions, make_maven
from coemarl.learner import make_lesson
from coemarl.networks import gru_cell, gru_cell_init
from coemarl.replay import Episodes
from coemarl.rollout import greedy
from coemarl.utilities import gru
from coemarl.utilities.latent import LatentOptions, make_latent
from test_conditional import SPEC, A, U, random_batch

Z, H = 3, 4
LEARNING = LearnerOptions(learning_rate=1e-2, standardise_rewards=False)
UTILITY = make_latent(LatentOptions(hidden=H), SPEC, "float32", Z)


def batch_with_latents(seed: int) -> Episodes:
    rng = np.random.default_rng(seed)
    batch = random_batch(rng)
    return batch._replace(latent=jax.nn.one_hot(jnp.array([0, 2, 1]), Z))


def test_values_come_from_the_hypernetworks_head() -> None:
    """q_i = W(z, i) h_i with W read off one linear layer on [z, one-hot i], step by step and
    unrolled alike."""
    params, batch = UTILITY.init(jax.random.key(0)), batch_with_latents(0)
    length = jnp.int32(SPEC.episode_limit + 1)
    advice = UTILITY.unroll(params, batch.observation, batch.latent, length)
    for b in range(3):
        for i in range(A):
            seen = np.concatenate([batch.latent[b], np.eye(A)[i]])
            head = np.asarray(params.hyper.weight) @ seen + params.hyper.bias
            expected = np.asarray(advice.features[b, :, i]) @ head.reshape(U, H).T
            np.testing.assert_allclose(advice.values[b, :, i], expected, rtol=1e-5, atol=1e-6)
    hidden = UTILITY.start(3)
    for t in range(SPEC.episode_limit + 1):
        hidden, now = UTILITY.advise(params, hidden, batch.observation[:, t], batch.latent)
        np.testing.assert_allclose(now.values, advice.values[:, t], rtol=1e-5, atol=1e-6)
    columns = batch.observation[:, 0].reshape(-1, SPEC.observation_size).T
    memory = gru.step(params.trunk, UTILITY.start(3), columns)
    np.testing.assert_allclose(memory.T.reshape(3, A, H), advice.features[:, 0], rtol=1e-5)


def plain_entropy(params: Any, advice: Advice, batch: Episodes, b: int, t: int) -> float:
    """-log of what the discriminator gives to the episode's latent at one step."""
    legal = np.asarray(batch.avail[b, t])
    scores = np.where(legal, np.asarray(advice.values[b, t], np.float64), -1e7)
    acts = np.exp(scores - scores.max(axis=1, keepdims=True))
    acts /= acts.sum(axis=1, keepdims=True)
    seen = np.concatenate([acts.ravel(), batch.state[b, t]])
    first, second = params.guess
    hidden = np.maximum(np.asarray(first.weight) @ seen + first.bias, 0)
    logits = np.asarray(second.weight) @ hidden + second.bias
    odds = np.exp(logits - logits.max())
    return -float(np.log((odds / odds.sum() * np.asarray(batch.latent[b])).sum()))


def discriminate(options: MavenOptions) -> dict[str, Any]:
    """The auxiliary loss of a batch, its bonus and its gradients."""
    explorer, batch = make_maven(options, SPEC, LEARNING), batch_with_latents(1)
    assert explorer.auxiliary is not None
    params = explorer.auxiliary.init(jax.random.key(1))
    rng = np.random.default_rng(2)
    shape = (3, SPEC.episode_limit + 1, A)
    advice = Advice(jnp.array(rng.normal(size=(*shape, U)), jnp.float32), jnp.zeros((*shape, H)))
    lesson = make_lesson(LEARNING, batch)

    def loss(params: Any, advice: Advice) -> Any:
        assert explorer.auxiliary is not None
        return explorer.auxiliary.loss(params, (), lesson, advice, jnp.zeros((3, 4, 1)))

    (value, bonus), slopes = jax.value_and_grad(loss, (0, 1), has_aux=True)(params, advice)
    of = lambda tree: any(np.asarray(leaf).any() for leaf in jax.tree.leaves(tree))  # noqa: E731
    entropy = [
        [plain_entropy(params, advice, batch, b, t) for t in range(int(length))]
        for b, length in enumerate(batch.length)
        if params.cell is None
    ]
    trained = (of(slopes[0]), of(slopes[1]))
    return {"loss": value, "bonus": bonus, "entropy": entropy, "trains": trained}


@pytest.mark.parametrize(
    ("intrinsic", "sign"), [(False, "cross-entropy"), (True, "cross-entropy"), (True, "likelihood")]
)
def test_discriminator_by_steps(intrinsic: bool, sign: Any) -> None:
    found = discriminate(
        MavenOptions(
            latents=Z, units=5, mi_loss=0.7, mi_intrinsic=intrinsic, mi_scale=0.3, sign=sign
        )
    )
    entropy = found["entropy"]
    everything = [value for row in entropy for value in row]
    np.testing.assert_allclose(found["loss"], 0.7 * np.mean(everything), rtol=1e-5)
    # It always trains the discriminator, and the utilities unless it is in the reward.
    assert found["trains"] == (True, not intrinsic)
    scale = (0.3 if sign == "cross-entropy" else -0.3) * intrinsic
    for b, row in enumerate(entropy):
        expected = np.repeat(scale * np.array(row)[:, None], A + 1, axis=1)
        np.testing.assert_allclose(found["bonus"][b, : len(row)], expected, rtol=1e-4, atol=1e-7)


def test_recurrent_discriminator_judges_whole_episodes() -> None:
    found = discriminate(MavenOptions(latents=Z, units=5, discriminator="rnn"))
    assert found["trains"] == (True, True)
    assert float(found["loss"]) > 0
    assert not np.asarray(found["bonus"]).any()


def test_gru_cell_is_pytorchs() -> None:
    cell, rng = gru_cell_init(jax.random.key(0), 3, 2), np.random.default_rng(0)
    x, h = rng.normal(size=3).astype(np.float32), rng.normal(size=2).astype(np.float32)
    sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    from_x = np.asarray(cell.input.weight) @ x + cell.input.bias
    from_h = np.asarray(cell.hidden.weight) @ h + cell.hidden.bias
    r, z = sigmoid(from_x[:2] + from_h[:2]), sigmoid(from_x[2:4] + from_h[2:4])
    expected = (1 - z) * np.tanh(from_x[4:] + r * from_h[4:]) + z * h
    np.testing.assert_allclose(gru_cell(cell, jnp.array(x), jnp.array(h)), expected, rtol=1e-5)


# Latents


def test_a_latent_holds_for_an_episode_and_all_are_drawn() -> None:
    explorer = make_maven(MavenOptions(latents=Z), SPEC, LEARNING)
    state = explorer.init(jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 300)
    first = jnp.zeros(SPEC.state_size)
    begin = jax.vmap(lambda key: explorer.begin(state, key, first, jnp.int32(0)))
    drawn = np.asarray(jax.vmap(explorer.latent)(begin(keys)))
    assert set(np.unique(drawn)) == {0.0, 1.0}
    np.testing.assert_array_equal(drawn.sum(axis=1), 1)
    assert (np.abs(drawn.mean(axis=0) - 1 / Z) < 0.12).all()  # over four standard errors


def test_evaluation_draws_latents_evenly() -> None:
    policy = greedy(UTILITY)
    keys = jax.random.split(jax.random.key(2), 300)
    first = jnp.zeros(SPEC.state_size)
    drawn = jax.vmap(lambda key: policy.latent(policy.begin((), key, first, jnp.int32(0))))(keys)
    assert (np.abs(np.asarray(drawn).mean(axis=0) - 1 / Z) < 0.12).all()


def test_bandit_learns_which_latent_pays() -> None:
    """Latent 1 earns 1 and the others nothing: it comes to be drawn, but never alone."""
    explorer = make_maven(
        MavenOptions(latents=Z, bandit=True), SPEC, LearnerOptions(learning_rate=1e-3)
    )
    state, finish = explorer.init(jax.random.key(0)), jax.jit(explorer.finish)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    first = jnp.array(rng.normal(size=SPEC.state_size), jnp.float32)
    even = np.asarray(bandit.chances(state.net, first))
    np.testing.assert_allclose(even.sum(), 1, rtol=1e-5)
    for step in range(30):
        batch = batch_with_latents(step)
        earned = jnp.zeros_like(batch.reward).at[2, 0].set(1.0)  # the third episode has latent 1
        state = finish(state, jax.random.key(step), batch._replace(reward=earned))
    assert int(state.episodes) == 90
    after = np.asarray(bandit.chances(state.net, first))
    assert after.argmax() == 1
    assert after[1] > 0.55
    assert after.min() >= bandit.FLOOR / Z - 1e-6


def test_bandit_remembers_the_last_episodes_only() -> None:
    state = bandit.init(jax.random.key(0), SPEC.state_size, Z, 1e-3)
    batch = batch_with_latents(0)
    state = state._replace(episodes=jnp.int32(bandit.EPISODES - 1))
    state = bandit.learn(state, jax.random.key(1), batch, 1e-3)
    returns = np.asarray(batch.reward.sum(axis=1))
    np.testing.assert_allclose(state.returns[-1], returns[0], rtol=1e-6)
    np.testing.assert_allclose(state.returns[:2], returns[1:], rtol=1e-6)
    np.testing.assert_array_equal(state.latents[0], batch.latent[1])


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="rewards steps"):
        MavenOptions(discriminator="rnn", mi_intrinsic=True)
    with pytest.raises(ValueError, match="at least 2"):
        MavenOptions(latents=1)
    with pytest.raises(ValueError, match="draws latents"):
        make_latent(LatentOptions(), SPEC, "float32", 0)
    assert make_epsilon(EpsilonOptions(), SPEC).latents == 0
