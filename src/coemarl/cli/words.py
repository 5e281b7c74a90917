"""From words to options, and from any error about them to one sentence."""

import contextlib
import io
import re
import sys
from collections.abc import Sequence
from typing import Any, TypeVar

import tyro

from coemarl.refusal import Refusal
from coemarl.refusal import refusing as refusing  # for the commands

Options = TypeVar("Options")


def parse(
    kind: Any, words: Sequence[str], command: str, default: Any = None, description: str = ""
) -> Any:
    """The options that the words say, made by the parser of the dataclass `kind`.

    `--help` prints and leaves with status 0; words that say nothing are refused in a sentence.
    """
    said = io.StringIO()
    given: dict[str, Any] = {} if default is None else {"default": default}
    if description:
        given["description"] = description
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(kind, args=list(words), prog=f"coe {command}", **given)
    except SystemExit as leaving:
        if not leaving.code:
            raise
        raise Refusal(sentence_of(said.getvalue(), command.split()[0])) from None
    finally:
        if not said.getvalue().startswith("╭"):  # a warning, not the error that is said above
            sys.stderr.write(said.getvalue())


def sentence_of(boxes: str, command: str) -> str:
    """The parser's framed message as one sentence: what is wrong, and the options it would guess.

    Frames have sections between rules; the first says what is wrong, the others help.
    """
    lines = [line.strip("│╭╮╰╯ ") for line in boxes.splitlines() if line.startswith("│")]
    sections = re.split(r"\n─+\n", "\n".join(lines))
    wrong = " ".join(sections[0].split()).rstrip(".")
    wrong = wrong.removeprefix("Error parsing ").replace("config.", "", 1)
    guesses = [
        word
        for section in sections[1:]
        if section.lstrip().startswith("Perhaps you meant")
        for word in re.findall(r"(?m)^\s*(--[\w.-]+)", section)
    ]
    if guesses:
        wrong += f" (perhaps {' or '.join(dict.fromkeys(guesses))})"
    return f"{wrong}; 'coe {command} --help' shows every option"


def value_of(words: Sequence[str], option: str) -> str | None:
    """The last value given to an option, as `--name value` or `--name=value`."""
    value = None
    for position, word in enumerate(words):
        if word == option and position + 1 < len(words):
            value = words[position + 1]
        elif word.startswith(option + "="):
            value = word.partition("=")[2]
    return value
