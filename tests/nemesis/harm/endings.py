"""An account whose owner ends tokens and keys, again and again."""

from __future__ import annotations

import asyncio
import time
from enum import Enum
from typing import TYPE_CHECKING

from testbed.programs import Failed

from .books import Violated
from .client import Client, Response
from .judge import CLOCK_SECONDS
from .servers import Instance

if TYPE_CHECKING:
    from .load import Load

API_TIMEOUT = 25.0
EMAIL = "ends@example.org"
KEPT = 6
"""Ended tokens and keys that are tried again later."""


class How(Enum):
    """How tokens end."""

    PASSWORD = "a change of the password"
    EVERYWHERE = "a log-out everywhere"
    KEY = "the end of a key"


OFTEN = {How.PASSWORD: 4, How.EVERYWHERE: 1, How.KEY: 3}
"""How often, with weights: after a log-out everywhere the account waits for the next calm moment."""


class Endings:
    """The account, and what it may not use any more."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.token = ""
        """Empty where it may have ended: a calm moment brings another one."""
        self.key: tuple[int, str] | None = None
        self.passwords = ["correct horse of an ender 0"]
        """One, or the two between which a change without a response leaves it."""
        self.ended: list[tuple[str, How]] = []
        self.changes = 0
        self.act = asyncio.Lock()

    async def prepare(self, client: Client) -> None:
        """Registers it, before any harm."""
        response = await client.ask("POST", "/auth/register", body={"email": EMAIL, "password": self.passwords[0]})
        if response.status != 200:
            raise Failed(f"an account could not be registered: {response}")
        self.token = str(response.json()["access_token"])

    async def run(self) -> None:
        """Ends what it has, and tries what has ended."""
        load = self.load
        clients = {instance.name: Client(instance.port, API_TIMEOUT) for instance in load.world.instances}
        while True:
            await asyncio.sleep(load.rng.uniform(0.3, 2.0))
            await load.world.gate.wait()
            instance = load.rng.choice(load.world.instances)
            async with self.act:
                if self.token and self.is_clock_right(instance):
                    await self.end(instance, clients[instance.name], self.how())
                for ended in list(self.ended):
                    await self.is_refused(instance, clients[instance.name], *ended)

    def how(self) -> How:
        """The next way."""
        (how,) = self.load.rng.choices(list(OFTEN), list(OFTEN.values()))
        return how

    @staticmethod
    def is_clock_right(instance: Instance) -> bool:
        """Whether a token of this instance is one of now."""
        return not instance.clock_is_wrong and time.monotonic() > instance.disturbed + CLOCK_SECONDS

    async def ask(self, instance: Instance, client: Client, what: str, method: str, path: str,
                  body: object = None) -> Response | None:
        """Asks with the token; `None` without a success."""
        response = await self.load.api(instance, client, what, method, path, self.token, body)
        if response is None:
            return None
        self.load.judge.seen[f"{what} {response.status}"] += 1
        if response.status in (200, 204):
            return response
        self.load.judge.refusal(instance, what, response)
        return None

    async def end(self, instance: Instance, client: Client, how: How) -> None:
        """Ends tokens or the key: once that is answered, no instance accepts them."""
        if how is How.KEY:
            return await self.end_key(instance, client)
        body, path, token = None, "/auth/logout-everywhere", self.token
        if how is How.PASSWORD:
            self.changes += 1
            self.passwords.append(f"correct horse of an ender {self.changes}")
            path, body = "/auth/password", {"old_password": self.passwords[0], "new_password": self.passwords[1]}
        response = await self.ask(instance, client, how.value, "POST", path, body)
        self.token = ""
        if response is None:
            return
        if how is How.PASSWORD:
            del self.passwords[0]
            if self.is_clock_right(instance):
                self.token = str(response.json()["access_token"])
        await self.has_ended(token, how)

    async def end_key(self, instance: Instance, client: Client) -> None:
        """Makes a key, or ends the one that was made."""
        if self.key is None:
            body = {"name": "harm", "scope": "read"}
            if made := await self.ask(instance, client, "a new key", "POST", "/auth/keys", body):
                self.key = int(str(made.json()["id"])), str(made.json()["key"])
            return
        (number, key), self.key = self.key, None
        # A key whose end was not answered is left alone: it may be good or not.
        if await self.ask(instance, client, How.KEY.value, "DELETE", f"/auth/keys/{number}"):
            await self.has_ended(key, How.KEY)

    async def has_ended(self, bearer: str, how: How) -> None:
        """Every instance refuses it from now on."""
        self.ended = [*self.ended, (bearer, how)][-KEPT:]
        await asyncio.gather(*(self.is_refused_anew(other, bearer, how) for other in self.load.world.instances))

    async def is_refused_anew(self, instance: Instance, bearer: str, how: How) -> None:
        """The same, on a connection of its own."""
        client = Client(instance.port, API_TIMEOUT)
        await self.is_refused(instance, client, bearer, how)
        client.close()

    async def is_refused(self, instance: Instance, client: Client, bearer: str, how: How) -> None:
        """It is not accepted."""
        response = await self.load.api(instance, client, "a list", "GET", "/urls/my", bearer)
        if response is None:
            return
        self.load.judge.seen[f"list after {how.value} {response.status}"] += 1
        if response.status == 200:
            self.load.judge.violated(f"{instance.name} accepts what {how.value} has ended")
        elif response.status != 401:
            self.load.judge.refusal(instance, "a list", response)

    async def settled(self, client: Client, end: float) -> None:
        """A calm moment: the account logs in, with one of the passwords that it may have."""
        async with self.act:
            while not self.token:
                answers = [await self.log_in(client, password) for password in self.passwords if not self.token]
                if not self.token and time.monotonic() > end:
                    raise Violated(f"an account whose tokens have ended cannot log in: {answers}")

    async def log_in(self, client: Client, password: str) -> Response:
        """Logs in, if that is the password."""
        response = await client.ask("POST", "/auth/login", body={"email": EMAIL, "password": password})
        if response.status == 200:
            self.passwords, self.token = [password], str(response.json()["access_token"])
        return response
