"""CPU time and memory of processes, from the kernel's accounting."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """CPU seconds (user and system, all threads, children included) and resident bytes."""

    cpu: float
    resident: int

    def __sub__(self, other: Usage) -> Usage:
        return Usage(self.cpu - other.cpu, self.resident - other.resident)


def usage(pid: int) -> Usage:
    """The usage of a process and its living descendants, and of ended children that were waited for."""
    family = {pid}
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := stat(int(entry.name))):
            parents[int(entry.name)] = int(fields[1])
    grew = True
    while grew:
        children = {child for child, parent in parents.items() if parent in family}
        grew = not children <= family
        family |= children
    cpu = 0
    resident = 0
    for member in family:
        if fields := stat(member):
            cpu += sum(int(field) for field in fields[11:15])
            resident += resident_bytes(member)
    return Usage(cpu / TICKS, resident)


def cpu_of_threads(pid: int, prefix: str) -> float:
    """CPU seconds of a process's living threads whose name begins so."""
    cpu = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (thread / "comm").read_text()
            text = (thread / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if name.startswith(prefix):
            cpu += sum(int(field) for field in text.rpartition(") ")[2].split()[11:13])
    return cpu / TICKS


def stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on; empty when the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(") ")[2].split()


def resident_bytes(pid: int) -> int:
    """Anonymous memory of a process: its allocations, without the pages of its program file."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))
