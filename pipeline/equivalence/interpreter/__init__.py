"""Holds a second oracle for equivalence: a StableHLO interpreter of several partitions."""
