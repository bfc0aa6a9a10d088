"""Which faults happen when: drawn from the seed, one and two at a time, every kind at least once."""

from __future__ import annotations

import random
from dataclasses import dataclass

from . import faults_of_postgres as of_postgres
from . import faults_of_redis as of_redis
from .faults import ClockJumps, Fault, KillInstance, PauseInstance, Roll, SlowToConnect, line_faults
from .proxy import MODES
from .world import World

STEPS_UNTIL_CALM = 10
APART_SECONDS = 9.0
"""About what a fault that happens alone takes, with the calm moments around it."""

TO_POSTGRES = {mode: about for mode, about in MODES.items() if mode not in ("errors", "masked")}
OF_INSTANCES: list[type[Fault]] = [KillInstance, PauseInstance, Roll, ClockJumps]
OF_REDIS: list[type[Fault]] = [of_redis.KillRedis, of_redis.PauseRedis, of_redis.RedisStutters, of_redis.RedisFull,
                               SlowToConnect, *line_faults("redis", MODES)]
OF_POSTGRES: list[type[Fault]] = [of_postgres.KillPostgres, of_postgres.PausePostgres, of_postgres.PostgresStutters,
                                  of_postgres.LockTables, of_postgres.RedisBackFirst,
                                  of_postgres.RedisLateWithoutPostgres,
                                  *line_faults("postgres", TO_POSTGRES)]
OF_TOPOLOGY: dict[str, list[type[Fault]]] = {
    "single": [of_redis.EmptyRedis, of_redis.RollRedisBack],
    "cluster": [],
    "takeover": [of_redis.TakeOverOfKilled, of_redis.TakeOverOfAlive, of_redis.Depose, of_redis.Split],
    "replica": [of_postgres.FailOver, of_postgres.PauseStandby, of_postgres.StandbyLags, of_postgres.KillStandby,
                *line_faults("replica", TO_POSTGRES)],
}


def kinds(topology: str) -> dict[str, type[Fault]]:
    """The kinds of faults of a topology, by name."""
    found = [*OF_INSTANCES, *OF_REDIS, *OF_POSTGRES, *OF_TOPOLOGY[topology]]
    return {kind.kind: kind for kind in found}


@dataclass(frozen=True)
class Timed:
    """A fault of a step: when it begins and how long it lasts, in seconds."""

    fault: Fault
    begin: float
    end: float

    def __str__(self) -> str:
        return f"{self.fault} {self.begin:.1f} to {self.end:.1f} s"


class Schedule:
    """Draws one step after the other."""

    def __init__(self, world: World, names: list[str], rng: random.Random, seconds: float) -> None:
        self.world = world
        self.rng = rng
        self.kinds = {name: kind for name, kind in kinds(world.topology).items() if name in names}
        self.missing = set(self.kinds)
        """Kinds that did not happen yet."""
        self.deck: list[str] = []
        apart = sum(kind.is_apart for kind in self.kinds.values())
        steps = max(1.0, (len(self.kinds) - apart) / 1.6)
        self.pace = min(8.0, max(0.8, 0.75 * (seconds - APART_SECONDS * apart) / steps - 0.8))

    def step(self) -> list[Timed]:
        """The faults that happen next, of which the first begins at once."""
        first = self.draw([])
        faults = [first]
        if not first.is_apart and self.rng.random() < 0.6 and len(self.kinds) > 1:
            second = self.draw([first])
            if second is not first:
                faults.append(second)
        timed = []
        for fault in faults:
            begin = 0.0 if fault is first else self.rng.uniform(0, 0.4) * self.pace
            timed.append(Timed(fault, begin, begin + self.rng.uniform(0.3, 1.0) * self.pace))
        return timed

    def draw(self, beside: list[Fault]) -> Fault:
        """The next kind of the deck, which is shuffled again when it is used up; beside another fault the next one
        that can happen beside it, or that one itself where there is none."""
        if not self.deck:
            self.deck = sorted(self.kinds)
            self.rng.shuffle(self.deck)
        for name in list(self.deck):
            kind = self.kinds[name]
            # With a source of its own, as the moments at which it draws are not of the seed.
            fault = kind(self.world, random.Random(self.rng.random()))
            if beside and (kind.is_apart or beside[0].touches & fault.touches):
                continue
            self.deck.remove(name)
            return fault
        return beside[0]

    def pause(self) -> float:
        """Seconds between two steps."""
        return self.rng.uniform(0, 0.35) * self.pace

    def happened(self, fault: Fault) -> None:
        """Notes that a fault has happened."""
        self.missing.discard(fault.kind)
