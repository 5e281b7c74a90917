"""From words to options, and from any error about them to one sentence."""

import contextlib
import functools
import inspect
import io
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import tyro

from coemarl.refusal import Refusal, refusing

HELP_WIDTH = 80
"""Columns of the text above the options."""


def parse(
    kind: Any, words: Sequence[str], command: str, default: Any = None, description: str = ""
) -> Any:
    """The options that the words say, made by the parser of the dataclass `kind`.

    `--help` prints and leaves with status 0; words that say nothing are refused in a sentence.
    """
    said = io.StringIO()
    given: dict[str, Any] = {} if default is None else {"default": default}
    about = inspect.cleandoc(description or kind.__doc__ or "")
    # Indented lines, for the parser joins others again.
    fill = functools.partial(textwrap.fill, width=HELP_WIDTH, subsequent_indent="  ")
    wrapped = map(fill, about.split("\n\n"))
    given["description"] = "\n\n".join(wrapped)
    try:
        with refusing(), contextlib.redirect_stderr(said):
            options = tyro.cli(kind, args=list(words), prog=f"coe {command}", **given)
    except SystemExit as leaving:
        if not leaving.code:
            raise
        raise Refusal(sentence_of(said.getvalue(), command)) from None
    sys.stderr.write(said.getvalue())  # warnings, if there are any
    return options


def sentence_of(message: str, command: str) -> str:
    """The parser's framed message as one sentence: what is wrong, and the options it would guess.

    Frames (drawn by lines, or by spaces where the stream knows no lines) have a title, and
    sections between rules; the first says what is wrong, the others help.
    """
    lines = [line.strip("│╭╮╰╯ ") for line in message.splitlines()]
    text = "\n".join("---" if set(line) <= set("-─") else line for line in lines[1:])
    sections = [part for part in re.split(r"(?:^|\n)(?:---\n?)+", text) if part.strip()]
    wrong = said_plainly(" ".join(sections[0].split()) if sections else message, command)
    guesses = [
        word
        for section in sections[1:]
        if section.lstrip().startswith("Perhaps you meant")
        for word in re.findall(r"(?m)^\s*(--[\w.-]+)", section)
    ]
    if guesses:
        wrong += f" (perhaps {' or '.join(dict.fromkeys(guesses))})"
    return f"{wrong}; 'coe {command.split()[0]} --help' shows every option"


PARSING = r"Error parsing (--\S+): "
# What the parser says: what a person is told. {0} is the command's last word, {1}... the groups,
# put in words by the functions after the colon.
PLAINLY = {
    r"Unrecognized options: (.*)": "not understood: {1:words}",
    r"Missing value for argument '([^']*)'.*": "{1} is given no value",
    r"Missing from coe [^:]*: ((?!STR|INT|PATH)[A-Z]+)\b.*": "{1} is missing",
    r"Missing from coe .*": "{0} is missing",
    r"invalid choice '(.*)' for argument '([^']*)'. Expected one of \((.*)\)": (
        "{2:option} is '{1}': choose {3:one_of}"
    ),
    PARSING + r"invalid literal for int.*: '(.*)'": "{1} is '{2}': it must be a whole number",
    PARSING + r"could not convert string to float: '(.*)'": "{1} is '{2}': it must be a number",
    PARSING + r"no type matching (\S+) could be .* from \[(.*?)\].*": (
        "{1} is {3}: it must be {2:kind}"
    ),
    PARSING + r"Could not find valid parse for arguments: \[(.*)\]": (
        "{1} is {2}: not all of these are values that it takes"
    ),
    r"Error parsing [\w.]+: (.*)": "{1}",  # a record's own check, which names the option
}


def said_plainly(wrong: str, command: str) -> str:
    """What the parser says, in a person's words where they are known."""
    for pattern, plainly in PLAINLY.items():
        if found := re.fullmatch(pattern, wrong.rstrip(".")):
            groups = [command.split()[-1], *found.groups()]
            return plainly.format(*map(_Word, groups))
    return wrong.rstrip(".")


class _Word(str):
    """A piece of what the parser says, which `format` puts in words."""

    def __format__(self, how: str) -> str:
        return {"": str, **IN_WORDS}[how](self)


def option(name: str) -> str:
    """An option's name as typed; a positional's in capitals, as the usage has it."""
    return name if name.startswith("-") else name.upper()


def one_of(choices: str) -> str:
    """`'a', 'b', 'c'` as `a, b or c`."""
    *first, last = (choice.strip(" '") for choice in choices.rstrip(",").split(","))
    return f"{', '.join(first)} or {last}" if first else last


def kind(metavar: str) -> str:
    """`{None}|INT` as `a whole number or None`."""
    words = {"INT": "a whole number", "FLOAT": "a number", "{None}": "None"}
    return " or ".join(words.get(part, part) for part in reversed(metavar.split("|")))


IN_WORDS: dict[str, Callable[[str], str]] = {
    "words": lambda text: text.replace(",", ""),
    "option": option,
    "one_of": one_of,
    "kind": kind,
}


def value_of(words: Sequence[str], option: str) -> str | None:
    """The last value given to an option, as `--name value` or `--name=value`."""
    value = None
    for position, word in enumerate(words):
        if word == option and position + 1 < len(words):
            value = words[position + 1]
        elif word.startswith(option + "="):
            value = word.partition("=")[2]
    return value
