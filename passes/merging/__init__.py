"""Decides for merge-cross-host-transfers what is merged, and in which way."""
