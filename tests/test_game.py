"""The didactic game: learners against plain twins choice for choice, known limits, what is said."""

import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from coemarl.bench import game as bench
from coemarl.cli import main
from coemarl.game import payoff, plain, results, run
from coemarl.game.central import make_central
from coemarl.game.learners import make_dep_dep
from coemarl.game.options import GameOptions, Rules
from coemarl.game.run import Outcome

STEPS = 1500
MEAN = Rules(estimate="mean", unvisited="first", ties="random")
OFFSET = Rules(estimate="mean", unvisited="offset", ties="first")
MOVED = Rules(estimate=0.05, unvisited="offset", ties="random")
FACTORED = ("dep-dep", "ind-dep", "ind-ind")


def options_of(rules: Rules, agents: int = 3, actions: int = 3, **others) -> GameOptions:
    return GameOptions(agents=agents, actions=actions, rules=rules, **others)


def with_c(rules: Rules, c: float) -> Rules:
    return Rules(c, rules.estimate, rules.unvisited, rules.ties)


def recorded(name: str, options: GameOptions, p0: float, seed: int) -> tuple[list, list, list]:
    """Joint actions, payoffs and optimal joint action of a compiled game."""
    game, steps = run.record(name, options, p0, seed)
    return steps.actions.tolist(), steps.paid.tolist(), game.optimal.tolist()


def draws_for(seed: int, agents: int, steps: int) -> list[list[float]]:
    """The draws of a seed's game, as numbers."""
    key = jax.random.split(jax.random.key(seed))[1]
    blocks = range(-(-steps // run.BLOCK))
    made = [run.draws_of(key, jnp.int32(block), agents) for block in blocks]
    return np.concatenate(made)[:steps].tolist()


# Learners


def rounding_decides(team, ours, twins) -> bool:
    """Whether two joint actions differ only by scores within a float32's rounding."""
    if hasattr(team, "number"):
        scores, pair = team.scores(), (team.number(ours), team.number(twins))
    else:
        i = next(i for i in range(len(ours)) if ours[i] != twins[i])
        scores, pair = team.scores(twins[:i]), (ours[i], twins[i])
    return abs(scores[pair[0]] - scores[pair[1]]) < 2e-6


def compare(team, record, p0: float, draws) -> int:
    """Follow a compiled game step by step; how often rounding decided."""
    rounded = 0
    for joint, paid, draw in zip(*record[:2], draws, strict=True):
        ours, twins = tuple(joint), team.choose(draw)
        if ours != twins:
            assert rounding_decides(team, ours, twins)
            rounded += 1
        assert paid == (draw[-1] < np.float32(0.9 if joint == record[2] else p0))
        team.observe(ours, paid)
    return rounded


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        *((name, rules) for name in ("dep-dep", "central") for rules in (MEAN, OFFSET)),
        *((name, rules) for name in ("ind-dep", "ind-ind") for rules in (MEAN, OFFSET, MOVED)),
    ],
)
def test_a_learner_chooses_as_its_plain_twin(name, rules):
    draws = draws_for(7, 3, STEPS)
    for c, p0 in ((1.0, 0.4), (0.2, 0.0), (0.5, 0.8), (0.0, 0.4)):
        tuned = with_c(rules, c)
        record = recorded(name, options_of(tuned, steps=STEPS), p0, seed=7)
        assert compare(plain.PLAIN[name](tuned, 3, 3), record, p0, draws) <= 2


def test_twins_differ_from_each_other_and_between_rules():
    draws, optimal = draws_for(7, 3, 300), [0, 1, 2]
    runs = {
        (name, rules): tuple(plain.play(plain.PLAIN[name](rules, 3, 3), optimal, 0.4, draws)[0])
        for name in plain.PLAIN
        for rules in (MEAN, OFFSET, MOVED)
        if name != "uniform"
    }
    same = {runs[name, OFFSET] for name in FACTORED}
    assert len(same) == 3
    assert runs["ind-dep", MEAN] != runs["ind-dep", MOVED]


def ucb1(actions: list[int], paid: list[bool], c: float, arms: int, t: int) -> list[int]:
    """The arms that UCB1 may take at step t, by its textbook's formula."""
    tried = [sum(a == arm for a in actions[:t]) for arm in range(arms)]
    if 0 in tried:
        return [arm for arm in range(arms) if tried[arm] == 0]
    won = [sum(p for a, p in zip(actions[:t], paid, strict=False) if a == k) for k in range(arms)]
    score = [w / n + c * math.sqrt(2 * math.log(t) / n) for w, n in zip(won, tried, strict=True)]
    return [arm for arm in range(arms) if score[arm] > max(score) - 1e-5]


@pytest.fixture(scope="module")
def alone():
    """What each learner does as one agent with four actions, by name and c."""
    return {
        (name, c): recorded(name, options_of(with_c(MEAN, c), 1, 4, steps=300), 0.4, seed=3)
        for name in (*FACTORED, "central")
        for c in (1.0, 0.0)
    }


def test_one_agent_is_ucb1_whatever_the_learner(alone):
    for c in (1.0, 0.0):
        first = alone["central", c]
        assert all(alone[name, c] == first for name in FACTORED)
    joints, paid, _ = alone["dep-dep", 1.0]
    actions = [action for (action,) in joints]
    for t in range(300):
        assert actions[t] in ucb1(actions, paid, 1.0, 4, t)
    assert set(actions[50:]) == {0, 1, 2, 3}


def test_without_optimism_the_learner_is_greedy(alone):
    joints, paid, _ = alone["dep-dep", 0.0]
    actions = [action for (action,) in joints]
    assert sorted(actions[:4]) == [0, 1, 2, 3]
    for t in range(4, 300):
        means = [
            np.mean([p for a, p in zip(actions[:t], paid, strict=False) if a == arm])
            for arm in range(4)
        ]
        assert means[actions[t]] == max(means)


def test_central_chooses_as_a_look_at_every_joint_action_would():
    agents, actions, steps = 4, 3, 4000
    draws = jax.random.uniform(jax.random.key(3), (steps, 2))
    powers = jnp.array([27, 9, 3, 1], jnp.int32)

    def played(make, digits):
        def joints(c, p0):
            learner = make(c)

            def step(state, draw):
                chosen, trace = learner.choose(state, jnp.full(agents, draw[0]))
                joint = (chosen * digits).sum()
                paid = draw[1] < jnp.where(joint == 50, 0.9, p0)
                return learner.observe(state, trace, paid), joint

            return lax.scan(step, learner.init(), draws)[1]

        return jax.jit(joints)

    blocks = played(lambda c: make_central(with_c(MEAN, c), agents, actions), powers)
    # One agent whose actions are the joint actions, on the library's own tree.
    tree = played(lambda c: make_dep_dep(with_c(MEAN, c), 1, actions**agents), powers[-1:])
    for c, p0 in ((1.0, 0.4), (0.3, 0.8), (1.0, 0.0), (0.02, 0.4), (0.0, 0.4)):
        ours, theirs = (make(jnp.float32(c), jnp.float32(p0)) for make in (blocks, tree))
        assert ours.tolist() == theirs.tolist()


def test_the_game_pays_its_optimal_joint_action_best():
    game = payoff.make_game(jax.random.key(0), 4, 3, jnp.float32(0.4))
    other = (game.optimal + jnp.array([0, 0, 0, 1])) % 3
    for actions, share in ((game.optimal, 0.9), (other, 0.4)):
        paid = [bool(payoff.pays(game, actions, jnp.float32(x))) for x in (share - 0.01, share)]
        assert paid == [True, False]
    seeds = jax.vmap(lambda key: payoff.make_game(key, 2, 3, jnp.float32(0)).optimal)
    drawn = seeds(jax.random.split(jax.random.key(1), 900))
    counts = np.bincount(np.asarray(drawn) @ np.array([3, 1]), minlength=9)
    assert counts.sum() == 900
    assert ((counts > 60) & (counts < 140)).all()  # 100 ± 4 standard deviations


# Many games


@pytest.fixture(scope="module")
def outcome():
    """Five seeds of a small team, over steps that are no multiple of a block."""
    return run.play("ind-ind", options_of(MEAN, 2, steps=1234, seeds=5), 0.4)


def test_many_games_are_the_games_of_their_seeds(outcome):
    options = options_of(MEAN, 2, steps=1234)
    for seed in (0, 4):
        joints, _, optimal = recorded("ind-ind", options, 0.4, seed)
        hits = np.array([joint == optimal for joint in joints])
        assert outcome.hits[seed].tolist() == hits.cumsum()[outcome.steps - 1].tolist()
        assert outcome.late_share[seed] == pytest.approx(hits[-124:].mean())
    assert outcome.steps.tolist() == [*range(100, 1300, 100), 1234]


def test_regret_grows_from_zero_by_no_more_than_the_gap(outcome):
    grown = np.diff(outcome.regret, axis=1, prepend=0)
    long = np.diff(outcome.steps, prepend=0)
    assert (grown >= 0).all()
    assert (grown <= 0.5 * long + 1e-9).all()
    assert (outcome.final_regret > 0).all()


def test_a_uniform_player_regrets_its_closed_form():
    assert payoff.uniform_regret(2, 3, 0.4, 90) == pytest.approx(40)
    options = options_of(MEAN, 2, steps=2000, seeds=100)
    played = run.play("uniform", options, 0.4)
    error = played.final_regret.std(ddof=1) / 10
    closed = payoff.uniform_regret(2, 3, 0.4, 2000)
    assert abs(played.final_regret.mean() - closed) < 4 * error
    assert error < 0.01 * closed


def test_every_learner_plays_the_same_games_in_threads():
    options = options_of(MEAN, 2, steps=300, seeds=3, learners=("ind-ind", "uniform"), p0=(0.4,))
    one, two = (run.play_all(options, threads) for threads in (1, 2))
    assert [each.learner for each in two] == ["ind-ind", "uniform"]
    assert all((a.hits == b.hits).all() for a, b in zip(one, two, strict=True))


def test_games_that_do_not_fit_are_refused():
    options = options_of(MEAN, 12, seeds=50, learners=("dep-dep",))
    run.check_memory(options, None)
    with pytest.raises(ValueError, match="take fewer seeds"):
        run.check_memory(options, 2**20)


# Results


@pytest.fixture
def outcomes():
    """Two seeds of two learners, by hand."""
    steps = np.array([100, 200])
    hits = np.array([[10, 60], [20, 110]])
    return [
        Outcome("dep-dep", 0.4, steps, hits, np.array([0.5, 0.9])),
        Outcome("central", 0.8, steps, hits, np.array([0.5, 0.5])),
    ]


def test_the_table_says_means_errors_and_intervals(outcomes):
    head, rule, first, second = results.table(outcomes).splitlines()
    assert len({len(line) for line in (head, rule, first, second)}) == 1
    cells = [cell.strip() for cell in first.strip("|").split("|")]
    # Regrets 0.5 (200 - 60) = 70 and 0.5 (200 - 110) = 45.
    assert cells == [
        *("DepRew-DepOpt", "0.4"),
        *("57.5", "12.5", "45.0 to 70.0"),
        *("70.0%", "20.0%", "50.0% to 90.0%"),
    ]
    assert second.split("|")[1].strip() == "UCB-Cen"


def test_rows_tell_the_regret_of_every_seed(outcomes):
    options = GameOptions(steps=200, seeds=2)
    rows = list(results.rows(outcomes, options))
    assert [(row["learner"], row["seed"]) for row in rows] == [
        (name, seed) for name in ("dep-dep", "central") for seed in (0, 1)
    ]
    for row in rows:
        regret = (0.9 - row["p0"]) * (np.array(row["at"]) - row["hits"])
        assert row["regret"] == pytest.approx(regret[-1])
    assert rows[0]["estimate"] == "mean"


def test_a_long_curve_is_thinned_evenly():
    kept = results.kept_points(1000)
    assert kept.tolist() == list(range(9, 1000, 10))
    assert results.kept_points(3).tolist() == [0, 1, 2]


# The command

SMALL = ["game", "--agents", "2", "--steps", "250", "--seeds", "3", "--learners", "ind-ind"]


def test_the_command_prints_and_writes_the_same(tmp_path, capsys, outcome):
    assert main([*SMALL, "--p0", "0.4", "--json", "--out", str(tmp_path)]) == 0
    said = json.loads(capsys.readouterr().out)
    (result,) = said["results"]
    assert len(result["final_regret_of_seeds"]) == 3
    mean = np.mean(result["final_regret_of_seeds"])
    assert result["final_regret"]["mean"] == pytest.approx(mean)
    assert 0 <= result["late_share"]["mean"] <= 1
    assert json.loads((tmp_path / "summary.json").read_text())["results"] == said["results"]
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["regret"] for row in rows] == pytest.approx(result["final_regret_of_seeds"])
    assert "IndRew-IndOpt" in (tmp_path / "table.md").read_text()
    assert (tmp_path / "curves.png").read_bytes()[1:4] == b"PNG"
    assert (tmp_path / "curves.pdf").read_bytes()[:4] == b"%PDF"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--p0 0.95", "below 0.9"),
        ("--p0 0.4 0.4", "twice"),
        ("--agents 0", "at least 1"),
        ("--agents 30", "joint actions"),
        ("--c -1", "at least 0"),
        ("--estimate often", "mean, or a step size"),
        ("--estimate 1.5", "at most 1"),
        ("--threads 0", "at least 1"),
        ("--out /dev/null/there", "cannot write"),
    ],
)
def test_wrong_words_are_refused_in_a_sentence(words, says, capsys):
    assert main(["game", *words.split()]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_the_benchmark_measures_both_sides():
    game = options_of(MEAN, 2, seeds=5, learners=("ind-ind",))
    record = bench.measure(bench.Options(repetitions=1, seconds=0.01, game=game))
    (row,) = record["learners"]
    assert row["ratio"] > 0
    games = 5 * 3 * game.steps
    assert record["whole"]["core_seconds"] == pytest.approx(
        games * row["seconds_per_step"]["cpu_median"]
    )
    machine = {"load": None, "cores": 2, "processor": "x", "jax": "1"}
    assert "plain Python" in bench.render({**record, "machine": machine})
