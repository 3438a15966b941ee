"""Holds the benchmark on GPUs: plain jit beside what the passes make of it."""
