"""The one error that a person is told in a sentence."""


class Refusal(ValueError):
    """A wish that cannot be met. The message is one sentence: what is wrong and, where something
    else would be right, what."""
