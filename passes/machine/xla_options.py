"""Which of the XLA options that a rewrite asks for may be added to a compile."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping

from hloverlap.passes.context import CompileOption

# What jax calls a backend whose XLA knows the options that passes ask for.
GPU_PLATFORMS = ("gpu", "cuda", "rocm")


def to_add(platform: str, asked: Mapping[str, CompileOption], given: Collection[str]) -> dict[str, CompileOption]:
    """The options of `asked` that neither `given` (names the user set for this compile) nor XLA_FLAGS names.

    Empty where `platform` is no GPU: XLA refuses options that a backend does not have.
    """
    if platform not in GPU_PLATFORMS:
        return {}
    taken = {*given, *in_environment()}
    return {name: value for name, value in asked.items() if name not in taken}


def in_environment() -> set[str]:
    """Names of the options in XLA_FLAGS, which holds flags or the path of a file with flags."""
    text = os.environ.get("XLA_FLAGS", "")
    if text and not text.lstrip().startswith("-"):
        try:
            with open(text.strip(), encoding="utf-8") as file:
                text = file.read()
        except OSError:
            return set()  # XLA itself complains
    return set(re.findall(r"--?(xla_\w+)", text))
