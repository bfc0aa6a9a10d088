"""Readers of the feeds of events: they keep books of what they were told, beside the clients."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from typing import TYPE_CHECKING

from .books import Book, Violated
from .client import Client, Response
from .servers import Instance

if TYPE_CHECKING:
    from .load import Load

API_TIMEOUT = 45.0
"""Longer than a reader waits for events."""
TOLD_SECONDS = 60.0
"""Within this time clicks are written back and in the feed, once everything is healed."""


class Feed:
    """What an owner was told."""

    def __init__(self, load: Load, owner: int) -> None:
        self.load = load
        self.owner = owner
        self.told: dict[str, dict[str, object]] = {}
        """Events by their ids, in their order."""
        self.sums: Counter[str] = Counter()
        self.cursor = ""

    async def read(self, instance: Instance, client: Client, wait: int) -> bool:
        """Reads what comes after the cursor; returns whether there was something."""
        path = f"/urls/my/events?wait={wait}" + (f"&after={self.cursor}" if self.cursor else "")
        response = await self.load.api(instance, client, "events", "GET", path, self.load.tokens[self.owner])
        if response is None:
            return False
        judge = self.load.judge
        judge.seen[f"events {response.status}"] += 1
        if response.status != 200:
            judge.refusal(instance, "events", response)
            return False
        events = events_in(response)
        for event in events:
            self.add(instance, event)
        if not events and not wait:
            self.cursor = response.headers["shunt-cursor"]
        return bool(events)

    def add(self, instance: Instance, event: dict[str, object]) -> None:
        """One more event: its id is new, and the clicks of its link are never more than were sent."""
        judge, name, code = self.load.judge, str(event["id"]), str(event["short_code"])
        if name in self.told:
            return judge.violated(f"{instance.name} tells an event twice, after its own cursor: {event}")
        self.told[name], self.cursor = event, name
        self.sums[code] += int(str(event.get("clicks") or 0))
        judge.seen[f"event {event['type']}"] += 1
        book = self.load.world.books.all.get(code)
        if book and self.sums[code] > book.ceiling:
            events = [{name: value for name, value in told.items() if name != "classes"}
                      for told in self.told.values() if told["short_code"] == code]
            judge.violated(f"the events of {instance.name} have {self.sums[code]} clicks, above the {book.ceiling} that were sent\n{book}\n"
                           f"its events: {events}")

    async def settled(self, instance: Instance, client: Client, counts: list[tuple[Book, int]]) -> None:
        """A calm moment: the sums are the counts, and whoever begins anew is told the same."""
        end = time.monotonic() + TOLD_SECONDS
        own = [(book, count) for book, count in counts if book.owner == self.owner]
        while True:
            while await self.read(instance, client, 0):
                pass
            wrong = [(book, count) for book, count in own if self.sums[book.code] != count]
            if not wrong:
                break
            book, count = wrong[0]
            if self.sums[book.code] > count or time.monotonic() > end:
                raise Violated(f"in a calm moment the count is {count}, and the events have {self.sums[book.code]}\n{book}")
            await asyncio.sleep(0.2)
        anew = Feed(self.load, self.owner)
        while await anew.read(instance, client, 0):
            pass
        if list(anew.told.items())[: len(self.told)] != list(self.told.items()):
            missing = [event for name, event in self.told.items() if anew.told.get(name) != event]
            raise Violated(f"who reads the feed of owner {self.owner} anew is told something else: {missing[:3]}")
        self.load.judge.seen["feed that is complete"] += 1


def events_in(response: Response) -> list[dict[str, object]]:
    """The events, one JSON object a line."""
    return [json.loads(line) for line in response.body.splitlines()]


class Feeds:
    """The readers of all owners."""

    def __init__(self, load: Load, owners: int) -> None:
        self.load = load
        self.all = [Feed(load, owner) for owner in range(owners)]
        self.locks = [asyncio.Lock() for _ in self.all]

    async def run(self, owner: int) -> None:
        """Follows a feed, each time on another instance."""
        load = self.load
        clients = {instance.name: Client(instance.port, API_TIMEOUT) for instance in load.world.instances}
        while True:
            await asyncio.sleep(load.rng.uniform(0.1, 0.6))
            await load.world.gate.wait()
            instance = load.rng.choice(load.world.instances)
            async with self.locks[owner]:
                await self.all[owner].read(instance, clients[instance.name], load.rng.choice((0, 0, 2)))

    async def settled(self, instance: Instance, counts: list[tuple[Book, int]]) -> None:
        """A calm moment of all feeds."""
        client = Client(instance.port, API_TIMEOUT)
        for feed, lock in zip(self.all, self.locks):
            async with lock:
                await feed.settled(instance, client, counts)
        client.close()
