"""Predicts how long a compiled program takes, and where the time goes, by a simulation of what XLA will run."""
