"""Holds the commands: arguments in, pipeline calls, text out."""
