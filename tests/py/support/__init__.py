"""Helpers of the tests: modules as text, and what every rewrite must keep."""
