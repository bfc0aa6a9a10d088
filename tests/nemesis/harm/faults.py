"""Faults of instances and of the lines between them and the stores."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import ClassVar

from .books import Violated
from .servers import Instance, kill
from .world import World

CLOCK_OFFSETS = ("+1h", "-1h", "+3m", "-3m", "+0")


class Fault(ABC):
    """One harm, from its beginning to its end."""

    kind: ClassVar[str]
    about: ClassVar[str]
    is_apart: ClassVar[bool] = False
    """Whether it happens alone, because it has documented exceptions of its own."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self.world = world
        self.rng = rng

    @property
    @abstractmethod
    def touches(self) -> frozenset[str]:
        """What it works on: two faults at once have nothing in common here."""

    def __str__(self) -> str:
        return f"{self.kind} ({', '.join(sorted(self.touches))})"

    @abstractmethod
    async def begin(self) -> None:
        """Does it."""

    @abstractmethod
    async def heal(self) -> None:
        """Takes it back."""


class OfInstance(Fault):
    """A fault of one instance."""

    def __init__(self, world: World, rng: random.Random) -> None:
        super().__init__(world, rng)
        self.instance: Instance = rng.choice(world.instances)

    @property
    def touches(self) -> frozenset[str]:
        return frozenset([self.instance.name])


class KillInstance(OfInstance):
    """`kill -9`; it starts again when it is healed."""

    kind = "instance-kill"
    about = "an instance is ended with SIGKILL, and started again"

    async def begin(self) -> None:
        evidence, books = self.instance.evidence, self.world.books
        await evidence.sample(1.0)
        self.instance.is_down, self.instance.disturbed = True, time.monotonic()
        await kill(self.instance.process)
        evidence.read_log()
        now = time.monotonic()
        since = evidence.risk_since(now, now)
        if since is not None:
            for book in books.all.values():
                lost = books.answered_since(since, self.instance.name, book)
                book.allow(lost, f"in the memory of {self.instance.name} alone when it was killed (metric, log)")
        evidence.ended()

    async def heal(self) -> None:
        self.instance.start()


class PauseInstance(OfInstance):
    """SIGSTOP, then SIGCONT."""

    kind = "instance-pause"
    about = "an instance hangs, and goes on later"

    async def begin(self) -> None:
        self.instance.is_paused = True
        self.instance.process.popen.send_signal(signal.SIGSTOP)  # type: ignore[union-attr]

    async def heal(self) -> None:
        self.instance.process.popen.send_signal(signal.SIGCONT)  # type: ignore[union-attr]
        self.instance.disturbed, self.instance.is_paused = time.monotonic(), False


class Roll(Fault):
    """Every instance, one after the other, is stopped by SIGTERM and started again."""

    kind = "rolling-restart"
    about = "all instances are stopped by SIGTERM and started again, one after the other; each has to end with 0"

    @property
    def touches(self) -> frozenset[str]:
        return frozenset(instance.name for instance in self.world.instances)

    async def begin(self) -> None:
        for instance in self.world.instances:
            await stop_with_0(instance)
            instance.start()

    async def heal(self) -> None:
        pass


async def stop_with_0(instance: Instance) -> None:
    """Stops an instance, which has to end with 0."""
    code = await instance.stop()
    if code != 0:
        raise Violated(f"{instance.name} ended with {code} after SIGTERM:\n{instance.process.last_lines()}")


class ClockJumps(OfInstance):
    """The clock of one instance is set back or forth."""

    kind = "clock"
    about = "the clock of an instance jumps back and forth, by minutes and by an hour"

    async def begin(self) -> None:
        self.instance.set_clock(self.rng.choice(CLOCK_OFFSETS[:4]))

    async def heal(self) -> None:
        self.instance.set_clock("+0")
        self.instance.disturbed = time.monotonic()


class OfLines(Fault):
    """A fault of lines to one store: of one instance, or of all."""

    store: ClassVar[str]
    mode: ClassVar[str]

    def __init__(self, world: World, rng: random.Random) -> None:
        super().__init__(world, rng)
        lines = sorted(name for name in world.targets if f"-{self.store}" in name)
        self.lines = lines if rng.random() < 0.4 else [rng.choice(lines)]
        self.value = {"delay": rng.choice([0.02, 0.06, 0.3]), "connecting": rng.choice([0.05, 0.15]),
                      "throttle": rng.choice([500.0, 4_000.0])}.get(self.mode, 0.0)

    @property
    def touches(self) -> frozenset[str]:
        return frozenset(self.lines)

    def __str__(self) -> str:
        return super().__str__() + (f" {self.value:g}" if self.value else "")

    async def begin(self) -> None:
        await self.world.lines.change(self.lines, self.mode, self.value)

    async def heal(self) -> None:
        await self.world.lines.change(self.lines, "none")


class SlowToConnect(OfLines):
    """Connections to Redis are cut again and again, and new ones take long to make: TLS, or a busy machine."""

    kind = "redis-line-connecting"
    about = "lines to Redis are cut again and again, and new connections take long to make"
    store = "redis"
    mode = "connecting"
    task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        async def again_and_again() -> None:
            while True:
                await self.world.lines.change(self.lines, self.mode, self.value)
                await asyncio.sleep(self.rng.uniform(0.4, 1.2))
        self.task = asyncio.ensure_future(again_and_again())

    async def heal(self) -> None:
        if self.task:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
        await super().heal()


def line_faults(store: str, modes: dict[str, str]) -> list[type[Fault]]:
    """A kind of fault for each mode of the lines to a store."""
    return [type(f"Line{store}{mode}", (OfLines,), {
        "kind": f"{store}-line-{mode}", "about": f"a line to {store}: {about}", "store": store, "mode": mode,
    }) for mode, about in modes.items() if mode not in ("none", "connecting")]
