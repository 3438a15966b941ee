"""XLA:GPU's compiler in a process of its own, and what it writes about a program."""
