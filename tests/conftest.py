"""Strictness for every test, and where the shared reference data lies."""

import os
from pathlib import Path

import jax
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

REPO = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of golden traces and published weights; tests that need it skip without it."""
    folder = Path(os.environ.get("COEMARL_SHARED", REPO.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no folder of golden traces at {folder} (set COEMARL_SHARED)")
    return folder
