"""What the commands in load/ are made of; nothing but Python's standard library.

Starting servers is shared with the tests: tests/testbed.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
