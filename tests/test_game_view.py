"""The picture of the game's tree: what it shows is what the agents saw."""

import math

import imageio.v3 as imageio
import numpy as np
import pytest

from coemarl.cli import main
from coemarl.game import growth, view
from coemarl.game.options import GameOptions, Rules

OPTIONS = GameOptions(agents=2, actions=2, p0=(0.4,), learners=("dep-dep",), steps=40, seeds=1)


@pytest.fixture(scope="module")
def grown():
    return growth.grow(OPTIONS)


def test_a_moment_is_the_tree_before_its_step(grown):
    moments = [grown.moment(step) for step in range(1, 41)]
    visits, paid = np.zeros(7), np.zeros(7)
    for moment in moments:
        assert moment.visits.tolist() == visits.tolist()
        assert moment.mean == pytest.approx(paid / np.maximum(visits, 1))
        for node in range(1, 7):
            parent = (node - 1) // 2
            bonus = math.inf
            if visits[node]:
                bonus = math.sqrt(2 * math.log(visits[parent]) / visits[node])
            assert moment.bonus[node] == pytest.approx(bonus, rel=1e-5)
        visits[moment.path] += 1
        paid[moment.path] += moment.paid
    assert visits[0] == 40
    missed = sum(moment.path.tolist() != grown.optimal.tolist() for moment in moments)
    assert moments[-1].regret == pytest.approx(0.5 * missed)


def test_every_choice_has_the_highest_value_and_bonus(grown):
    for step in range(1, 41):
        moment = grown.moment(step)
        score = moment.mean + moment.bonus
        for parent, child in zip(moment.path, moment.path[1:], strict=False):
            siblings = score[2 * parent + 1 : 2 * parent + 3]
            assert score[child] >= siblings.max() - 1e-5


def test_a_picture_shows_visits_payoffs_and_the_chosen_path(grown):
    early, late = (view.frame(grown, grown.moment(step)) for step in (2, 40))
    assert late.shape == (view.HEIGHT, view.WIDTH, 3)
    moment = grown.moment(40)
    points = view.places(2, 2)
    visited = int(moment.visits[moment.path[1]])
    x, y = points[moment.path[1]]
    size = view.radius(visited, 34)
    at = (round(y - 0.7 * size), round(x - 0.3 * size))
    colour = view.colour(float(moment.mean[moment.path[1]]))
    assert "#" + "".join(f"{channel:02x}" for channel in late[at]) == colour
    assert (early != late).any()
    # The chosen line is bold and in the agent's colour, the other one thin.
    row = round(points[0][1] + 0.35 * (points[1][1] - points[0][1]))
    blue = (late[row, 110:].astype(int) - [47, 111, 214] == 0).all(axis=1)
    assert blue.sum() >= 5


def test_sizes_and_colours_grow_with_what_they_mean():
    sizes = [view.radius(visits, 34) for visits in (0, 1, 10, 100)]
    assert sizes == sorted(sizes)
    assert view.radius(10**6, 34) == 34
    assert view.colour(0.0) == view.SCALE[0][1]
    assert view.colour(1.0) == view.SCALE[-1][1]
    assert len({view.colour(mean / 10) for mean in range(11)}) == 11


def test_a_film_shows_the_first_steps_and_the_last():
    assert view.film_steps(5) == [1, 2, 3, 4, 5]
    steps = view.film_steps(400)
    assert steps[: view.EACH_STEP] == list(range(1, view.EACH_STEP + 1))
    assert steps[-1] == 400
    assert len(steps) <= view.FILM_FRAMES
    assert (np.diff(steps) >= 1).all()


def test_the_command_writes_picture_and_film(tmp_path, capsys, grown):
    words = [
        "--agents",
        "2",
        "--actions",
        "2",
        "--steps",
        "40",
        "--learners",
        "dep-dep",
        "--p0",
        "0.4",
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view, "film_steps", lambda steps: [1, 20, steps])
        assert main(["game", "--show", *words, "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / f"tree.{x}") for x in ("png", "gif")]
    picture = imageio.imread(tmp_path / "tree.png")
    assert (picture == view.frame(grown, grown.moment(40))).all()
    assert len(imageio.imread(tmp_path / "tree.gif", index=None)) == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--agents 4", "cannot be read: show at most 32"),
        ("--learners central", "choose dep-dep or ind-dep"),
        ("--out /dev/null/there", "cannot write"),
    ],
)
def test_what_cannot_be_shown_is_refused(words, says, capsys):
    assert main(["game", "--show", *words.split()]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_own_values_are_shown_without_a_claim_about_the_mean():
    rules = Rules(unvisited="offset")
    other = growth.grow(GameOptions(2, 2, (0.4,), ("ind-dep",), 40, 1, rules))
    assert np.isfinite(other.moment(1).bonus).all()
    assert view.frame(other, other.moment(40)).std() > 0
