"""A simulation of clicks, caches and flushes, against which the arithmetic of `traffic` is checked.

One link stands for each group of many. That a thousand million links are scaled down so changes nothing: clicks of a link are
independent of all others, so the rows that are written and the look-ups are sums over links; and each link keeps its own rate. Caches have
the same share of the links' places. (Dividing redirects and links alike, with Zipf's law over the fewer links, would change the
rates: the head of the law would weigh more.) The most popular links, which are groups of one, take part as they are counted: their
clicks are found in memory, and each is a row of every flush. So the simulation leaves them out, and the sums add them.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from dataclasses import dataclass

from .traffic import Caches, Group, cumulated

QUARTER = 900.0


@dataclass(frozen=True)
class Counted:
    """What was counted per second, for all links of the groups."""

    in_process: float
    in_redis: float
    in_postgres: float
    rows: float
    rows_in_new_quarters: float


class Process:
    """The cache of one process: the least recently used link goes first."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.until: OrderedDict[int, float] = OrderedDict()

    def has(self, link: int, now: float) -> bool:
        """Whether it has the link, which it has from now on as the last one used."""
        until = self.until.get(link)
        if until is None:
            return False
        if until < now:
            del self.until[link]
            return False
        self.until.move_to_end(link)
        return True

    def insert(self, link: int, until: float) -> None:
        """Caches a link that it does not have."""
        self.until[link] = until
        if len(self.until) > self.capacity:
            self.until.popitem(last=False)


def simulate(groups: list[Group], caches: Caches, interval: float, seconds: float, seed: int = 1) -> Counted:
    """Draws clicks for two times `seconds`, and counts in the second. All groups stand for equally many links."""
    chance = random.Random(seed)
    scale = groups[0].links
    weights = cumulated(groups)
    rate = weights[-1]
    processes = [Process(max(1, round(caches.process_links / scale))) for _ in range(caches.instances)]
    # Redis has its links for hours. It begins as it is after a long time: each link is there with the share of time for which it is
    # kept, with a part of its lifetime left.
    life = caches.redis_lifetime
    redis = [chance.random() * life if chance.random() < group.rate * life / (1 + group.rate * life) else 0.0
             for group in groups]
    pending: set[int] = set()
    written_in: dict[int, int] = {}
    flushed, now, ends = interval, 0.0, 2 * seconds
    found = {"process": 0, "redis": 0, "postgres": 0, "rows": 0, "new": 0}
    shortest, longest = caches.process_lifetimes
    step = 1 / rate
    while now < ends:
        drawn = chance.choices(range(len(groups)), cum_weights=weights, k=10_000)
        for link in drawn:
            now += step
            if now >= flushed:
                quarter = int((flushed - interval) // QUARTER)
                if flushed > seconds:
                    found["rows"] += len(pending)
                    found["new"] += sum(written_in.get(each, -1) != quarter for each in pending)
                written_in.update(dict.fromkeys(pending, quarter))
                pending.clear()
                flushed += interval
            pending.add(link)
            process = processes[int(chance.random() * caches.instances)]
            if process.has(link, now):
                place = "process"
            else:
                process.insert(link, now + shortest + (longest - shortest) * chance.random())
                place = "redis" if redis[link] >= now else "postgres"
                if place == "postgres":
                    redis[link] = now + life
            if now >= seconds:
                found[place] += 1
    counted = now - seconds
    flushes = (flushed - interval) - (seconds // interval) * interval
    return Counted(found["process"] * scale / counted, found["redis"] * scale / counted, found["postgres"] * scale / counted,
                   found["rows"] * scale / flushes, found["new"] * scale / flushes)
