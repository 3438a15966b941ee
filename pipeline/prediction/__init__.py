"""How long a compiled program takes, and where the time goes: a simulation of what XLA will run."""
