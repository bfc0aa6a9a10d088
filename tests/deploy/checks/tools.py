"""Runs tools, and reports faults."""

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
    """A check failed; the text has the fault."""


class Skipped(Exception):
    """A check needs a tool that is missing; the text names it."""


def package(name: str) -> Any:
    """A Python package that may be missing."""
    try:
        return __import__(name)
    except ImportError:
        raise Skipped(f"the Python package {name} is not installed") from None


def tool(name: str, hint: str) -> str:
    """The path of a program that may be missing."""
    places = [str(CACHE / "bin"), os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]
    path = shutil.which(name, path=os.pathsep.join(places))
    if path is None:
        raise Skipped(f"{name} is not installed ({hint})")
    return path


def run(*command: str | Path, folder: Path = ROOT, quiet_about: str = "$^") -> str:
    """Runs a tool; its output is shown if it fails."""
    done = subprocess.run([str(part) for part in command], cwd=folder, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if not re.search(quiet_about, line)]
        raise Wrong("\n".join(lines))
    return done.stdout


def need(holds: object, what: str) -> None:
    """Fails the check unless a condition holds."""
    if not holds:
        raise Wrong(what)


def nothing_in(found: Sequence[object], what: str) -> None:
    """Fails the check unless a list of faults is empty."""
    need(not found, what + ": " + ", ".join(str(one) for one in found))


def temporary() -> Path:
    """A folder that is removed at the end."""
    return Path(tempfile.mkdtemp(dir=SCRATCH.name))


def note(text: str) -> None:
    """Prints a note beside the results."""
    print(f"note     {text}", flush=True)
