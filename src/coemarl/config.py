"""What a run is made of: every choice, its default and its meaning, each standing once, here or in
the options record of the part that it belongs to. The comments under the fields are the help texts
of the command line. Nothing here imports jax.

Later words win: defaults, then the preset's values, then what the user says.
"""

import dataclasses
import importlib
import json
import math
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from coemarl.algorithms import algorithm

EnvOptions = TypeVar("EnvOptions")
UtilityOptions = TypeVar("UtilityOptions")
MixerOptions = TypeVar("MixerOptions")
ExplorerOptions = TypeVar("ExplorerOptions")


@dataclass(frozen=True)
class LearnerOptions:
    """How values are learned from batches of episodes."""

    learning_rate: float = 5e-4
    """Step size of Adam."""
    discount: float = 0.99
    """Discount of the next step's value (gamma)."""
    batch_size: int = 32
    """Episodes in a batch, drawn without replacement; learning begins when so many are stored."""
    double_q: bool = True
    """Choose the target's action by the online net and value it by the target net."""
    target_update: Literal["soft", "hard"] = "soft"
    """Let target nets follow the online nets a little at each update, or copy them at times."""
    target_tau: float = 0.01
    """Soft: the share of the online nets that enters the target nets at each update."""
    target_period: int = 200
    """Hard: updates between two copies."""
    max_gradient_norm: float = 10.0
    """Gradients of a larger global norm are scaled down to it."""
    standardise_rewards: bool = True
    """Subtract the batch's mean reward and divide by its standard deviation."""
    time_limit_is_terminal: bool = False
    """Learn as if nothing followed the episode limit. The paper's LBF and MPE runs did."""
    products: Literal["float32", "bfloat16"] = "float32"
    """Precision of the factors of the large matrix products; sums stay in float32."""


@dataclass(frozen=True)
class ReplayOptions:
    """Where episodes wait to be learned from."""

    capacity: int = 5000
    """Whole episodes kept; the oldest gives way."""
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    """Storage of observations and states. The halves halve the memory and round to 3 digits."""


@dataclass(frozen=True)
class EvaluationOptions:
    """How a team is judged: greedy, each agent alone, all bonuses off."""

    every: int = 100_000
    """Environment steps between evaluations; there is one at step 0 and one at the end too."""
    episodes: int = 100
    """Episodes of one evaluation."""


@dataclass(frozen=True)
class RunConfig(Generic[EnvOptions, UtilityOptions, MixerOptions, ExplorerOptions]):
    """One training run, complete: the same config and code give the same bytes."""

    task: str
    """The task's name, such as lbf:10x10-3p-3f."""
    env: EnvOptions
    """What the task's name cannot say."""
    utility: UtilityOptions
    """The agents' value function."""
    mixer: MixerOptions
    """How utilities become a team value."""
    explorer: ExplorerOptions
    """How actions are chosen in training."""
    algo: str = "coe"
    """The algorithm: a row of choices."""
    seed: int = 0
    """Everything random in the run follows from it."""
    steps: int = 500_000
    """Environment steps of training."""
    environments: int = 1
    """Environments stepped together; each rollout is one episode of each."""
    updates_per_rollout: int = 1
    """Gradient updates after each rollout."""
    learner: LearnerOptions = field(default_factory=LearnerOptions)
    replay: ReplayOptions = field(default_factory=ReplayOptions)
    evaluation: EvaluationOptions = field(default_factory=EvaluationOptions)


# Which parts an algorithm chooses, and the package whose table has them.
PARTS = ("utility", "mixer", "explorer")
PACKAGES = {
    "utility": "coemarl.utilities",
    "mixer": "coemarl.mixers",
    "explorer": "coemarl.explorers",
}


def part(kind: str, name: str) -> Any:
    """The (Options, make) row of a part: `part("mixer", "qmix")`."""
    table = importlib.import_module(PACKAGES[kind]).TABLE
    if name not in table:
        raise ValueError(f"no {kind} '{name}': there are {', '.join(table)}")
    return table[name]


def default_config(task: str, algo: str = "coe") -> RunConfig[Any, Any, Any, Any]:
    """The run of an algorithm on a task with every choice at its default.

    A name that says nothing is refused with a ValueError that lists what there is.
    """
    from coemarl.tasks import task_options

    row = algorithm(algo)
    options = {kind: part(kind, getattr(row, kind))[0]() for kind in PARTS}
    return RunConfig(task=task, env=task_options(task), algo=algo, **options)


def config_type(config: RunConfig[Any, Any, Any, Any]) -> Any:
    """The config's type with its options' types filled in, for a command-line parser."""
    records = (config.env, config.utility, config.mixer, config.explorer)
    return RunConfig[tuple(type(record) for record in records)]  # type: ignore[misc]


def replace(config: Any, changes: dict[str, Any]) -> Any:
    """A copy of nested records with the fields at dotted paths replaced, those of one record at
    once: what makes sense only together can be changed together.

    `replace(config, {"learner.learning_rate": 3e-4})`. A path that names no field is refused.
    """
    names = [f.name for f in dataclasses.fields(config)]
    values: dict[str, Any] = {}
    deeper: dict[str, dict[str, Any]] = {}
    for path, value in changes.items():
        head, _, rest = path.partition(".")
        if head not in names:
            kind = type(config).__name__
            raise ValueError(f"{kind} has no '{head}': it has {', '.join(names)}")
        if rest:
            deeper.setdefault(head, {})[rest] = value
        else:
            values[head] = value
    for head, inner in deeper.items():
        values[head] = replace(values.get(head, getattr(config, head)), inner)
    return dataclasses.replace(config, **values)


def to_json(config: RunConfig[Any, Any, Any, Any]) -> str:
    """The config as text, to be read back by `from_json`."""
    return json.dumps(dataclasses.asdict(config), indent=2) + "\n"


def from_json(text: str) -> RunConfig[Any, Any, Any, Any]:
    """The config written by `to_json`; ValueError if it is not one, naming what is wrong."""
    try:
        words = json.loads(text)
        base = default_config(words["task"], words["algo"])
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a run's configuration: {error!r}") from None
    return _filled(base, words)


def _filled(record: Any, words: dict[str, Any]) -> Any:
    """The record with every field read from plain values, nested records alike."""
    names = {f.name for f in dataclasses.fields(record)}
    if not isinstance(words, dict):
        raise ValueError(f"{words!r} stands where {type(record).__name__} should be")
    if unknown := set(words) - names:
        kind = type(record).__name__
        raise ValueError(f"{kind} has no '{sorted(unknown)[0]}': it has {', '.join(sorted(names))}")
    values = {}
    for name, value in words.items():
        old = getattr(record, name)
        if dataclasses.is_dataclass(old):
            value = _filled(old, value)
        elif isinstance(value, list):
            value = tuple(value)
        elif not _alike(value, old):
            raise ValueError(f"{name} is {value!r}, where something like {old!r} should be")
        values[name] = value
    return dataclasses.replace(record, **values)


def _alike(value: Any, usual: Any) -> bool:
    """Whether a plain value can stand where the usual one does; None stands for any."""
    if value is None or usual is None or type(value) is type(usual):
        return True
    return isinstance(usual, float) and type(value) is int


_POSITIVE = (
    "steps",
    "environments",
    "updates_per_rollout",
    "learner.learning_rate",
    "learner.batch_size",
    "learner.target_period",
    "learner.max_gradient_norm",
    "replay.capacity",
    "evaluation.every",
    "evaluation.episodes",
)
_SHARES = ("learner.discount", "learner.target_tau")


def check(config: RunConfig[Any, Any, Any, Any]) -> None:
    """Refuse values that no run can have, before anything is compiled: ValueError, one sentence.

    Ranges of a part's own options are checked by its maker.
    """

    def value(path: str) -> Any:
        record: Any = config
        for name in path.split("."):
            record = getattr(record, name)
        return record

    for path in _POSITIVE:
        if not 0 < value(path) < math.inf:
            raise ValueError(f"{path} is {value(path)}: it must be above 0")
    for path in _SHARES:
        if not 0 <= value(path) <= 1:
            raise ValueError(f"{path} is {value(path)}: it must lie between 0 and 1")
    if not 0 <= config.seed < 2**32:
        raise ValueError(f"seed is {config.seed}: it must be from 0 to {2**32 - 1}")
    if config.learner.batch_size > config.replay.capacity:
        raise ValueError(
            f"learner.batch_size {config.learner.batch_size} is more than replay.capacity"
            f" {config.replay.capacity}: a batch is drawn without replacement"
        )
    if config.environments > config.replay.capacity:
        raise ValueError(
            f"environments {config.environments} is more than replay.capacity"
            f" {config.replay.capacity}: one rollout must fit"
        )
