"""Names what can go wrong, as sentences for the user. `HloverlapError` is the base of all of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hloverlap.passes.remark import Remark


class HloverlapError(Exception):
    """Says that what was given cannot be used, or this machine cannot do what was asked, with what and where."""


class PassError(HloverlapError):
    """Says that a pass cannot do what its options or the module ask; the text is one sentence for the user."""


class TopologyError(HloverlapError, ValueError):
    """Says that the topology cannot be read, or is of another size than the module."""


class TargetError(HloverlapError, ValueError):
    """Says that there is no such target, or that its file cannot be read."""


class OptionError(HloverlapError, ValueError):
    """Says that XLA does not take an option that it was given, or the target."""


class UnavailableError(HloverlapError):
    """Says that no compiler for the target is here, or none that runs: what to install, or what it said."""


class PipelineError(HloverlapError):
    """Says that a pipeline is ill-formed, or that a pass in it failed."""


class PipelineTextError(PipelineError):
    """Says what is wrong in pipeline text; the line and a caret under the character follow the sentence."""

    message: str
    """The sentence alone."""
    text: str
    """The pipeline text."""
    position: int
    """The offset in `text` of the character that is wrong."""

    def __init__(self, message: str, text: str, position: int) -> None:
        self.message, self.text, self.position = message, text, position
        start = text.rfind("\n", 0, position) + 1
        line = text[start:].split("\n", 1)[0]
        # Tabs stay tabs under tabs, so that the caret lands where the terminal shows the character.
        indent = "".join("\t" if character == "\t" else " " for character in text[start:position])
        super().__init__(f"{message}\n  {line}\n  {indent}^")


class PassFailedError(PipelineError):
    """Says that a pass, or the verifier after it, refused the module."""

    pass_name: str
    """The pass; "" when MLIR does not tell which."""
    remarks: tuple[Remark, ...]
    """What passes and MLIR had said by then, MLIR's errors included."""

    def __init__(self, message: str, pass_name: str = "", remarks: Iterable[Remark] = ()) -> None:
        self.pass_name = pass_name
        self.remarks = tuple(remarks)
        super().__init__(message)


def did_you_mean(word: str, candidates: Sequence[str]) -> str:
    """Gives ``; did you mean 'x'?`` with the nearest candidate, or "" when none is near."""
    import difflib  # only an error pays for it

    near = difflib.get_close_matches(word, candidates, n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""
