"""Runs XLA:GPU's compiler in a process of its own, and reads what it writes about a program."""
