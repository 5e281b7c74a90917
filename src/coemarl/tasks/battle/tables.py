"""Tables of the scripted policies: `python -m coemarl.tasks.battle.tables play|show FILE`.

    play FILE --rules liberty --maps 3s_vs_5z 2s_vs_1sc --episodes 32
        plays every policy on these maps, and adds a row for each to a file of JSON lines
    show FILE
        prints the file's rows as a table; SMAClite's own figures stand beside those of its rules

A return is of the rules' own reward: with `liberty` the original's formula, with `smaclite` the sum
of hits.
"""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

MAPS = ("2s_vs_1sc", "3s_vs_3z", "3s_vs_5z", "3m", "5m_vs_6m", "2s3z", "3s5z", "MMM2", "corridor")
ORDER = ("random", "nearest", "focus", "kite", "swap", "kite2", "patient")

Anchor = tuple[float, float, float]
SMACLITE: dict[tuple[str, str], Anchor] = {
    # (map, policy): SMAClite's return, length and win rate, means of 20 episodes (random) or 5.
    ("2s_vs_1sc", "random"): (1.318, 54.1, 0),
    ("2s_vs_1sc", "nearest"): (10.039, 32.0, 0),
    ("2s_vs_1sc", "focus"): (10.039, 32.0, 0),
    ("2s_vs_1sc", "kite"): (5.647, 32.0, 0),
    ("2s_vs_1sc", "swap"): (10.039, 32.0, 0),
    ("2s_vs_1sc", "patient"): (21.490, 204.0, 1),
    ("3s_vs_3z", "random"): (5.050, 55.6, 0),
    ("3s_vs_3z", "nearest"): (9.118, 33.0, 0),
    ("3s_vs_3z", "focus"): (9.029, 33.0, 0),
    ("3s_vs_3z", "kite"): (20.0, 94.0, 1),
    ("3s_vs_3z", "kite2"): (20.0, 55.0, 1),
    ("3s_vs_5z", "random"): (3.394, 47.6, 0),
    ("3s_vs_5z", "nearest"): (4.940, 27.0, 0),
    ("3s_vs_5z", "focus"): (4.508, 26.0, 0),
    ("3s_vs_5z", "kite"): (6.440, 59.0, 0),
    ("3s_vs_5z", "swap"): (4.740, 25.0, 0),
    ("3s_vs_5z", "kite2"): (20.0, 115.0, 1),
    ("3m", "random"): (1.315, 23.5, 0),
    ("3m", "nearest"): (20.0, 17.0, 1),
    ("3m", "focus"): (20.0, 19.0, 1),
    ("3m", "kite"): (3.540, 14.0, 0),
    ("3m", "swap"): (20.0, 17.0, 1),
    ("5m_vs_6m", "random"): (1.562, 27.8, 0),
    ("5m_vs_6m", "nearest"): (6.279, 15.0, 0),
    ("5m_vs_6m", "focus"): (5.645, 14.0, 0),
    ("5m_vs_6m", "kite"): (3.434, 14.0, 0),
    ("5m_vs_6m", "swap"): (6.189, 15.0, 0),
    ("2s3z", "random"): (3.840, 41.5, 0),
    ("2s3z", "nearest"): (20.0, 60.4, 1),
    ("2s3z", "focus"): (10.047, 41.8, 0),
    ("2s3z", "kite"): (10.824, 118.0, 0),
    ("2s3z", "swap"): (8.945, 38.0, 0),
    ("3s5z", "random"): (4.338, 43.8, 0),
    ("3s5z", "nearest"): (9.211, 35.0, 0),
    ("3s5z", "focus"): (8.543, 36.0, 0),
    ("3s5z", "kite"): (6.989, 150.0, 0),
    ("3s5z", "swap"): (8.665, 40.2, 0),
    ("MMM2", "random"): (1.932, 45.4, 0),
    ("MMM2", "nearest"): (8.913, 41.2, 0),
    ("MMM2", "focus"): (8.697, 42.4, 0),
    ("MMM2", "kite"): (6.880, 38.0, 0),
    ("MMM2", "swap"): (11.161, 47.0, 0),
    ("corridor", "random"): (2.544, 30.8, 0),
    ("corridor", "nearest"): (13.715, 33.0, 0),
    ("corridor", "focus"): (1.678, 33.0, 0),
    ("corridor", "kite"): (0.0, 37.0, 0),
    ("corridor", "swap"): (7.939, 32.4, 0),
    ("2c_vs_64zg", "random"): (20.856, 66.8, 1),
    ("2c_vs_64zg", "nearest"): (20.260, 48.0, 1),
    ("2c_vs_64zg", "focus"): (20.148, 51.8, 1),
    ("2c_vs_64zg", "kite"): (20.396, 82.6, 1),
}


@dataclass(frozen=True)
class Play:
    """Play the scripted policies and add their rows to a file."""

    file: Annotated[Path, tyro.conf.Positional]
    """JSON lines; rows are added at its end."""
    rules: Literal["liberty", "smaclite"] = "liberty"
    """Rules of the fights."""
    maps: tuple[str, ...] = MAPS
    """Maps, or files of maps."""
    episodes: int = 32
    """Episodes of each policy."""
    seed: int = 0
    """Of the episodes."""


@dataclass(frozen=True)
class Show:
    """Print the rows of a file as a table."""

    file: Annotated[Path, tyro.conf.Positional]
    """JSON lines."""


@dataclass(frozen=True)
class Row:
    """What a policy's episodes came to, on average."""

    map: str
    rules: str
    policy: str
    episodes: int
    seed: int
    returns: float
    returns_std: float
    length: float
    won: float
    allies_left: float
    enemies_left: float


def play(wish: Play) -> Iterable[Row]:
    """The rows of each map's policies. All policies of a map share one compiled program."""
    import jax
    from jax import lax

    from coemarl import scripted
    from coemarl.tasks import battle
    from coemarl.tasks.battle.options import Options
    from coemarl.tasks.battle.task import fight_of

    for name in wish.maps:
        reward: Any = "damage" if wish.rules == "smaclite" else "positive"
        options = Options(map=name, rules=wish.rules, reward=reward)
        task, fight = battle.make(options), fight_of(options)
        makers = {"random": scripted.random_team} | {
            policy: make for policy, (_, make) in battle.POLICIES.items()
        }
        rests = scripted.remembering(makers["patient"](options))
        acts = [_with_memory(makers[policy](options)) for policy in ORDER]

        def episodes(key: Any, number: Any, task=task, acts=acts, rests=rests) -> Any:
            def act(key: Any, memory: Any, state: Any, seen: Any) -> Any:
                return lax.switch(number, acts, key, memory, state, seen)

            one = scripted.make_play(task, scripted.Remembering(rests.start, act))
            return jax.vmap(one)(jax.random.split(key, wish.episodes))

        program = jax.jit(episodes)
        for number, policy in enumerate(ORDER):
            done = jax.device_get(program(jax.random.key(wish.seed), number))
            dead = {side: float(done.info[f"dead_{side}"].mean()) for side in ("allies", "enemies")}
            yield Row(
                map=name,
                rules=wish.rules,
                policy=policy,
                episodes=wish.episodes,
                seed=wish.seed,
                returns=round(float(done.returns.mean()), 4),
                returns_std=round(float(done.returns.std()), 4),
                length=round(float(done.length.mean()), 2),
                won=round(float(done.info["battle_won"].mean()), 4),
                allies_left=round(fight.allies - dead["allies"], 3),
                enemies_left=round(fight.enemies - dead["enemies"], 3),
            )


def _with_memory(policy: Any) -> Any:
    """The policy as one that hands any memory on."""
    from coemarl import scripted

    if isinstance(policy, scripted.Remembering):
        return policy.act
    return lambda key, memory, state, seen: (memory, policy(key, state, seen).astype("int32"))


def table(rows: list[Row]) -> list[str]:
    """The rows as a Markdown table, each map's and rules' together."""
    lines = [
        "| map | policy | rules | return | won | length | allies left | enemies left"
        " | SMAClite: return, length, won |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda r: (r.rules, MAPS.index(r.map) if r.map in MAPS else 99)):
        anchor = SMACLITE.get((row.map, row.policy)) if row.rules == "smaclite" else None
        beside = f"{anchor[0]:.3f}, {anchor[1]:.1f}, {anchor[2]:.2f}" if anchor else ""
        lines.append(
            f"| {row.map} | {row.policy} | {row.rules} | {row.returns:.3f} ± {row.returns_std:.3f}"
            f" | {row.won:.2f} | {row.length:.1f} | {row.allies_left:.2f} | {row.enemies_left:.2f}"
            f" | {beside} |"
        )
    return lines


def main(words: list[str]) -> int:
    """Play or show, as the words say."""
    wish = tyro.extras.subcommand_cli_from_dict({"play": Play, "show": Show}, args=words)
    if isinstance(wish, Show):
        rows = [Row(**json.loads(line)) for line in wish.file.read_text().splitlines() if line]
        print("\n".join(table(rows)))
        return 0
    with wish.file.open("a") as out:
        for row in play(wish):
            print(json.dumps(asdict(row)), file=out, flush=True)
            print(f"{row.map} {row.policy}: {row.returns:.3f}, won {row.won:.2f}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
