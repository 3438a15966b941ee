"""The commands: arguments in, pipeline calls, text out."""
