"""Names that are no UTF-8 are refused where a module is read: the bindings would abort the process."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.formats import naming, reading
from hloverlap.pipeline.formats.errors import ReadError

SPELLED = {
    "an entry of a dictionary": r'func.func @main() attributes {a.d = {"\FFx" = "v"}} { return }',
    "an attribute": r'func.func @main() attributes {"a.\FF" = 1 : i32} { return }',
    "a symbol": r'func.func @"\FF"() { return }',
    "a file": r'func.func @main() { return loc("\FF.py":1:1) }',
    "a place": r'func.func @main() { return loc("\FFa"("x.py":1:1)) }',
}
SOUND = {
    "bytes as a value": r'func.func @main() attributes {a.s = "\FF\00\FE", a.l = ["\FF", {x = "\FF"}]} { return }',
    "letters with accents": r'func.func @main() attributes {"a.\C3\A9" = {"\C3\A9" = 1}} '
    r'{ return loc("\C3\A9.py":1:1) }',
}


@pytest.mark.parametrize("text", SPELLED.values(), ids=SPELLED)
@pytest.mark.parametrize("form", ["mlir", "bytecode"])
def test_a_name_that_is_no_utf8_is_one_line(text: str, form: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "module"
    path.write_text(text)
    if form == "bytecode":
        module = ir.Module.parse(text, make_context())
        with path.open("wb") as file:
            module.operation.write_bytecode(file)
    run = "import sys; from hloverlap.tools.hlo_opt import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", run, str(path), "--overlap"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "no UTF-8" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_values_may_be_any_bytes_and_names_any_letters(text: str) -> None:
    assert not naming.undecodable(reading.read(text.encode(), "x", make_context()).module)


def test_an_error_in_a_file_with_such_a_name_has_no_line() -> None:
    text = rb'func.func @main() -> i32 { return loc("\FF.py":1:1) } loc("\FF.py":1:1)'
    with pytest.raises(ReadError, match="does not parse"):
        reading.read(text, "x", make_context())
