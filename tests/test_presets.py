"""Presets: every number of the paper's hyperparameter tables against the paper itself."""

import re
from pathlib import Path
from typing import Any

import pytest

from coemarl import config as configs
from coemarl import presets
from coemarl.presets import paper

NAMES = {  # how the tables call what our options call otherwise; EMC's and MAVEN's scales differ
    "learning rate": "learner.learning_rate",
    "feature dimension $k$": "explorer.counts.k",
    r"$c_\subact$": "explorer.c_act",
    r"$c_\subboot$": "explorer.c_boot",
    r"$c_\subrew$": "explorer.c_rew",
    "RNN discriminator": "explorer.discriminator",
    "MI intrinsic": "explorer.mi_intrinsic",
    "noise bandit": "explorer.bandit",
    "epsilon start": "explorer.start",
    "epsilon anneal": "explorer.anneal_steps",
}
SCALES = {"emc": "explorer.scale", "maven": "explorer.mi_scale"}
TASKS = {"mpe": "mpe:sparse-spread", "lbf": "lbf:15x15-3p-5f"}


def path_of(algo: str, name: str) -> str:
    return SCALES[algo] if name == "curiosity scale" else NAMES[name]


def value_of(path: str, text: str) -> Any:
    """A cell of a table as an option's value."""
    text = text.strip().replace(",", "")
    if path == "explorer.discriminator":
        return {"True": "rnn", "False": "mlp"}[text]
    return {"True": True, "False": False}.get(text) if text in ("True", "False") else float(text)


@pytest.fixture(scope="module")
def tables(shared: Path) -> dict[str, list[list[str]]]:
    """The cells of each of the paper's hyperparameter tables, by label, without its heading."""
    text = (shared / "paper" / "coe.tex").read_text(encoding="utf-8")
    found = {}
    for block in re.findall(r"\\begin\{table\}.*?\\end\{table\}", text, re.DOTALL):
        label = re.search(r"\\label\{(tab:apx-hyperparam[^}]*)\}", block)
        if label:
            body = block[block.index("\\midrule") : block.index("\\bottomrule")]
            lines = [line for line in body.splitlines() if "&" in line]
            found[label[1]] = [
                [cell.strip() for cell in line.replace("\\\\", "").split("&")] for line in lines
            ]
    return found


@pytest.mark.parametrize("algo", paper.TABLES)
def test_every_number_is_the_papers(algo: str, tables: dict[str, list[list[str]]]) -> None:
    table = paper.TABLES[algo]
    rows = tables[table.label]
    assert [path_of(algo, row[0]) for row in rows] == list(table.swept)
    for name, swept, *best in rows:
        path = path_of(algo, name)
        assert [value_of(path, cell) for cell in swept.split("/")] == list(table.swept[path])
        for benchmark, cell in zip(("mpe", "lbf", "smac"), best, strict=True):
            assert table.best[benchmark][path] == value_of(path, cell), (benchmark, path)


def test_every_table_is_here(tables: dict[str, list[list[str]]]) -> None:
    ours = {table.label for table in paper.TABLES.values()} | {paper.COMMON.table}
    assert ours == set(tables)


def test_common_settings_are_the_papers(tables: dict[str, list[list[str]]]) -> None:
    said = dict(tables[paper.COMMON.table])
    values = paper.COMMON.values
    assert values["utility.hidden"] == int(said["hidden dimension"])
    assert str(values["learner.standardise_rewards"]) == said["reward standardization"]
    tau, update = values["learner.target_tau"], values["learner.target_update"]
    assert f"{tau} ({update})" == said["target update"]


@pytest.mark.parametrize("family", TASKS)
@pytest.mark.parametrize("algo", paper.TABLES)
def test_presets_are_configurations(algo: str, family: str) -> None:
    """Every path of a preset names an option, and the values arrive there."""
    config = presets.apply(configs.default_config(TASKS[family], algo), "paper")
    for row in paper.rows(algo, family):
        for path, value in row.values.items():
            record: Any = config
            for name in path.split("."):
                record = getattr(record, name)
            assert record == value or path in later(algo, family, row), path
    assert config.steps == 4_000_000
    assert config.learner.time_limit_is_terminal


def later(algo: str, family: str, row: paper.Row) -> set[str]:
    """Paths that a later row of the preset says again."""
    rows = list(paper.rows(algo, family))
    return {path for other in rows[rows.index(row) + 1 :] for path in other.values}


@pytest.mark.parametrize(
    ("algo", "size"),
    [  # learning rates x what else was swept, less what the text leaves out
        ("coe", 3 * 3 * (3**3 - 1)),
        ("ucb-cen", 3 * 3 * 2),
        ("emc", 3 * 7),
        ("qmix", 3 * 2),
        # Intrinsic, with an MLP and 7 scales; or not, with either discriminator; times 2 x 2.
        ("maven", 3 * (7 + 2) * 4),
    ],
)
def test_searches_leave_out_what_the_text_does(algo: str, size: int) -> None:
    tried = list(paper.search(algo, "lbf"))
    assert len(tried) == size
    assert len({tuple(values.items()) for values in tried}) == size
    base = presets.apply(configs.default_config(TASKS["lbf"], algo), "paper")
    for values in tried:
        configs.replace(base, values)


def test_what_the_paper_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no settings of vdn"):
        presets.apply(configs.default_config(TASKS["lbf"], "vdn"), "paper")
    with pytest.raises(ValueError, match="no preset 'papers'"):
        presets.apply(configs.default_config(TASKS["lbf"], "coe"), "papers")


@pytest.mark.parametrize("algo", ["emc", "maven"])
def test_originals_are_for_their_algorithm_only(algo: str) -> None:
    original = presets.apply(configs.default_config(TASKS["lbf"], algo), f"{algo}-original")
    assert original.utility.hidden == 64
    assert original.explorer.memory if algo == "emc" else original.explorer.latents == 16
    with pytest.raises(ValueError, match=f"is for algorithm {algo}"):
        presets.apply(configs.default_config(TASKS["lbf"], "coe"), f"{algo}-original")
