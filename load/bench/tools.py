"""The programs of a run: built, and their versions."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path

from testbed.programs import Failed, run

from .pinned import PinnedTestbed, say

ROOT = Path(__file__).resolve().parents[2]
LOAD = ROOT / "load"


def build() -> Path:
    """Builds shunt and the contenders; returns the folder of the programs."""
    say("cargo build --profile dist --locked")
    run(["cargo", "build", "--profile", "dist", "--locked", "--quiet", "--manifest-path",
         ROOT / "Cargo.toml", "-p", "shunt", "-p", "contenders"], seconds=3600)
    return target_folder() / "dist"


def target_folder() -> Path:
    """Cargo's target folder, which also gets the raw samples of a run."""
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def machine(tools: dict[str, Path]) -> dict[str, str]:
    """The time and the machine of a run."""
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


def where(testbed: PinnedTestbed) -> str:
    """The cores of the servers."""
    shared = testbed.database_core == testbed.load_core
    return (f"The server runs on core {testbed.server_core}, the load generator and Redis on core"
            f" {testbed.load_core}, Postgres on {'the same' if shared else testbed.database_core}"
            f" (niceness {testbed.database_nice}).")


def version(program: Path, flag: str) -> str:
    """The first text in a program's output that looks like a version."""
    text = run(["sh", "-c", '"$0" "$1" 2>&1 || true', program, flag])
    found = re.search(r"\d+(\.\d+)+", text)
    return found.group() if found else "unknown"


def revision() -> str:
    """The revision of the project."""
    try:
        return run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--tags"]).strip()
    except (Failed, FileNotFoundError):
        return "no revision"
