"""Reads where the user wrote an instruction from XLA's text: beside the instruction or in tables at its head."""

from __future__ import annotations

import re

from hloverlap.pipeline.xla.hlo_text import Instruction

_SECTION = re.compile(r"^(FileNames|FileLocations|StackFrames)\n((?:\d+ .*\n)+)", re.MULTILINE)
_NAME = re.compile(r'(\d+) "(.*)"')
_LOCATION = re.compile(r"(\d+) \{file_name_id=(\d+).*? line=(\d+)")
_FRAME = re.compile(r"(\d+) \{file_location_id=(\d+)")
_FRAME_ID = re.compile(r"stack_frame_id=(\d+)")
_WRITTEN = re.compile(r'source_file="([^"]*)" source_line=(\d+)')
_OP_NAME = re.compile(r'op_name="([^"]*)"')


class Places:
    """Knows the source lines of one module's instructions."""

    def __init__(self, text: str) -> None:
        """Reads the tables at the head of ``*after_optimizations.txt``; a text without them has none."""
        sections = {match[1]: match[2] for match in _SECTION.finditer(text)}
        names = dict(_NAME.findall(sections.get("FileNames", "")))
        lines = {
            key: (names.get(file, ""), line) for key, file, line in _LOCATION.findall(sections.get("FileLocations", ""))
        }
        self._frames = {key: lines[at] for key, at in _FRAME.findall(sections.get("StackFrames", "")) if at in lines}

    def of(self, instruction: Instruction) -> str:
        """Gives ``file:line``, the innermost where there are several; else JAX's name of the op; else ""."""
        if frame := _FRAME_ID.search(instruction.attributes):
            file, line = self._frames.get(frame[1], ("", ""))
            if file:
                return f"{file}:{line}"
        if written := _WRITTEN.search(instruction.attributes):
            return f"{written[1]}:{written[2]}"
        named = _OP_NAME.search(instruction.attributes)
        return named[1] if named else ""
