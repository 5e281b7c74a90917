"""The contract of tasks, checked over every kind of task there is."""

import importlib
import re

import pytest

from coemarl.tasks import FAMILIES, make_task
from coemarl.tasks.contract import check

EXAMPLES = [
    name for module, _ in FAMILIES.values() for name in importlib.import_module(module).EXAMPLES
]
KINDS = {re.sub(r"\d+", "N", name): name for name in EXAMPLES}
"""Names that differ in their numbers alone are of one kind."""


@pytest.mark.parametrize("name", KINDS.values())
def test_every_kind_of_task_keeps_the_contract(name: str) -> None:
    check(make_task(name))


def test_legal_masks_keep_the_contract() -> None:
    check(make_task("lbf:5x5-2p-2f", mask="legal", episode_limit=10))


@pytest.mark.parametrize("name", EXAMPLES)
def test_names_make_the_same_task_again(name: str) -> None:
    spec = make_task(name).spec
    assert make_task(spec.name).spec == spec
