"""Faults of Redis: of a server, of its data, of which server it is."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from abc import abstractmethod
from contextlib import suppress
from typing import ClassVar

from .evidence import DATA_LOST, total
from .faults import Fault
from .judge import DEPOSED_SECONDS
from .world import World

NOTICE_SECONDS = 10.0


class OfRedis(Fault):
    """A fault of one server of Redis: of a cluster any master."""

    def __init__(self, world: World, rng: random.Random) -> None:
        super().__init__(world, rng)
        self.server = rng.choice(world.redis) if world.topology == "cluster" else world.redis[0]

    @property
    def touches(self) -> frozenset[str]:
        return frozenset(["redis"])

    def __str__(self) -> str:
        return f"{self.kind} ({self.server.process.name})"


class KillRedis(OfRedis):
    """`kill -9`, and a start on its disk."""

    kind = "redis-kill"
    about = "Redis is ended with SIGKILL, and started again on its disk (appendfsync always)"

    async def begin(self) -> None:
        await self.server.kill()

    async def heal(self) -> None:
        await self.server.start()


class PauseRedis(OfRedis):
    """SIGSTOP, then SIGCONT."""

    kind = "redis-pause"
    about = "Redis hangs, and goes on later"

    async def begin(self) -> None:
        self.server.process.popen.send_signal(signal.SIGSTOP)  # type: ignore[union-attr]

    async def heal(self) -> None:
        self.server.process.popen.send_signal(signal.SIGCONT)  # type: ignore[union-attr]


class Stutter(Fault):
    """A server that hangs again and again for some hundredths of a second, as on a slow disk or a busy machine."""

    task: asyncio.Task[None] | None = None

    @abstractmethod
    def send(self, number: int) -> None:
        """Sends a signal to the server."""

    async def begin(self) -> None:
        async def stutter() -> None:
            try:
                while True:
                    self.send(signal.SIGSTOP)
                    await asyncio.sleep(self.rng.uniform(0.01, 0.12))
                    self.send(signal.SIGCONT)
                    await asyncio.sleep(self.rng.uniform(0.005, 0.05))
            finally:
                self.send(signal.SIGCONT)
        self.task = asyncio.ensure_future(stutter())

    async def heal(self) -> None:
        if self.task:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task


class RedisStutters(Stutter, OfRedis):
    """Redis is slow."""

    kind = "redis-slow"
    about = "Redis hangs again and again for up to 120 ms, as on a slow disk"

    def send(self, number: int) -> None:
        self.server.process.popen.send_signal(number)  # type: ignore[union-attr]


class RedisFull(OfRedis):
    """Redis refuses writes for want of memory."""

    kind = "redis-full"
    about = "Redis is full: it evicts what it may and refuses writes"

    async def begin(self) -> None:
        await self.server.ask("CONFIG", "SET", "maxmemory", "1")

    async def heal(self) -> None:
        await self.server.ask("CONFIG", "SET", "maxmemory", "0")


class DataLost(OfRedis):
    """Redis loses data: documented to lose pending clicks, and to say so in a metric."""

    is_apart = True
    since = 0.0
    before = 0.0

    @abstractmethod
    async def lose(self) -> None:
        """Loses the data."""

    async def begin(self) -> None:
        testimonies = [instance.evidence for instance in self.world.instances]
        # Redis itself says what is written back: the metric of written clicks also rises by those of the journal.
        self.since = time.monotonic() - 0.1
        await self.server.until_written_back()
        self.before = total(testimonies, DATA_LOST)
        self.world.is_losing = True
        await self.lose()

    async def heal(self) -> None:
        """Admits the loss only where the metric reports it."""
        try:
            await self.admit()
        finally:
            self.world.is_losing = False

    async def admit(self) -> None:
        """Admits what may be lost, once the metric reports a loss."""
        testimonies = [instance.evidence for instance in self.world.instances]
        end = time.monotonic() + NOTICE_SECONDS
        while total(testimonies, DATA_LOST) <= self.before:
            if time.monotonic() > end:
                # No allowance: if clicks are missing, the next calm moment shows it.
                return
            await asyncio.sleep(0.2)
            for evidence in testimonies:
                await evidence.sample()
        books = self.world.books
        for book in books.all.values():
            lost = sum(books.answered_since(self.since, instance.name, book) for instance in self.world.instances)
            book.allow(lost, f"pending in a Redis that lost data, by its metric ({self.kind})", may_fall=True)


class EmptyRedis(DataLost):
    """FLUSHALL."""

    kind = "redis-emptied"
    about = "Redis is emptied; apart from the others, as pending clicks may be lost (metric)"

    async def lose(self) -> None:
        await self.server.ask("FLUSHALL")


class RollRedisBack(DataLost):
    """Redis comes back with the data of some seconds ago."""

    kind = "redis-rolled-back"
    about = "Redis is killed and comes back with data from before a flush; apart from the others, as clicks may be lost (metric)"

    async def lose(self) -> None:
        copy = self.server.copy_data()
        # Only flushes that are newer show that Redis was rolled back. Of a cluster some shard may have no clicks.
        await self.server.until_written_back(may_be_idle=self.world.topology == "cluster")
        await asyncio.sleep(self.rng.uniform(0, 2))
        await self.server.kill()
        self.server.put_back(copy)
        await self.server.start()


class TakeOver(Fault):
    """The replica of Redis becomes the master; addresses of the lines lead to it. What it had is complete."""

    @property
    def touches(self) -> frozenset[str]:
        return frozenset(["redis", *self.lines])

    @property
    def lines(self) -> list[str]:
        """All lines to Redis."""
        return [name for name in self.world.targets if name.endswith("-redis")]

    def __str__(self) -> str:
        return self.kind

    async def move(self, lines: list[str]) -> None:
        """Moves lines to the new master."""
        await self.world.lines.change(lines, "target", float(self.world.redis[0].port))

    async def promote(self) -> None:
        """Makes the replica the master."""
        self.world.redis.reverse()
        await self.world.redis[0].ask("REPLICAOF", "NO", "ONE")

    async def follow(self) -> None:
        """Makes the former master a replica, with all data of the new one."""
        first, second = self.world.redis
        await second.ask("REPLICAOF", "127.0.0.1", str(first.port))
        await self.world.caught_up()


class TakeOverOfKilled(TakeOver):
    """The master dies after its replica has everything."""

    kind = "take-over-of-killed"
    about = "the master of Redis is cut off and killed, and its replica, which has everything, takes over"

    async def begin(self) -> None:
        await self.world.lines.change(self.lines, "cut")
        await self.world.caught_up()
        await self.world.redis[0].kill()
        await self.promote()
        await self.move(self.lines)
        await self.world.lines.change(self.lines, "none")

    async def heal(self) -> None:
        await self.world.redis[1].start()
        await self.follow()


class TakeOverOfAlive(TakeOver):
    """A planned take-over: the former master becomes a replica, and answers on connections that stay."""

    kind = "take-over-planned"
    about = "the replica of Redis takes over without loss, the former master becomes a replica; old connections stay"

    async def begin(self) -> None:
        # Writes wait meanwhile, as during Redis' own FAILOVER.
        await self.world.redis[0].ask("CLIENT", "PAUSE", "3000", "WRITE")
        await self.world.caught_up()
        await self.promote()
        await self.move(self.lines)
        first, second = self.world.redis
        await second.ask("REPLICAOF", "127.0.0.1", str(first.port))
        await second.ask("CLIENT", "UNPAUSE")

    async def heal(self) -> None:
        await self.world.caught_up()


class Depose(TakeOver):
    """The replica takes over, and one instance stays connected to the former master, which still takes writes."""

    kind = "take-over-beside-deposed"
    about = "the replica of Redis takes over, and one instance keeps its connections to the deposed master"
    is_apart = True
    is_moved: ClassVar[bool] = True
    """Whether new connections of that instance lead to the new master."""

    async def begin(self) -> None:
        left = self.rng.choice(self.world.instances)
        await self.world.caught_up()
        self.world.deposed, self.world.is_losing = (left, time.monotonic()), True
        await self.promote()
        others = [line for line in self.lines if not line.startswith(left.name)]
        await self.move(self.lines if self.is_moved else others)
        await self.world.lines.change(others, "cut")
        await self.world.lines.change(others, "none")

    async def heal(self) -> None:
        """The deposed master is left alive for long enough that its use is noticed."""
        assert self.world.deposed
        left, since = self.world.deposed
        await asyncio.sleep(max(0.0, since + DEPOSED_SECONDS - time.monotonic()))
        books = self.world.books
        then = {book.code: books.answered_since(since - 0.3, left.name, book) for book in books.all.values()}
        for book in books.all.values():
            book.allow(then[book.code], "acknowledged by a deposed master within the time to notice", may_fall=True)
        # From here on it has no excuse.
        self.world.is_losing = False
        await asyncio.sleep(4)
        if not self.is_moved:
            line = [line for line in self.lines if line.startswith(left.name)]
            await self.move(line)
            await self.world.lines.change(line, "cut")
            await self.world.lines.change(line, "none")
        await self.follow()
        self.world.deposed = None


class Split(Depose):
    """As where the setting of one instance still names the deposed master."""

    kind = "take-over-beside-split"
    about = "the replica of Redis takes over, and one instance still connects to the deposed master"
    is_moved = False
