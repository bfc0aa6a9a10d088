"""Running the tools that know, and saying what is wrong."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
CACHE = ROOT / "target" / "deploy-check"
SCRATCH = tempfile.TemporaryDirectory(prefix="deploy-check-")


class Wrong(Exception):
    """Something is; the text says what."""


class Skipped(Exception):
    """A tool cannot be had; the text says which."""


def package(name: str) -> Any:
    """A Python package that may not be there."""
    try:
        return __import__(name)
    except ImportError:
        raise Skipped(f"the Python package {name} cannot be had") from None


def tool(name: str, hint: str) -> str:
    """The path of a program that may not be there."""
    places = [str(CACHE / "bin"), os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]
    path = shutil.which(name, path=os.pathsep.join(places))
    if path is None:
        raise Skipped(f"{name} is not there ({hint})")
    return path


def run(*command: str | Path, folder: Path = ROOT, quiet_about: str = "$^") -> str:
    """Runs a tool; what it says is shown if it does not agree."""
    done = subprocess.run([str(part) for part in command], cwd=folder, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if not re.search(quiet_about, line)]
        raise Wrong("\n".join(lines))
    return done.stdout


def need(holds: object, what: str) -> None:
    """Something has to hold."""
    if not holds:
        raise Wrong(what)


def nothing_in(found: Sequence[object], what: str) -> None:
    """A list of faults has to be empty."""
    need(not found, what + ": " + ", ".join(str(one) for one in found))


def temporary() -> Path:
    """A folder that is gone at the end."""
    return Path(tempfile.mkdtemp(dir=SCRATCH.name))


def note(text: str) -> None:
    """Says something beside the result."""
    print(f"note     {text}", flush=True)
