"""Eight virtual CPU devices for tests that run jax in process, set before any of them imports jax; and Ctrl-C works."""

import os
import pathlib
import signal

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8".strip()

import pytest

# A shell starts background jobs with SIGINT ignored, and whatever they start inherits that: then a program that a test
# interrupts would go on.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("random tests")
    group.addoption("--examples", type=int, default=40, help="how many random modules, or damaged inputs, to try")
    group.addoption("--seed", type=int, default=0, help="which ones")
    group.addoption("--no-shrink", action="store_true", help="leave a random module that shows a mistake as it is")


REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def samples() -> pathlib.Path:
    """The modules that ship with the project."""
    return REPOSITORY / "tools" / "samples"


@pytest.fixture(scope="session")
def corpus() -> pathlib.Path:
    """Modules lowered from public programs, where they lie beside the checkout."""
    folder = REPOSITORY.parent / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip(f"no corpus of real modules at {folder}; the modules in tools/samples are tested everywhere")
    return folder


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """An installed package whose entry points bring passes: note, note-function, refuse, ..."""
    folder = REPOSITORY / "tests" / "plugin_package"
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def two_functions() -> str:
    """A module with something for cse and for symbol-dce to do."""
    return """module @m {
  func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %a, %a : tensor<4xf32>
    %1 = stablehlo.add %a, %a : tensor<4xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
  func.func private @unused(%a: tensor<4xf32>) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
}
"""
