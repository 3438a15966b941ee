"""lit's configuration: `hlo-opt`, `FileCheck` and `python` in RUN lines are those beside the running Python."""

import os
import pathlib
import sys

import jaxlib.version
import lit.formats

here = pathlib.Path(__file__).resolve().parent
commands = pathlib.Path(sys.executable).parent

config.name = "hloverlap"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".py"]
config.excludes = ["Inputs", "lit.cfg.py"]
config.test_source_root = str(here)

# The user's jax and XLA settings must not decide what a test sees.
for name in [name for name in os.environ if name.startswith(("JAX_", "XLA_", "TF_", "HLOVERLAP_"))]:
    config.environment.pop(name, None)
config.environment |= {
    "JAX_PLATFORMS": "cpu",
    "PATH": os.pathsep.join([str(commands), os.environ["PATH"]]),
    "PYTHONHASHSEED": "random",
}

# --param package=FOLDER: test the hloverlap in that folder instead of the installed one.
if "package" in lit_config.params:
    config.environment["PYTHONPATH"] = lit_config.params["package"]

# [[S1]] to [[S4]]: the first communication streams that this XLA leaves to others. 3 is its own from jaxlib 0.11.2 on.
version = tuple(map(int, jaxlib.version.__version__.split(".")[:3]))
first = 4 if version >= (0, 11, 2) else 3
streams = " ".join(f"-DS{number}={first + number - 1}" for number in range(1, 5))

if version < (0, 11):
    config.available_features.add("jaxlib-0.10")

# %plugins: an installed package that brings passes of its own.
config.substitutions += [
    ("%plugins", f"env PYTHONPATH={here.parent / 'plugin_package'}"),
    ("%samples", str(here.parents[1] / "tools" / "samples")),
    ("FileCheck", f"filecheck {streams}"),
]
