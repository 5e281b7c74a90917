"""Level-Based Foraging: every rule by hand, random states against a slow twin, and the laws of
resets against exact probabilities.

Scenes are drawn: a letter is a player (A is player 0), a digit a food of that level, a point a free
cell. `AB` in one place are two players that share the cell.
"""

import dataclasses
import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from coemarl.tasks import lbf, make_task
from coemarl.tasks.lbf import ACTIONS, ForagingState, Options

REFUSED_BELOW = 1e-4
"""p-value below which a law is refused; seeds are fixed, so a test that passes always passes."""


# Scenes


@functools.cache
def compiled(function: Callable[..., Any], options: Options) -> Callable[..., Any]:
    """A function of the module for a field."""
    return jax.jit(functools.partial(function, options))


@functools.cache
def stepping(options: Options) -> Callable[..., tuple[ForagingState, Any]]:
    """The task's step, which nothing random enters."""
    return jax.jit(functools.partial(lbf.make(options).step, jax.random.key(0)))


def scene(drawing: str, **options: Any) -> tuple[Options, ForagingState]:
    """The options and the state that a drawing shows; players' levels are 1 unless `levels` says.

    `total`, the food at the start, is what is there unless given.
    """
    cells = [row.split() for row in drawing.strip().splitlines()]
    players: dict[str, tuple[int, int]] = {}
    field = np.zeros((len(cells), len(cells[0])), int)
    for row, col in np.ndindex(field.shape):
        word = cells[row][col]
        if word.isdigit():
            field[row, col] = int(word)
        players |= {letter: (row, col) for letter in word if letter.isalpha()}
    levels = options.pop("levels", [1] * len(players))
    total, steps = options.pop("total", field.sum()), options.pop("steps", 0)
    defaults = {"players": len(players), "foods": 2, "rows": field.shape[0], "cols": field.shape[1]}
    made = Options(**(defaults | options))
    places = np.array([players[letter] for letter in sorted(players)])
    arrays = (places, np.array(levels), field, np.asarray(total), np.asarray(steps))
    return made, compiled(lbf.state_of, made)(*map(jnp.int32, arrays))


def drawn(options: Options, state: ForagingState) -> list[list[str]]:
    """What a drawing of the state would show."""
    cells = [["."] * options.cols for _ in range(options.rows)]
    for row, col, level in state.foods.tolist():
        if level > 0:
            cells[row][col] = str(level)
    for i, (row, col) in enumerate(state.positions.tolist()):
        cells[row][col] = cells[row][col].strip(".") + "ABCDEFGH"[i]
    return cells


def stepped(
    options: Options, state: ForagingState, actions: str
) -> tuple[ForagingState, list[float]]:
    """The next state and the players' rewards; actions by name."""
    numbers = jnp.array([ACTIONS.index(word) for word in actions.split()])
    after, rewards = compiled(lbf.advance, options)(state, numbers)
    return after, rewards.tolist()


MOVES = {  # name: (before, actions, after)
    "each way": (". . . . / . A . B / . . . . / . C . D", "north south west none",
                 ". A . . / . . . . / . . . B / C . . D"),
    "east and none": ("A . . . / B . . . / C . . D / . . . .", "east none east west",
                      ". A . . / B . . . / . C D . / . . . ."),
    "walls": ("A . . B / . . . . / . . . . / C . . D", "north east south south",
              "A . . B / . . . . / . . . . / C . . D"),
    "food is no way": (". A . . / . 1 . B / . C . . / . . . D", "south west north none",
                       ". A . . / . 1 B . / . C . . / . . . D"),
    "two clash": ("A . B . / . . . . / . . . . / C . . D", "east west none none",
                  "A . B . / . . . . / . . . . / C . . D"),
    "three clash": (". A . . / B . C . / . . . . / . . . D", "south east west none",
                    ". A . . / B . C . / . . . . / . . . D"),
    "one that stays is not run over": ("A B . . / . . . . / . . . . / C . . D",
                                       "east none none none",
                                       "A B . . / . . . . / . . . . / C . . D"),
    "nor one that loads": ("A B 1 . / . . . . / . . . . / C . . D", "east load none none",
                           "A B . . / . . . . / . . . . / C . . D"),
    "an illegal move stays, and is not run over": (
        ". . . . / A B . . / 1 . . . / C . . D", "south west none none",
        ". . . . / A B . . / 1 . . . / C . . D"),
    "swapping": ("A B . . / . . . . / . . . . / C . . D", "east west none none",
                 "B A . . / . . . . / . . . . / C . . D"),
    "following": ("A B C . / . . . . / . . . . / . . . D", "east east east none",
                  ". A B C / . . . . / . . . . / . . . D"),
    "turning in a ring": ("A B . . / D C . . / . . . . / . . . .", "east south west north",
                          "D A . . / C B . . / . . . . / . . . ."),
    "into the cell of one whose own move fails": (
        "A B . C / . . . . / . . . . / . . . D", "east east west none",
        ". AB . C / . . . . / . . . . / . . . D"),
    "the shared cell stays shared": (
        ". AB . C / . . . . / . . . . / . . . D", "none none none none",
        ". AB . C / . . . . / . . . . / . . . D"),
    "and is left one by one": (
        ". AB . C / . . . . / . . . . / . . . D", "west south none none",
        "A . . C / . B . . / . . . . / . . . D"),
    "but not together": (
        ". AB . C / . . . . / . . . . / . . . D", "south south none none",
        ". AB . C / . . . . / . . . . / . . . D"),
    "one leaves, one stays": (
        ". AB . C / . . . . / . . . . / . . . D", "none east none none",
        ". A B C / . . . . / . . . . / . . . D"),
    "nobody joins two that stay": (
        "C AB . . / . . . . / . . . . / . . . D", "none none east none",
        "C AB . . / . . . . / . . . . / . . . D"),
    "a cell freed by loading is not entered at once": (
        ". B . . / A 1 . . / . . . . / C . . D", "load south none none",
        ". B . . / A . . . / . . . . / C . . D"),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_moves(name: str) -> None:
    before, actions, after = MOVES[name]
    options, state = scene(before.replace("/", "\n"))
    moved, _ = stepped(options, state, actions)
    assert drawn(options, moved) == [row.split() for row in after.split("/")]
    assert int(moved.steps) == 1


LOADS = {  # name: (drawing, levels, actions, rewards times the food at the start, what is left)
    "one suffices": (". A . . / . 1 . . / B . . . / . . . .", [1, 1], "load none", [1, 0], 0),
    "two are needed": (". A . . / . 2 . . / . B . . / . . . .", [1, 1], "load none", [0, 0], 2),
    "two share by level": (". A . . / . 3 . . / . B . . / . . . .", [1, 2], "load load", [1, 2], 0),
    "more than needed share all the same": (
        ". A . . / . 2 . . / . B . . / . . . .", [1, 2], "load load", [2 / 3, 4 / 3], 0),
    "who does not load gets nothing": (
        ". A . . / . 2 . . / . B . . / . . . .", [2, 1], "load none", [2, 0], 0),
    "not across corners": ("A . . . / . 1 . . / B . . . / . . . .", [2, 2], "load load", [0, 0], 1),
    "not from far": ("A . 1 . / . . . . / B . . . / . . . .", [2, 2], "load load", [0, 0], 1),
    "each its own food, together": (
        ". . . . / A 1 . . / . . . . / . B 2 .", [1, 2], "load load", [1, 2], 0),
    "one of two foods": (". . . . / A 1 . . / . . . . / . B 2 .", [1, 1], "load load", [1, 0], 2),
    "two that share a cell": (
        ". . . . / AB 3 . . / . . . . / . . . .", [1, 2], "load load", [1, 2], 0),
}  # fmt: skip


@pytest.mark.parametrize("name", LOADS)
def test_loads(name: str) -> None:
    drawing, levels, actions, parts, left = LOADS[name]
    options, state = scene(drawing.replace("/", "\n"), levels=levels, total=8)
    after, rewards = stepped(options, state, actions)
    np.testing.assert_allclose(rewards, np.array(parts) / 8, rtol=1e-6)
    assert int(after.foods[:, 2].sum()) == left
    assert int(after.food_spawned) == 8  # which is of the start, and never changes
    np.testing.assert_array_equal(after.positions, state.positions)


def test_penalty_is_of_those_that_fail_together() -> None:
    drawing = ". A . .\n. 5 B .\n. . . C\nD . . ."
    options, state = scene(drawing, levels=[1, 2, 1, 1], penalty=0.25)
    after, rewards = stepped(options, state, "load load none load")
    # D's load has no food beside it: it is illegal, acts as none, and costs nothing.
    assert rewards == [-0.25, -0.25, 0.0, 0.0]
    assert int(after.foods[:, 2].sum()) == 5


def test_team_reward_is_the_sum_or_the_mean() -> None:
    drawing = ". A .\n. 3 .\n. B ."
    options, state = scene(drawing, levels=[1, 2], total=4, foods=1)
    for how, share in (("sum", 3 / 4), ("mean", 3 / 8)):
        asked = dataclasses.replace(options, reward=how)
        _, shown = stepping(asked)(state, jnp.array([lbf.LOAD] * 2))
        np.testing.assert_allclose(shown.reward, share, rtol=1e-6)
        assert lbf.make(asked).spec.reward.startswith(how)


ENDS = {  # (steps before, whether the last food is loaded): (terminated, truncated)
    (3, False): (False, False),
    (3, True): (True, False),
    (48, False): (False, False),
    (49, False): (False, True),
    (49, True): (True, False),  # the game was over, whatever the time
}


@pytest.mark.parametrize(("steps", "loaded"), ENDS)
def test_ends(steps: int, loaded: bool) -> None:
    options, state = scene(". A .\n. 1 .\n. . .", steps=steps, foods=1)
    actions = jnp.array([lbf.LOAD if loaded else 0])
    _, shown = stepping(options)(state, actions)
    assert (bool(shown.terminated), bool(shown.truncated)) == ENDS[steps, loaded]
    assert float(shown.info["foods_left"]) == (not loaded)
    assert float(shown.info["food_collected"]) == loaded


# What is legal


def test_legal_actions_by_hand() -> None:
    options, state = scene("A . . .\n. B 3 .\n. . C D\n. . . .")
    legal = [
        [name for name, flag in zip(ACTIONS, flags, strict=True) if flag]
        for flags in compiled(lbf.legal_actions, options)(state).tolist()
    ]
    assert legal == [
        ["none", "south", "east"],  # walls
        ["none", "north", "south", "west", "load"],  # food to the east, whatever its level
        ["none", "south", "west", "east", "load"],  # a player is no obstacle, a food is
        ["none", "north", "south", "west"],  # food across a corner
    ]


def test_mask_shows_all_or_the_legal() -> None:
    options, state = scene("A . .\n. . .\n. . 1", foods=1)
    for mask in ("all", "legal"):
        asked = dataclasses.replace(options, mask=mask)
        _, shown = stepping(asked)(state, jnp.array([0]))
        legal = [True, False, True, False, True, False]  # none, south, east
        assert shown.avail.tolist() == [legal if mask == "legal" else [True] * 6]
        assert lbf.make(asked).spec.always_available == (mask == "all")


# What is seen


def observed(options: Options, state: ForagingState, i: int) -> list[tuple[int, ...]]:
    """Player i's observation as triples."""
    numbers = np.asarray(compiled(lbf.observe, options)(state))[i].astype(int)
    return [tuple(triple) for triple in numbers.reshape(-1, 3).tolist()]


EMPTY = (-1, -1, 0)


def test_whole_field_is_observed_own_first() -> None:
    drawing = "C . . .\n. . 2 .\n. . . A\n. 1 B ."
    options, state = scene(drawing, levels=[1, 2, 2], foods=3)
    foods = [(1, 2, 2), (3, 1, 1), EMPTY]  # row by row, then column by column
    a, b, c = (2, 3, 1), (3, 2, 2), (0, 0, 2)
    assert observed(options, state, 0) == [*foods, a, b, c]
    assert observed(options, state, 1) == [*foods, b, a, c]
    assert observed(options, state, 2) == [*foods, c, a, b]
    assert lbf.observe(options, state).dtype == jnp.float32


def test_foods_move_up_when_one_is_gone() -> None:
    options, state = scene("A 1 .\n. . .\n. . 2", foods=2, levels=[2])
    after, _ = stepped(options, state, "load")
    assert observed(options, after, 0)[:2] == [(2, 2, 2), EMPTY]


def test_limited_sight_by_hand() -> None:
    """Coordinates are those of the part seen; players, not foods, are seen too far near the top
    and the left border, as in the original."""
    drawing = """
        A . . . . .
        . 1 . . . .
        . . . . . B
        . . 2 . . .
        . . . . C .
        . D . . . 3
    """
    options, state = scene(drawing, levels=[1, 2, 1, 2], foods=3, sight=2)
    # A in the corner sees rows and columns 0..2 of foods, 0..4 of players.
    assert observed(options, state, 0) == [
        (1, 1, 1), EMPTY, EMPTY, (0, 0, 1), (4, 4, 1), EMPTY, EMPTY,
    ]  # fmt: skip
    # B at (2, 5): its part begins at (0, 3).
    assert observed(options, state, 1) == [
        EMPTY, EMPTY, EMPTY, (2, 2, 2), (4, 1, 1), EMPTY, EMPTY,
    ]  # fmt: skip
    # C at (4, 4): its part begins at (2, 2).
    assert observed(options, state, 2) == [
        (1, 0, 2), (3, 3, 3), EMPTY, (2, 2, 1), (0, 3, 2), EMPTY, EMPTY,
    ]  # fmt: skip
    # D at (5, 1): its part begins at (3, 0); C is one row up and three columns off, yet seen.
    assert observed(options, state, 3) == [
        (0, 2, 2), EMPTY, EMPTY, (2, 1, 2), (1, 4, 1), EMPTY, EMPTY,
    ]  # fmt: skip


def test_a_sight_that_spans_the_field_is_none() -> None:
    options, state = scene("A . . .\n. . 1 .\n. . . B\n. . . .")
    look = lambda sight: compiled(lbf.observe, dataclasses.replace(options, sight=sight))(state)  # noqa: E731
    np.testing.assert_array_equal(look(3), look(None))
    assert (look(2) != look(None)).any()


def test_windows_by_hand() -> None:
    options, state = scene("A . .\n. 2 B\n. . .\n. . .", levels=[1, 2], sight=1, grid=True)
    a, b = np.asarray(compiled(lbf.observe, options)(state)).reshape(2, 3, 3, 3)
    np.testing.assert_array_equal(a[0], [[0, 0, 0], [0, 1, 0], [0, 0, 0]])  # levels of players
    np.testing.assert_array_equal(a[1], [[0, 0, 0], [0, 0, 0], [0, 0, 2]])  # levels of foods
    np.testing.assert_array_equal(a[2], [[0, 0, 0], [0, 0, 1], [0, 1, 0]])  # free, inside
    np.testing.assert_array_equal(b[0], [[0, 0, 0], [0, 2, 0], [0, 0, 0]])
    np.testing.assert_array_equal(b[1], [[0, 0, 0], [2, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(b[2], [[1, 1, 0], [0, 0, 0], [1, 1, 0]])


def test_windows_show_the_later_of_two_on_a_cell() -> None:
    options, state = scene("AB . .\n. . .\n. . .", levels=[2, 1], sight=1, grid=True)
    levels = np.asarray(compiled(lbf.observe, options)(state)).reshape(2, 3, 3, 3)[:, 0, 1, 1]
    assert levels.tolist() == [1, 1]


def test_sizes_of_observations() -> None:
    sizes = {
        "10x10-3p-3f": 18, "15x15-3p-5f": 24, "15x15-4p-3f": 21, "15x15-4p-5f": 27,
        "2s-15x15-4p-5f": 27, "grid-2s-6x9-2p-2f": 3 * 25, "grid-5x6-2p-2f": 3 * 13**2,
    }  # fmt: skip
    for words, size in sizes.items():
        spec = make_task(f"lbf:{words}").spec
        assert (spec.observation_size, spec.state_size) == (size, spec.num_agents * size)
        assert (spec.num_actions, spec.episode_limit) == (6, 50)
        assert spec.state_is_observations


# Random states against a slow twin


def plain_step(
    options: Options, players: list[dict], foods: dict[tuple[int, int], int], total: int,
    actions: list[int],
) -> tuple[list[tuple[int, int]], dict[tuple[int, int], int], list[float]]:  # fmt: skip
    """The rules once more, cell by cell: places and foods after, and rewards."""
    away = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}

    def beside(cell: tuple[int, int]) -> list[tuple[int, int]]:
        return [(cell[0] + down, cell[1] + right) for down, right in away.values()]

    targets, loads = [], []
    for player, action in zip(players, actions, strict=True):
        cell = target = player["cell"]
        if action in away:
            row, col = cell[0] + away[action][0], cell[1] + away[action][1]
            if 0 <= row < options.rows and 0 <= col < options.cols and (row, col) not in foods:
                target = (row, col)
        targets.append(target)
        loads.append(action == 5 and any(near in foods for near in beside(cell)))
    places = [
        target if targets.count(target) == 1 else player["cell"]
        for player, target in zip(players, targets, strict=True)
    ]
    rewards, left = [0.0] * len(players), dict(foods)
    for food, level in foods.items():
        here = [i for i, p in enumerate(players) if loads[i] and p["cell"] in beside(food)]
        lifted = sum(players[i]["level"] for i in here)
        for i in here:
            won = players[i]["level"] * level / (lifted * total)
            rewards[i] += won if lifted >= level else -options.penalty
        if here and lifted >= level:
            del left[food]
    return places, left, rewards


def random_scene(
    options: Options, rng: np.random.Generator
) -> tuple[list[dict], dict[tuple[int, int], int]]:
    """Players crowded around foods no two of which are near; now and then two share a cell."""
    foods: dict[tuple[int, int], int] = {}
    for _ in range(rng.integers(1, options.foods + 1)):
        cell = (int(rng.integers(1, options.rows - 1)), int(rng.integers(1, options.cols - 1)))
        if all((cell[0] - r) ** 2 + (cell[1] - c) ** 2 > 4 for r, c in foods):
            foods[cell] = int(rng.integers(1, 5))
    free = [c for c in np.ndindex(options.rows, options.cols) if c not in foods]
    players = [
        {"cell": free[rng.integers(len(free))], "level": int(rng.integers(1, 3))}
        for _ in range(options.players)
    ]
    return players, foods


@pytest.mark.parametrize("penalty", [0.0, 0.5])
def test_steps_equal_a_plain_twin(penalty: float) -> None:
    options = Options(rows=5, cols=4, players=5, foods=3, penalty=penalty)
    rng, scenes = np.random.default_rng(5), 1500
    players, foods = zip(*(random_scene(options, rng) for _ in range(scenes)), strict=True)
    field = np.zeros((scenes, options.rows, options.cols), int)
    for k in range(scenes):
        for cell, level in foods[k].items():
            field[(k, *cell)] = level
    actions = rng.integers(0, 6, (scenes, options.players))
    states = jax.jit(jax.vmap(functools.partial(lbf.state_of, options)))(
        jnp.array([[p["cell"] for p in team] for team in players]),
        jnp.array([[p["level"] for p in team] for team in players]),
        jnp.array(field),
        jnp.full(scenes, 12),
        jnp.zeros(scenes, int),
    )
    after, rewards = jax.jit(jax.vmap(functools.partial(lbf.advance, options)))(
        states, jnp.array(actions)
    )
    shared = 0
    for k in range(scenes):
        places, left, won = plain_step(options, players[k], foods[k], 12, actions[k].tolist())
        assert list(map(tuple, after.positions[k].tolist())) == places
        kept = {(row, col): level for row, col, level in after.foods[k].tolist() if level > 0}
        assert kept == left
        np.testing.assert_allclose(rewards[k], won, rtol=1e-5, atol=1e-7)
        shared += len(set(places)) < len(places)
    assert shared > 100  # the rarest case is among them


# Laws of the reset


@functools.cache
def resets(options: Options, number: int = 20_000) -> ForagingState:
    """Many fresh states."""
    make = jax.jit(jax.vmap(lambda key: lbf.make(options).reset(key)[0]))
    return jax.tree.map(np.asarray, make(jax.random.split(jax.random.key(2026), number)))


def assert_law(found: Counter, law: dict[Any, float], number: int) -> None:
    """The found frequencies are those of the law, and nothing else was found."""
    assert set(found) <= set(law)
    expected = {word: share * number for word, share in law.items() if share > 0}
    assert min(expected.values()) >= 5  # as the chi-square needs
    assert sum(found.values()) == number
    assert chisquare([found[word] for word in expected], list(expected.values())).pvalue > (
        REFUSED_BELOW
    )


def level_law(players: int, version: str) -> dict[int, Fraction]:
    """A food's level: players' levels are 1 or 2, M sums the three lowest, the level is uniform."""
    law: dict[int, Fraction] = Counter()  # type: ignore[assignment]
    for levels in itertools.product((1, 2), repeat=players):
        highest = sum(sorted(levels)[:3])
        choices = range(1, highest + (version == "v3"))
        for level in choices:
            law[level] += Fraction(1, 2**players * len(choices))
    return law


PUBLISHED = {
    # of the original, by its rules: levels 1, 2, ...
    (3, "v2"): [0.30625, 0.30625, 0.24375, 0.11875, 0.025],
    (4, "v2"): [0.35625, 0.35625, 0.2, 0.075, 0.0125],
    (3, "v3"): [0.23125, 0.23125, 0.23125, 0.18958, 0.09583, 0.02083],
    (4, "v3"): [0.25833, 0.25833, 0.25833, 0.15417, 0.06042, 0.01042],
}


@pytest.mark.parametrize(("players", "version"), PUBLISHED)
def test_levels_of_foods(players: int, version: Any) -> None:
    law = level_law(players, version)
    assert np.allclose([float(law[level]) for level in sorted(law)], PUBLISHED[players, version],
                       atol=6e-6)  # fmt: skip
    # One food, for foods of one field depend on each other through its players.
    states = resets(Options(players=players, foods=1, version=version))
    found = Counter(states.foods[:, 0, 2].tolist())
    assert_law(found, {k: float(v) for k, v in law.items()}, 20_000)
    np.testing.assert_array_equal(states.food_spawned, states.foods[:, 0, 2])


def test_levels_of_players_are_independent_and_equally_likely() -> None:
    states = resets(Options(players=3, foods=1))
    found = Counter(map(tuple, states.levels.tolist()))
    assert_law(found, dict.fromkeys(itertools.product((1, 2), repeat=3), 1 / 8), 20_000)


def test_foods_of_one_field_are_independent_given_the_players() -> None:
    """Where M is 4 two foods have levels 1..3 each, all nine pairs equally likely."""
    states = resets(Options(players=3, foods=2))
    four = states.levels.sum(axis=1) == 4
    pairs = states.foods[four][:, :, 2].tolist()
    law = dict.fromkeys(itertools.product((1, 2, 3), repeat=2), 1 / 9)
    assert_law(Counter(map(tuple, pairs)), law, len(pairs))


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_coop_foods_need_the_three_lowest_together(version: Any) -> None:
    states = resets(Options(players=4, foods=2, force_coop=True, version=version), 500)
    highest = np.sort(states.levels, axis=1)[:, :3].sum(axis=1)
    assert (states.foods[:, :, 2] == highest[:, None]).all()
    assert len(set(highest.tolist())) == 4
    np.testing.assert_array_equal(states.food_spawned, 2 * highest)


def test_levels_can_be_bounded() -> None:
    options = Options(players=2, foods=2, version="v3", max_player_level=3, max_food_level=1)
    states = resets(options, 500)
    assert set(states.levels.ravel().tolist()) == {1, 2, 3}
    assert (states.foods[:, :, 2] == 1).all()


def test_one_player_of_level_one_meets_food_of_level_one() -> None:
    """M is 1 then, and rules v2 would leave no level; the original gives 1."""
    states = resets(Options(players=1, foods=1), 500)
    assert (states.foods[:, 0, 2] == 1).all()


def test_players_stand_anywhere_but_not_together() -> None:
    """All ordered pairs of different cells equally likely, the border ring included."""
    states = resets(Options(rows=4, cols=3, players=2, foods=1))
    cells = states.positions[:, :, 0] * 3 + states.positions[:, :, 1]
    law = dict.fromkeys(itertools.permutations(range(12), 2), 1 / 132)
    assert_law(Counter(map(tuple, cells.tolist())), law, 20_000)


def test_foods_stand_as_by_redrawing() -> None:
    """The exact law of an unordered pair of foods, by enumeration over the player's cell and the
    order of placing: uniform inside the border ring, off the player, further than two apart."""
    rows, cols = 5, 6
    states = resets(Options(rows=rows, cols=cols, players=1, foods=2))
    inner = list(itertools.product(range(1, rows - 1), range(1, cols - 1)))
    law: dict[tuple[tuple[int, int], ...], float] = Counter()  # type: ignore[assignment]
    for player in itertools.product(range(rows), range(cols)):
        first_choices = [cell for cell in inner if cell != player]
        for first in first_choices:
            far = [c for c in first_choices if math.dist(c, first) > 2]
            for second in far or [(-1, -1)]:
                pair = tuple(sorted((first, second), key=lambda c: (c[0] < 0, c)))
                law[pair] += 1 / (rows * cols * len(first_choices) * max(len(far), 1))
    assert math.isclose(sum(law.values()), 1)
    found = Counter(tuple(map(tuple, pair)) for pair in states.foods[:, :, :2].tolist())
    assert_law(found, law, 20_000)


@pytest.mark.parametrize("words", ["10x10-3p-3f", "15x15-4p-5f-v3", "6x9-2p-3f"])
def test_no_two_things_stand_near(words: str) -> None:
    options = lbf.parse(words)
    states = resets(options, 2000)
    cells, levels = states.foods[:, :, :2], states.foods[:, :, 2]
    assert (levels > 0).all()  # all foods find a place on these fields
    assert (cells >= 1).all()
    assert (cells <= np.array([options.rows - 2, options.cols - 2])).all()
    for a, b in itertools.combinations(range(options.foods), 2):
        assert (((cells[:, a] - cells[:, b]) ** 2).sum(-1) > 4).all()
    apart = (cells[:, :, None] != states.positions[:, None]).any(-1)
    assert apart.all()
    np.testing.assert_array_equal(states.food_spawned, levels.sum(axis=1))
    order = cells[:, :, 0] * options.cols + cells[:, :, 1]
    assert (np.diff(order, axis=1) > 0).all()  # row by row


def test_foods_without_room_are_left_out() -> None:
    """A ring around one inner cell takes one food, if no player stands there."""
    states = resets(Options(rows=3, cols=3, players=1, foods=1), 500)
    in_the_way = (states.positions[:, 0] == 1).all(axis=1)
    assert set(in_the_way.tolist()) == {True, False}
    np.testing.assert_array_equal(states.foods[:, 0, 2] > 0, ~in_the_way)
    np.testing.assert_array_equal(states.food_spawned > 0, ~in_the_way)


def test_nothing_is_over_after_a_reset() -> None:
    """Not even on a field without food."""
    reset = jax.jit(lbf.make(Options(rows=3, cols=3, players=1, foods=1)).reset)
    left = set()
    for seed in range(30):
        _, shown = reset(jax.random.key(seed))
        left.add(float(shown.info["foods_left"]))
        assert not bool(shown.terminated | shown.truncated)
        assert float(shown.reward) == 0
    assert left == {0.0, 1.0}


def test_collected_shares_sum_to_one() -> None:
    """The return of an episode in which all food is gathered is 1, whoever gathers it."""
    options, state = scene("A 3 . .\n. B . .\n. . 1 C\n. . . .", levels=[2, 1, 1])
    total = 0.0
    for actions in ([5, 1, 0], [5, 5, 5], [0, 0, 5]):
        state, shown = stepping(options)(state, jnp.array(actions))
        total += float(shown.reward)
        if bool(shown.terminated):
            break
    assert bool(shown.terminated)
    np.testing.assert_allclose(total, 1.0, rtol=1e-6)


# Names


NAMES = {
    "10x10-3p-3f": Options(),
    "2s-8x8-2p-2f-coop": Options(8, 8, 2, 2, sight=2, force_coop=True),
    "15x15-4p-5f-v3": Options(15, 15, 4, 5, version="v3"),
    "Foraging-8x8-2p-2f-coop-v2": Options(8, 8, 2, 2, force_coop=True),
    "Foraging-2s-8x8-2p-2f-coop-v2": Options(8, 8, 2, 2, sight=2, force_coop=True),
    "Foraging-grid-5x6-2p-1f-v3": Options(5, 6, 2, 1, version="v3", grid=True),
    "grid-2s-6x9-2p-2f-ind-v3": Options(
        6, 9, 2, 2, sight=2, version="v3", max_food_level=1, grid=True
    ),
    "8x8-2p-2f-pen": Options(8, 8, 2, 2, penalty=0.1),
}


@pytest.mark.parametrize("words", NAMES)
def test_names(words: str) -> None:
    options = lbf.parse(words)
    assert options == NAMES[words]
    canonical = lbf.name_of(options)
    assert lbf.parse(canonical.removeprefix("lbf:")) == options
    name = words if words.startswith("Foraging") else f"lbf:{words}"
    assert make_task(name).spec.name == canonical


def test_examples_are_canonical() -> None:
    for name in lbf.EXAMPLES:
        assert make_task(name).spec.name == name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("10x10", "a name is like"),
        ("10x10-3p-3f-v1", "there are v2 and v3"),
        ("Foraging-8x8-2p-2f", "a name is like"),  # the original's ids end in their rules
        ("2x8-2p-1f", "3 to 128"),
        ("8x8-2p-0f", "takes 1 to 36"),
        ("8x8-2p-37f", "takes 1 to 36"),
        ("3x3-9p-1f", "takes 1 to 8 players"),
        ("0s-8x8-2p-2f", "at least 1 cell"),
        ("8x8-2p-2f-ind", "rules v3 only"),
    ],
)
def test_names_that_say_nothing(words: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        lbf.parse(words)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"version": "v1"}, "v2 and v3"),
        ({"mask": "some"}, "all or legal"),
        ({"reward": "max"}, "sum or mean"),
        ({"penalty": -0.1}, "at least 0"),
        ({"penalty": float("nan")}, "at least 0"),
        ({"episode_limit": 0}, "at least 1 step"),
        ({"max_player_level": 0}, "at least 1"),
    ],
)
def test_options_that_make_no_field(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make_task("lbf:10x10-3p-3f", **options)
