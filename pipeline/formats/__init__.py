"""Modules on disk: the formats, and the way from bytes to a module and back."""
