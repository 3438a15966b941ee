"""What can go wrong, as sentences for the user. `HloverlapError` is the base of all of it."""

from __future__ import annotations

from collections.abc import Sequence


class HloverlapError(Exception):
    """What was given cannot be used, or this machine cannot do what was asked. The text says what and where."""


class PassError(HloverlapError):
    """A pass cannot do what its options or the module ask; the text is one sentence for the user."""


class TopologyError(HloverlapError, ValueError):
    """The topology cannot be read, or is of another size than the module."""


class TargetError(HloverlapError, ValueError):
    """There is no such target, or its file cannot be read."""


class PipelineError(HloverlapError):
    """A pipeline is ill-formed, or a pass in it failed.

    The text is one sentence; for a mistake in pipeline text the line and a caret under the character follow it.
    """


class PipelineTextError(PipelineError):
    """A mistake in pipeline text. position: offset of the offending character in text."""

    def __init__(self, message: str, text: str, position: int) -> None:
        self.message, self.text, self.position = message, text, position
        start = text.rfind("\n", 0, position) + 1
        line = text[start:].split("\n", 1)[0]
        # Tabs stay tabs under tabs, so that the caret lands where the terminal shows the character.
        indent = "".join("\t" if character == "\t" else " " for character in text[start:position])
        super().__init__(f"{message}\n  {line}\n  {indent}^")


class PassFailedError(PipelineError):
    """A pass, or the verifier after it, refused the module. pass_name: "" when MLIR does not tell which pass."""

    def __init__(self, message: str, pass_name: str = "") -> None:
        self.pass_name = pass_name
        super().__init__(message)


def did_you_mean(word: str, candidates: Sequence[str]) -> str:
    """``; did you mean 'x'?`` with the nearest candidate, or "" when none is near."""
    import difflib  # only an error pays for it

    near = difflib.get_close_matches(word, candidates, n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""
