"""The particle games: physics, rewards and observations by hand, frozen nets, options, pictures."""

import dataclasses
import functools
import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coemarl import scripted
from coemarl.tasks import make_task, task_options
from coemarl.tasks.mpe import adversary, frozen, module_of, spread, tag, train_frozen, view, world
from coemarl.tasks.mpe.world import ParticleState


def state_of(
    position: Any, landmarks: Any, velocity: Any = None, goal: int = 0, steps: int = 0
) -> ParticleState:
    position = np.asarray(position, np.float32)
    velocity = np.zeros_like(position) if velocity is None else velocity
    return ParticleState(
        position=jnp.asarray(position),
        velocity=jnp.asarray(np.asarray(velocity, np.float32)),
        landmarks=jnp.asarray(np.asarray(landmarks, np.float32).reshape(-1, 2)),
        goal=jnp.int32(goal),
        successes=jnp.int32(0),
        steps=jnp.int32(steps),
    )


@functools.lru_cache(maxsize=32)
def settle(options: Any) -> Any:
    scenario = module_of(options).scenario(options)
    num = len(scenario.world.agents)
    return jax.jit(lambda state, a: world.settle(scenario, state, [a[i] for i in range(num)]))


@functools.lru_cache(maxsize=32)
def judge(options: Any) -> Any:
    return jax.jit(module_of(options).scenario(options).outcome)


def rewards_of(options: Any, state: ParticleState) -> list[float]:
    return [float(reward) for reward in judge(options)(state).rewards]


# Physics

FAR = [[5.0, 5.0], [-5.0, 5.0], [5.0, -5.0]]
"""Landmarks out of everybody's way."""


@pytest.mark.parametrize(
    ("action", "original"), [(0, (0, 0)), (1, (5, 0)), (2, (-5, 0)), (3, (0, 5)), (4, (0, -5))]
)
def test_pushes_and_their_signs(action: int, original: tuple[float, float]) -> None:
    force = world.push(jnp.int32(action), 5.0)
    assert tuple(map(float, force)) == original
    other = world.push(jnp.int32(action), 5.0, "mpe2")
    assert tuple(map(float, other)) == tuple(-part for part in original)
    assert tuple(map(float, world.push(world.reversed_action(jnp.int32(action)), 5.0))) == (
        tuple(map(float, other))
    )


def test_contact_pushes_apart_by_the_depth() -> None:
    def force(x: float) -> tuple[float, ...]:
        a, b = (jnp.float32(x), jnp.float32(0.0)), (jnp.float32(0.0), jnp.float32(0.0))
        return tuple(map(float, world.contact_force(a, b, 0.3)))

    assert force(0.2) == pytest.approx((10.0, 0.0), abs=1e-4)  # 100 * (0.3 - 0.2)
    assert force(-0.2) == pytest.approx((-10.0, 0.0), abs=1e-4)
    assert force(0.3) == pytest.approx((0.1 * math.log(2), 0.0), abs=1e-4)
    assert force(0.5) == pytest.approx((0.0, 0.0), abs=1e-6)
    assert force(0.0) == (0.0, 0.0)


MOVES = state_of([[0.0, 0.0], [2.0, 0.0], [-2.0, 0.0]], FAR, [[1.0, 0.0], [0.0, 0.0], [0.0, -2.0]])


def test_the_original_moves_by_the_new_velocity() -> None:
    after, _ = settle(spread.SpreadOptions())(MOVES, jnp.array([3, 1, 0]))
    assert np.allclose(after.velocity, [[0.75, 0.5], [0.5, 0.0], [0.0, -1.5]], atol=1e-6)
    assert np.allclose(after.position, [[0.075, 0.05], [2.05, 0.0], [-2.0, -0.15]], atol=1e-6)
    assert int(after.steps) == 1


def test_mpe2_moves_by_the_old_velocity_and_calls_actions_otherwise() -> None:
    after, _ = settle(spread.SpreadOptions(conventions="mpe2"))(MOVES, jnp.array([4, 2, 0]))
    assert np.allclose(after.velocity, [[0.75, 0.5], [0.5, 0.0], [0.0, -1.5]], atol=1e-6)
    assert np.allclose(after.position, [[0.1, 0.0], [2.0, 0.0], [-2.0, -0.2]], atol=1e-6)


TAG = tag.TagOptions()
STILL = tag.TagOptions(opponent="still")
SPARSE = tag.SparseTagOptions()
OBSTACLES = [[5.0, 5.0], [-5.0, 5.0]]


def test_top_speeds_hold_predators_and_prey() -> None:
    state = state_of(
        [[0, 0], [0, 2], [0, -2], [2, 0]], OBSTACLES, [[1, 0], [0, 0], [0, 0], [0.78, 1.04]]
    )
    after, _ = settle(TAG)(state, jnp.array([1, 1, 0, 0]))
    assert np.allclose(after.velocity[0], [1.0, 0.0], atol=1e-6)  # 0.75 + 0.3, cut
    assert np.allclose(after.velocity[1], [0.3, 0.0], atol=1e-6)
    assert np.allclose(after.velocity[3], [0.585, 0.78], atol=1e-6)  # 0.975 fast
    faster, _ = settle(TAG)(state._replace(velocity=2 * state.velocity), jnp.zeros(4, jnp.int32))
    assert np.allclose(faster.velocity[3], [0.6 * 1.3, 0.8 * 1.3], atol=1e-6)


def test_agents_push_each_other_and_obstacles_stay() -> None:
    state = state_of([[0, 0], [0.1, 0], [0, -2], [2, 0.2]], [[2.0, 0.0], [-5.0, 5.0]])
    after, _ = settle(TAG)(state, jnp.zeros(4, jnp.int32))
    # Predators overlap by 0.05: 0.1 * 100 * 0.05. Prey is 0.05 deep in the obstacle below it.
    assert np.allclose(after.velocity[:2], [[-0.5, 0.0], [0.5, 0.0]], atol=1e-4)
    assert np.allclose(after.velocity[3], [0.0, 0.5], atol=1e-4)
    assert np.array_equal(after.landmarks, state.landmarks)


def test_nobody_collides_in_adversary() -> None:
    options = adversary.AdversaryOptions()
    state = state_of([[0, 0], [0.01, 0], [0, 0.01]], [[0, 0], [1, 1]])
    after, _ = settle(options)(state, jnp.zeros(3, jnp.int32))
    assert np.array_equal(after.position, state.position)


# Rewards


def test_spread_pays_distances_and_collisions() -> None:
    # Distances to the nearest agent: 0, 0.5, 1. Agents 0 and 1 overlap; each overlaps itself.
    state = state_of([[0, 0], [0.2, 0], [0, 3]], [[0, 0], [0.7, 0], [0, 2]])
    assert rewards_of(spread.SpreadOptions(), state) == pytest.approx([-4.5 - 5.0] * 3)
    halves = [-0.75 - 0.5, -0.75 - 0.5, -0.75]
    assert rewards_of(spread.SpreadOptions(conventions="mpe2"), state) == pytest.approx(halves)


@pytest.mark.parametrize(
    ("away", "changes", "each"),
    [
        (0.199, {}, 1.0),
        (0.201, {}, 0.0),
        (0.201, {"cover_radius": 0.21}, 1.0),
        (0.201, {"min_landmarks": 2}, 1.0),
        (0.199, {"cover_reward": 2.5}, 2.5),
    ],
)
def test_sparse_spread_pays_when_all_is_covered(away: float, changes: dict, each: float) -> None:
    state = state_of([[0, 0], [1, 0], [0, 1 + away]], [[0, 0], [1, 0], [0, 1]])
    options = spread.SparseSpreadOptions(**changes)
    assert rewards_of(options, state) == pytest.approx([each] * 3)


def test_distinct_agents_cover_a_landmark_each() -> None:
    state = state_of([[0, 0], [1, 0], [5, 5]], [[0, 0], [0.1, 0], [1, 0]])
    outcome = judge(spread.SparseSpreadOptions())(state)
    assert bool(outcome.success)
    assert float(outcome.infos["covered"]) == 3
    outcome = judge(spread.SparseSpreadOptions(distinct_agents=True))(state)
    assert not bool(outcome.success)
    assert float(outcome.infos["covered"]) == 2


@pytest.mark.parametrize(
    ("u", "paid"),
    [(0.0, 0), (0.89, 0), (0.95, 0.5), (1.0, 1), (1.5, math.e), (3.0, 10), (9.0, 10)],
)
def test_prey_pays_for_leaving_the_field(u: float, paid: float) -> None:
    assert float(tag.bound(jnp.float32(u))) == pytest.approx(paid, abs=1e-5)


def test_tag_pays_every_predator_for_every_touch() -> None:
    state = state_of([[0.124, 0], [0, -0.124], [0.126, 0.1], [0, 0]], OBSTACLES)
    assert rewards_of(TAG, state) == pytest.approx([20, 20, 20, -20])
    out = state_of([[0, 0], [0, 0.5], [0, -0.5], [0.95, -1.5]], OBSTACLES)
    assert rewards_of(TAG, out) == pytest.approx([0, 0, 0, -0.5 - math.e], abs=1e-5)


NEAR, OFF = 0.2249, 0.2251
"""Just within, and just outside of, 1.8 times the sum of sizes."""


@pytest.mark.parametrize(
    ("away", "changes", "paid"),
    [
        ((NEAR, NEAR, OFF), {}, (1, 1, 0)),
        ((NEAR, OFF, OFF), {}, (0, 0, 0)),
        ((NEAR, NEAR, NEAR), {}, (1, 1, 1)),
        ((NEAR, OFF, NEAR), {"pay": "all"}, (1, 1, 1)),
        ((NEAR, OFF, OFF), {"pay": "all"}, (0, 0, 0)),
        ((NEAR, OFF, OFF), {"min_predators": 1}, (1, 0, 0)),
        ((NEAR, NEAR, OFF), {"min_predators": 3}, (0, 0, 0)),
        ((NEAR, NEAR, OFF), {"contact_scale": 1.0}, (0, 0, 0)),
        ((0.124, 0.124, 0.126), {"contact_scale": 1.0, "catch_reward": 10.0}, (10, 10, 0)),
    ],
)
def test_sparse_tag_pays_a_catch_by_several(away: tuple, changes: dict, paid: tuple) -> None:
    ways = np.array([[1, 0], [0, 1], [0, -1]]) * np.array(away)[:, None]
    options = tag.SparseTagOptions(**changes)
    outcome = judge(options)(state_of([*ways, [0, 0]], OBSTACLES))
    assert [float(reward) for reward in outcome.rewards[:3]] == pytest.approx(list(paid))
    assert bool(outcome.success) == (sum(paid) > 0)


@pytest.mark.parametrize("terminate", [False, True])
def test_a_catch_ends_the_episode_only_if_wished(terminate: bool) -> None:
    task = make_task("mpe:sparse-tag", terminate=terminate, opponent="still", episode_limit=2)
    caught = state_of([[0.2, 0], [0, 0.2], [0, -2], [0, 0]], OBSTACLES)
    step = jax.jit(task.step)
    state, seen = step(jax.random.key(0), caught, jnp.zeros(3, jnp.int32))
    assert float(seen.reward) == 2
    assert float(seen.info["successes"]) == 1
    assert bool(seen.terminated) == terminate
    assert not bool(seen.truncated)
    _, seen = step(jax.random.key(0), state, jnp.zeros(3, jnp.int32))
    assert float(seen.info["successes"]) == 2
    assert bool(seen.truncated) == (not terminate)


def test_adversary_pays_the_difference_of_distances() -> None:
    state = state_of([[0, 0.3], [0.5, 0], [0, -0.1]], [[5, 5], [0, 0]], goal=1)
    near = 0.3 - 0.1
    assert rewards_of(adversary.AdversaryOptions(), state) == pytest.approx([-0.09, near, near])
    mpe2 = adversary.AdversaryOptions(conventions="mpe2")
    assert rewards_of(mpe2, state) == pytest.approx([-0.3, near, near])


def test_the_team_is_paid_the_sum_or_the_mean() -> None:
    state = state_of([[0.124, 0], [0, 2], [0, -2], [0, 0]], OBSTACLES)
    for reward, paid in (("sum", 30.0), ("mean", 10.0)):
        options = dataclasses.replace(TAG, reward=reward)
        scenario = tag.scenario(options)
        outcome = judge(TAG)(state)
        assert float(world.team_reward(scenario, options, outcome)) == paid


# Observations


def observations(options: Any, state: ParticleState) -> list[np.ndarray]:
    scenario = module_of(options).scenario(options)
    agents = range(len(scenario.world.agents))
    see = jax.jit(lambda state: [jnp.stack(scenario.observe(state, i)) for i in agents])
    return [np.asarray(row) for row in see(state)]


def some_state(agents: int, landmarks: int, goal: int = 0) -> tuple[ParticleState, Any, Any, Any]:
    rng = np.random.default_rng(0)
    p, v, m = rng.normal(size=(agents, 2)), rng.normal(size=(agents, 2)), rng.normal(size=(9, 2))
    return state_of(p, m[:landmarks], v, goal), p, v, m


def test_what_agents_of_spread_see() -> None:
    state, p, v, m = some_state(3, 3)
    seen = observations(spread.SpreadOptions(), state)
    wanted = [v[1], p[1], m[0] - p[1], m[1] - p[1], m[2] - p[1], p[0] - p[1], p[2] - p[1]]
    assert np.allclose(seen[1], np.concatenate([*wanted, np.zeros(4)]), atol=1e-6)


def test_what_predators_and_prey_see() -> None:
    state, p, v, m = some_state(4, 2)
    seen = observations(TAG, state)
    marks, mates = [m[0] - p[1], m[1] - p[1]], [p[0] - p[1], p[2] - p[1], p[3] - p[1]]
    assert np.allclose(seen[1], np.concatenate([v[1], p[1], *marks, *mates, v[3]]), atol=1e-6)
    marks, hunters = [m[0] - p[3], m[1] - p[3]], [p[i] - p[3] for i in range(3)]
    assert np.allclose(seen[3], np.concatenate([v[3], p[3], *marks, *hunters]), atol=1e-6)


def test_what_the_adversary_and_its_foes_see() -> None:
    state, p, _, m = some_state(3, 2, goal=1)
    seen = observations(adversary.AdversaryOptions(), state)
    away = [m[0] - p[0], m[1] - p[0], p[1] - p[0], p[2] - p[0]]
    assert np.allclose(seen[0], np.concatenate(away), atol=1e-6)
    away = [m[1] - p[2], m[0] - p[2], m[1] - p[2], p[0] - p[2], p[1] - p[2]]
    assert np.allclose(seen[2], np.concatenate(away), atol=1e-6)


# Starts


def test_starts_fill_their_squares() -> None:
    reset = jax.jit(jax.vmap(make_task("mpe:tag").reset))
    state, seen = reset(jax.random.split(jax.random.key(0), 4000))
    places, marks = np.asarray(state.position), np.asarray(state.landmarks)
    assert 0.99 < np.abs(places).max() <= 1
    assert 0.89 < np.abs(marks).max() <= 0.9
    assert np.abs(places.mean((0, 1))).max() < 0.03
    assert np.allclose(places.var((0, 1)), 1 / 3, atol=0.02)
    assert not np.any(state.velocity)
    assert seen.observation.shape == (4000, 3, 16)


def test_each_landmark_is_the_goal_as_often() -> None:
    reset = jax.jit(jax.vmap(make_task("mpe:adversary").reset))
    state, _ = reset(jax.random.split(jax.random.key(0), 4000))
    assert 0.46 < float(np.asarray(state.goal).mean()) < 0.54
    assert set(np.unique(state.goal)) == {0, 1}


# Names and options


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("mpe:tag", "mpe:SimpleTag-v0"),
        ("mpe:sparse-tag", "mpe:SparseTag-v0"),
        ("mpe:spread", "mpe:SimpleSpread-v0"),
        ("mpe:sparse-spread", "mpe:SparseSpread-v0"),
        ("mpe:adversary", "mpe:SimpleAdversary-v0"),
    ],
)
def test_original_ids_name_the_same_games(name: str, id_: str) -> None:
    assert task_options(name) == task_options(id_)
    assert module_of(task_options(name)).name_of(task_options(name)) == name


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("mpe:hide", {}, "no particle game 'hide'"),
        ("mpe:spread-1", {}, "1 agents"),
        ("mpe:spread", {"conventions": "jaxmarl"}, "original or mpe2"),
        ("mpe:spread", {"reward": "max"}, "sum or mean"),
        ("mpe:spread", {"episode_limit": 0}, "at least 1 step"),
        ("mpe:sparse-spread", {"cover_radius": 0.0}, "above 0"),
        ("mpe:sparse-spread", {"min_landmarks": 4}, "1 to 3"),
        ("mpe:sparse-spread-7", {"distinct_agents": True}, "at most 6"),
        ("mpe:sparse-spread", {"collision_penalty": -1.0}, "at least 0"),
        ("mpe:tag", {"predators": 0}, "predators is 0: tag takes 1 to 20"),
        ("mpe:tag", {"prey": 2}, "observes 14 numbers, and here there are 18"),
        ("mpe:tag", {"opponent": "clever"}, "net, still or random"),
        ("mpe:tag", {"opponent": "still", "weights": "x.npz"}, "they are for a net"),
        ("mpe:tag", {"weights": "nowhere.npz"}, "no file nowhere.npz"),
        ("mpe:sparse-tag", {"contact_scale": 0.0}, "above 0"),
        ("mpe:sparse-tag", {"min_predators": 4}, "1 to 3"),
        ("mpe:sparse-tag", {"pay": "nobody"}, "contacting or all"),
        ("mpe:adversary", {"agents": 3}, "observes 8 numbers, and here there are 12"),
        ("mpe:adversary", {"agents": 0}, "1 to 20"),
    ],
)
def test_options_that_make_no_game_are_refused(name: str, options: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make_task(name, **options)


def test_other_numbers_of_agents_need_another_opponent() -> None:
    spec = make_task("mpe:tag", predators=4, prey=2, obstacles=0, opponent="random").spec
    assert (spec.num_agents, spec.observation_size) == (4, 4 + 10 + 4)
    assert make_task("mpe:adversary", agents=3, opponent="still").spec.observation_size == 14


# Frozen opponents


def plain_logits(arrays: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """The net of a file as its specification says, in double precision."""
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    scale = np.sqrt(wide["bn_running_var"] + 1e-5)
    h = (x - wide["bn_running_mean"]) / scale * wide["bn_weight"] + wide["bn_bias"]
    for k in (1, 2):
        h = np.maximum(h @ wide[f"fc{k}_weight"].T + wide[f"fc{k}_bias"], 0)
    return h @ wide["fc3_weight"].T + wide["fc3_bias"]


def arrays_in(name: str) -> dict[str, np.ndarray]:
    with np.load(frozen.SHIPPED / f"{name}.npz", allow_pickle=False) as stored:
        return {key: stored[key] for key in stored.files}


@pytest.mark.parametrize(("name", "inputs"), [("prey", 14), ("adversary", 8)])
def test_shipped_nets_are_what_their_arrays_say(name: str, inputs: int) -> None:
    x = np.random.default_rng(0).uniform(-1.5, 1.5, (256, inputs)).astype(np.float32)
    wanted = plain_logits(arrays_in(name), x)
    net = frozen.shipped(name)
    ours = jax.jit(jax.vmap(functools.partial(frozen.logits, net)))(x)
    assert np.allclose(ours, wanted, atol=1e-4)
    top = np.sort(wanted, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-3
    actions = jax.vmap(frozen.best)(ours)
    assert np.array_equal(np.asarray(actions)[clear], wanted.argmax(1)[clear])
    assert len(np.unique(actions)) > 2


def test_of_equal_values_the_lowest_index_is_best() -> None:
    assert int(frozen.best(jnp.array([0.0, 2.0, 1.0, 2.0, -1.0]))) == 1


def test_prey_acts_by_its_net_on_what_it_sees_before_the_step() -> None:
    state, *_ = some_state(4, 2)
    seen = observations(TAG, state)[3]
    action = int(plain_logits(arrays_in("prey"), seen[None]).argmax())
    calm = jnp.zeros(3, jnp.int32)
    after, _ = jax.jit(make_task("mpe:tag").step)(jax.random.key(0), state, calm)
    wanted, _ = settle(TAG)(state, jnp.array([0, 0, 0, action]))
    assert np.allclose(after.velocity, wanted.velocity, atol=1e-6)
    # By mpe2's conventions it pushes the same way, whatever the number of that action.
    other, _ = jax.jit(make_task("mpe:tag", conventions="mpe2").step)(
        jax.random.key(0), state, calm
    )
    assert np.allclose(other.velocity[3], after.velocity[3], atol=1e-5)


def test_a_still_prey_does_not_push_and_a_random_one_does() -> None:
    state = state_of([[0, 1], [0, 2], [0, -2], [3, 0]], OBSTACLES)
    calm, keys = jnp.zeros(3, jnp.int32), jax.random.split(jax.random.key(0), 64)
    after, _ = jax.jit(make_task("mpe:tag", opponent="still").step)(keys[0], state, calm)
    assert np.array_equal(after.position, state.position)
    step = make_task("mpe:tag", opponent="random").step
    after, _ = jax.jit(jax.vmap(step, (0, None, None)))(keys, state, calm)
    assert len(np.unique(np.asarray(after.velocity[:, 3]).round(3), axis=0)) == 5


def test_a_file_of_weights_takes_the_shipped_nets_place(tmp_path: Path) -> None:
    arrays = arrays_in("prey")
    arrays["fc3_weight"] = np.zeros_like(arrays["fc3_weight"])
    arrays["fc3_bias"] = np.array([0, 0, 0, 1, 0], np.float32)  # always up
    np.savez(tmp_path / "up.npz", **arrays)  # type: ignore[arg-type]
    task = make_task("mpe:tag", weights=str(tmp_path / "up.npz"))
    state = state_of([[0, 1], [0, 2], [0, -2], [3, 0]], OBSTACLES)
    after, _ = jax.jit(task.step)(jax.random.key(0), state, jnp.zeros(3, jnp.int32))
    assert np.allclose(after.velocity[3], [0.0, 0.4], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"fc2_bias": None}, "it has no fc2_bias"),
        ({"fc1_weight": np.zeros(3)}, "fc1_weight is no matrix"),
        ({"fc3_bias": np.zeros(4)}, r"fc3_bias has shape \(4,\), not \(5,\)"),
        ({"bn_bias": np.full(14, np.nan)}, "no finite number"),
        ({"bn_running_var": np.full(14, -1.0)}, "below 0"),
    ],
)
def test_files_that_hold_no_net_are_refused(tmp_path: Path, change: dict, said: str) -> None:
    arrays: dict[str, Any] = arrays_in("prey") | change
    arrays = {name: array for name, array in arrays.items() if array is not None}
    np.savez(tmp_path / "net.npz", **arrays)
    with pytest.raises(ValueError, match=said):
        frozen.read(tmp_path / "net.npz")


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "net.npz"
    file.write_bytes(b"no arrays")
    with pytest.raises(ValueError, match="damaged, or no file of arrays"):
        frozen.read(file)


@pytest.mark.parametrize(
    ("name", "policy", "least", "most"),
    [
        # What was measured against the published nets, within a third: docs/frozen-opponents.md.
        ("mpe:sparse-tag", "chase-0.2", 0.43, 0.85),
        ("mpe:adversary", "share-out", 18.0, 32.0),
    ],
)
def test_scripted_teams_earn_as_against_the_published_nets(
    name: str, policy: str, least: float, most: float
) -> None:
    act = scripted.make_act(name, task_options(name), policy)
    metrics = scripted.evaluate(make_task(name), act, 3000, 1)
    assert least < metrics["eval/return"] < most


def test_a_scripted_assignment_covers_all_landmarks() -> None:
    name = "mpe:sparse-spread"
    act = scripted.make_act(name, task_options(name), "share-out")
    assert scripted.evaluate(make_task(name), act, 200, 0)["eval/return"] > 44


@pytest.mark.parametrize(("name", "policy"), [("mpe:tag", "share-out"), ("mpe:spread", "chase-0")])
def test_scripted_teams_play_their_own_games_only(name: str, policy: str) -> None:
    with pytest.raises(ValueError, match=r"(share-out is|chases are) for"):
        scripted.make_act(name, task_options(name), policy)


def test_training_makes_a_net_that_can_be_read() -> None:
    lesson = dataclasses.replace(
        train_frozen.lessons()["adversary"],
        iterations=3,
        environments=4,
        updates=2,
        batch=16,
        width=8,
        kept=2,
    )
    heard: list[int] = []
    with jax.numpy_dtype_promotion("standard"):  # optax.adam counts in integers
        arrays = train_frozen.train(lesson, 0, lambda i, reward: heard.append(i))
    assert heard == [0, 1, 2]
    assert frozen.net_of(arrays).second.weight.shape == (8, 8)
    assert all(np.isfinite(array).all() for array in arrays.values())


# Pictures


def test_pictures_show_what_is_covered() -> None:
    options = task_options("mpe:sparse-spread")
    apart = state_of([[0.8, 0.8], [0.5, 0.8], [0.2, 0.8]], [[-0.5, 0], [0, -0.5], [0.5, -0.5]])
    picture = view.frame(options, apart, 3, "apart")
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3

    def green(picture: np.ndarray) -> int:
        return int(np.sum((picture.astype(int) - picture.astype(int)[..., :1])[..., 1] > 40))

    near = apart._replace(position=apart.position.at[0].set(jnp.array([-0.5, 0.0])))
    assert green(view.frame(options, near, 3, "near")) > green(picture) + 100


@pytest.mark.parametrize("name", ["mpe:tag", "mpe:sparse-tag", "mpe:adversary", "mpe:spread-5"])
def test_every_game_is_drawn_from_its_start_and_from_far_out(name: str) -> None:
    state, _ = make_task(name).reset(jax.random.key(0))
    near = view.frame(task_options(name), state, 0, name)
    far = view.frame(task_options(name), state._replace(position=4 * state.position), 0, name)
    assert near.shape == far.shape
    assert (near != far).any()
