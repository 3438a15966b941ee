"""Decides what `assign-collective-streams` does."""
