"""Battles are compared with recordings alone: SMAClite is on no package index, and the game cannot
be stepped beside ours."""

from coemarl.parity.report import ParityRow
from coemarl.tasks.battle import Options


def live(options: Options, episodes: int, seed: int) -> list[ParityRow]:
    """Refuses, and says what can be done instead."""
    del episodes, seed
    raise ValueError(
        f"battle:{options.map} has no original to step beside it: replay recorded episodes of"
        " SMAClite instead, as coe parity FOLDER does"
    )
