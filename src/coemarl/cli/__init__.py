"""The command line: `coe COMMAND ...`. One module a command, each with `run(words) -> status`.

A wish that cannot be met ends with one sentence on standard error and status 2; results go to
standard output, progress and notes to standard error. This module imports nothing that computes,
so that `coe --help` answers at once.
"""

import importlib
import os
import sys
from collections.abc import Sequence

from coemarl.refusal import Refusal

# Command: (module, what it does).
COMMANDS = {
    "train": ("coemarl.cli.train", "train a team on a task, or go on with a run"),
    "eval": ("coemarl.cli.evaluate", "judge the team of a run by greedy episodes"),
    "watch": ("coemarl.cli.watch", "make a GIF of episodes of a run's team"),
    "list": ("coemarl.cli.listing", "list tasks, algorithms, presets or runs"),
    "study": ("coemarl.cli.study", "do many runs from one file, and see how far they are"),
    "export": ("coemarl.cli.export", "write the rows of many runs as one table"),
    "report": ("coemarl.cli.report", "tables, curves and statistics of studies and runs"),
    "demo": ("coemarl.cli.demo", "train COE on a small task for two minutes and show the result"),
    "game": ("coemarl.cli.game", "the didactic matrix game of the paper"),
    "parity": ("coemarl.cli.parity", "compare the tasks with the original environments"),
    "bench": ("coemarl.cli.bench", "measure the speed of tasks, learner or game"),
    "doctor": ("coemarl.cli.doctor", "versions, devices, memory, and what a run would need"),
}


def help_text() -> str:
    """What `coe --help` prints."""
    lines = [f"  {name:<8} {summary}" for name, (_, summary) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: coe COMMAND [OPTIONS]",
            "",
            "Find cooperative strategies that other trainers miss: conditionally optimistic",
            "exploration (COE) and its rivals, compiled from environment to learner.",
            "",
            "commands:",
            *lines,
            "",
            "'coe COMMAND --help' shows the options of a command. To begin with:",
            "  coe train lbf:8x8-2p-2f-coop --algo coe --steps 200000",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            return answer(words)
        finally:
            sys.stdout.flush()  # here, where a reader that has left is known what to do about
    except Refusal as error:
        print(f"coe: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("coe: interrupted", file=sys.stderr)
        return 130


def answer(words: list[str]) -> int:
    """Do what the words say."""
    if not words or words[0] in ("-h", "--help", "help"):
        print(help_text())
        return 0 if words else 2
    if words[0] == "--version":
        from importlib.metadata import version

        print(f"coemarl {version('coemarl')}")
        return 0
    return dispatch(words[0], words[1:])


def dispatch(command: str, words: list[str]) -> int:
    """Import the command's module and run it."""
    if command not in COMMANDS:
        raise Refusal(f"no command '{command}': there are {', '.join(COMMANDS)}")
    from coemarl.runs import machine

    machine.prepare()
    return importlib.import_module(COMMANDS[command][0]).run(words)
