"""Servers of one run: shared by tests/deploy, tests/nemesis and load/, and nothing but Python's standard library."""
