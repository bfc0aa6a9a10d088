"""The checks of tests/deploy/check."""
