"""The code of tests/nemesis/run."""
