"""What is large and seldom asked for is imported when it is asked for."""

import subprocess
import sys


def test_the_interpreter_is_imported_only_by_its_own_check():
    """XLA's check, which is the usual one, needs nothing of StableHLO's interpreter."""
    script = """
import sys
from hloverlap.pipeline.equivalence import check_child, checking, xla_program
print([name for name in sys.modules if name.startswith("hloverlap.pipeline.equivalence.interpreter")])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
