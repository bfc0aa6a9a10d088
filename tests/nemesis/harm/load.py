"""The load: visitors with books, readers of statistics and lists, and an owner who makes and deletes links."""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from collections.abc import Callable, Coroutine
from urllib.parse import quote

from testbed.programs import Failed

from .bans import Bans
from .books import Book, Mark, State, TakenBy
from .client import Client, Cut, NotSent, Response
from .endings import Endings
from .feeds import Feeds
from .hooks import Hooks
from .judge import RAISE_SECONDS, Judge
from .servers import Instance
from .world import World

LINKS = 36
HOT = 3
OWNERS = 3
LIMITED = 0.3
"""The share of links with `max_clicks`."""
LIMITS = (50, 1_000)
WITH_ALIAS = 0.5
"""The share of links with an alias."""
BY_ALIAS = 0.4
"""The share of their visits by it."""
POOLED = 0.15
"""The share of the other links with a pool."""
POOL = 20_000
WITH_FALLBACK = 0.5
"""The share of the links that send further visitors elsewhere."""
TAKEN_BY = {TakenBy.DELETE: 5, TakenBy.EDIT: 3, TakenBy.REMOVAL: 2}
"""How links are taken away, with weights; of those with a limit none is ended by an edit."""
REFERRERS = {"example.com": "https://news.example.com/today?id=7", "example.net": "https://example.net/", None: ""}
AGENTS = {
    "Firefox": "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    "Chrome": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Safari": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 "
              "Mobile/15E148 Safari/604.1",
    "Googlebot": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    None: "",
}
"""What visitors send, by the host or the browser that is known of it."""
MORE = (1, 100)
"""By how much a limit is raised."""
VISITORS = 6
"""Visitors, for each instance."""
READERS = 2
VISIT_TIMEOUT = 15.0
API_TIMEOUT = 25.0


class Load:
    """All clients. They run until they are cancelled."""

    def __init__(self, world: World, judge: Judge, rng: random.Random) -> None:
        self.world = world
        self.judge = judge
        self.rng = rng
        self.tokens: list[str] = []
        self.made = 0
        self.bans = Bans(self, OWNERS)
        self.endings = Endings(self)
        self.feeds = Feeds(self, OWNERS)
        self.hooks = Hooks(self, OWNERS)
        self.change = asyncio.Lock()
        """Held while a link is made or deleted."""
        self.tasks: list[asyncio.Task[None]] = []

    async def prepare(self) -> None:
        """Registers the owners and makes the first links, before any harm."""
        client = Client(self.world.instances[0].port, API_TIMEOUT)
        for number in range(OWNERS):
            person = {"email": f"owner{number}@example.org", "password": f"correct horse {number}"}
            response = await client.ask("POST", "/auth/register", body=person)
            if response.status != 200:
                raise Failed(f"an owner could not be registered: {response}")
            self.tokens.append(str(response.json()["access_token"]))
        await asyncio.to_thread(self.world.grant_administration, "owner0@example.org")
        await self.hooks.prepare(client)
        while len(self.world.books.live) < LINKS:
            if not await self.make(self.world.instances[0], client):
                raise Failed("a link could not be made before any harm")
        await self.bans.prepare(self.world.instances[0], client)
        await self.endings.prepare(client)

    def start(self) -> None:
        """Starts all clients."""
        for instance in self.world.instances:
            self.spawn(self.visit, instance, VISITORS)
            self.spawn(self.read, instance, READERS)
            self.spawn(self.read_lists, instance, 1)
        self.tasks += [asyncio.ensure_future(self.own()), asyncio.ensure_future(self.bans.run()),
                       asyncio.ensure_future(self.endings.run())]
        self.tasks += [asyncio.ensure_future(self.feeds.run(owner)) for owner in range(OWNERS)]

    def spawn(self, work: Callable[[Instance], Coroutine[None, None, None]], instance: Instance, count: int) -> None:
        """Starts clients of an instance."""
        self.tasks += [asyncio.ensure_future(work(instance)) for _ in range(count)]

    async def stop(self) -> None:
        """Ends all clients."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.hooks.stop()

    def a_link(self) -> Book:
        """A link to visit: mostly a live one, half of the time a hot one."""
        live, gone = self.world.books.live, self.world.books.gone
        if gone and self.rng.random() < 0.15:
            # Mostly one that was deleted recently.
            return self.rng.choice(gone[-8:] if self.rng.random() < 0.7 else gone)
        return self.rng.choice(live[:HOT] if self.rng.random() < 0.5 else live)

    async def visit(self, instance: Instance) -> None:
        """Follows one link after the other."""
        client = Client(instance.port, VISIT_TIMEOUT)
        while True:
            await self.world.gate.wait()
            await self.follow(instance, client, self.a_link())
            await asyncio.sleep(self.rng.uniform(0, 0.01))

    async def follow(self, instance: Instance, client: Client, book: Book) -> None:
        """Follows a link once."""
        world = self.world
        world.under_way += 1
        try:
            await client.connect()
            state, sent = book.state, time.monotonic()
            by_alias = int(book.alias != "" and self.rng.random() < BY_ALIAS)
            book.sent += 1
            book.alias_sent += by_alias
            try:
                response = await client.ask("GET", f"/{book.alias if by_alias else book.code}", headers=self.visitor(book))
            except Cut as cut:
                return self.judge.no_response(instance, "a visit", sent, str(cut))
            if book.is_sent_to_fallback(response) or response.status in (404, 410):
                # Surely not counted.
                book.sent -= 1
                book.alias_sent -= by_alias
            elif response.status == 302:
                book.answered += 1
                book.alias_answered += by_alias
                book.by_instance[instance.name] += 1
            self.judge.redirect(instance, book, state, sent, response)
        except NotSent:
            await asyncio.sleep(0.05)
        finally:
            world.under_way -= 1

    def visitor(self, book: Book) -> dict[str, str]:
        """The headers of a visitor, of whom more or less is known; some ask that nothing is kept. A pool is for people."""
        agents = [agent for name, agent in AGENTS.items() if not book.pool or name != "Googlebot"]
        headers = {"User-Agent": self.rng.choice(agents), "Referer": self.rng.choice(list(REFERRERS.values()))}
        if self.rng.random() < 0.1:
            headers["Sec-GPC"] = "1"
        return {name: value for name, value in headers.items() if value}

    async def api(self, instance: Instance, client: Client, what: str, method: str, path: str, token: str = "",
                  body: object = None) -> Response | None:
        """Asks the API; `None` without a response."""
        sent = time.monotonic()
        try:
            return await client.ask(method, path, token=token, body=body)
        except Cut as cut:
            self.judge.no_response(instance, what, sent, str(cut))
        except NotSent:
            await asyncio.sleep(0.05)
        return None

    async def read(self, instance: Instance) -> None:
        """Reads one count after the other."""
        client = Client(instance.port, API_TIMEOUT)
        while True:
            await asyncio.sleep(self.rng.uniform(0, 0.04))
            book = self.rng.choice(self.world.books.live[:HOT] if self.rng.random() < 0.5 else self.world.books.live)
            if self.world.books.gone and self.rng.random() < 0.1:
                await self.read_deleted(instance, client, self.rng.choice(self.world.books.gone))
                continue
            mark, sent = book.mark(), time.monotonic()
            response = await self.api(instance, client, "statistics", "GET", f"/urls/{book.code}/stats")
            if response:
                self.judge.stats(instance, book, mark, sent, response)

    async def read_deleted(self, instance: Instance, client: Client, book: Book) -> None:
        """A deleted link has no statistics any more; one that was ended or removed keeps them."""
        state, mark, sent = book.state, book.mark(), time.monotonic()
        response = await self.api(instance, client, "statistics", "GET", f"/urls/{book.code}/stats")
        if response and book.taken_by.keeps_statistics:
            self.judge.stats(instance, book, mark, sent, response)
        elif response and response.status == 200:
            if state is State.DELETED:
                self.judge.violated(f"{instance.name} has statistics of a deleted link: {response.body!r}\n{book}")
        elif response and response.status != 404:
            self.judge.refusal(instance, "a question for statistics", response)

    async def read_lists(self, instance: Instance) -> None:
        """Reads one list after the other."""
        client = Client(instance.port, API_TIMEOUT)
        while True:
            await asyncio.sleep(self.rng.uniform(0.2, 0.8))
            owner, books = self.rng.randrange(OWNERS), self.world.books
            before = {book.code: book.mark() for book in books.live if book.owner == owner}
            gone = [book for book in books.gone
                    if book.owner == owner and book.state is State.DELETED and not book.taken_by.keeps_statistics]
            sent = time.monotonic()
            response = await self.api(instance, client, "a list", "GET", "/urls/my", self.tokens[owner])
            if response is None:
                continue
            self.judge.seen[f"list {response.status}"] += 1
            if response.status != 200:
                self.judge.refusal(instance, "a list", response)
                continue
            try:
                listed = {str(link["short_code"]): link for link in response.list()}
            except (json.JSONDecodeError, KeyError):
                self.judge.violated(f"{instance.name} sent a list that cannot be read: {response.body!r}")
                continue
            self.compare(instance, before, gone, listed, sent, response.headers.get("clicks-as-of"))

    def compare(self, instance: Instance, before: dict[str, Mark], gone: list[Book],
                listed: dict[str, dict[str, object]], sent: float, as_of: str | None) -> None:
        """Judges a list: every live link is in it, with a count within its bounds, and no deleted one. `as_of` is the moment
        up to which clicks have to be in the counts, if these are not exact."""
        if as_of:
            self.judge.seen["list as of an earlier moment"] += 1
        for code, mark in before.items():
            book = self.world.books.all[code]
            if code in listed:
                if listed[code]["target_url"] != book.target:
                    self.judge.violated(f"a wrong target in a list: {listed[code]}\n{book}")
                if as_of:
                    self.judge.count_as_of(instance, book, mark, sent, listed[code]["clicks"], as_of)
                else:
                    self.judge.count(instance, book, mark, sent, listed[code]["clicks"])
            elif book.state is State.LIVE:
                self.judge.violated(f"a live link is not in the list of {instance.name}\n{book}")
        for book in gone:
            if book.code in listed:
                self.judge.violated(f"a deleted link is in the list of {instance.name}\n{book}")

    async def own(self) -> None:
        """Makes and deletes links and raises limits, on all instances."""
        clients = {instance.name: Client(instance.port, API_TIMEOUT) for instance in self.world.instances}
        while True:
            await asyncio.sleep(self.rng.uniform(0.05, 0.35))
            await self.world.gate.wait()
            instance = self.rng.choice(self.world.instances)
            async with self.change:
                live, gone = ([book for book in books if book.owner < OWNERS]
                              for books in (self.world.books.live, self.world.books.gone))
                doubtful = [book for book in gone if book.state is State.DOUBTFUL]
                if doubtful and self.rng.random() < 0.5:
                    await self.take_away(instance, clients[instance.name], self.rng.choice(doubtful))
                elif len(live) < LINKS:
                    await self.make(instance, clients[instance.name])
                elif (used_up := self.used_up()) and self.rng.random() < 0.4:
                    await self.raise_limit(instance, clients[instance.name], self.rng.choice(used_up))
                else:
                    # Links that redirect no more make room first.
                    books = used_up if used_up and self.rng.random() < 0.5 else live
                    book = self.rng.choice(books)
                    (by,) = self.rng.choices(list(TAKEN_BY), list(TAKEN_BY.values()))
                    book.taken_by = by if book.limit is None else TakenBy.DELETE
                    await self.take_away(instance, clients[instance.name], book)

    async def make(self, instance: Instance, client: Client, of: int | None = None) -> bool:
        """Makes a link, of an owner who is drawn unless one is given."""
        self.made += 1
        owner, target = self.rng.randrange(OWNERS) if of is None else of, f"https://example.org/{self.made}?of={self.made * 7919 % 9973}"
        limit = self.rng.randint(*LIMITS) if of is None and self.rng.random() < LIMITED else None
        fallback = f"https://example.org/{self.made}/later" if limit and self.rng.random() < WITH_FALLBACK else ""
        path = "/urls/shorten?target_url=" + quote(target, safe="") + (f"&max_clicks={limit}" if limit else "")
        path += "&fallback_url=" + quote(fallback, safe="") if fallback else ""
        alias = f"alias-{self.made}" if of is None and self.rng.random() < WITH_ALIAS else ""
        path += f"&aliases={alias}" if alias else ""
        response = await self.api(instance, client, "a new link", "POST", path, self.tokens[owner])
        if response is None:
            return False
        self.judge.seen[f"new link {response.status}"] += 1
        if response.status != 200:
            self.judge.refusal(instance, "a new link", response)
            return False
        made = response.json()
        code = str(made["short_code"])
        if code in self.world.books.all or made["target_url"] != target or made["clicks"] != 0:
            self.judge.violated(f"{instance.name} made a wrong link: {made}, of {target}")
        pool = POOL if of is None and limit is None and self.rng.random() < POOLED else 0
        if pool:
            places = "".join(f"{target}&place={place}\n" for place in range(pool))
            response = await self.api(instance, client, "a pool", "POST", f"/urls/{code}/pool", self.tokens[owner], places)
            if response is None:
                return False
            self.judge.seen[f"pool {response.status}"] += 1
            if response.status != 200:
                self.judge.refusal(instance, "a pool", response)
                return False
        self.world.books.open(Book(code, target, owner, limit=limit, limit_before=limit or 0, fallback=fallback, alias=alias, pool=pool))
        return True

    def used_up(self) -> list[Book]:
        """Live links that redirect no more, and whose limits may be raised."""
        return [book for book in self.world.books.live if book.limit is not None and book.answered >= book.limit_before
                and not time.monotonic() < book.raised_at + RAISE_SECONDS < math.inf]

    async def raise_limit(self, instance: Instance, client: Client, book: Book) -> None:
        """Raises the limit of a link; once more where that was not answered."""
        assert book.limit is not None
        if book.raised_at < math.inf:
            book.limit_before, book.raised_at = book.limit, math.inf
            book.limit += self.rng.randint(*MORE)
        response = await self.api(instance, client, "an edit", "PATCH", f"/urls/{book.code}", self.tokens[book.owner],
                                  {"max_clicks": book.limit})
        if response is None:
            return
        self.judge.seen[f"edit {response.status}"] += 1
        if response.status == 200:
            book.raised_at = time.monotonic()
        else:
            self.judge.refusal(instance, "an edit", response)

    async def take_away(self, instance: Instance, client: Client, book: Book) -> None:
        """Deletes a link, ends it by an edit or removes it, and follows it on every instance at once."""
        was_live = book.state is State.LIVE
        self.world.books.close(book, State.DOUBTFUL)
        what, path, body = book.taken_by.value, f"/urls/{book.code}", None
        token, method, was_done = self.tokens[book.owner], "DELETE", 404
        if book.taken_by is TakenBy.EDIT:
            method, body, was_done = "PATCH", {"is_active": False}, 200
        elif book.taken_by is TakenBy.REMOVAL:
            token, method, path, was_done = self.tokens[0], "POST", "/admin/removals", 409
            body = {"kind": "link", "value": book.code, "reason": "harm", "status": 410}
        response = await self.api(instance, client, what, method, path, token, body)
        if response is None:
            return
        self.judge.seen[f"{what} {response.status}"] += 1
        if response.status not in (200, 204):
            if response.status != was_done:
                return self.judge.refusal(instance, what, response)
            if was_live:
                self.judge.violated(f"{instance.name} says that {what} of a live link was done before\n{book}")
        book.deleted_at, book.deleted_by = time.monotonic(), instance.name
        # An earlier request without a response did it, which was perhaps not announced.
        book.is_announced_late = response.status == was_done and not was_live
        book.state = State.DELETED
        await asyncio.gather(*(self.try_deleted(other, book) for other in self.world.instances))

    async def try_deleted(self, instance: Instance, book: Book) -> None:
        """Follows a deleted link some times, on a connection of its own."""
        client = Client(instance.port, VISIT_TIMEOUT)
        for _ in range(3):
            await self.follow(instance, client, book)
        client.close()
