"""Builders of IR that several passes share."""
