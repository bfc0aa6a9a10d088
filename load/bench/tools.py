"""The programs a run needs: found, installed where that is possible, built, and their versions."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from .workshop import Failed, Workshop, run, say

ROOT = Path(__file__).resolve().parents[2]
LOAD = ROOT / "load"

PACKAGES = {
    "wrk": "wrk",
    "nginx": "nginx",
    "redis-server": "redis-server",
    "redis-cli": "redis-tools",
    "postgres": "postgresql",
    "initdb": "postgresql",
    "psql": "postgresql-client",
    "pgbench": "postgresql-contrib",
}


def locate(name: str) -> Path | None:
    """A program on the path, among the system's, or among those of the newest Postgres."""
    if found := shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"):
        return Path(found)
    versions = [folder / "bin" / name for folder in Path("/usr/lib/postgresql").glob("*")]
    present = [path for path in versions if path.exists()]
    return max(present, key=lambda path: float(path.parts[-3]), default=None)


def require(names: Iterable[str]) -> dict[str, Path]:
    """Where the named programs are; installs what is missing."""
    names = list(names)
    missing = sorted({PACKAGES[name] for name in names if not locate(name)})
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"installing {' '.join(missing)}")
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        run(["apt-get", "update", "-q"], environment=quiet)
        run(["apt-get", "install", "-qy", "--no-install-recommends", *missing], environment=quiet)
    found = {name: locate(name) for name in names}
    absent = sorted({PACKAGES[name] for name, path in found.items() if not path})
    if absent:
        raise Failed(f"please install: {' '.join(absent)}")
    return {name: path for name, path in found.items() if path}


def build() -> Path:
    """Builds shunt and the contenders; returns the folder of the programs."""
    say("cargo build --profile dist --locked")
    run(["cargo", "build", "--profile", "dist", "--locked", "--quiet", "--manifest-path",
         ROOT / "Cargo.toml", "-p", "shunt", "-p", "contenders"], seconds=3600)
    return target_folder() / "dist"


def target_folder() -> Path:
    """The folder into which cargo builds; runs also leave their raw numbers there."""
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def machine(tools: dict[str, Path]) -> dict[str, str]:
    """When and on what a run was made."""
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 1024 / 1024
    facts = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB of memory",
        "kernel": f"{platform.system()} {platform.release()}",
        "load average before": f"{os.getloadavg()[0]:.2f}",
        "shunt": revision(),
        "rustc": run(["rustc", "--version"]).strip().removeprefix("rustc "),
    }
    flags = {"wrk": "-v", "nginx": "-v", "redis-server": "--version", "postgres": "--version"}
    for name, flag in flags.items():
        if name in tools:
            facts[name] = version(tools[name], flag)
    return facts


def where(workshop: Workshop) -> str:
    """What runs on which core."""
    shared = workshop.database_core == workshop.load_core
    return (f"The server runs on core {workshop.server_core}, the load generator and Redis on core"
            f" {workshop.load_core}, Postgres on {'the same' if shared else workshop.database_core}"
            f" (niceness {workshop.database_nice}).")


def version(program: Path, flag: str) -> str:
    """The first thing in a program's answer that looks like a version."""
    text = run(["sh", "-c", '"$0" "$1" 2>&1 || true', program, flag])
    found = re.search(r"\d+(\.\d+)+", text)
    return found.group() if found else "unknown"


def revision() -> str:
    """Which state of the project this is."""
    try:
        return run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--tags"]).strip()
    except (Failed, FileNotFoundError):
        return "no revision"
