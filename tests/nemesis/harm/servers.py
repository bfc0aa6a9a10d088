"""The servers that are harmed: Redis, Postgres and instances, each with what can be done to it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from testbed.databases import Postgres, Redis
from testbed.processes import Process
from testbed.programs import Command, Failed, run, succeeds

from .evidence import Evidence

STOP_SECONDS = 45.0
"""For a stop by SIGTERM: more than SHUTDOWN_TIMEOUT_SECONDS."""


async def until(what: str, holds: Callable[[], Awaitable[object]], seconds: float = 30.0) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not await holds():
        if time.monotonic() > end:
            raise Failed(f"{what}: not after {seconds:.0f} s")
        await asyncio.sleep(0.02)


async def until_gone(what: str, pids: list[int], seconds: float) -> None:
    """Waits until no process is left of these; a zombie counts as gone."""
    async def gone() -> bool:
        return not any(is_running(pid) for pid in pids)
    await until(what, gone, seconds)


def children(pid: int) -> list[int]:
    """The children of a process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def send(number: int, pids: list[int]) -> None:
    """Sends a signal to processes."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def family(process: Process) -> list[int]:
    """A server's processes, itself first. Processes of Postgres are in groups of their own."""
    return [process.pid, *children(process.pid)]


async def kill(process: Process) -> None:
    """Ends a server with SIGKILL, with all its processes."""
    # So that it starts no further process while they are listed.
    send(signal.SIGSTOP, [process.pid])
    pids = family(process)
    send(signal.SIGKILL, pids)
    await until_gone(f"{process.name} is gone", pids, 30)
    process.stop(hard=True)


def is_running(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@dataclass(eq=False)
class Instance:
    """One instance of shunt."""

    name: str
    process: Process
    clock: Path
    """The file from which libfaketime reads its clock."""
    evidence: Evidence
    is_down: bool = False
    """Whether it was stopped or killed and is not started again yet."""
    disturbed: float = 0.0
    """When it was last stopped, killed or paused; the time of a response says nothing about such a moment."""
    is_paused: bool = False
    clock_is_wrong: bool = False

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.process.port

    def start(self) -> None:
        """Starts it."""
        self.process.start()
        self.evidence.started()
        self.is_down, self.disturbed = False, time.monotonic()

    async def stop(self) -> int:
        """Stops it by SIGTERM; returns its exit code."""
        self.disturbed = time.monotonic()
        self.is_down = True
        popen = self.process.popen
        assert popen
        popen.send_signal(signal.SIGTERM)
        await until_gone(f"{self.name} ends after SIGTERM", [popen.pid], STOP_SECONDS)
        self.evidence.ended()
        return popen.wait()

    def set_clock(self, offset: str) -> None:
        """Sets its clock by an offset from the real time, in one step, as it reads the file all the time."""
        fresh = self.clock.with_suffix(".fresh")
        fresh.write_text(offset)
        fresh.rename(self.clock)
        self.clock_is_wrong = offset != "+0"


class RedisServer:
    """A Redis, whose data can be copied and put back."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis
        self.process = redis.process
        self.folder = redis.process.log.parent

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.process.port

    async def ask(self, *command: str) -> str:
        """Runs a command."""
        return await asyncio.to_thread(self.redis.ask, *command)

    async def info(self, name: str) -> str:
        """One value of INFO."""
        for line in (await self.ask("INFO")).splitlines():
            key, _, value = line.partition(":")
            if key == name:
                return value.strip()
        return ""

    async def newest_flushes(self) -> dict[str, int]:
        """The number of the newest flush of each data set that it has, by the tag of its keys."""
        states = (await self.ask("KEYS", "*:state")).split()
        return {key.removesuffix(":state"): int(await self.ask("HGET", key, "flush") or 0) for key in states}

    async def until_written_back(self, may_be_idle: bool = True) -> None:
        """Waits until all clicks that it has now are in the database: nothing is pending (if it may be idle), or two
        flushes were begun after this moment, and all that were begun are finished. One of the two may be of late clicks
        alone, which leaves the pending ones where they are."""
        for tag, before in (await self.newest_flushes()).items():
            async def is_written_back(tag: str = tag, before: int = before) -> bool:
                newest = int(await self.ask("HGET", f"{tag}:state", "flush") or 0)
                is_pending = await self.ask("EXISTS", f"{tag}:pending") != "0"
                under_way = (await self.ask("SMEMBERS", f"{tag}:flushing")).split()
                return ((newest >= before + 2 or may_be_idle and not is_pending)
                        and all(int(number) > newest for number in under_way))
            await until(f"the clicks of {tag} are written back", is_written_back)

    async def kill(self) -> None:
        """Ends it with SIGKILL."""
        await kill(self.process)

    async def start(self) -> None:
        """Starts it again, and waits until its data is loaded."""
        self.process.start()

        async def answers() -> bool:
            return self.process.listens() and await self.info("loading") == "0"
        await until(f"{self.process.name} answers", answers)

    def copy_data(self) -> Path:
        """Copies its data as it is on the disk."""
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.folder / "appendonlydir", copy)
        return copy

    def put_back(self, copy: Path) -> None:
        """Puts older data in the place of the newer; it has to be stopped."""
        shutil.rmtree(self.folder / "appendonlydir")
        copy.rename(self.folder / "appendonlydir")


class PostgresServer:
    """A Postgres, primary or standby."""

    def __init__(self, postgres: Postgres) -> None:
        self.postgres = postgres
        self.process = postgres.process

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.process.port

    @property
    def data(self) -> Path:
        """Its data."""
        return Path(self.process.command[self.process.command.index("-D") + 1])

    async def sql(self, *statements: str) -> str:
        """Runs statements, and returns the output of the last one."""
        output = ""
        for statement in statements:
            output = await asyncio.to_thread(self.postgres.sql, statement, seconds=60)
        return output

    async def kill(self) -> None:
        """Ends it with SIGKILL."""
        await kill(self.process)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    async def start(self) -> None:
        """Starts it again, and waits until it answers."""
        self.process.start()
        probe: Command = [self.postgres.psql, "-X", "-q", "-d", self.postgres.url, "-c", "select 1"]

        async def answers() -> bool:
            return self.process.listens() and await asyncio.to_thread(succeeds, probe)
        await until(f"{self.process.name} answers", answers)

    def signal(self, number: int) -> None:
        """Sends a signal to all its processes."""
        send(number, family(self.process))

    async def become_standby_of(self, primary: PostgresServer, basebackup: Path, user: str | None) -> None:
        """Replaces its data by a copy of the primary's that follows it; it has to be stopped."""
        shutil.rmtree(self.data, ignore_errors=True)
        copy: Command = [basebackup, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-D", self.data,
                "-d", primary.postgres.url]
        await asyncio.to_thread(run, copy, user=user, folder=self.data.parent, seconds=60)
