"""The code of tests/deploy/local."""
