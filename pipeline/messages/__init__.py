"""Writes what passes and audits say, as text, JSON and SARIF."""
