"""Writes a failed pass as a file that shows it again: mlir-opt's form, a module with its pipeline as a resource."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import tempfile

from jaxlib.mlir import ir

_RESOURCE = re.compile(r"\{-#\s*external_resources:\s*\{\s*mlir_reproducer:\s*\{(.*?)\}\s*\}\s*#-\}\s*\Z", re.DOTALL)
_ENTRY = re.compile(r'(\w+):\s*("(?:[^"\\]|\\.)*"|\w+)')


@dataclasses.dataclass(frozen=True)
class Reproducer:
    """Says what to run."""

    pipeline: str
    topology: str = ""
    """As --topology takes it, "" for none."""
    target: str = ""
    """A target as --target takes it, "" for the default."""
    verify_each: bool = True

    @classmethod
    def parse(cls, text: str) -> tuple[Reproducer, str]:
        """Reads what the text says, and the module in it. Raises ValueError with a clause for the user."""
        match = _RESOURCE.search(text)
        if match is None:
            raise ValueError("no reproducer: a module that ends with an mlir_reproducer among its external resources")
        entries = {name: _unquoted(value) for name, value in _ENTRY.findall(match[1])}
        if "pipeline" not in entries:
            raise ValueError("a reproducer without a pipeline")
        known = {name: entries[name] for name in ("pipeline", "topology", "target") if name in entries}
        return cls(**known, verify_each=entries.get("verify_each") != "false"), text[: match.start()]

    def render(self, module: ir.Module, error: str, versions: str) -> str:
        """Writes the file. error: what went wrong; versions: of what it went wrong with, one a line."""
        about = f"hlo-opt reproducer: {error}"
        comments = [*about.splitlines(), *versions.splitlines(), "run: hlo-opt --run-reproducer"]
        entries = {"pipeline": _quoted(self.pipeline)}
        entries |= {name: _quoted(value) for name in ("topology", "target") if (value := getattr(self, name))}
        entries["verify_each"] = str(self.verify_each).lower()
        listed = ",\n".join(f"      {name}: {value}" for name, value in entries.items())
        return "\n".join(
            [
                *(f"// {line}" for line in comments),
                module.operation.get_asm(enable_debug_info=True).rstrip("\n"),
                "",
                "{-#\n  external_resources: {\n    mlir_reproducer: {",
                listed,
                "    }\n  }\n#-}\n",
            ]
        )


def default_path(text: str) -> str:
    """Says where a reproducer goes when nobody says: the folder for temporary files, a name for each content."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return os.path.join(tempfile.gettempdir(), f"hlo-opt-reproducer-{digest}.mlir")


def _quoted(text: str) -> str:
    r"""Writes a string as MLIR does: what is not plain as ``\`` and two hexadecimal digits."""
    codes = text.encode()
    plain = "".join(f"\\{code:02X}" if code < 32 or code > 126 or code in b'"\\' else chr(code) for code in codes)
    return f'"{plain}"'


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    raw = re.sub(rb"\\([0-9A-Fa-f]{2}|.)", _byte, text[1:-1].encode())
    return raw.decode("utf-8", "replace")


def _byte(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    if len(escape) == 2:
        return bytes([int(escape, 16)])
    return {b"n": b"\n", b"t": b"\t"}.get(escape, escape)
