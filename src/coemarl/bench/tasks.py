"""`coe bench tasks`: environment steps a second, of our tasks and of the originals, on one core.

Ours are stepped by random actions inside one compiled scan, many environments at once. An episode
that is over is followed by a fresh one, drawn by the task's own law of resets: every environment is
always somewhere in an episode. The originals are stepped in Python, as they are, with their resets.
"""

import functools
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jax import lax
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from coemarl.bench import measure as measuring
from coemarl.bench.measure import Case, Timing
from coemarl.bench.options import BenchOptions
from coemarl.bench.report import table, times, where
from coemarl.explorers.epsilon import random_legal
from coemarl.runs.progress import quantity
from coemarl.tasks import Task, TimeStep, family_name, make_task, task_options

TASKS = ("lbf:10x10-3p-3f", "mpe:spread", "mpe:adversary", "mpe:tag", "battle:3s_vs_5z")


@dataclass(frozen=True)
class Options(BenchOptions):
    """Environment steps a second on one core, beside the original environments in the same run."""

    names: Annotated[tuple[str, ...], tyro.conf.Positional] = TASKS
    """Tasks by name."""
    environments: tuple[int, ...] = (1, 64, 1024)
    """How many environments are stepped at once."""


# Ours


def restarted(
    task: Task, key: PRNGKeyArray, env: Any, seen: TimeStep, group: int
) -> tuple[Any, TimeStep]:
    """Environments (E of them), those that are over at the start of a fresh episode.

    A reset costs as much as several steps, so as many are drawn as are needed: `group` at a time,
    until none is left over.
    """
    E = seen.reward.shape[0]

    def some(carry: tuple) -> tuple:
        key, over, env, seen = carry
        key, reset_key = jax.random.split(key)
        places = jnp.nonzero(over, size=group, fill_value=E)[0]  # fillers are dropped
        put = lambda old, new: old.at[places].set(new, mode="drop")  # noqa: E731
        fresh = jax.vmap(task.reset)(jax.random.split(reset_key, group))
        return key, over.at[places].set(False, mode="drop"), *jax.tree.map(put, (env, seen), fresh)

    over = seen.terminated | seen.truncated
    return lax.while_loop(lambda carry: carry[1].any(), some, (key, over, env, seen))[2:]


def random_actions(task: Task, key: PRNGKeyArray, avail: Bool[Array, "E A U"]) -> Int[Array, "E A"]:
    """A joint action for each environment, uniform among the legal ones."""
    E, A, U = avail.shape
    if task.spec.always_available:
        return jax.random.randint(key, (E, A), 0, U)
    return jax.vmap(jax.vmap(random_legal))(jax.random.uniform(key, (E, A)), avail)


def make_play(task: Task, environments: int, steps: int) -> tuple[Callable, Callable]:
    """`begin(key)` and `play(carry)`: so many environments, and `steps` steps of each of them.

    A carry is (key, environment states, what is shown of them, episodes ended so far).
    """
    E = environments
    group = max(1, E // 32)

    def begin(key: PRNGKeyArray) -> tuple:
        key, reset_key = jax.random.split(key)
        return key, *jax.vmap(task.reset)(jax.random.split(reset_key, E)), jnp.int32(0)

    def step(carry: tuple, _: None) -> tuple[tuple, None]:
        key, env, seen, ended = carry
        key, act_key, step_key, reset_key = jax.random.split(key, 4)
        actions = random_actions(task, act_key, seen.avail)
        env, seen = jax.vmap(task.step)(jax.random.split(step_key, E), env, actions)
        ended = ended + (seen.terminated | seen.truncated).sum(dtype=jnp.int32)
        return (key, *restarted(task, reset_key, env, seen, group), ended), None

    def play(carry: tuple) -> tuple:
        return lax.scan(step, carry, length=steps)[0]

    return jax.jit(begin), jax.jit(play, donate_argnums=0)


class Played:
    """Environments being stepped: each call goes on where the last one stopped."""

    def __init__(self, task: Task, environments: int) -> None:
        self.environments = environments
        # Four episodes or more a call, so that a call's start costs nothing.
        self.steps = max(4 * task.spec.episode_limit, 20_000 // environments)
        begin, self.play = make_play(task, environments, self.steps)
        self.carry = begin(jax.random.key(0))
        self.calls = 0

    def __call__(self) -> Any:
        self.carry = self.play(self.carry)
        self.calls += 1
        return self.carry

    @property
    def work(self) -> int:
        """Environment steps of a call."""
        return self.steps * self.environments

    @property
    def mean_length(self) -> float:
        """Mean steps of an episode so far: every environment's steps over episodes ended."""
        return self.calls * self.work / max(int(self.carry[3]), 1)


# The originals


def step_lbforaging(options: Any, steps: int) -> Case:
    """lbforaging's own environment with the task's options."""
    from coemarl.parity.live_lbf import original

    env = original(options)
    rng = np.random.default_rng(0)
    env.reset(seed=0)

    def play() -> None:
        for _ in range(steps):
            _, _, done, truncated, _ = env.step(rng.integers(0, 6, options.players))
            if done or truncated:
                env.reset()

    return play


MPE2 = {"spread": "simple_spread_v3", "tag": "simple_tag_v3", "adversary": "simple_adversary_v3"}
"""What mpe2 calls the games."""


def game_of(name: str) -> str:
    """The particle game of a task's name: `spread` of mpe:sparse-spread-5."""
    return next((game for game in MPE2 if game in name.lower()), "")


def step_mpe2(name: str, options: Any, steps: int) -> Case:
    """mpe2's dense game of the task, all agents at random."""
    module = importlib.import_module(f"mpe2.{MPE2[game_of(name)]}")
    sizes = {"N": options.agents} if game_of(name) == "spread" else {}
    env = module.parallel_env(max_cycles=options.episode_limit, **sizes)
    rng = np.random.default_rng(0)
    env.reset(seed=0)

    def play() -> None:
        for _ in range(steps):
            env.step({agent: int(rng.integers(0, 5)) for agent in env.agents})
            if not env.agents:
                env.reset()

    return play


def step_jaxmarl(options: Any, environments: int, steps: int) -> Case:
    """JaxMARL's simple_spread, compiled as ours is, with its own resets at ends of episodes."""
    jaxmarl = importlib.import_module("jaxmarl")
    env: Any = jaxmarl.make("MPE_simple_spread_v3", num_agents=options.agents)
    E = environments

    def step(carry: tuple, _: None) -> tuple[tuple, None]:
        key, state, _ = carry
        key, act_key, step_key = jax.random.split(key, 3)
        draws = jax.random.randint(act_key, (len(env.agents), E), 0, 5)
        actions = dict(zip(env.agents, draws, strict=True))
        shown: Any = jax.vmap(env.step)(jax.random.split(step_key, E), state, actions)
        return (key, shown[1], shown[0]), None

    seen, state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(1), E))
    play = jax.jit(lambda carry: lax.scan(step, carry, length=steps)[0])
    return functools.partial(play, (jax.random.key(0), state, seen))


def originals(name: str, environments: Sequence[int]) -> dict[str, tuple[Case, int, int]]:
    """What else plays this task and is installed, by name: a case, its environments, and the
    environment steps of a call."""
    options, family = task_options(name), family_name(name)
    steps = 500
    made: dict[str, tuple[Callable[[], Case], int, int]] = {}
    if family == "lbf":
        made["lbforaging"] = (lambda: step_lbforaging(options, steps), 1, steps)
    elif family == "mpe" and game_of(name):
        made["mpe2"] = (lambda: step_mpe2(name, options, steps), 1, steps)
        if game_of(name) == "spread":
            E, scan = max(environments), 100
            made["jaxmarl"] = (lambda: step_jaxmarl(options, E, scan), E, E * scan)
    cases = {}
    for who, (make, E, work) in made.items():
        try:
            cases[who] = (make(), E, work)
        except (ImportError, ValueError):  # not installed, or it cannot play this task
            continue
    return cases


# The benchmark


def measure(options: Options) -> dict[str, Any]:
    """Every task's speed; all cases of one task are measured in turn."""
    for E in options.environments:
        if E < 1:
            raise ValueError(f"environments is {E}: it must be at least 1")
    tasks = {name: make_task(name) for name in options.names}
    rows = [row for name, task in tasks.items() for row in of_task(name, task, options)]
    return {"rows": rows}


def of_task(name: str, task: Task, options: Options) -> list[dict[str, Any]]:
    """The rows of one task: ours for each number of environments, then the originals."""
    ours = {E: Played(task, E) for E in options.environments}
    theirs = originals(name, options.environments)
    cases: dict[str, Case] = {f"coemarl {E}": play for E, play in ours.items()}
    cases |= {who: case for who, (case, _, _) in theirs.items()}
    timings = measuring.interleaved(cases, options.repetitions, options.seconds)
    rows = []
    for E, play in ours.items():
        timing = timings[f"coemarl {E}"]
        ratios = {
            who: measuring.ratio(timings[who], timing) * play.work / work
            for who, (_, _, work) in theirs.items()
        }
        row = row_of(name, "coemarl", E, timing, play.work)
        rows.append(row | {"episode_length": play.mean_length, "times": ratios})
    return rows + [row_of(name, who, E, timings[who], work) for who, (_, E, work) in theirs.items()]


def row_of(task: str, who: str, environments: int, timing: Timing, work: int) -> dict[str, Any]:
    """One case: seconds of an environment step, and how many steps that is a second."""
    return {
        "task": task,
        "who": who,
        "environments": environments,
        "steps_per_second": work / timing.seconds,
        "seconds_per_step": timing.record(work),
    }


def render(record: dict[str, Any]) -> str:
    """Steps a second, and how many times as many as the originals."""
    rows = [
        [
            row["task"],
            row["who"],
            str(row["environments"]),
            quantity(row["steps_per_second"]),
            quantity(1 / row["seconds_per_step"]["cpu_best"]),
            ", ".join(f"{times(ratio)} {who}" for who, ratio in row.get("times", {}).items()),
        ]
        for row in record["rows"]
    ]
    heads = ("task", "who", "environments", "steps/s", "best", "times as fast as")
    return table(heads, rows) + "\n" + where(record["machine"])
