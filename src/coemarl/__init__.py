"""coemarl: conditionally optimistic exploration for cooperative multi-agent learning, in JAX.

The public names. Each is imported when it is first used, so that `import coemarl` costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coemarl.algorithms import ALGORITHMS, Algorithm
    from coemarl.config import RunConfig, default_config, replace
    from coemarl.refusal import Refusal
    from coemarl.tasks import Task, TaskSpec, TimeStep, make_task, task_options
    from coemarl.training import Trainer, TrainState, make_trainer

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Refusal",
    "RunConfig",
    "Task",
    "TaskSpec",
    "TimeStep",
    "TrainState",
    "Trainer",
    "default_config",
    "make_task",
    "make_trainer",
    "replace",
    "task_options",
]

# Public name: the module that has it.
_HOMES = {
    "ALGORITHMS": "algorithms",
    "Algorithm": "algorithms",
    "Refusal": "refusal",
    "RunConfig": "config",
    "Task": "tasks",
    "TaskSpec": "tasks",
    "TimeStep": "tasks",
    "TrainState": "training",
    "Trainer": "training",
    "default_config": "config",
    "make_task": "tasks",
    "make_trainer": "training",
    "replace": "config",
    "task_options": "tasks",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'coemarl' has no attribute '{name}'")
    return getattr(importlib.import_module(f"coemarl.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
