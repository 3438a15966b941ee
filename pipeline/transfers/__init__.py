"""Moves arrays from one set of devices to another, many at once, through one compiled module."""
