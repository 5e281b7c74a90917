"""The contract of tasks, checked over every kind of task there is."""

import importlib
import re

import pytest

from coemarl.tasks import FAMILIES, make_task
from coemarl.tasks.contract import check, check_shapes

EXAMPLES = [
    name for module, _ in FAMILIES.values() for name in importlib.import_module(module).EXAMPLES
]
KINDS = {re.sub(r"\d+", "N", name): name for name in EXAMPLES}
"""Names that differ in their numbers alone are of one kind."""
SHAPES_ONLY = {name for name in KINDS.values() if name.startswith("battle:")}
"""Maps of one game, dear to compile: two are played, of the others the shapes are checked."""
PLAYED = [*sorted(set(KINDS.values()) - SHAPES_ONLY), "battle:3m", "battle:2s3z"]


@pytest.mark.parametrize("name", [name for name in PLAYED if name in EXAMPLES])
def test_every_kind_of_task_keeps_the_contract(name: str) -> None:
    check(make_task(name))


@pytest.mark.parametrize("name", sorted(SHAPES_ONLY))
def test_every_map_shows_what_its_spec_says(name: str) -> None:
    check_shapes(make_task(name))


def test_legal_masks_keep_the_contract() -> None:
    check(make_task("lbf:5x5-2p-2f", mask="legal", episode_limit=10))


@pytest.mark.parametrize("name", EXAMPLES)
def test_names_make_the_same_task_again(name: str) -> None:
    spec = make_task(name).spec
    assert make_task(spec.name).spec == spec
