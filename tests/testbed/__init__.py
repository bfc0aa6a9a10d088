"""Servers of one run: shared by tests/deploy and load/, and nothing but Python's standard library."""
