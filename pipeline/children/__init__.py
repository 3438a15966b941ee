"""Processes for what may abort, hang or fill the memory: how they start and are ended, and what their end means."""
