"""The code of the commands in load/; Python's standard library alone.

tests/testbed, which the tests use as well, starts the servers.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
