"""Finds programs of this machine, installs missing ones where that is possible, and runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

PACKAGES = {
    "initdb": "postgresql",
    "nginx": "nginx",
    "pgbench": "postgresql-contrib",
    "postgres": "postgresql",
    "prometheus": "prometheus",
    "prometheus-blackbox-exporter": "prometheus-blackbox-exporter",
    "prometheus-node-exporter": "prometheus-node-exporter",
    "prometheus-postgres-exporter": "prometheus-postgres-exporter",
    "prometheus-redis-exporter": "prometheus-redis-exporter",
    "psql": "postgresql-client",
    "redis-cli": "redis-tools",
    "redis-server": "redis-server",
    "valgrind": "valgrind",
    "wrk": "wrk",
}
"""Debian's package of each program."""

Command = Sequence[str | Path | int | float]


class Failed(Exception):
    """The run cannot go on; the message is for the user."""


def find(name: str) -> Path | None:
    """The path of a program: in the folder of the newest Postgres, on the path, or among the system's."""
    versions = sorted(Path("/usr/lib/postgresql").glob("[0-9]*"), key=lambda folder: float(folder.name), reverse=True)
    places = [str(version / "bin") for version in versions]
    places += [os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]
    found = shutil.which(name, path=os.pathsep.join(places))
    return Path(found) if found else None


def require(names: Iterable[str]) -> dict[str, Path]:
    """The paths of programs by their names; installs missing packages, or names them in one line."""
    names = list(names)
    missing = sorted({PACKAGES[name] for name in names if not find(name)})
    if missing:
        install(missing)
    found = {name: find(name) for name in names}
    absent = sorted({PACKAGES[name] for name, path in found.items() if not path})
    if absent:
        raise Failed("please install: " + " ".join(absent))
    return {name: path for name, path in found.items() if path}


def install(packages: Sequence[str]) -> None:
    """Installs Debian packages, if this user may."""
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not find("apt-get") or not succeeds([*root, "true"]):
        raise Failed("please install: " + " ".join(packages))
    print("installing " + " ".join(packages), file=sys.stderr, flush=True)
    apt_get = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    run([*apt_get, "update", "-q"])
    run([*apt_get, "install", "-qy", "--no-install-recommends", *packages])


def run(
    command: Command,
    *,
    seconds: float = 600.0,
    text: str | None = None,
    environment: Mapping[str, str] | None = None,
    user: str | None = None,
    folder: Path | None = None,
) -> str:
    """Runs a command to its end, with `text` as its input; returns its output."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        input=text,
        capture_output=True,
        text=True,
        timeout=seconds,
        env=os.environ | dict(environment or {}),
        check=False,
        user=user,
        group=user,
        extra_groups=[] if user else None,
        cwd=folder,
    )
    if done.returncode != 0:
        raise Failed(f"{Path(words[0]).name} failed ({done.returncode}): "
                     f"{(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def succeeds(command: Command) -> bool:
    """Whether a command can be run and ends with 0, within ten seconds."""
    try:
        run(command, seconds=10)
    except (Failed, OSError, subprocess.TimeoutExpired):
        return False
    return True
