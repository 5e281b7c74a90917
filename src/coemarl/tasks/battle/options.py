"""Options of a battle, and its names."""

from dataclasses import dataclass
from typing import Literal

from coemarl.tasks.battle import maps
from coemarl.tasks.battle.units import KINDS

REWARDS = ("positive", "signed", "sparse", "damage")


@dataclass(frozen=True)
class Options:
    """Every choice about a battle."""

    map: str = "3s_vs_5z"
    """A map's name, or a file of one (.toml)."""
    rules: Literal["liberty", "smaclite"] = "liberty"
    """Units and behaviour of the game that the original's maps use, or SMAClite's."""
    reward: Literal["positive", "signed", "sparse", "damage"] = "positive"
    """The original's absolute value of the enemies' change; with the allies' losses counted
    against it; 1 for a win and -1 for a loss; or SMAClite's sum of hits (rules smaclite)."""
    reward_win: float = 200.0
    """Of a win, before scaling."""
    reward_defeat: float = 0.0
    """Of a loss, before scaling."""
    reward_death_value: float = 10.0
    """Of an enemy's death, before scaling."""
    reward_negative_scale: float = 0.5
    """What the allies' losses count under the reward 'signed'."""
    reward_scale: bool = True
    """Whether a win without regeneration returns `reward_scale_rate`."""
    reward_scale_rate: float = 20.0
    """What a win returns."""
    obs_last_action: bool = False
    """Whether the others' last actions are observed."""
    state_last_action: bool = True
    """Whether the state shows the last joint action."""
    timeout_terminates: bool = False
    """Whether the episode limit counts as an end of the game, as in the original with its default
    continuing_episode=False; else it is a truncation."""
    episode_limit: int | None = None
    """Steps after which an episode is cut. None: the map's."""


def parse(words: str) -> Options:
    """The options that a name says; words are the name after `battle:`.

    `3s_vs_5z`, or `3s_vs_5z@smaclite` for other rules than `liberty`.
    """
    name, at, rules = words.rpartition("@")
    options = Options(map=name, rules=rules) if at else Options(map=words)  # type: ignore[arg-type]
    check(options)
    maps.load(options.map)
    return options


def name_of(options: Options) -> str:
    """The canonical name: what it cannot say are options."""
    return f"battle:{options.map}" + ("" if options.rules == "liberty" else f"@{options.rules}")


def check(options: Options) -> None:
    """Refuse options that make no battle, in one sentence each."""
    if options.rules not in KINDS:
        raise ValueError(f"rules are '{options.rules}': they are {' or '.join(KINDS)}")
    if options.reward not in REWARDS:
        raise ValueError(f"reward is '{options.reward}': it is {', '.join(REWARDS)}")
    if options.reward == "damage" and options.rules != "smaclite":
        raise ValueError("reward 'damage' is SMAClite's: it needs rules 'smaclite'")
    if not options.reward_scale_rate > 0:
        raise ValueError(f"reward_scale_rate is {options.reward_scale_rate}: it is above 0")
    if options.episode_limit is not None and options.episode_limit < 1:
        raise ValueError(f"episode_limit is {options.episode_limit}: it is at least 1 step")
