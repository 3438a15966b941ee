"""What every rewrite of transfers must keep, in one call."""

from __future__ import annotations

from jaxlib.mlir import ir

from generation.examining import interpret
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.execution import running


def rewritten(text: str, pipeline: str, topology: str | None = None, target: str | None = None) -> running.Result:
    """Runs a pipeline over a module: the results stay bit for bit, and a second run changes nothing."""
    module = ir.Module.parse(text, make_context())
    result = running.run(module, pipeline, topology=topology, target=target)
    assert result.module.operation.verify()
    again = running.run(result.module, pipeline, topology=topology, target=target)
    assert not again.changed, f"a second run changes\n{result.module}\nto\n{again.module}"
    assert interpret(result.module, 0) == interpret(module, 0), f"the results of this are others\n{result.module}"
    return result


def codes(result: running.Result) -> list[str]:
    """The codes of the remarks, in order."""
    return [remark.code for remark in result.remarks]
