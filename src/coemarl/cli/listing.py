"""`coe list tasks|algorithms|presets|runs`: what there is, as a table or as JSON."""

import dataclasses
import importlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from coemarl.cli.tables import paragraph, shortened, table
from coemarl.cli.words import parse

Record = dict[str, Any]


@dataclass(frozen=True)
class ListOptions:
    """List what there is to train on (tasks) and with (algorithms, presets), and what was trained
    (runs)."""

    what: Annotated[Literal["tasks", "algorithms", "presets", "runs"], tyro.conf.Positional]
    """What to list."""
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")] = Path("runs")
    """For runs: the folder that they lie in, at any depth."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print a list of records as JSON, with all that is known of each."""


def run(words: list[str]) -> int:
    """List as the words say."""
    options = parse(ListOptions, words, "list WHAT")
    if options.what == "runs":
        records, show = runs(options.folder), runs_table
    else:
        find, show = KINDS[options.what]
        records = find()
    if options.json:
        print(json.dumps(records, indent=1))
    else:
        print("\n".join(show(records)))
    return 0


def tasks() -> list[Record]:
    """The examples of every family, what is fixed about each, and its scripted teams."""
    from coemarl.scripted import policies
    from coemarl.tasks import FAMILIES, make_task

    found = []
    for family, (module, _) in FAMILIES.items():
        for name, summary in importlib.import_module(module).EXAMPLES.items():
            spec = dataclasses.asdict(make_task(name).spec)
            known = {policy: text for policy, (text, _) in policies(name).items()}
            about = {"name": name, "family": family, "summary": summary}
            found.append({**about, "spec": spec, "policies": known})
    return found


def tasks_table(records: list[Record]) -> list[str]:
    rows = [(task["name"], str(task["spec"]["num_agents"]), task["summary"]) for task in records]
    notes = (
        "Any name that says a task works, not only these: 'coe train NAME --help' shows its"
        " options. 'coe eval NAME --policy random' judges a scripted team."
    )
    return [*table(("task", "agents", "what it is"), rows, right=(1,)), "", paragraph(notes)]


def algorithms() -> list[Record]:
    """Every algorithm: the parts that it is made of, and where the paper has it."""
    from coemarl.algorithms import ALGORITHMS

    return [{"name": name, **dataclasses.asdict(row)} for name, row in ALGORITHMS.items()]


def algorithms_table(records: list[Record]) -> list[str]:
    names = ("name", "utility", "mixer", "explorer")
    rows = [
        (*(row[name] for name in names), f"{row['summary']} (paper {row['section']})")
        for row in records
    ]
    return table(("algorithm", *names[1:], "what it is"), rows)


def presets() -> list[Record]:
    """Every preset: its rows of values, each with its table and the runs that it is for."""
    from coemarl.algorithms import ALGORITHMS
    from coemarl.presets import TABLE
    from coemarl.tasks import FAMILIES

    found = []
    for name, preset in TABLE.items():
        rows: list[Record] = []
        for algo in ALGORITHMS:
            for family in FAMILIES:
                try:
                    given = preset.rows(algo, family)
                except ValueError:  # none for such runs
                    continue
                for row in given:
                    record = {"table": row.table, "values": row.values}
                    known = next((r for r in rows if record.items() <= r.items()), None)
                    if known is None:
                        rows.append(known := {**record, "runs": []})
                    known["runs"].append(f"{algo} on {family}")
        found.append({"name": name, "summary": preset.summary, "rows": rows})
    return found


def presets_table(records: list[Record]) -> list[str]:
    lines = []
    for preset in records:
        lines += [paragraph(f"--preset {preset['name']}: {preset['summary']}", "  ")]
        for row in preset["rows"]:
            source = row["table"] or "in no table"
            lines += ["", paragraph(f"{source}: {', '.join(row['runs'])}", "  ")]
            lines += table(("", ""), [(f"  {path}", str(v)) for path, v in row["values"].items()])
    return lines


def runs(path: Path) -> list[Record]:
    """The runs in a folder: what each is, how far it is and what it came to."""
    from coemarl.runs import folder, loop

    found = []
    for each in folder.runs_in(path):
        rows = folder.metric_rows(each)
        config = folder.read_config(each)
        last = rows[-1] if rows else {"steps": 0, "boundary": None}
        complete = last["boundary"] == config.steps
        summary = loop.summary_of(config, each, rows, last["steps"], complete)
        found.append({**summary, "training now": folder.is_locked(each)})
    return found


def runs_table(records: list[Record]) -> list[str]:
    from coemarl.runs.progress import number, quantity

    rows = []
    for each in records:
        state = "done" if each["complete"] else "trains" if each["training now"] else "stopped"
        rows.append(
            (
                shortened(each["task"], 22),
                shortened(each["algo"], 12),
                str(each["seed"]),
                state,
                f"{min(1.0, each['steps'] / each['of']):.0%}",
                quantity(each["of"]),
                number(each["eval/return last"]),
                each["folder"],
            )
        )
    heads = ("task", "algo", "seed", "state", "done", "steps", "return", "folder")
    return table(heads, rows, right=(2, 4, 5, 6))


KINDS = {
    "tasks": (tasks, tasks_table),
    "algorithms": (algorithms, algorithms_table),
    "presets": (presets, presets_table),
}
