"""Battles: the contract's sizes and rules by hand, maps from files, and fights that stay sane."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coemarl import tasks
from coemarl.tasks import battle
from coemarl.tasks.battle import collision, combat, contract, maps, pathing, tables, terrain
from coemarl.tasks.battle.fight import BattleState, Fight, initial_state, make_fight
from coemarl.tasks.battle.options import Options
from coemarl.tasks.battle.task import batch_last, fight_of

# The original's own numbers: agents, enemies, actions, observation, state, limit.
SIZES = {
    "2s_vs_1sc": (2, 1, 7, 17, 27, 300),
    "3s_vs_5z": (3, 5, 11, 48, 68, 250),
    "3m": (3, 3, 9, 30, 48, 60),
    "8m": (8, 8, 14, 80, 168, 120),
    "2s3z": (5, 5, 11, 80, 120, 120),
    "3s5z": (8, 8, 14, 128, 216, 150),
    "5m_vs_6m": (5, 6, 12, 55, 98, 70),
    "corridor": (6, 24, 30, 156, 282, 400),
    "MMM2": (10, 12, 18, 176, 322, 180),
    "2c_vs_64zg": (2, 64, 70, 332, 342, 400),
    "25m": (25, 25, 31, 250, 950, 150),
    "8m_vs_9m": (8, 9, 15, 85, 179, 120),
    "10m_vs_11m": (10, 11, 17, 105, 243, 150),
    "27m_vs_30m": (27, 30, 36, 285, 1170, 180),
    "MMM": (10, 10, 16, 160, 290, 150),
    "3s5z_vs_3s6z": (8, 9, 15, 136, 230, 170),
    "3s_vs_3z": (3, 3, 9, 36, 54, 150),
    "3s_vs_4z": (3, 4, 10, 42, 61, 200),
    "1c3s5z": (9, 9, 15, 162, 270, 180),
    "2m_vs_1z": (2, 1, 7, 16, 26, 150),
    "6h_vs_8z": (6, 8, 14, 78, 140, 150),
    "so_many_baneling": (7, 32, 38, 202, 397, 100),
    "bane_vs_bane": (24, 24, 30, 336, 984, 200),
}
MAX_REWARD = {"2s_vs_1sc": 510, "3s_vs_5z": 1000, "3m": 365, "corridor": 1280, "MMM2": 1205}


@pytest.fixture(scope="module")
def fights() -> dict[str, Fight]:
    return {name: make_fight(maps.load(name), "liberty") for name in maps.names()}


def test_every_map_has_the_original_s_sizes(fights):
    assert set(fights) == set(SIZES)
    for name, fight in fights.items():
        found = (
            fight.allies,
            fight.enemies,
            contract.num_actions(fight),
            contract.observation_size(fight),
            contract.state_size(fight),
            fight.map.episode_limit,
        )
        assert found == SIZES[name], name
    for name, value in MAX_REWARD.items():
        assert contract.max_reward(fights[name]) == value
    assert contract.observation_size(fights["3s_vs_5z"], last_action=True) == 70
    assert contract.state_size(fights["3s_vs_5z"], last_action=False) == 35


def test_allies_are_sorted_and_enemies_numbered_as_in_the_original(fights):
    assert fights["MMM"].kinds[:10] == ("marauder",) * 2 + ("marine",) * 7 + ("medivac",)
    bits = contract._kind_columns(fights["2s3z"])
    assert bits[0].tolist() == [1, 0]  # an ally's stalker
    assert fights["2s3z"].kinds[5] == "stalker"
    assert bits[5].tolist() == [0, 1]  # an enemy's
    assert contract._kind_columns(fights["1c3s5z"])[9:].argmax(1).tolist() == [0, 1, 1, 1, *[2] * 5]


def test_nobody_starts_in_a_wall_or_in_another(fights):
    for name, fight in fights.items():
        x, y = fight.start_x, fight.start_y
        inside = fight.cells[x.astype(int), y.astype(int)]
        assert (inside | fight.air[:, 0]).all(), name
        apart = np.hypot(x[:, None] - x, y[:, None] - y) + 1e3 * np.eye(fight.units)
        least = fight.body + fight.body.T
        meets = fight.air == fight.air.T
        assert (apart >= least - 1e-4)[meets].all(), name


def state_of(fight: Fight, **fields) -> BattleState:
    """The state at the start with some fields (N,) replaced, in one environment (N, 1)."""
    state = initial_state(fight, jnp.zeros((2, 1)))
    given = {k: np.asarray(v, getattr(state, k).dtype)[:, None] for k, v in fields.items()}
    return state._replace(**given)


def shown(fight: Fight, state: BattleState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is available, observed and the state, in one environment."""

    def made(state: BattleState):
        avail = contract.available(fight, state)
        return avail, contract.observe(fight, state, avail), contract.global_state(fight, state)

    return tuple(np.asarray(part)[..., 0] for part in jax.jit(made)(state))


def test_availability_sight_and_layout_by_hand(fights):
    fight = fights["3s_vs_5z"]
    # Enemies at distance exactly 6, just above, 9, out of sight, and dead.
    x = [10.0, 0.6, 31.5, 16.0, 10.0, 10.0, 4.0, 12.0]
    y = [10.0, 5.0, 31.5, 10.0, 16.01, 19.0, 18.0, 10.0]
    health = [80, 40, 80, 100, 50, 100, 100, 0]
    state = state_of(fight, x=x, y=y, health=health, cooldown=[7.0, 0, 0, 0, 0, 0, 0, 0])
    avail, seen, whole = shown(fight, state)
    first = avail[0].astype(int).tolist()
    assert first == [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
    # At the west border: 0.6 - 1 is truncated to cell 0, as in the original; at 31.5 + 1 it ends.
    assert avail[1, 2:6].tolist() == [True, True, True, True]
    assert avail[2, 2:6].tolist() == [False, True, False, True]
    seen = seen[0]
    rows = seen[4:34].reshape(5, 6)
    np.testing.assert_allclose(rows[0], [1, 6 / 9, 6 / 9, 0, 1, 1], rtol=1e-6)
    np.testing.assert_allclose(rows[1], [0, 6.01 / 9, 0, 6.01 / 9, 0.5, 1], rtol=1e-6)
    assert not rows[2:].any()  # at 9 exactly, beyond, and dead
    assert not seen[34:46].any()  # allies out of sight
    assert seen[46:].tolist() == [1, 1]
    np.testing.assert_allclose(whole[:5], [1, 7 / 35, -6 / 32, -6 / 32, 1], rtol=1e-6)
    np.testing.assert_allclose(whole[15:19], [1, 0, -6 / 32, 1], rtol=1e-6)
    assert not whole[31:].any()  # the dead enemy, and no last actions


def test_the_dead_do_nothing_and_medivacs_heal_by_ally(fights):
    fight = fights["MMM"]
    health = fight.health[:, 0].copy()
    health[0] = 0.0
    avail, _, _ = shown(fight, state_of(fight, health=health))
    assert np.flatnonzero(avail[0]).tolist() == [0]
    # Marauder 1 and the marines are close; the dead, itself and what is no ally cannot be healed.
    assert np.flatnonzero(avail[9, 6:]).tolist() == list(range(1, 9))


def test_reward_is_the_absolute_change_of_the_enemies(fights):
    fight = fights["3s_vs_5z"]
    health, shield = fight.health[:, 0].copy(), fight.shield[:, 0].copy()
    before = state_of(fight, health=health, shield=np.where(np.arange(8) == 4, 20.0, shield))
    none = jnp.zeros(1, bool)

    def paid(positive: bool, won=none, lost=none, **after) -> float:
        changed = {"health": health, "shield": shield, **after}
        state = state_of(fight, **changed)
        value = contract.reward(fight, before, state, won, positive, 10.0, 200.0, 0.0, lost, 0.5)
        return float(value[0])

    same = np.asarray(before.shield[:, 0])
    assert paid(True, shield=same) == 0
    assert paid(True) == 30  # enemy 1 regained 30: paid, as in the original
    assert paid(False) == -30
    dead = np.where(np.arange(8) == 3, 0.0, health)
    assert paid(True, health=dead, shield=same) == 100 + 50 + 10
    hurt = np.where(np.arange(8) == 0, 60.0, health)
    assert paid(True, health=hurt, shield=same) == 0
    assert paid(False, health=hurt, shield=same) == -10
    gone = np.where(np.arange(8) == 0, 0.0, health)
    assert paid(False, health=gone, shield=same) == -0.5 * (160 + 10)
    assert paid(True, won=~none, shield=same) == 200


def test_ends_wins_and_draws(fights):
    fight = fights["MMM"]
    full = fight.health[:, 0]

    def end(alive: list[int]) -> tuple[bool, bool]:
        living = np.isin(np.arange(fight.units), alive)
        won, over = contract.ends(fight, state_of(fight, health=np.where(living, full, 0.0)))
        return bool(won[0]), bool(over[0])

    medivac = 10 + fight.kinds[10:].index("medivac")
    assert end([0, 11]) == (False, False)
    assert end([0]) == (True, False)
    assert end([11]) == (False, True)
    assert end([]) == (False, True)  # a draw is not won
    assert end([9, 11]) == (False, True)  # only the medivac is left of us
    assert end([0, medivac]) == (True, False)  # only theirs
    lite = make_fight(maps.load("MMM"), "smaclite")
    won, _ = contract.ends(lite, state_of(lite, health=np.zeros(20)))
    assert bool(won[0])  # as SMAClite counts it


def test_hits_by_hand(fights):
    fight = fights["2s3z"]
    shield = np.where(np.arange(10) == 7, 3.0, fight.shield[:, 0])
    shield[8] = 0.0
    state = state_of(fight, shield=shield)
    struck = jnp.asarray(np.isin(np.arange(10), [7, 8, 9]))[:, None]
    after = combat.hit(fight, state, jnp.full((10, 1), 10.0), struck)
    # A zealot with 3 shield: 7 pass, less 1 armour; without shield 9; with shield all on it.
    assert after.health[7:, 0].tolist() == [94.0, 91.0, 100.0]
    assert after.shield[7:, 0].tolist() == [0.0, 0.0, 40.0]
    assert after.shield_wait[:, 0].tolist() == [0.0] * 7 + [160.0] * 3
    weak = combat.hit(fight, state, jnp.full((10, 1), 1.2), struck)
    assert weak.health[8, 0] == 99.5  # a hit takes at least a half
    lite = make_fight(maps.load("2s3z"), "smaclite")
    weak = combat.hit(lite, state_of(lite, shield=shield), jnp.full((10, 1), 0.7), struck)
    assert weak.health[8, 0] == 100.0  # in SMAClite it may take nothing


def test_a_beam_and_a_blast_reach_as_far_as_they_should(fights):
    fight = fights["2c_vs_64zg"]
    x, y = np.full(66, 30.0, np.float32), np.full(66, 30.0, np.float32)
    x[:6], y[:6] = [10, 16, 16, 16, 15.2, 14], [10, 10, 11.7, 11.8, 10, 10]
    state = state_of(fight, x=x, y=y)
    source, target = (state.x[:1], state.y[:1]), (state.x[1:2], state.y[1:2])
    line = combat.in_beam(fight, state.x, state.y, source, target)
    # Across the aim 1.4 and a zergling's 0.375; along it the colossus aimed at, radius 1.
    assert line[1:6, 0].tolist() == [True, True, False, False, False]
    circle = combat.in_blast(fight, state.x, state.y, source)
    assert circle[:, 0].nonzero()[0].tolist() == [0]


# Maps from files

MINE = """
episode_limit = 50
terrain = "open"
order = [9, 16]
[[groups]]
side = "ally"
at = [9, 16]
units = { marine = 2, medivac = 1 }
[[groups]]
side = "enemy"
at = [23, 16]
units = { zergling = 5 }
"""


def test_a_map_of_ones_own(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(MINE)
    task = tasks.make_task(f"battle:{file}")
    assert (task.spec.num_agents, task.spec.num_actions, task.spec.episode_limit) == (3, 11, 50)
    _, seen = jax.jit(task.reset)(jax.random.key(0))
    assert seen.observation.shape == (3, task.spec.observation_size)
    assert seen.avail[:, 1].all()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("marine = 2", "martian = 2", "no kind of unit 'martian'"),
        ("marine = 2", "marine = 0", "0 marines in a group: at least 1"),
        ("[9, 16]\n[[", "[9, 160]\n[[", "order is"),
        ('"open"', '"moon"', "no terrain 'moon'"),
        ('"ally"', '"enemy"', "0 units of side 'ally'"),
        ("limit = 50", "limit = 0", "episode_limit is 0"),
        ("limit = 50", "limits = 50", "no field 'episode_limits'"),
        ("at = [23, 16]", "at = [23, 16, 4]", "a group stands at"),
        ('"open"', '"pentagon"', "in a wall"),
        ("units = { zergling = 5 }", "", "a group has side, at and units"),
        ("[[groups]]", "[[groups", "is not TOML"),
    ],
)
def test_a_wrong_map_is_refused_in_a_sentence(tmp_path: Path, old: str, new: str, said: str):
    file = tmp_path / "wrong.toml"
    assert old in MINE
    file.write_text(MINE.replace(old, new))
    with pytest.raises(ValueError, match=r"map .*wrong.toml") as error:
        maps.load(str(file))
    assert said in str(error.value)
    assert "\n" not in str(error.value).split("is not TOML")[0]


def test_names_and_options_are_checked():
    assert battle.parse("3m") == Options(map="3m")
    assert battle.parse("3m@smaclite").rules == "smaclite"
    assert battle.name_of(battle.parse("3m@smaclite")) == "battle:3m@smaclite"
    for words in ("4m", "3m@heart", "./none.toml"):
        with pytest.raises(ValueError, match=r"no battle map|rules are|no map file"):
            battle.parse(words)
    with pytest.raises(ValueError, match="needs rules 'smaclite'"):
        battle.make(Options(reward="damage"))


def test_a_terrain_as_lines():
    lines = ["#" * 32] * 20 + ["#" * 10 + "." * 12 + "#" * 10] * 12
    cells = terrain.open_cells(lines)
    assert cells.sum() == 144
    assert terrain.box_of(cells) == (10, 0, 22, 12)
    with pytest.raises(ValueError, match="32 lines"):
        terrain.open_cells(lines[1:])


def test_ways_lead_around_walls():
    cells = terrain.open_cells("corridor")
    ways = pathing.ways_of(cells.tobytes())
    assert ways is not None
    corners, table = ways
    place, goal = np.array([28.0, 28.0]), np.array([4.5, 4.5])
    for _ in range(20):
        here, there = (int(p[0]) * 32 + int(p[1]) for p in (place, goal))
        corner = table[here, there]
        if corner < 0:
            break
        place = corners[corner]
    assert table[here, there] == pathing.STRAIGHT  # the goal came in sight
    assert cells[int(place[0]), int(place[1])]
    assert pathing.ways_of(terrain.open_cells("field").tobytes()) is None


# Whole fights


EVERYBODY = """
episode_limit = 100
terrain = "corridor"
order = [4.47, 4.33]
[[groups]]
side = "ally"
at = [19, 19]
units = { zealot = 3, stalker = 2, marine = 3, medivac = 1, colossus = 1, baneling = 2 }
[[groups]]
side = "enemy"
at = [26, 27]
units = { zergling = 8, baneling = 3, marauder = 2, medivac = 1, hydralisk = 2 }
"""


@pytest.fixture(scope="module")
def brawls(tmp_path_factory) -> dict[str, tuple[Fight, BattleState]]:
    """Random fights of 8 environments, 48 steps: states (T, E, N), by both rules."""
    file = tmp_path_factory.mktemp("maps") / "everybody.toml"
    file.write_text(EVERYBODY)
    return {
        "liberty": brawl(Options(map=str(file))),
        "smaclite": brawl(Options(map="MMM", rules="smaclite")),
    }


def brawl(options: Options) -> tuple[Fight, BattleState]:
    """Agents that attack what they can, and wander else."""
    task, E = battle.make(options), 8

    def step(carry, key):
        state, seen = carry
        act_key, step_key = jax.random.split(key)
        attacks = jnp.where(jnp.arange(seen.avail.shape[2]) >= 6, 0.5, 0.0)[None, None]
        scores = jax.random.uniform(act_key, seen.avail.shape) + attacks
        actions = jnp.argmax(jnp.where(seen.avail, scores, -1.0), axis=2).astype(jnp.int32)
        state, seen = jax.vmap(task.step)(jax.random.split(step_key, E), state, actions)
        return (state, seen), (state, seen.observation, seen.state, seen.reward)

    def run(key):
        start = jax.vmap(task.reset)(jax.random.split(key, E))
        (_, _), (states, *shown) = jax.lax.scan(step, start, jax.random.split(key, 48))
        finite = jnp.stack([jnp.isfinite(part).all() for part in shown]).all()
        first = jax.tree.map(lambda leaf: leaf[None], start[0])
        whole = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), first, states)
        return whole, finite

    states, finite = jax.jit(run)(jax.random.key(7))
    assert bool(finite)
    return fight_of(options), jax.tree.map(np.asarray, states)


def test_random_fights_stay_on_open_ground(brawls):
    for name, (fight, states) in brawls.items():
        alive = states.health > 0
        assert np.isfinite(states.x).all(), name
        assert ((states.x >= 0) & (states.x <= 32) & (states.y >= 0) & (states.y <= 32)).all()
        ground = alive & ~(fight.air | fight.climbs)[:, 0]
        x, y = np.minimum(states.x, 31.999).astype(int), np.minimum(states.y, 31.999).astype(int)
        assert fight.cells[x, y][ground].all(), name


def test_health_falls_by_damage_and_rises_by_regeneration_alone(brawls):
    for name, (fight, states) in brawls.items():
        health, shield = states.health, states.shield
        assert (health >= 0).all()
        assert (health <= fight.health[:, 0] + 1e-3).all(), name
        assert (shield >= 0).all()
        assert (shield <= fight.shield[:, 0] + 1e-3).all(), name
        rise = np.diff(health, axis=0)
        healers = [fight.heals[: fight.allies].sum(), fight.heals[fight.allies :].sum()]
        of_side = np.where(np.arange(fight.units) < fight.allies, *healers)
        most = 8 * (fight.regeneration[:, 0] + of_side * 9 / 16) + 1e-3
        assert (rise <= most).all(), name
        assert (np.diff(shield, axis=0) <= 1.0 + 1e-3).all(), name
        dead = health[:-1] <= 0
        assert (health[1:][dead] == 0).all(), name  # nobody rises again
        assert dead[-1].any(), name  # and somebody died: something has been tested


def test_fights_do_not_freeze(brawls):
    fight, states = brawls["liberty"]
    enemies, window = slice(fight.allies, None), slice(4, 20)
    x, y = states.x[window, :, enemies], states.y[window, :, enemies]
    alive = states.health[20, :, enemies] > 0
    walks = np.hypot(np.diff(x, axis=0), np.diff(y, axis=0)).sum(axis=0) > 1.0
    strikes = (states.shots[window, :, enemies] >= 0).any(axis=0)
    assert alive.sum() > 20
    # Medivacs may have nobody to heal and be where their army is.
    assert np.mean((walks | strikes)[alive]) > 0.9


def test_crowds_come_to_rest_without_overlap():
    fight = make_fight(maps.load("27m_vs_30m"), "liberty")
    rng = np.random.default_rng(0)
    x, y = (jnp.asarray(rng.uniform(14, 20, (57, 8)), jnp.float32) for _ in range(2))
    still = (jnp.zeros_like(x), jnp.zeros_like(x))
    nobody, alive = jnp.zeros(x.shape, bool), jnp.ones(x.shape, bool)

    def settle(_, place):
        return collision.parted(fight, place, still, nobody, alive)

    x, y = jax.jit(lambda place: jax.lax.fori_loop(0, 96, settle, place))((x, y))
    apart = np.hypot(x[:, None] - x[None], y[:, None] - y[None]) + 10 * np.eye(57)[:, :, None]
    assert np.isfinite(apart).all()
    assert apart.min() > 0.75 - 0.1  # of bodies of 0.375, after six seconds
    assert np.ptp(x) < 14  # and the crowd has not burst apart


def test_walls_stop_and_corners_turn():
    cells = terrain.open_cells("corridor")
    rng = np.random.default_rng(1)
    places = np.argwhere(cells) + 0.5
    drawn = places[rng.integers(0, len(places), 600)]
    x, y = (jnp.asarray(part[:, None], jnp.float32) for part in drawn.T)
    clearance = np.full((600, 1), 0.375, np.float32)

    def push(key, place):
        dx, dy = jax.random.uniform(key, (2, *x.shape), minval=-0.45, maxval=0.45)
        return terrain.held_inside(cells, place, (place[0] + dx, place[1] + dy), clearance)

    push = jax.jit(push)
    place = (x, y)
    for k in range(60):
        place = push(jax.random.key(k), place)
        assert cells[np.asarray(place[0]).astype(int), np.asarray(place[1]).astype(int)].all()


@pytest.fixture(scope="module")
def sparse():
    """Three marines, one step long, and the compiled step of one environment."""
    options = Options(map="3m", reward="sparse", reward_scale=False, episode_limit=1)
    task = battle.make(options)
    return task, jax.jit(task.reset), jax.jit(task.step)


def test_a_batch_is_its_environments_one_by_one(sparse):
    task, reset, step = sparse
    keys = jax.random.split(jax.random.key(3), 4)
    start, _ = reset(keys[0])
    states = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), start)
    actions = jnp.array([[1, 2, 3], [4, 5, 1], [2, 2, 2], [1, 1, 1]], jnp.int32)
    together = jax.jit(jax.vmap(task.step))(keys, states, actions)
    for e in range(4):
        alone = step(keys[e], start, actions[e])
        for a, b in zip(jax.tree.leaves(alone), jax.tree.leaves(together), strict=True):
            np.testing.assert_allclose(a, b[e], rtol=1e-5, atol=1e-5)


def test_batch_last_takes_arguments_that_are_not_batched():
    double = batch_last(lambda a, b: a * 2 + b)
    out = jax.vmap(double, (0, None))(jnp.arange(6.0).reshape(3, 2), jnp.ones(2))
    np.testing.assert_array_equal(out, np.arange(6.0).reshape(3, 2) * 2 + 1)


# What play comes to


def test_kiting_wins_what_standing_loses():
    rows = {
        row.policy: row for row in tables.play(tables.Play(Path(), "liberty", ("3s_vs_5z",), 8))
    }
    assert rows["nearest"].won == rows["focus"].won == rows["random"].won == 0
    assert rows["nearest"].allies_left == 0
    assert rows["kite2"].won >= 0.8
    assert rows["kite2"].returns > 18
    assert rows["nearest"].returns < 6
    shown = tables.table(list(rows.values()))
    assert len(shown) == 2 + 7


def test_options_change_the_reward_and_the_end(sparse):
    _, reset, step = sparse
    start, _ = reset(jax.random.key(0))
    stop = jnp.ones(3, jnp.int32)
    _, seen = step(jax.random.key(1), start, stop)
    assert bool(seen.truncated)
    assert not bool(seen.terminated)
    assert float(seen.info["timeout"]) == 1
    dead = start._replace(health=start.health.at[3:].set(0.0))
    _, seen = step(jax.random.key(1), dead, stop)
    assert float(seen.reward) == 1
    assert bool(seen.terminated)
    assert not bool(seen.truncated)
    assert float(seen.info["battle_won"]) == 1


def test_a_picture_shows_the_field():
    from coemarl.tasks.battle import view

    options = Options(map="2s3z")
    state = jax.tree.map(lambda leaf: np.asarray(leaf)[..., 0], state_of(fight_of(options)))
    state = state._replace(health=np.where(np.arange(10) == 0, 0, state.health))
    picture = view.frame(options, state, 0, "x")
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 50
