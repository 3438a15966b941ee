"""How many random modules, and which."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("random modules")
    group.addoption("--examples", type=int, default=40, help="how many random modules or inputs to try")
    group.addoption("--seed", type=int, default=0, help="which ones")
