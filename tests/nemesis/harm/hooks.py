"""Receivers of hooks: they check every signature, fail now and then, and keep books of what they took, beside the feeds."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import random
import socket
import sys
import time
import traceback
from collections import Counter
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from testbed.programs import Failed

from .books import Book, Violated
from .client import Client
from .feeds import API_TIMEOUT, Feed
from .servers import Instance

if TYPE_CHECKING:
    from .load import Load

TYPES = ["link.created", "link.changed", "link.deleted", "link.removed", "link.restored", "link.ended", "link.moved", "clicks",
         "hook.off"]
HANG_SECONDS = 12.0
"""Longer than an instance waits for an answer."""
CLOCKS_DIFFER = 2 * 3600.0
"""The clocks of instances are wrong by less."""
TAKEN_SECONDS = 120.0
"""Within this time everything was taken, once everything is healed: a killed instance has its hooks for 30 seconds more."""
AGAIN_SECONDS = 3.0
"""How often a calm moment asks for what waits, as the pauses between attempts grow."""
LARGE = 60_000
"""The classes may be missing in bodies of events with more bytes."""


class Mood(Enum):
    """What a receiver does with a request."""

    TAKE = "taken"
    REFUSE = "answered 500"
    DROP = "dropped"
    LOSE = "taken, and the answer lost"
    HANG = "left hanging"


OFTEN = {Mood.TAKE: 1_000, Mood.REFUSE: 10, Mood.DROP: 5, Mood.LOSE: 5, Mood.HANG: 1}
"""How often, with weights."""


def place(name: str) -> tuple[int, int]:
    """The order of events, by their ids: 8 digits of a history, the step, and the place within it."""
    step, _, index = name[8:].partition(".")
    return int(step, 16), int(index, 16)


class Receiver:
    """What was sent to an owner's hook. Requests come in threads of their own."""

    def __init__(self, load: Load, owner: int) -> None:
        self.load = load
        self.owner = owner
        self.hook = 0
        self.key = b""
        self.lock = Lock()
        self.taken: dict[str, dict[str, object]] = {}
        """Events by their ids."""
        self.newest: dict[str, str] = {}
        """The newest event of each link that was taken."""
        self.sums: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()

    @property
    def path(self) -> str:
        """Where it is reached."""
        return f"/owner-{self.owner}"

    def violated(self, what: str) -> None:
        """An invariant does not hold."""
        self.load.judge.violated(f"the receiver of owner {self.owner}: {what}")

    def is_right(self, headers: dict[str, str], body: bytes) -> bool:
        """Whether a request is signed, and made by a clock of this run."""
        name, moment = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
        signature = base64.b64encode(hmac.digest(self.key, f"{name}.{moment}.".encode() + body, "sha256")).decode()
        if f"v1,{signature}" not in headers.get("webhook-signature", "").split(" "):
            self.violated(f"a request is not signed by the secret: {headers}, {body!r}")
        elif not moment.isdecimal() or abs(time.time() - int(moment)) > CLOCKS_DIFFER:
            self.violated(f"a request is signed with a wrong time: {headers}")
        else:
            return True
        return False

    def take(self, name: str, body: bytes) -> None:
        """Takes an event: it is the same as before, or comes after all events of its link that were taken."""
        event: dict[str, object] = json.loads(body)
        told, code = str(event["id"]), str(event["short_code"])
        if name != told.replace(".", "_"):
            self.violated(f"the request {name} has another event: {event}")
        with self.lock:
            if told in self.taken:
                self.seen["event sent to a hook again"] += 1
                if event != self.taken[told]:
                    self.violated(f"an event comes again, and differs: {event}, before {self.taken[told]}")
                return
            newest = self.newest.get(code)
            if newest and place(told) <= place(newest):
                self.violated(f"an event that is new comes after {newest} of its link: {event}")
            self.taken[told], self.newest[code] = event, told
            self.sums[code] += int(str(event.get("clicks") or 0))
            self.seen["event sent to a hook"] += 1

    def what_is_wrong(self, feed: Feed, counts: list[tuple[Book, int]]) -> str:
        """How what was taken differs from the feed and from the counts; empty if it does not."""
        with self.lock:
            taken, sums = dict(self.taken), self.sums.copy()
        missing = [event for name, event in feed.told.items() if name not in taken]
        if missing:
            return f"{len(missing)} of {len(feed.told)} events were not taken, such as {missing[0]}"
        for name, event in taken.items():
            told = feed.told.get(name)
            if event != told and not is_shortened(event, told):
                return f"an event was taken that the feed does not have so: {event}, in the feed {told}"
        for book, count in counts:
            if book.owner == self.owner and sums[book.code] != count:
                return f"the count is {count}, and the events that were taken have {sums[book.code]}\n{book}"
        return ""

    async def settled(self, instance: Instance, client: Client, counts: list[tuple[Book, int]]) -> None:
        """A calm moment: everything that the feed has was taken, and the sums are the counts."""
        load, end, again = self.load, time.monotonic() + TAKEN_SECONDS, 0.0
        feed = load.feeds.all[self.owner]
        async with load.feeds.locks[self.owner]:
            while True:
                while await feed.read(instance, client, 0):
                    pass
                if not (why := self.what_is_wrong(feed, counts)):
                    break
                if time.monotonic() > end:
                    raise Violated(f"for {TAKEN_SECONDS:.0f} s of a calm moment, at the receiver of owner {self.owner}: {why}")
                if time.monotonic() > again:
                    await self.send_again(instance, client)
                    again = time.monotonic() + AGAIN_SECONDS
                await asyncio.sleep(0.2)
        with self.lock:
            load.judge.seen.update(self.seen)
            self.seen.clear()
        load.judge.seen["hook that is complete"] += 1

    async def send_again(self, instance: Instance, client: Client) -> None:
        """Asks for what waits."""
        load = self.load
        response = await load.api(instance, client, "a hook", "PATCH", f"/hooks/{self.hook}", load.tokens[self.owner],
                                  {"is_active": True})
        if response is None:
            return
        load.judge.seen[f"a hook {response.status}"] += 1
        if response.status != 200:
            load.judge.refusal(instance, "a hook", response)


def is_shortened(event: dict[str, object], told: dict[str, object] | None) -> bool:
    """Whether an event was sent without its classes, as it is large."""
    if told is None or "classes" in event or len(json.dumps(told)) < LARGE:
        return False
    return event == {name: value for name, value in told.items() if name != "classes"}


class Server(ThreadingHTTPServer):
    """Receives for all owners."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Instances are killed while they send; anything else is a fault of this file."""
        if not isinstance(sys.exception(), OSError):
            self.hooks.load.judge.violated(f"a receiver of hooks failed: {traceback.format_exc()}")


class Handler(BaseHTTPRequestHandler):
    """One connection of an instance."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_POST(self) -> None:
        """Does with an event what was drawn."""
        hooks = self.server.hooks
        receiver = hooks.by_path.get(self.path)
        length = int(self.headers.get("content-length", "0"))
        body = self.rfile.read(length)
        if receiver is None or len(body) < length:
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        if not receiver.is_right(headers, body):
            return self.answer(401)
        mood = hooks.mood()
        with receiver.lock:
            receiver.seen[f"delivery {mood.value}"] += 1
        if mood in (Mood.TAKE, Mood.LOSE):
            receiver.take(headers["webhook-id"], body)
        if mood is Mood.TAKE:
            return self.answer(204)
        if mood is Mood.REFUSE:
            return self.answer(500)
        if mood is Mood.HANG:
            time.sleep(HANG_SECONDS)
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def answer(self, status: int) -> None:
        """Answers without a body."""
        self.send_response(status)
        if status != 204:
            self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *_: object) -> None:
        """Logs nothing."""


class Hooks:
    """The receivers of all owners."""

    def __init__(self, load: Load, owners: int) -> None:
        self.load = load
        self.rng = random.Random(load.rng.random())
        self.lock = Lock()
        self.is_calm = False
        """Whether everything is taken at once."""
        self.all = [Receiver(load, owner) for owner in range(owners)]
        self.by_path = {receiver.path: receiver for receiver in self.all}
        self.server: Server | None = None

    def mood(self) -> Mood:
        """What becomes of the next request."""
        with self.lock:
            (mood,) = self.rng.choices(list(OFTEN), list(OFTEN.values()))
        return Mood.TAKE if self.is_calm else mood

    async def prepare(self, client: Client) -> None:
        """Makes a hook for each owner, before their first link: it is sent all that happens."""
        self.server = Server(self)
        Thread(target=self.server.serve_forever, name="receivers of hooks", daemon=True).start()
        for receiver in self.all:
            url = f"http://127.0.0.1:{self.server.server_port}{receiver.path}"
            response = await client.ask("POST", "/hooks", token=self.load.tokens[receiver.owner],
                                        body={"url": url, "types": TYPES})
            if response.status != 200:
                raise Failed(f"a hook could not be made: {response}")
            made = response.json()
            receiver.key = base64.b64decode(str(made["secret"]).removeprefix("whsec_"))
            receiver.hook = int(str(made["id"]))

    async def settled(self, instance: Instance, counts: list[tuple[Book, int]]) -> None:
        """A calm moment of all receivers, which fail no more while it lasts."""
        client = Client(instance.port, API_TIMEOUT)
        self.is_calm = True
        for receiver in self.all:
            await receiver.settled(instance, client, counts)
        self.is_calm = False
        client.close()

    async def stop(self) -> None:
        """Takes nothing any more."""
        if self.server:
            await asyncio.to_thread(self.server.shutdown)
            self.server.server_close()
