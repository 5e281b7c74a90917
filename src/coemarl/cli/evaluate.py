"""`coe eval RUN`: judge what runs have learned; `coe eval TASK --policy NAME`: a scripted team."""

import json
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from coemarl.cli.tables import paragraph, table
from coemarl.cli.words import parse
from coemarl.refusal import Refusal

if TYPE_CHECKING:
    from coemarl.runs.team import Team

MEANINGS = {
    "eval/return": "undiscounted return of the team, mean over episodes",
    "eval/return_std": "its standard deviation over episodes",
    "eval/length": "steps of an episode, mean",
}


@dataclass(frozen=True)
class EvalOptions:
    """Judge a team by whole episodes in which it acts greedily, each agent alone, without any
    bonus. Without further options the last evaluation of a run is made again."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The folder of a run, or of several; with --policy the name of a task."""
    episodes: int | None = None
    """Episodes to play. None: as many as in the run's own evaluations (policies: 100)."""
    seed: int | None = None
    """Seed of the episodes. None: the run's own (policies: 0)."""
    checkpoint: int | None = None
    """The step of the checkpoint to take. None: the newest."""
    policy: str | None = None
    """Judge a scripted team of the task instead: random, or one that its family has."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print a list with a record of each team as JSON."""


def run(words: list[str]) -> int:
    """Evaluate as the words say."""
    options = parse(EvalOptions, words, "eval")
    found = teams(options.run, options.policy, options.checkpoint, options.episodes, options.seed)
    records = []
    for team in found:
        judged = {"episodes": team.episodes, "episodes seed": team.seed}
        records.append({**team.facts, **judged, **team.evaluate()})
    if options.json:
        print(json.dumps(records, indent=1))
    elif len(found) == 1:
        print("\n".join(one_table(found[0], records[0])))
    else:
        print("\n".join(many_table(records)))
    return 0


def teams(
    place: str,
    policy: str | None,
    checkpoint: int | None,
    episodes: int | None = None,
    seed: int | None = None,
) -> list["Team"]:
    """The teams that a word names: a run, several in a folder, or a task's policy."""
    if policy is not None and checkpoint is not None:
        raise Refusal("--policy and --checkpoint are both given: a scripted team has none")
    if policy is None and ":" in place and not Path(place).exists():
        raise Refusal(f"{place} is no folder of a run: to judge a task's script, name its --policy")
    from coemarl.runs import folder, team

    if policy is not None:
        return [team.of_policy(place, policy, episodes, seed)]

    def note(text: str) -> None:
        print(f"note: {text}", file=sys.stderr)

    found = folder.runs_in(Path(place))
    return [team.of_run(each, note, checkpoint, episodes, seed) for each in found]


def one_table(team: "Team", record: dict[str, Any]) -> list[str]:
    """Every metric of one team, with its meaning."""
    meanings = {**MEANINGS, **{f"eval/{name}": text for name, text in team.spec.infos}}
    played = f"{team.episodes} greedy episodes" if "algo" in record else f"{team.episodes} episodes"
    rows = [
        (name, f"{record[name]:.4g}", meaning)
        for name, meaning in meanings.items()
        if name in record
    ]
    head = paragraph(f"{team.name}: {played} of seed {team.seed}")
    return [head, "", *table(("metric", "value", "meaning"), rows, right=(1,))]


def many_table(records: list[dict[str, Any]]) -> list[str]:
    """One line for each run, and one for what they have in common if their task and algorithm
    are the same."""
    rows = [row_of(record, str(record["seed"]), record["folder"]) for record in records]
    if len({(record["task"], record["algo"]) for record in records}) == 1:
        means = {
            name: statistics.fmean(record[name] for record in records)
            for name in ("steps", "eval/return", "eval/return_std", "eval/length")
        }
        rows.append(row_of({**records[0], **means}, "mean", ""))
    heads = ("task", "algo", "seed", "step", "return", "± std", "length", "run")
    return table(heads, rows, right=(2, 3, 4, 5, 6))


def row_of(record: dict[str, Any], seed: str, place: str) -> tuple[str, ...]:
    values = (f"{record[f'eval/{name}']:.4g}" for name in ("return", "return_std", "length"))
    return (record["task"], record["algo"], seed, f"{record['steps']:.0f}", *values, place)
