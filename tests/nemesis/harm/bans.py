"""An account that an administrator bans and unbans, again and again."""

from __future__ import annotations

import asyncio
import re
from enum import Enum
from typing import TYPE_CHECKING

from testbed.programs import Failed

from .books import Book, State, TakenBy
from .client import Client
from .servers import Instance

if TYPE_CHECKING:
    from .load import Load

LINKS = 3
API_TIMEOUT = 25.0
ACCOUNT = {"email": "banned@example.org", "password": "correct horse of somebody"}
KNOWN_BY = re.compile(r"by removal (\d+)")


class Phase(Enum):
    """Where the account is. What was answered takes effect on its tokens at once, and on its links soon: in the next calm moment
    at the latest."""

    FREE = "links redirect"
    BANNED = "a ban is answered"
    REMOVED = "links are removed"
    UNBANNED = "an end of the ban is answered"


class Bans:
    """The account, its links and what it may not use any more."""

    def __init__(self, load: Load, owner: int) -> None:
        self.load = load
        self.owner = owner
        self.phase = Phase.FREE
        self.books: list[Book] = []
        self.ended: list[str] = []
        """Its token and key of before the newest ban."""
        self.key = ""
        self.removal = 0

    async def prepare(self, instance: Instance, client: Client) -> None:
        """Registers it and makes its links, before any harm."""
        response = await client.ask("POST", "/auth/register", body=ACCOUNT)
        if response.status != 200:
            raise Failed(f"an account could not be registered: {response}")
        self.load.tokens.append(str(response.json()["access_token"]))
        await self.make_key(client)
        for _ in range(LINKS):
            if not await self.load.make(instance, client, self.owner):
                raise Failed("a link could not be made before any harm")
        self.books = self.load.world.books.live[-LINKS:]

    async def make_key(self, client: Client) -> None:
        """Makes a key with the present token."""
        response = await client.ask("POST", "/auth/keys", token=self.load.tokens[self.owner],
                                    body={"name": "harm", "scope": "write"})
        if response.status != 200:
            raise Failed(f"a key could not be made: {response}")
        self.key = str(response.json()["key"])

    async def run(self) -> None:
        """Bans and unbans; what was not answered is asked for again."""
        clients = {instance.name: Client(instance.port, API_TIMEOUT) for instance in self.load.world.instances}
        while True:
            await asyncio.sleep(self.load.rng.uniform(0.3, 2.0))
            await self.load.world.gate.wait()
            instance = self.load.rng.choice(self.load.world.instances)
            async with self.load.change:
                if self.phase is Phase.FREE:
                    await self.ban(instance, clients[instance.name])
                elif self.phase is Phase.REMOVED:
                    await self.unban(instance, clients[instance.name])
                else:
                    await self.is_refused(instance, clients[instance.name])

    async def ban(self, instance: Instance, client: Client) -> None:
        """Bans the account: once that is answered, no instance accepts its token or key."""
        judge, books = self.load.judge, self.load.world.books
        for book in self.books:
            book.taken_by = TakenBy.BAN
            books.close(book, State.DOUBTFUL)
        body = {"kind": "user", "value": ACCOUNT["email"], "reason": "harm", "status": 410}
        response = await self.load.api(instance, client, "a ban", "POST", "/admin/removals", self.load.tokens[0], body)
        if response is None:
            return
        judge.seen[f"a ban {response.status}"] += 1
        if response.status == 200:
            self.removal = int(str(response.json()["id"]))
        elif response.status == 409 and (known := KNOWN_BY.search(response.body.decode())):
            # An earlier request without a response did it.
            self.removal = int(known[1])
        else:
            return judge.refusal(instance, "a ban", response)
        self.phase, self.ended = Phase.BANNED, [self.load.tokens[self.owner], self.key]
        await asyncio.gather(*(self.is_refused_anew(other) for other in self.load.world.instances))

    async def unban(self, instance: Instance, client: Client) -> None:
        """Takes the ban back; tokens and keys of before stay ended."""
        for book in self.books:
            book.state = State.DOUBTFUL
        what = "an end of a ban"
        response = await self.load.api(instance, client, what, "DELETE", f"/admin/removals/{self.removal}",
                                       self.load.tokens[0])
        if response is None:
            return
        self.load.judge.seen[f"{what} {response.status}"] += 1
        # Unknown, where an earlier request without a response did it.
        if response.status not in (200, 404):
            return self.load.judge.refusal(instance, what, response)
        self.phase = Phase.UNBANNED

    async def is_refused_anew(self, instance: Instance) -> None:
        """The same, on a connection of its own."""
        client = Client(instance.port, API_TIMEOUT)
        await self.is_refused(instance, client)
        client.close()

    async def is_refused(self, instance: Instance, client: Client) -> None:
        """No token or key of before the ban is accepted."""
        judge = self.load.judge
        for token in self.ended:
            response = await self.load.api(instance, client, "a list", "GET", "/urls/my", token)
            if response is None:
                continue
            judge.seen[f"list of a banned account {response.status}"] += 1
            if response.status == 200:
                judge.violated(f"{instance.name} accepts the {'key' if token == self.ended[1] else 'token'} of a banned account, "
                               f"where {self.phase.value}")
            elif response.status != 401:
                judge.refusal(instance, "a list", response)

    def expected(self) -> int | None:
        """How its links have to answer everywhere in a calm moment, if that was not seen yet."""
        return {Phase.BANNED: 410, Phase.UNBANNED: 302}.get(self.phase)

    async def settled(self, client: Client, now: float) -> None:
        """Its links answered as expected on every instance; from now on they have to. An account that is unbanned logs in."""
        for book in self.books:
            if self.phase is Phase.BANNED:
                book.state, book.deleted_at, book.deleted_by = State.DELETED, now, "each instance"
            else:
                self.load.world.books.reopen(book)
        if self.phase is Phase.UNBANNED:
            response = await client.ask("POST", "/auth/login", body=ACCOUNT)
            if response.status != 200:
                raise Failed(f"an account that is unbanned cannot log in: {response}")
            self.load.tokens[self.owner] = str(response.json()["access_token"])
            await self.make_key(client)
        self.phase = Phase.REMOVED if self.phase is Phase.BANNED else Phase.FREE
