"""`load/headers`: what a redirect costs whose headers are made up to be dear, against a plain one."""

from __future__ import annotations

import argparse
import selectors
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testbed.programs import Failed, require

from .backends import start_postgres, start_redis
from .contenders import Embedded, Production, Running, Shunt
from .links import codes
from .pinned import PinnedTestbed, say
from .results import Results
from .tools import build, machine, where

BAR = 3.0
"""A redirect with any headers costs at most so many plain ones."""
CONNECTIONS = 32
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Links:
    """Links to ask for."""

    plain: str
    forwarding: str
    """One that adds the visitor's query to its target's, which has 200 parameters."""


def head(path: str, *lines: str) -> bytes:
    """A request."""
    return "\r\n".join([f"GET /{path} HTTP/1.1", "Host: sho.rt", *lines, "", ""]).encode()


def letters(number: int, count: int) -> str:
    """Letters in an order of their own for each number."""
    made = []
    for _ in range(count):
        number = (number * 6364136223846793005 + 1442695040888963407) % 2**64
        made.append(LETTERS[(number >> 33) % len(LETTERS)])
    return "".join(made)


def agent(number: int) -> str:
    """A fresh agent of 2,000 letters."""
    return letters(number, 2_000)


Kind = Callable[[Links, int], bytes]

KINDS: dict[str, Kind] = {
    "an agent of 2,000 letters": lambda links, n: head(links.plain, f"User-Agent: {agent(n)}"),
    "an agent of words of bots": lambda links, n: head(links.plain, f"User-Agent: {n} " + "bot" * 168),
    "an agent of words of browsers": lambda links, n: head(
        links.plain, f"User-Agent: {n} " + "Version/1 Mobile Safari Chrome/1.1 CriOS/ OPR/ Kindle Opera/ Android 4; " * 7),
    "a fresh browser's agent": lambda links, n: head(links.plain, f"User-Agent: {FIREFOX} {n}"),
    "an international referrer": lambda links, n: head(
        links.plain, f"User-Agent: {FIREFOX}", f"Referer: https://{n}" + ".\u00e4" * 80 + "/"),
    "a referrer of 900 labels": lambda links, n: head(
        links.plain, f"User-Agent: {FIREFOX}", f"Referer: https://{n}" + ".a" * 450 + "/"),
    "a fresh page as referrer": lambda links, n: head(
        links.plain, f"User-Agent: {FIREFOX}", f"Referer: https://example.com/{n}/" + "a" * 900),
    "30 headers": lambda links, n: head(
        links.plain, f"User-Agent: {FIREFOX}", *(f"X-Header-{k}: value {n}" for k in range(29))),
    "98 headers": lambda links, n: head(
        links.plain, f"User-Agent: {FIREFOX}", *(f"X-Header-{k}: value {n}" for k in range(97))),
    "a name of 3,800 bytes": lambda links, n: head(links.plain, f"User-Agent: {FIREFOX}", "X" * 3_800 + f": {n}"),
    "a value of 15,000 bytes": lambda links, n: head(links.plain, f"User-Agent: {FIREFOX}", f"X: {n}" + "v" * 15_000),
    "a cookie of 3,800 bytes": lambda links, n: head(
        links.plain, f"User-Agent: {FIREFOX}", f"Cookie: n={n}; " + "a=b; " * 750),
    "470 languages": lambda links, n: head(
        links.plain, f"User-Agent: {FIREFOX}", f"Accept-Language: x{n}," + "e;q=0.1," * 470),
    "900 forwarded addresses": lambda links, n: head(
        links.plain, f"User-Agent: {FIREFOX}", "X-Forwarded-For: 127.0.0.1" + ",127.0.0.1" * 900),
    "a purpose of 3,800 bytes": lambda links, n: head(
        links.plain, f"User-Agent: {FIREFOX}", "Sec-Purpose: a" + ";a" * 1_900),
    "a query": lambda links, n: head(f"{links.plain}?n={n}", f"User-Agent: {FIREFOX}"),
    "an encoded code": lambda links, n: head(
        "".join(f"%{ord(letter):02x}" for letter in links.plain), f"User-Agent: {FIREFOX}"),
    "a query of 1,200 parameters": lambda links, n: head(
        f"{links.plain}?n={n}" + "&a" * 1_200, f"User-Agent: {FIREFOX}"),
    "a forwarded query": lambda links, n: head(f"{links.forwarding}?n={n}", f"User-Agent: {FIREFOX}"),
    "a forwarded query of 1,200 parameters": lambda links, n: head(
        f"{links.forwarding}?n={n}" + "&a" * 1_200, f"User-Agent: {FIREFOX}"),
    "a forwarded query of 1,000 escapes": lambda links, n: head(
        f"{links.forwarding}?n={n}" + "&%41" * 1_000, f"User-Agent: {FIREFOX}"),
}


def plain(links: Links, _: int) -> bytes:
    """The request that others are compared with."""
    return head(links.plain, f"User-Agent: {FIREFOX}")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="load/headers", description=(
        "Measures the CPU of shunt and its databases for redirects whose headers are made up to be dear, each kind in turns with"
        " plain ones. What each number means is in load/README.md."))
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds (3)")
    parser.add_argument("--requests", type=int, default=6_000, help="of each kind in each round (6000)")
    parser.add_argument("--only", default="", metavar="WORDS", help="only kinds with these words in their name")
    parser.add_argument("--server-core", type=int, default=0, help="core of the server (0)")
    parser.add_argument("--load-core", type=int, default=1, help="core of all else (1)")
    parser.add_argument("--name", default="headers", help="of the files in load/results (headers)")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; 0, or 1 when a check or the run failed."""
    options = parse(arguments)
    try:
        tools = require(["redis-server", "redis-cli", "postgres", "initdb", "psql"])
        results = Results("shunt: redirects with dear headers", machine(tools))
        programs = build()
        with PinnedTestbed(options.server_core, options.load_core) as testbed:
            testbed.settle()
            results.notes += [
                f"{options.rounds} rounds of {options.requests} requests of each kind over {CONNECTIONS} connections; default"
                " settings but those without limits.",
                where(testbed),
                "CPU: user and system time of the server process by redirects; ratios are taken within a round, in which"
                " plain redirects come directly before, then their median.",
            ]
            known = list(codes(1))
            production = Production(testbed, tools, programs, known, redis=start_redis(testbed, tools),
                                    postgres=start_postgres(testbed, tools))
            for shunt in (production, Embedded(testbed, tools, programs, known)):
                headers(shunt, options, results)
    except Failed as failure:
        print(f"load/headers: {failure}", file=sys.stderr)
        return 1
    results.save(options.name)
    print(results.text())
    return 0


def headers(shunt: Shunt, options: argparse.Namespace, results: Results) -> None:
    """All kinds in one mode."""
    shunt.prepare()
    with shunt.running() as running:
        assert running.api
        target = "https://www.example.com/?" + "&".join(f"p{number}={number}" for number in range(200))
        made = running.api.ask("POST", "/urls/bulk", [{"target_url": target, "forward_query": True}])
        links = Links(shunt.known[0], made[0]["short_code"])
        for number in range(options.rounds):
            for name, kind in KINDS.items():
                if options.only not in name:
                    continue
                first = number * options.requests
                base = cost(running, plain, links, first, options.requests)
                used = cost(running, kind, links, first, options.requests)
                say(f"  {shunt.name}, {name}: {used:.1f} us, {used / base:.2f} times {base:.1f}")
                results.figure(f"{shunt.name}, plain: CPU, us", base)
                results.figure(f"{shunt.name}, {name}: CPU, us", used)
                results.figure(f"{shunt.name}, {name}: times plain", used / base)
    for name in KINDS:
        if options.only in name:
            results.judge(f"{shunt.name}, {name}", f"{shunt.name}, {name}: times plain", BAR, None, "x")


def cost(running: Running, kind: Kind, links: Links, first: int, count: int) -> float:
    """The CPU of the server for each redirect, in microseconds."""
    requests = [kind(links, number) for number in range(first, first + count)]
    connections = [socket.create_connection(("127.0.0.1", running.port), timeout=10) for _ in range(CONNECTIONS)]
    try:
        redirected(connections, [plain(links, 0)] * CONNECTIONS)
        before = running.cpu()["server"]
        for start in range(0, count, CONNECTIONS):
            redirected(connections, requests[start:start + CONNECTIONS])
        return (running.cpu()["server"] - before) / count * 1e6
    finally:
        for connection in connections:
            connection.close()


def redirected(connections: list[socket.socket], requests: list[bytes]) -> None:
    """Sends one request over each connection, and waits for all responses."""
    waiting = selectors.DefaultSelector()
    for connection, request in zip(connections, requests, strict=False):
        connection.sendall(request)
        waiting.register(connection, selectors.EVENT_READ, bytearray())
    while waiting.get_map():
        ready = waiting.select(10)
        if not ready:
            raise Failed("a redirect was not answered within 10 s")
        for key, _ in ready:
            assert isinstance(key.fileobj, socket.socket)
            key.data.extend(key.fileobj.recv(65_536))
            if not key.data.startswith(b"HTTP/1.1 302 "[:len(key.data)]) or not key.data:
                raise Failed(f"a redirect was answered {bytes(key.data[:80])!r}")
            if key.data.endswith(b"\r\n\r\n"):
                waiting.unregister(key.fileobj)
