"""Level-Based Foraging: players of different levels gather foods that one of them may not lift.

Players and foods stand on a grid of `rows` × `cols` cells; each has a level. A food is loaded when
the players that load it from its four neighbouring cells have, together, at least its level. The
team is paid the share of all food that it collects, so an episode's return lies in [0, 1].

Names. `lbf:10x10-3p-3f` says field, players and foods. In full: `[grid-][Ks-]RxC-Np-Nf[-coop]
[-ind][-pen][-v2|-v3]`, where `2s-` is a sight of 2 cells, `-coop` makes every food need everybody
up to three, `-ind` gives every food level 1, `-pen` is a penalty of 0.1, and the rules are v2
unless said otherwise. The original's full ids stand as they are: `Foraging-8x8-2p-2f-coop-v2`.

Actions. 0 none, 1 north (row - 1), 2 south (row + 1), 3 west (column - 1), 4 east (column + 1),
5 load. A move is legal if its target is inside the field and holds no food (other players do not
matter); load is legal next to a food of whatever level. An illegal action acts as none. With
`mask="all"`, as in the paper, every action is shown as available; with `mask="legal"` only the
legal ones are.

A step, in order.
1. Each player has a target: its own cell, or the cell it moves to. It goes there iff no other
   player, moving or not, has the same target. All at once: swapping places and following into a
   cell that is being left both succeed. A quirk of the original is kept: whoever moves into the
   cell of a player whose own move fails is not stopped, so two players can share a cell.
2. For each food of level L let s be the summed levels of the players that load next to it. If
   s >= L the food is gone and each of them earns `level * L / (s * total)`, where total is the
   summed level of all foods at the start; otherwise each of them earns `-penalty`.
3. `terminated` if no food is left; else `truncated` after `episode_limit` steps. (The original
   says "done" for both.)

Observation of a player. A triple (row, column, level) for each remaining food in row-major order,
unused slots (-1, -1, 0) last; then a triple for each player, the observer first and the others in
index order. Under a sight k that does not span the field, only foods at most k rows and k columns
away are shown, in the coordinates of the part of the field that is seen: `row - max(own row - k,
0)`, likewise columns. Players are shown iff such coordinates lie in 0..2k: near the top and the
left border they are seen from further away than foods, as in the original. Unseen ones leave
slots (-1, -1, 0) at the end. With `grid`, the observation is three flattened windows of
(2k + 1) × (2k + 1) cells around the player: levels of players, levels of foods, and which cells
are free and inside the field. The state is all observations, one after the other.

Reset. Players in index order, each on a uniformly drawn cell among those still free, with a level
uniform on 1..max_player_level. Let M be the sum of the three lowest levels of players. Then foods,
one after the other, each on a cell uniform among those inside the border ring, without a player,
and further than 2 cells (Euclidean) from every food; its level is uniform on 1..M-1 (v2) or 1..M
(v3), or M with `force_coop`. No cell therefore touches two foods. Differences from the original:
it redraws until a cell is accepted, at most 1000 times, which is the same law; and it also keeps
players off some players' last cells of the episode before, which is not kept here. A food for
which no cell is left is not placed, in both.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.tasks.task import Task, TaskSpec, TimeStep

ACTIONS = ("none", "north", "south", "west", "east", "load")
NORTH, SOUTH, WEST, EAST, LOAD = 1, 2, 3, 4, 5

EXAMPLES: dict[str, str] = {
    "lbf:8x8-2p-2f-coop": "two players, two foods that both are needed for",
    "lbf:2s-8x8-2p-2f-coop": "the same, seeing two cells far",
    "lbf:10x10-3p-3f": "three players, three foods (paper)",
    "lbf:15x15-3p-5f": "three players, five foods on a large field (paper)",
    "lbf:15x15-4p-3f": "four players, three foods on a large field (paper)",
    "lbf:15x15-4p-5f": "four players, five foods on a large field (paper)",
    "lbf:15x15-4p-5f-v3": "the same by rules v3, where a food may need three players",
    "lbf:grid-2s-6x9-2p-2f-v3": "an oblong field, seen as three windows of 5 by 5 cells",
}

_NAME = re.compile(
    r"(?P<grid>grid-)?(?:(?P<sight>\d+)s-)?(?P<rows>\d+)x(?P<cols>\d+)-(?P<players>\d+)p"
    r"-(?P<foods>\d+)f(?P<coop>-coop)?(?P<ind>-ind)?(?P<pen>-pen)?(?:-(?P<version>v\d+))?"
)


@dataclass(frozen=True)
class Options:
    """Every choice about a field of Level-Based Foraging."""

    rows: int = 10
    """Rows of the field."""
    cols: int = 10
    """Columns of the field."""
    players: int = 3
    """Players; all of them are controlled."""
    foods: int = 3
    """Foods at the start of an episode."""
    sight: int | None = None
    """How many cells far a player sees. None: the whole field."""
    force_coop: bool = False
    """Whether every food has the highest level: that of the three lowest players together."""
    version: Literal["v2", "v3"] = "v2"
    """The original's rules: foods of levels 1..M-1 (v2) or 1..M (v3)."""
    max_player_level: int = 2
    """Levels of players are uniform on 1..this."""
    max_food_level: int | None = None
    """A highest level of foods in place of M (v3 only). None: M, as the players allow."""
    penalty: float = 0.0
    """What each player loses that takes part in a load that fails."""
    grid: bool = False
    """Whether to observe three windows of the field instead of lists of foods and players."""
    mask: Literal["all", "legal"] = "all"
    """Which actions are shown as available: all, as in the paper, or the legal ones."""
    episode_limit: int = 50
    """Steps after which an episode is cut."""
    reward: Literal["sum", "mean"] = "sum"
    """How the team's reward is made of the players' rewards."""


class ForagingState(NamedTuple):
    """Everything that the next step depends on. Any state can be made from arrays: `state_of`."""

    positions: Int[Array, "A 2"]
    levels: Int[Array, " A"]
    foods: Int[Array, "F 3"]
    """(row, column, level) in row-major order; (-1, -1, 0) where there is no more."""
    food_spawned: Int[Array, ""]
    """Summed levels of all foods at the start of the episode."""
    steps: Int[Array, ""]


# Names


def parse(words: str) -> Options:
    """The options that a name says; words are the name after `lbf:`, or a whole original id."""
    is_id = words.startswith("Foraging-")
    found = _NAME.fullmatch(words.removeprefix("Foraging-"))
    if found is None or (is_id and found["version"] is None):
        raise ValueError(
            f"no field of foraging is called '{words}': a name is like 10x10-3p-3f, "
            "2s-8x8-2p-2f-coop, 15x15-4p-5f-v3 or Foraging-8x8-2p-2f-coop-v2"
        )
    version = found["version"] or "v2"
    if version not in ("v2", "v3"):
        raise ValueError(f"'{words}' asks for rules {version} of foraging: there are v2 and v3")
    options = Options(
        rows=int(found["rows"]),
        cols=int(found["cols"]),
        players=int(found["players"]),
        foods=int(found["foods"]),
        sight=None if found["sight"] is None else int(found["sight"]),
        force_coop=found["coop"] is not None,
        version=version,
        max_food_level=None if found["ind"] is None else 1,
        penalty=0.0 if found["pen"] is None else 0.1,
        grid=found["grid"] is not None,
    )
    check(options)
    return options


def name_of(options: Options) -> str:
    """The canonical name; a penalty other than 0.1 and the like are options that it cannot say."""
    sight = "" if options.sight is None else f"{options.sight}s-"
    return (
        f"lbf:{'grid-' if options.grid else ''}{sight}{options.rows}x{options.cols}"
        f"-{options.players}p-{options.foods}f{'-coop' if options.force_coop else ''}"
        f"{'-ind' if options.max_food_level == 1 else ''}"
        f"{'-pen' if options.penalty == 0.1 else ''}{'-v3' if options.version == 'v3' else ''}"
    )


def check(options: Options) -> None:
    """Refuse options that make no field, in one sentence each."""
    o = options
    if o.version not in ("v2", "v3"):
        raise ValueError(f"version is '{o.version}': foraging has rules v2 and v3")
    if o.mask not in ("all", "legal"):
        raise ValueError(f"mask is '{o.mask}': it is all or legal")
    if o.reward not in ("sum", "mean"):
        raise ValueError(f"reward is '{o.reward}': it is sum or mean")
    if not (3 <= o.rows <= 128 and 3 <= o.cols <= 128):
        raise ValueError(f"a field of {o.rows}x{o.cols}: rows and columns are 3 to 128")
    inner = (o.rows - 2) * (o.cols - 2)
    if not 1 <= o.foods <= inner:
        raise ValueError(f"{o.foods} foods: a field of {o.rows}x{o.cols} takes 1 to {inner}")
    most = o.rows * o.cols - o.foods
    if not 1 <= o.players <= most:
        raise ValueError(
            f"{o.players} players and {o.foods} foods: a field of {o.rows}x{o.cols} takes "
            f"1 to {most} players"
        )
    if o.sight is not None and o.sight < 1:
        raise ValueError(f"a sight of {o.sight}: it is at least 1 cell")
    if o.max_player_level < 1:
        raise ValueError(f"max_player_level is {o.max_player_level}: it is at least 1")
    if o.max_food_level is not None and (o.version == "v2" or o.max_food_level < 1):
        raise ValueError(f"max_food_level is {o.max_food_level}: at least 1, and rules v3 only")
    if not o.penalty >= 0:
        raise ValueError(f"penalty is {o.penalty}: it is at least 0")
    if o.episode_limit < 1:
        raise ValueError(f"episode_limit is {o.episode_limit}: it is at least 1 step")


# Reset


def _kth_allowed(allowed: Bool[Array, "R C"], word: Int[Array, ""]) -> Int[Array, " 2"]:
    """The cell that a random word picks, uniformly among the allowed; (-1, -1) if there is none.

    The cell is found by its rank: first its row, from the rows' running counts, then its column.
    """
    in_row = jnp.sum(allowed, axis=1, dtype=jnp.int32)
    count = jnp.sum(in_row)
    rank = (word % jnp.maximum(count, 1).astype(jnp.uint32)).astype(jnp.int32)
    ends = jnp.sum(jnp.tril(jnp.broadcast_to(in_row, (in_row.size,) * 2)), axis=1)
    row = jnp.sum(ends <= rank, dtype=jnp.int32)
    is_row = jnp.arange(in_row.size) == row
    inside = jnp.any(allowed & is_row[:, None], axis=0).astype(jnp.int32)
    rank = rank - jnp.sum(jnp.where(is_row, ends - in_row, 0))
    upto = jnp.sum(jnp.tril(jnp.broadcast_to(inside, (inside.size,) * 2)), axis=1)
    col = jnp.sum(upto <= rank, dtype=jnp.int32)
    return jnp.where(count > 0, jnp.stack([row, col]), -1)


def _place_players(options: Options, words: Int[Array, " A"]) -> Int[Array, "A 2"]:
    """Cells drawn without replacement, one for each random word."""
    row, col = jnp.arange(options.rows)[:, None], jnp.arange(options.cols)[None, :]
    free = jnp.ones((options.rows, options.cols), bool)
    cells = []
    for i in range(options.players):
        cell = _kth_allowed(free, words[i])
        free = free & ~((row == cell[0]) & (col == cell[1]))
        cells.append(cell)
    return jnp.stack(cells)


def _place_foods(
    options: Options, positions: Int[Array, "A 2"], words: Int[Array, " F"]
) -> Int[Array, "F 2"]:
    """Cells for foods in order of placing; (-1, -1) where none was left."""
    row, col = jnp.arange(options.rows)[:, None], jnp.arange(options.cols)[None, :]
    inside = (row >= 1) & (row < options.rows - 1) & (col >= 1) & (col < options.cols - 1)
    allowed = inside
    for i in range(options.players):
        allowed = allowed & ~((row == positions[i, 0]) & (col == positions[i, 1]))
    cells = []
    for i in range(options.foods):
        cell = _kth_allowed(allowed, words[i])
        near = (row - cell[0]) ** 2 + (col - cell[1]) ** 2 <= 4
        allowed = allowed & ~near
        cells.append(cell)
    return jnp.stack(cells)


def _food_levels(
    options: Options, levels: Int[Array, " A"], words: Int[Array, " F"]
) -> Int[Array, " F"]:
    """Levels of foods, of which the highest, M, is what the three lowest players lift together."""
    highest = jnp.sum(jnp.sort(levels)[:3])
    if options.max_food_level is not None:
        highest = jnp.asarray(options.max_food_level, jnp.int32)
    if options.force_coop:
        return jnp.broadcast_to(highest, (options.foods,))
    choices = highest if options.version == "v3" else jnp.maximum(highest - 1, 1)
    return 1 + (words % choices.astype(jnp.uint32)).astype(jnp.int32)


def _in_order(foods: Int[Array, "F 3"]) -> Int[Array, "F 3"]:
    """The foods of level > 0 in row-major order, then (-1, -1, 0).

    Sorted by dense comparison: a food's slot is the number of foods that come before it.
    """
    there = foods[:, 2] > 0
    cell = foods[:, 0] * 1024 + foods[:, 1]
    slot = jnp.sum(there[None, :] & (cell[None, :] < cell[:, None]), axis=1, dtype=jnp.int32)
    return _to_slots(foods, slot, there)


def _to_slots(
    rows: Int[Array, "N 3"], slot: Int[Array, " N"], there: Bool[Array, " N"]
) -> Int[Array, "N 3"]:
    """Row i moved to place slot[i] if there[i]; (-1, -1, 0) where nothing comes."""
    num = slot.size
    comes = (slot[None, :] == jnp.arange(num)[:, None]) & there[None, :]
    empty = jnp.array([[-1, -1, 0]])
    moved = jnp.sum(jnp.where(comes[:, :, None], (rows - empty)[None], 0), axis=1)
    return moved + empty


def _reset(options: Options, key: PRNGKeyArray) -> ForagingState:
    A, F = options.players, options.foods
    words = jax.random.bits(key, (2 * A + 2 * F,), jnp.uint32)
    positions = _place_players(options, words[:A])
    levels = 1 + (words[A : 2 * A] % jnp.uint32(options.max_player_level)).astype(jnp.int32)
    cells = _place_foods(options, positions, words[2 * A : 2 * A + F])
    placed = cells[:, 0] >= 0
    food_levels = jnp.where(placed, _food_levels(options, levels, words[2 * A + F :]), 0)
    foods = _in_order(jnp.concatenate([cells, food_levels[:, None]], axis=1))
    return ForagingState(positions, levels, foods, jnp.sum(food_levels), jnp.int32(0))


def state_of(
    options: Options,
    positions: Int[Array, "A 2"],
    levels: Int[Array, " A"],
    field: Int[Array, "R C"],
    food_spawned: Int[Array, ""],
    steps: Int[Array, ""],
) -> ForagingState:
    """The state with these players and this field of food levels (0 where there is none).

    At most `options.foods` foods, no two of which touch the same cell.
    """
    flat = field.reshape(-1).astype(jnp.int32)
    cells = jnp.nonzero(flat, size=options.foods, fill_value=flat.size)[0].astype(jnp.int32)
    there = cells < flat.size
    level = jnp.where(there, flat[jnp.minimum(cells, flat.size - 1)], 0)
    row = jnp.where(there, cells // options.cols, -1)
    col = jnp.where(there, cells % options.cols, -1)
    return ForagingState(
        positions.astype(jnp.int32),
        levels.astype(jnp.int32),
        jnp.stack([row, col, level], axis=1),
        food_spawned.astype(jnp.int32),
        steps.astype(jnp.int32),
    )


# Step


def _is_food(
    foods: Int[Array, "F 3"], row: Int[Array, " A"], col: Int[Array, " A"]
) -> Bool[Array, " A"]:
    """Whether each cell holds a food; the cell (-1, -1) of an empty slot is no player's target."""
    return jnp.any((row[:, None] == foods[None, :, 0]) & (col[:, None] == foods[None, :, 1]), 1)


def _beside(state: ForagingState) -> Bool[Array, "A F"]:
    """Whether each player is an orthogonal neighbour of each food."""
    away = jnp.abs(state.positions[:, None, :] - state.foods[None, :, :2])
    return (away[..., 0] + away[..., 1] == 1) & (state.foods[None, :, 2] > 0)


def _enterable(options: Options, foods, row, col) -> Bool[Array, " A"]:
    """Whether each cell is inside the field and without food: whether one may move there."""
    inside = (row >= 0) & (row < options.rows) & (col >= 0) & (col < options.cols)
    return inside & ~_is_food(foods, row, col)


def legal_actions(options: Options, state: ForagingState) -> Bool[Array, "A 6"]:
    """Which actions do what they say; the others act as none."""
    row, col = state.positions[:, 0], state.positions[:, 1]

    def enter(down: int, right: int) -> Bool[Array, " A"]:
        return _enterable(options, state.foods, row + down, col + right)

    moves = [enter(-1, 0), enter(1, 0), enter(0, -1), enter(0, 1)]
    load = jnp.any(_beside(state), axis=1)
    return jnp.stack([jnp.ones_like(load), *moves, load], axis=1)


def _moved(options: Options, state: ForagingState, actions: Int[Array, " A"]) -> Int[Array, "A 2"]:
    """Where the players stand after all moved at once."""
    row, col = state.positions[:, 0], state.positions[:, 1]
    to_row = jnp.where(actions == SOUTH, row + 1, jnp.where(actions == NORTH, row - 1, row))
    to_col = jnp.where(actions == EAST, col + 1, jnp.where(actions == WEST, col - 1, col))
    enter = _enterable(options, state.foods, to_row, to_col)
    to_row, to_col = jnp.where(enter, to_row, row), jnp.where(enter, to_col, col)
    same = (to_row[:, None] == to_row[None, :]) & (to_col[:, None] == to_col[None, :])
    alone = ~jnp.any(same & ~jnp.eye(options.players, dtype=bool), axis=1)
    return jnp.stack([jnp.where(alone, to_row, row), jnp.where(alone, to_col, col)], axis=1)


def _loaded(
    options: Options, state: ForagingState, actions: Int[Array, " A"]
) -> tuple[Bool[Array, " F"], Float[Array, " A"]]:
    """Which foods are loaded, and what each player earns by it."""
    loads = _beside(state) & (actions == LOAD)[:, None]
    level, food = state.levels[:, None], state.foods[:, 2]
    lifted = jnp.sum(jnp.where(loads, level, 0), axis=0)
    taken = (lifted >= food) & (food > 0)
    # A total of 0 or nobody loading divides by 1, and is not used.
    whole = jnp.maximum(lifted * state.food_spawned, 1).astype(jnp.float32)
    share = (level * food[None, :]).astype(jnp.float32) / whole[None, :]
    earned = jnp.where(taken[None, :], share, -jnp.float32(options.penalty))
    return taken, jnp.sum(jnp.where(loads, earned, 0.0), axis=1)


def advance(
    options: Options, state: ForagingState, actions: Int[Array, " A"]
) -> tuple[ForagingState, Float[Array, " A"]]:
    """The next state, and each player's own reward."""
    actions = actions.astype(jnp.int32)
    taken, rewards = _loaded(options, state, actions)
    stays = (state.foods[:, 2] > 0) & ~taken
    before = jnp.tril(jnp.broadcast_to(stays, (options.foods,) * 2), -1)
    foods = _to_slots(state.foods, jnp.sum(before, axis=1, dtype=jnp.int32), stays)
    positions = _moved(options, state, actions)
    return state._replace(positions=positions, foods=foods, steps=state.steps + 1), rewards


# Observation


def _self_first(rows: Int[Array, "A 3"]) -> Int[Array, "A A 3"]:
    """For each player, its own row and then the others' in index order."""
    num = rows.shape[0]
    observer, slot = jnp.arange(num)[:, None, None], jnp.arange(num)[None, :, None]
    previous = jnp.concatenate([rows[:1], rows[:-1]])
    others = jnp.where(slot <= observer, previous[None], rows[None])
    return jnp.where(slot == 0, rows[:, None], others)


def _seen(
    sight: int, own: Int[Array, " 2"], rows: Int[Array, "N 3"], farthest: Int[Array, " 2"]
) -> Int[Array, "N 3"]:
    """What one player sees of foods or players: in its part's coordinates, packed to the front.

    Seen is what lies in 0..farthest (for rows and columns) of that part.
    """
    cells = rows[:, :2] - jnp.maximum(own - sight, 0)[None, :]
    seen = jnp.all((cells >= 0) & (cells <= farthest[None, :]), axis=1) & (rows[:, 2] > 0)
    before = jnp.tril(jnp.broadcast_to(seen, (seen.size,) * 2), -1)
    shown = jnp.concatenate([cells, rows[:, 2:]], axis=1)
    return _to_slots(shown, jnp.sum(before, axis=1, dtype=jnp.int32), seen)


def _observe_lists(options: Options, state: ForagingState) -> Float[Array, "A D"]:
    """Lists of foods and players, under full or limited sight."""
    A = options.players
    players = jnp.concatenate([state.positions, state.levels[:, None]], axis=1)
    players = _self_first(players)
    foods = jnp.broadcast_to(state.foods, (A, options.foods, 3))
    sight = options.sight
    if sight is not None and sight < max(options.rows, options.cols) - 1:
        own = state.positions
        reach = jnp.minimum(own, sight) + sight
        look = jax.vmap(lambda *args: _seen(sight, *args))
        foods = look(own, foods, reach)
        players = look(own, players, jnp.full_like(reach, 2 * sight))
    both = jnp.concatenate([foods.reshape(A, -1), players.reshape(A, -1)], axis=1)
    return both.astype(jnp.float32)


def _observe_windows(options: Options, state: ForagingState) -> Float[Array, "A D"]:
    """Three windows around each player: levels of players, levels of foods, free cells."""
    sight = _window_sight(options)
    shape = (options.rows + 2 * sight, options.cols + 2 * sight)
    inside = jnp.zeros(shape, jnp.float32)
    inside = inside.at[sight : sight + options.rows, sight : sight + options.cols].set(1.0)
    row, col = jnp.arange(shape[0])[:, None] - sight, jnp.arange(shape[1])[None, :] - sight
    players = foods = jnp.zeros(shape, jnp.int32)
    for i in range(options.players):  # of two on one cell the later is shown
        here = (row == state.positions[i, 0]) & (col == state.positions[i, 1])
        players = jnp.where(here, state.levels[i], players)
    for i in range(options.foods):
        here = (row == state.foods[i, 0]) & (col == state.foods[i, 1])
        foods = jnp.where(here, state.foods[i, 2], foods)
    free = jnp.where((players > 0) | (foods > 0), 0.0, inside)
    layers = jnp.stack([players.astype(jnp.float32), foods.astype(jnp.float32), free])
    size = 2 * sight + 1

    def window(own: Int[Array, " 2"]) -> Float[Array, " D"]:
        return jax.lax.dynamic_slice(layers, (0, own[0], own[1]), (3, size, size)).reshape(-1)

    return jax.vmap(window)(state.positions)


def _window_sight(options: Options) -> int:
    return max(options.rows, options.cols) if options.sight is None else options.sight


def observation_size(options: Options) -> int:
    """How many numbers a player observes."""
    if options.grid:
        return 3 * (2 * _window_sight(options) + 1) ** 2
    return 3 * options.foods + 3 * options.players


def observe(options: Options, state: ForagingState) -> Float[Array, "A D"]:
    """What each player observes."""
    return _observe_windows(options, state) if options.grid else _observe_lists(options, state)


# The task


def _shown(options: Options, state: ForagingState, reward: Float[Array, ""]) -> TimeStep:
    """What the team is shown in a state, after the step that earned this reward."""
    observation = observe(options, state)
    all_actions = jnp.ones((options.players, len(ACTIONS)), bool)
    left = jnp.sum(state.foods[:, 2] > 0, dtype=jnp.int32)
    weight = jnp.sum(state.foods[:, 2]).astype(jnp.float32)
    total = jnp.maximum(state.food_spawned, 1).astype(jnp.float32)
    # After a reset nothing is over, even on a field too full to hold any food.
    over = (left == 0) & (state.steps > 0)
    return TimeStep(
        observation=observation,
        state=observation.reshape(-1),
        avail=all_actions if options.mask == "all" else legal_actions(options, state),
        reward=reward,
        terminated=over,
        truncated=~over & (state.steps >= options.episode_limit),
        info={
            "food_collected": 1.0 - weight / total,
            "foods_left": left.astype(jnp.float32),
        },
    )


def _spec(options: Options) -> TaskSpec:
    size = observation_size(options)
    how = "sum" if options.reward == "sum" else "mean"
    return TaskSpec(
        name=name_of(options),
        num_agents=options.players,
        num_actions=len(ACTIONS),
        observation_size=size,
        state_size=options.players * size,
        episode_limit=options.episode_limit,
        reward=f"{how} over players of each one's share of the food it helped to load",
        state_is_observations=True,
        always_available=options.mask == "all",
        actions=ACTIONS,
        infos=(
            ("food_collected", "share of the food's summed level collected so far, 0 to 1"),
            ("foods_left", "foods still on the field"),
        ),
    )


def make(options: Options) -> Task:
    """The task with these options."""
    check(options)
    combine: Callable = jnp.sum if options.reward == "sum" else jnp.mean

    def reset(key: PRNGKeyArray) -> tuple[ForagingState, TimeStep]:
        state = _reset(options, key)
        return state, _shown(options, state, jnp.float32(0.0))

    def step(
        key: PRNGKeyArray, state: ForagingState, actions: Int[Array, " A"]
    ) -> tuple[ForagingState, TimeStep]:
        del key  # nothing is random but the start
        state, rewards = advance(options, state, actions)
        return state, _shown(options, state, combine(rewards))

    return Task(_spec(options), reset, step)
